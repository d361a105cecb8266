// ascend is a hook for rigup: it recognises Huawei's Ascend NPUs and says how containers get them.
//
// What it knows is public: PCI vendor 0x19e5, class 0x12; the driver makes /dev/davinciN for each NPU and three nodes that all
// of them share; its user-space part lies in /usr/local/Ascend/driver, and containers use the machine's.

import { Json, list, number, object, parse } from "./json";
import { decline, deviceStat, fileRead, reason, response } from "./answers";
import { DRIVER_DIR, PREFIX, SHARED, VERSION_FILE, fieldOf, nameOf, npusOf, numbersOf, resourceOf, resultOf, versionOf } from "./machine";
import { input, log, output } from "./wasi";

export function _start(): void {
  const request = parse(input());
  log("phase " + request.text("phase"));
  output(answer(request).toString());
}

function answer(request: Json): Json {
  const phase = request.text("phase");
  if (phase == "detect") return detect(fieldOf(request, "facts"));
  if (phase == "decide") return decide(fieldOf(request, "facts"), request.list("probes"));
  if (phase == "diagnose") return diagnose(request.get("failure"));
  return decline("this hook does not know this phase");
}

/** Claims the machine if it has an NPU, or its driver's device nodes. */
function detect(facts: Json): Json {
  const npus = npusOf(facts);
  const seen = seenIn(npus, numbersOf(facts));
  if (seen.length == 0) return decline("no processing accelerator of Huawei (0x19e5, class 0x12) and no device node " + PREFIX + "N");
  const claim = object().with("confidence", number(90));
  if (npus.length > 0) {
    const devices = list();
    for (let i = 0; i < npus.length; i++) devices.add(device(npus[i]));
    claim.with("devices", devices);
  }
  return response("claim").withTexts("why", seen).with("claim", claim);
}

/** Says how containers get the NPUs, or why they cannot. */
function decide(facts: Json, probes: Json[]): Json {
  const npus = npusOf(facts);
  const numbers = numbersOf(facts);
  const listed = fieldOf(facts, "devices");
  if (listed.text("status") == "unknown") {
    return reason("nodes-unknown", "The device nodes of this machine could not be listed.", [], [listed.text("why")]);
  }
  if (numbers.length == 0) return noDriver(npus);
  if (probes.length == 0) return ask();
  const missing: string[] = [];
  for (let i = 0; i < SHARED.length; i++) {
    if (statusOf(probes, SHARED[i]) == "absent") missing.push(SHARED[i]);
  }
  if (missing.length > 0) {
    const text = "The driver of the Ascend NPUs did not start as it should: some of its device nodes are missing.";
    return reason("nodes-missing", text, ["restart this machine, then: rigup install", "npu-smi info shows whether the NPUs are healthy"], missing);
  }
  const resource = resourceFor(npus);
  if (resource == "") {
    const text = "This machine has Ascend NPUs of several kinds, or of a kind that this hook does not know.";
    return reason("kinds", text, [], linesOf(npus));
  }
  const why = seenIn(npus, numbers);
  const version = versionOf(resultOf(probes, "driver"));
  if (version != "") why.push("driver " + version);
  return response("decision").withTexts("why", why).with("gpu", decision(npus, numbers, resource, version != ""));
}

function decision(npus: Json[], numbers: i32[], resource: string, driverFiles: bool): Json {
  const paired = npus.length == numbers.length; // the driver numbers them by PCI address
  const devices = list();
  const inSpec = list();
  const nodes: string[] = [];
  for (let i = 0; i < numbers.length; i++) {
    const path = PREFIX + numbers[i].toString();
    nodes.push(path);
    devices.add(paired ? device(npus[i]) : object().withText("id", path));
    inSpec.add(object().withText("name", numbers[i].toString()).with("containerEdits", nodeEdits([path])));
  }
  const edits = nodeEdits(SHARED);
  const attach = object().withText("kind", "devices").withTexts("nodes", nodes.concat(SHARED));
  if (driverFiles) {
    attach.withTexts("binds", [DRIVER_DIR]);
    const mount = object().withText("hostPath", DRIVER_DIR).withText("containerPath", DRIVER_DIR);
    edits.with("mounts", list().add(mount.withTexts("options", ["ro", "nosuid", "nodev", "rbind"])));
  }
  const spec = object().withText("cdiVersion", "0.5.0").withText("kind", resource).with("devices", inSpec).with("containerEdits", edits);
  return object()
    .withText("vendor", "Huawei Ascend")
    .withText("resource", resource)
    .with("devices", devices)
    .with("attach", list().add(attach))
    .with("check", object().withText("compute", "devices"))
    .with("node", object().withText("target", "node"))
    .with("cdi", object().withText("mode", "static").withText("kind", resource).with("spec", spec));
}

