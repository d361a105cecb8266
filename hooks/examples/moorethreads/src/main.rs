//! moorethreads is a hook for rigup: it recognises Moore Threads GPUs and says how containers get them.
//!
//! What it knows is public: PCI vendor 0x1ed5; the driver mtgpu makes /dev/mtgpu.N and a render node for each card, and
//! tells its version in /proc/driver/musa/version; mthreads-gmi is the vendor's tool.

mod answers;
mod json;
mod machine;

use answers::{decline, object, probes, reason, response};
use json::Json;
use machine::{Card, Machine, NODE, RENDER};
use std::io::{Read, Write};

const VENDOR: &str = "Moore Threads";
const RESOURCE: &str = "mthreads.com/gpu";
const VERSION_FILE: &str = "/proc/driver/musa/version";
const TOOL: &str = "mthreads-gmi";

fn main() {
    if let Err(why) = run() {
        eprintln!("{}", why);
        std::process::exit(1);
    }
}

fn run() -> Result<(), String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|e| e.to_string())?;
    let request = Json::parse(&text).map_err(|e| format!("read the request: {}", e))?;
    eprintln!("phase {}", request.text("phase"));
    let answer = json::write(&answer(&request));
    std::io::stdout().write_all(answer.as_bytes()).map_err(|e| e.to_string())
}

fn answer(request: &Json) -> Json {
    let nothing = Json::Null;
    let facts = request.get("facts").unwrap_or(&nothing);
    match request.text("phase") {
        "detect" => detect(&Machine::of(facts)),
        "decide" => decide(&Machine::of(facts), facts, request.list("probes")),
        "diagnose" => diagnose(request.get("failure")),
        _ => decline("this hook does not know this phase"),
    }
}

/// Claims the machine if it has a card of the vendor, or its driver's device nodes.
fn detect(m: &Machine) -> Json {
    if m.cards.is_empty() && m.nodes.is_empty() {
        return decline("no PCI device of Moore Threads (0x1ed5) and no device node /dev/mtgpu.N");
    }
    let mut claim = vec![("confidence", Json::from(90))];
    if !m.cards.is_empty() {
        claim.push(("devices", m.cards.iter().map(device).collect::<Vec<Json>>().into()));
    }
    response("claim", vec![("why", m.seen().into()), ("claim", object(claim))])
}

/// Says how containers get the cards, or why they cannot.
fn decide(m: &Machine, facts: &Json, answered: &[Json]) -> Json {
    if let Some(why) = &m.nodes_unknown {
        let text = "The device nodes of this machine could not be listed.";
        return reason("nodes-unknown", text, vec![], vec![why.clone()]);
    }
    if m.nodes.is_empty() {
        return no_driver(m);
    }
    if answered.is_empty() {
        return probes(vec![
            vec![("id", "driver".into()), ("kind", "file.read".into()), ("path", VERSION_FILE.into()), ("max", Json::from(256))],
            vec![("id", "tool".into()), ("kind", "tool.version".into()), ("tool", TOOL.into()), ("args", vec!["-v".to_string()].into())],
        ]);
    }
    let mut why = m.seen();
    let driver = answered.iter().find(|p| p.text("id") == "driver").and_then(driver_version);
    if let Some(version) = &driver {
        why.push(format!("driver {}", version));
    }
    let mut gpu = vec![
        ("vendor", VENDOR.into()),
        ("resource", RESOURCE.into()),
        ("devices", devices(m).into()),
        ("attach", attach(m, facts).into()),
        ("check", object(vec![("compute", "devices".into())])),
        ("node", object(vec![("target", "node".into())])),
        ("cdi", object(vec![("mode", "static".into()), ("kind", RESOURCE.into()), ("spec", spec(m))])),
    ];
    if let Some(warning) = answered.iter().find(|p| p.text("id") == "tool").and_then(tool_fails) {
        gpu.push(("warnings", vec![warning].into()));
    }
    response("decision", vec![("why", why.into()), ("gpu", object(gpu))])
}

/// Why there are no device nodes: the driver is not there, or it is and could not start.
fn no_driver(m: &Machine) -> Json {
    let loaded = m.cards.iter().any(|c| c.driver == "mtgpu");
    let evidence = m.cards.iter().map(Card::line).collect();
    if loaded {
        let text = "The driver mtgpu has the Moore Threads GPU, but made no device nodes: it did not start as it should.";
        let remedy = vec!["look at what it says: sudo dmesg | grep -i mtgpu".to_string(), "restart this machine, then: rigup install".to_string()];
        return reason("driver-not-started", text, remedy, evidence);
    }
    let text = "The driver of the Moore Threads GPU is not loaded.";
    let remedy = vec![
        "if it is installed: sudo modprobe mtgpu, then: rigup install".to_string(),
        "if not, install the driver for your card from https://developer.mthreads.com and restart this machine".to_string(),
    ];
    reason("driver-missing", text, remedy, evidence)
}

