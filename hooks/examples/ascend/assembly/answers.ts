// The responses of a hook.

import { Json, number, object } from "./json";

export function response(kind: string): Json {
  return object().withText("api", "rigup.hook/v1").withText("kind", kind);
}

export function decline(why: string): Json {
  return response("decline").withTexts("why", [why]);
}

export function reason(id: string, text: string, remedy: string[], evidence: string[]): Json {
  const r = object().withText("id", id).withText("text", text);
  if (remedy.length > 0) r.withTexts("remedy", remedy);
  if (evidence.length > 0) r.withTexts("evidence", evidence);
  return response("reason").with("reason", r);
}

export function fileRead(id: string, path: string): Json {
  return object().withText("id", id).withText("kind", "file.read").withText("path", path).with("max", number(1024));
}

export function deviceStat(id: string, path: string): Json {
  return object().withText("id", id).withText("kind", "device.stat").withText("path", path);
}
