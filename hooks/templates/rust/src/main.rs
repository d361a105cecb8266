//! @ID@ is a hook for rigup: it recognises the GPUs of @PUBLISHER@ and says how containers get them.
//!
//! A hook is a pure function. It reads one request from standard input, writes one response to standard output, and
//! sees nothing else of the machine.

mod json;

use json::{object, Json};
use std::io::{Read, Write};

// What the hook knows of its vendor. manifest.json says the same to rigup.
const VENDOR: &str = "@PUBLISHER@";
const PCI_ID: &str = "@PCI@"; // PCI vendor id
const PREFIX: &str = "@PREFIX@"; // device nodes are this and a number
const RESOURCE: &str = "@RESOURCE@"; // what pods ask for

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
    eprintln!("phase {}", request.text("phase")); // the log: rigup hooks test --verbose shows it
    let answer = json::write(&answer(&request));
    std::io::stdout().write_all(answer.as_bytes()).map_err(|e| e.to_string())
}

fn answer(request: &Json) -> Json {
    let facts = request.get("facts").unwrap_or(&Json::Null);
    match request.text("phase") {
        "detect" => detect(facts),
        "decide" => decide(facts),
        "diagnose" => diagnose(request.get("failure")),
        _ => decline("this hook does not know this phase"),
    }
}

/// Claims the machine if it has a card of the vendor, or its driver's device nodes.
fn detect(facts: &Json) -> Json {
    let (cards, nodes) = (cards(facts), nodes(facts));
    let mut claim = vec![("confidence", Json::from(90))];
    let mut why = Vec::new();
    if !cards.is_empty() {
        let at: Vec<&str> = cards.iter().map(|c| c.text("address")).collect();
        why.push(format!("PCI devices of vendor {}: {}", PCI_ID, at.join(", ")));
        claim.push(("devices", cards.iter().map(|c| device(c)).collect::<Vec<Json>>().into()));
    }
    if !nodes.is_empty() {
        why.push(format!("device nodes: {}", nodes.join(", ")));
    }
    if why.is_empty() {
        return decline(&format!("no PCI device of vendor {} and no device node {}*", PCI_ID, PREFIX));
    }
    response("claim", vec![("why", why.into()), ("claim", object(claim))])
}

/// Says how containers get the cards, or why they cannot. Whether the engine can do that is rigup's business.
fn decide(facts: &Json) -> Json {
    let (cards, nodes) = (cards(facts), nodes(facts));
    let listed = facts.get("devices").unwrap_or(&Json::Null);
    if listed.text("status") == "unknown" {
        let text = "The device nodes of this machine could not be listed.";
        return reason("nodes-unknown", text, None, vec![listed.text("why").to_string()]);
    }
    if nodes.is_empty() {
        return no_driver(&cards);
    }
    let mut attached = nodes.clone();
    let (mut devices, mut spec) = (Vec::new(), Vec::new());
    for (i, node) in nodes.iter().enumerate() {
        let mut of_this = vec![node.clone()];
        if cards.len() == nodes.len() {
            // Every card has its node: both are sorted.
            devices.push(device(cards[i]));
            if let Some(render) = render_node(cards[i]) {
                of_this.push(render.clone());
                attached.push(render);
            }
        } else {
            devices.push(object(vec![("id", node.as_str().into())]));
        }
        let edits: Vec<Json> = of_this.into_iter().map(|n| object(vec![("path", n.into())])).collect();
        spec.push(object(vec![
            ("name", node[PREFIX.len()..].into()),
            ("containerEdits", object(vec![("deviceNodes", edits.into())])),
        ]));
    }
    let spec = object(vec![("cdiVersion", "0.5.0".into()), ("kind", RESOURCE.into()), ("devices", spec.into())]);
    let gpu = object(vec![
        ("vendor", VENDOR.into()),
        ("resource", RESOURCE.into()),
        ("devices", devices.into()),
        ("attach", vec![object(vec![("kind", "devices".into()), ("nodes", attached.into())])].into()),
        ("check", object(vec![("compute", "devices".into())])), // the nodes can be opened in a container
        ("node", object(vec![("target", "node".into())])),
        ("cdi", object(vec![("mode", "static".into()), ("kind", RESOURCE.into()), ("spec", spec)])),
    ]);
    let why = vec![format!("device nodes: {}", nodes.join(", "))];
    response("decision", vec![("why", why.into()), ("gpu", gpu)])
}

