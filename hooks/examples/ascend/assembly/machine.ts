// What the facts and the probes say about Ascend NPUs.

import { Json, Kind } from "./json";

export const PREFIX = "/dev/davinci"; // and a number
export const SHARED = ["/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"]; // needed beside every NPU
export const VERSION_FILE = "/usr/local/Ascend/driver/version.info";
export const DRIVER_DIR = "/usr/local/Ascend/driver";

/** What is known of an NPU by its PCI device id. */
class Model {
  constructor(
    public device: string,
    public name: string,
    public resource: string,
  ) {}
}

const MODELS: Model[] = [
  new Model("0xd100", "Ascend 310", "huawei.com/Ascend310"),
  new Model("0xd500", "Ascend 310P", "huawei.com/Ascend310P"),
  new Model("0xd801", "Ascend 910", "huawei.com/Ascend910"),
  new Model("0xd802", "Ascend 910B", "huawei.com/Ascend910"),
  new Model("0xd803", "Ascend 910C", "huawei.com/Ascend910"),
];

function modelOf(npu: Json): Model | null {
  for (let i = 0; i < MODELS.length; i++) {
    if (MODELS[i].device == npu.text("device")) return MODELS[i];
  }
  return null;
}

export function nameOf(npu: Json): string {
  const m = modelOf(npu);
  return m != null ? m.name : "an Ascend NPU (" + npu.text("device") + ")";
}

/** The name under which pods ask for an NPU, as the vendor's own device plugin calls it; empty for an unknown one. */
export function resourceOf(npu: Json): string {
  const m = modelOf(npu);
  return m != null ? m.resource : "";
}

export function fieldOf(v: Json, name: string): Json {
  const f = v.get(name);
  return f != null ? f : new Json(Kind.Null);
}

/** The elements of a fact, if they are known. */
export function known(facts: Json, name: string): Json[] {
  const fact = fieldOf(facts, name);
  return fact.text("status") == "known" ? fact.list("value") : [];
}

/**
 * The NPUs, by PCI address. Huawei's servers have other devices of the same vendor: the graphics of the management board
 * is a display controller, an NPU is a processing accelerator (class 0x12).
 */
export function npusOf(facts: Json): Json[] {
  const out = known(facts, "pci").filter((d) => d.text("vendor") == "0x19e5" && d.text("class").startsWith("0x12"));
  return out.sort((a, b) => (a.text("address") < b.text("address") ? -1 : 1));
}

/** The numbers of the device nodes. */
export function numbersOf(facts: Json): i32[] {
  const out: i32[] = [];
  const devices = known(facts, "devices");
  for (let i = 0; i < devices.length; i++) {
    const path = devices[i].text("path");
    if (path.startsWith(PREFIX) && isNumber(path.substring(PREFIX.length))) out.push(I32.parseInt(path.substring(PREFIX.length)));
  }
  return out.sort((a, b) => a - b);
}

function isNumber(s: string): bool {
  for (let i = 0; i < s.length; i++) {
    if (s.charCodeAt(i) < 0x30 || s.charCodeAt(i) > 0x39) return false;
  }
  return s.length > 0 && s.length < 6;
}

/** The result of a probe; null if it was not asked for. */
export function resultOf(probes: Json[], id: string): Json | null {
  for (let i = 0; i < probes.length; i++) {
    if (probes[i].text("id") == id) return probes[i];
  }
  return null;
}

/** The driver's version out of its file, which begins with a line Version=24.1.rc1; empty if it is not known. */
export function versionOf(result: Json | null): string {
  if (result == null || result.text("status") != "known") return "";
  const lines = result.text("text").split("\n");
  for (let i = 0; i < lines.length; i++) {
    if (lines[i].startsWith("Version=")) return lines[i].substring(8).trim();
  }
  return "";
}