/** Knows what engines, kernels and the driver print when an NPU is not to be had. */
function diagnose(failure: Json | null): Json {
  if (failure == null) return decline("there is no failure in the request");
  const seen = failure.text("output");
  let line = lineWith(seen, ["permission denied", "operation not permitted"]);
  if (line != "") {
    const text = "The container was not allowed to open the device nodes of the Ascend NPUs.";
    return reason("device-permission", text, ["look at who may use them: ls -l " + PREFIX + "*"], [line]);
  }
  line = lineWith(seen, ["invalid mount config", "bind source path does not exist"]);
  if (line != "") {
    const text = "The files of the Ascend driver are not where the engine looks for them.";
    return reason("driver-files", text, ["install the driver for all users, into " + DRIVER_DIR], [line]);
  }
  line = lineWith(seen, ["no such device", "no such file or directory"]);
  if (line != "") {
    const text = "A device node of an Ascend NPU went away: the driver was unloaded, or the NPU was reset.";
    return reason("device-gone", text, ["npu-smi info shows which NPUs are left", "restart this machine, then: rigup install"], [line]);
  }
  return decline("the output has no text that this hook knows");
}

// ---- parts ----

function ask(): Json {
  const probes = list().add(fileRead("driver", VERSION_FILE));
  for (let i = 0; i < SHARED.length; i++) probes.add(deviceStat(SHARED[i], SHARED[i]));
  return response("probes").with("probes", probes);
}

function statusOf(probes: Json[], id: string): string {
  const r = resultOf(probes, id);
  return r != null ? r.text("status") : "unknown";
}

/** The one resource of all NPUs; empty if there is none. Where PCI is not known the most common kind is assumed. */
function resourceFor(npus: Json[]): string {
  if (npus.length == 0) return "huawei.com/Ascend910";
  const first = resourceOf(npus[0]);
  for (let i = 1; i < npus.length; i++) {
    if (resourceOf(npus[i]) != first) return "";
  }
  return first;
}

function device(npu: Json): Json {
  const out = object().withText("id", npu.text("address")).withText("model", nameOf(npu));
  const memory = npu.get("memory");
  if (memory != null) out.with("memory", memory);
  return out;
}

function nodeEdits(paths: string[]): Json {
  const nodes = list();
  for (let i = 0; i < paths.length; i++) nodes.add(object().withText("path", paths[i]));
  return object().with("deviceNodes", nodes);
}

function seenIn(npus: Json[], numbers: i32[]): string[] {
  const out: string[] = [];
  for (let i = 0; i < npus.length; i++) out.push(nameOf(npus[i]) + " at " + npus[i].text("address"));
  const paths: string[] = [];
  for (let i = 0; i < numbers.length; i++) paths.push(PREFIX + numbers[i].toString());
  if (paths.length > 0) out.push("device nodes: " + paths.join(", "));
  return out;
}

function linesOf(npus: Json[]): string[] {
  const out: string[] = [];
  for (let i = 0; i < npus.length; i++) {
    const n = npus[i];
    const driver = n.text("driver") != "" ? n.text("driver") : "none";
    out.push(n.text("address") + " is " + n.text("vendor") + ":" + n.text("device") + ", driver: " + driver);
  }
  return out;
}

function noDriver(npus: Json[]): Json {
  const text = "The driver of the Ascend NPUs is not loaded: there are no device nodes " + PREFIX + "N.";
  const remedy = "install the driver and the firmware for your NPU from https://www.hiascend.com and restart this machine, then: rigup install";
  return reason("driver-missing", text, [remedy], linesOf(npus));
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