/// The file has a line such as "package version:2.7.0".
fn driver_version(p: &Json) -> Option<String> {
    let line = p.text("text").lines().find(|l| l.contains("version"))?;
    let version = line.rsplit(':').next()?.trim();
    if p.text("status") != "known" || version.is_empty() {
        return None;
    }
    Some(version.to_string())
}

/// A warning when the vendor's own tool does not work. That says nothing about containers.
fn tool_fails(p: &Json) -> Option<Json> {
    let ok = match p.get("exit") {
        Some(Json::Number(n)) => n == "0",
        _ => true,
    };
    if p.text("status") != "known" || ok {
        return None;
    }
    let text = "mthreads-gmi does not work: after an update of the driver the machine may need a restart.";
    Some(answers::reason_object("tool-fails", text, vec!["restart this machine".to_string()], vec![first_line(p.text("text"))]))
}

// ---- the parts of a decision ----

fn device(c: &Card) -> Json {
    let mut fields = vec![("id", c.address.as_str().into())];
    if !c.model.is_empty() {
        fields.push(("model", c.model.as_str().into()));
    }
    if let Some(memory) = &c.memory {
        fields.push(("memory", memory.clone()));
    }
    object(fields)
}

/// The cards that have nodes: by PCI address where that is known, else by node.
fn devices(m: &Machine) -> Vec<Json> {
    match m.pairs() {
        Some(cards) => cards.iter().map(device).collect(),
        None => m.nodes.iter().map(|n| object(vec![("id", n.path().into())])).collect(),
    }
}

/// Through the engine's own CDI devices where it has found them, else as device nodes.
fn attach(m: &Machine, facts: &Json) -> Vec<Json> {
    let mut ways = Vec::new();
    let engine = facts.get("engine").unwrap_or(&Json::Null);
    let wanted: Vec<String> = m.nodes.iter().map(|n| format!("{}={}", RESOURCE, n.number)).collect();
    let found = machine::known(engine, "cdiDevices");
    if wanted.iter().all(|w| found.contains(&Json::from(w.as_str()))) {
        ways.push(object(vec![("kind", "cdi".into()), ("ids", wanted.into())]));
    }
    let mut nodes: Vec<String> = m.nodes.iter().map(|n| n.path()).collect();
    nodes.extend(m.render.iter().cloned());
    ways.push(object(vec![("kind", "devices".into()), ("nodes", nodes.into())]));
    ways
}

/// One CDI device for each node, with the card's render node where it is known which one that is.
fn spec(m: &Machine) -> Json {
    let cards = m.pairs();
    let mut list = Vec::new();
    for (i, node) in m.nodes.iter().enumerate() {
        let mut paths = vec![node.path()];
        if let Some(render) = cards.and_then(|c| c[i].render.clone()) {
            paths.push(render);
        }
        let nodes: Vec<Json> = paths.into_iter().map(|p| object(vec![("path", p.into())])).collect();
        list.push(object(vec![
            ("name", node.number.to_string().into()),
            ("containerEdits", object(vec![("deviceNodes", nodes.into())])),
        ]));
    }
    object(vec![("cdiVersion", "0.5.0".into()), ("kind", RESOURCE.into()), ("devices", list.into())])
}

// ---- failures ----

/// Knows what engines and kernels print when a node or a CDI device is not to be had.
fn diagnose(failure: Option<&Json>) -> Json {
    let failure = match failure {
        Some(f) => f,
        None => return decline("there is no failure in the request"),
    };
    let again = "then: rigup install";
    let known: [(&str, &[&str], &str, String); 3] = [
        ("cdi-spec-gone", &["unresolvable cdi devices", "could not select device driver \"cdi\""],
         "The engine no longer knows the CDI devices of Moore Threads.",
         format!("restart the engine, so that it reads its CDI specs again, {}", again)),
        ("device-permission", &["permission denied", "operation not permitted"],
         "The container was not allowed to open the device nodes of Moore Threads.",
         format!("look at who may use them: ls -l {}* {}*", NODE, RENDER)),
        ("device-gone", &["no such device", "no such file or directory"],
         "A device node of Moore Threads went away: the driver was unloaded, or a card was reset.",
         format!("load the driver again: sudo modprobe mtgpu, {}", again)),
    ];
    for (id, texts, text, remedy) in known {
        let seen = failure.text("output").lines().find(|l| {
            let l = l.to_ascii_lowercase();
            texts.iter().any(|t| l.contains(t))
        });
        if let Some(line) = seen {
            return reason(id, text, vec![remedy], vec![first_line(line)]);
        }
    }
    decline("the output has no text that this hook knows")
}

/// The first line, shortened.
fn first_line(s: &str) -> String {
    let line = s.lines().find(|l| !l.trim().is_empty()).unwrap_or("");
    let mut end = line.len().min(200);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line[..end].trim().to_string()
}