/// Knows two texts. To everything else it has nothing to say.
fn diagnose(failure: Option<&Json>) -> Json {
    let output = match failure {
        Some(f) => f.text("output"),
        None => return decline("there is no failure in the request"),
    };
    if let Some(line) = line_with(output, &["permission denied", "operation not permitted"]) {
        let text = format!("The container was not allowed to open the device nodes of {}.", VENDOR);
        let remedy = format!("look at who may use them: ls -l {}*", PREFIX);
        return reason("device-permission", &text, Some(remedy), vec![line]);
    }
    if let Some(line) = line_with(output, &["no such device", "no such file or directory"]) {
        let text = format!("A device node of {} went away: the driver was unloaded, or a card was reset.", VENDOR);
        let remedy = "load the driver again, then: rigup install".to_string();
        return reason("device-gone", &text, Some(remedy), vec![line]);
    }
    decline("the output has no text that this hook knows")
}

// ---- what the facts say ----

/// The elements of a fact, if they are known.
fn known<'a>(facts: &'a Json, name: &str) -> &'a [Json] {
    match facts.get(name) {
        Some(fact) if fact.text("status") == "known" => fact.list("value"),
        _ => &[],
    }
}

/// The vendor's PCI devices, by address. The order of the facts means nothing.
fn cards(facts: &Json) -> Vec<&Json> {
    let mut cards: Vec<&Json> = known(facts, "pci").iter().filter(|d| d.text("vendor") == PCI_ID).collect();
    cards.sort_by(|a, b| a.text("address").cmp(b.text("address")));
    cards
}

/// The paths of the driver's device nodes, by number: 2 goes before 10.
fn nodes(facts: &Json) -> Vec<String> {
    let mine = |path: &&str| match path.strip_prefix(PREFIX) {
        Some(number) => !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()),
        None => false,
    };
    let mut nodes: Vec<String> =
        known(facts, "devices").iter().map(|d| d.text("path")).filter(mine).map(str::to_string).collect();
    nodes.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    nodes
}

fn render_node(card: &Json) -> Option<String> {
    card.list("nodes").iter().find_map(|n| match n {
        Json::Text(path) if path.starts_with("/dev/dri/renderD") => Some(path.clone()),
        _ => None,
    })
}

// ---- responses ----

fn response(kind: &str, fields: Vec<(&str, Json)>) -> Json {
    let mut all = vec![("api", "rigup.hook/v1".into()), ("kind", kind.into())];
    all.extend(fields);
    object(all)
}

fn decline(why: &str) -> Json {
    response("decline", vec![("why", vec![why.to_string()].into())])
}

fn reason(id: &str, text: &str, remedy: Option<String>, evidence: Vec<String>) -> Json {
    let mut r = vec![("id", id.into()), ("text", text.into())];
    if let Some(remedy) = remedy {
        r.push(("remedy", vec![remedy].into()));
    }
    if !evidence.is_empty() {
        r.push(("evidence", evidence.into()));
    }
    response("reason", vec![("reason", object(r))])
}

fn device(card: &Json) -> Json {
    let mut fields = vec![("id", card.text("address").into())];
    for name in ["model", "memory"] {
        if let Some(v) = card.get(name) {
            fields.push((name, v.clone()));
        }
    }
    object(fields)
}

fn no_driver(cards: &[&Json]) -> Json {
    let text = format!("The driver of {} is not loaded: there are no device nodes {}*.", VENDOR, PREFIX);
    let remedy = format!("install the driver of {} and restart this machine, then: rigup install", VENDOR);
    let seen = |c: &&Json| {
        let driver = if c.text("driver").is_empty() { "none" } else { c.text("driver") };
        format!("{} is {}:{}, driver: {}", c.text("address"), c.text("vendor"), c.text("device"), driver)
    };
    reason("driver-missing", &text, Some(remedy), cards.iter().map(seen).collect())
}

/// The first line that has one of the texts, which are in lower case, shortened.
fn line_with(output: &str, texts: &[&str]) -> Option<String> {
    let line = output.lines().find(|l| {
        let l = l.to_ascii_lowercase();
        texts.iter().any(|t| l.contains(t))
    })?;
    let mut end = line.len().min(200);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    Some(line[..end].trim().to_string())
}
