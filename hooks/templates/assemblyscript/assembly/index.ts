// @ID@ is a hook for rigup: it recognises the GPUs of @PUBLISHER@ and says how containers get them.
//
// A hook is a pure function. It reads one request from standard input, writes one response to standard output, and
// sees nothing else of the machine.

import { Json, Kind, list, number, object, parse } from "./json";
import { input, log, output } from "./wasi";

// What the hook knows of its vendor. manifest.json says the same to rigup.
const VENDOR = "@PUBLISHER@";
const PCI_ID = "@PCI@"; // PCI vendor id
const PREFIX = "@PREFIX@"; // device nodes are this and a number
const RESOURCE = "@RESOURCE@"; // what pods ask for

export function _start(): void {
  const request = parse(input());
  log("phase " + request.text("phase")); // the log: rigup hooks test --verbose shows it
  output(answer(request).toString());
}

function answer(request: Json): Json {
  const phase = request.text("phase");
  if (phase == "detect") return detect(fieldOf(request, "facts"));
  if (phase == "decide") return decide(fieldOf(request, "facts"));
  if (phase == "diagnose") return diagnose(request.get("failure"));
  return decline("this hook does not know this phase");
}

/** Claims the machine if it has a card of the vendor, or its driver's device nodes. */
function detect(facts: Json): Json {
  const cards = cardsOf(facts);
  const nodes = nodesOf(facts);
  const claim = object().with("confidence", number(90));
  const why: string[] = [];
  if (cards.length > 0) {
    const devices = list();
    const at: string[] = [];
    for (let i = 0; i < cards.length; i++) {
      devices.add(device(cards[i]));
      at.push(cards[i].text("address"));
    }
    claim.with("devices", devices);
    why.push("PCI devices of vendor " + PCI_ID + ": " + at.join(", "));
  }
  if (nodes.length > 0) why.push("device nodes: " + nodes.join(", "));
  if (why.length == 0) return decline("no PCI device of vendor " + PCI_ID + " and no device node " + PREFIX + "*");
  return response("claim").withTexts("why", why).with("claim", claim);
}

/** Says how containers get the cards, or why they cannot. Whether the engine can do that is rigup's business. */
function decide(facts: Json): Json {
  const cards = cardsOf(facts);
  const nodes = nodesOf(facts);
  const listed = fieldOf(facts, "devices");
  if (listed.text("status") == "unknown") {
    return reason("nodes-unknown", "The device nodes of this machine could not be listed.", [], [listed.text("why")]);
  }
  if (nodes.length == 0) return noDriver(cards);
  const paired = cards.length == nodes.length; // every card has its node: both are sorted
  const attached = nodes.slice(0);
  const devices = list();
  const inSpec = list();
  for (let i = 0; i < nodes.length; i++) {
    const edits = list().add(object().withText("path", nodes[i]));
    const render = paired ? renderNode(cards[i]) : "";
    if (render != "") {
      edits.add(object().withText("path", render));
      attached.push(render);
    }
    devices.add(paired ? device(cards[i]) : object().withText("id", nodes[i]));
    inSpec.add(
      object()
        .withText("name", nodes[i].substring(PREFIX.length))
        .with("containerEdits", object().with("deviceNodes", edits)),
    );
  }
  const spec = object().withText("cdiVersion", "0.5.0").withText("kind", RESOURCE).with("devices", inSpec);
  const gpu = object()
    .withText("vendor", VENDOR)
    .withText("resource", RESOURCE)
    .with("devices", devices)
    .with("attach", list().add(object().withText("kind", "devices").withTexts("nodes", attached)))
    .with("check", object().withText("compute", "devices")) // the nodes can be opened in a container
    .with("node", object().withText("target", "node"))
    .with("cdi", object().withText("mode", "static").withText("kind", RESOURCE).with("spec", spec));
  return response("decision").withTexts("why", ["device nodes: " + nodes.join(", ")]).with("gpu", gpu);
}

/** Knows two texts. To everything else it has nothing to say. */
function diagnose(failure: Json | null): Json {
  if (failure == null) return decline("there is no failure in the request");
  const seen = failure.text("output");
  const denied = lineWith(seen, ["permission denied", "operation not permitted"]);
  if (denied != "") {
    const text = "The container was not allowed to open the device nodes of " + VENDOR + ".";
    return reason("device-permission", text, ["look at who may use them: ls -l " + PREFIX + "*"], [denied]);
  }
  const gone = lineWith(seen, ["no such device", "no such file or directory"]);
  if (gone != "") {
    const text = "A device node of " + VENDOR + " went away: the driver was unloaded, or a card was reset.";
    return reason("device-gone", text, ["load the driver again, then: rigup install"], [gone]);
  }
  return decline("the output has no text that this hook knows");
}

// ---- what the facts say ----

function fieldOf(v: Json, name: string): Json {
  const f = v.get(name);
  return f != null ? f : new Json(Kind.Null);
}

/** The elements of a fact, if they are known. */
function known(facts: Json, name: string): Json[] {
  const fact = fieldOf(facts, name);
  return fact.text("status") == "known" ? fact.list("value") : [];
}

/** The vendor's PCI devices, by address. The order of the facts means nothing. */
function cardsOf(facts: Json): Json[] {
  return known(facts, "pci")
    .filter((d) => d.text("vendor") == PCI_ID)
    .sort((a, b) => (a.text("address") < b.text("address") ? -1 : 1));
}

/** The paths of the driver's device nodes, by number: 2 goes before 10. */
function nodesOf(facts: Json): string[] {
  const out: string[] = [];
  const devices = known(facts, "devices");
  for (let i = 0; i < devices.length; i++) {
    const path = devices[i].text("path");
    if (path.startsWith(PREFIX) && isNumber(path.substring(PREFIX.length))) out.push(path);
  }
  return out.sort((a, b) => (a.length != b.length ? a.length - b.length : a < b ? -1 : 1));
}

function isNumber(s: string): bool {
  for (let i = 0; i < s.length; i++) {
    if (s.charCodeAt(i) < 0x30 || s.charCodeAt(i) > 0x39) return false;
  }
  return s.length > 0;
}

/** A card's node for computing through the kernel's graphics subsystem; empty if it has none. */
function renderNode(card: Json): string {
  const nodes = card.list("nodes");
  for (let i = 0; i < nodes.length; i++) {
    if (nodes[i].content.startsWith("/dev/dri/renderD")) return nodes[i].content;
  }
  return "";
}

// ---- responses ----

function response(kind: string): Json {
  return object().withText("api", "rigup.hook/v1").withText("kind", kind);
}

function decline(why: string): Json {
  return response("decline").withTexts("why", [why]);
}

function reason(id: string, text: string, remedy: string[], evidence: string[]): Json {
  const r = object().withText("id", id).withText("text", text);
  if (remedy.length > 0) r.withTexts("remedy", remedy);
  if (evidence.length > 0) r.withTexts("evidence", evidence);
  return response("reason").with("reason", r);
}

function device(card: Json): Json {
  const out = object().withText("id", card.text("address"));
  const model = card.get("model");
  if (model != null) out.with("model", model);
  const memory = card.get("memory");
  if (memory != null) out.with("memory", memory);
  return out;
}

function noDriver(cards: Json[]): Json {
  const evidence: string[] = [];
  for (let i = 0; i < cards.length; i++) {
    const c = cards[i];
    const driver = c.text("driver") != "" ? c.text("driver") : "none";
    evidence.push(c.text("address") + " is " + c.text("vendor") + ":" + c.text("device") + ", driver: " + driver);
  }
  const text = "The driver of " + VENDOR + " is not loaded: there are no device nodes " + PREFIX + "*.";
  const remedy = "install the driver of " + VENDOR + " and restart this machine, then: rigup install";
  return reason("driver-missing", text, [remedy], evidence);
}

/** The first line that has one of the texts, which are in lower case, shortened; empty if none has. */
function lineWith(seen: string, texts: string[]): string {
  const lines = seen.split("\n");
  for (let i = 0; i < lines.length; i++) {
    for (let j = 0; j < texts.length; j++) {
      if (lines[i].toLowerCase().includes(texts[j])) return lines[i].substring(0, 200).trim();
    }
  }
  return "";
}
