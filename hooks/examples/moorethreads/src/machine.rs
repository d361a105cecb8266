//! What the facts say about Moore Threads GPUs.

use crate::json::Json;

const PCI_ID: &str = "0x1ed5";
pub const NODE: &str = "/dev/mtgpu.";
pub const RENDER: &str = "/dev/dri/renderD";

/// Names of cards, by PCI device id, as the public list of PCI ids has them.
const MODELS: [(&str, &str); 12] = [
    ("0x0100", "MTT S10"),
    ("0x0101", "MTT S10"),
    ("0x0102", "MTT S30"),
    ("0x0105", "MTT S50"),
    ("0x0106", "MTT S60"),
    ("0x0111", "MTT S100"),
    ("0x0121", "MTT S1000M"),
    ("0x0122", "MTT S1000"),
    ("0x0123", "MTT S2000"),
    ("0x0201", "MTT S80"),
    ("0x0202", "MTT S70"),
    ("0x0222", "MTT S3000"),
];

pub struct Card {
    pub address: String,
    pub id: String,
    pub model: String,
    pub driver: String,
    pub memory: Option<Json>,
    pub render: Option<String>,
}

impl Card {
    fn of(d: &Json) -> Card {
        let named = MODELS.iter().find(|(id, _)| *id == d.text("device")).map_or("", |(_, name)| name);
        let render = d.list("nodes").iter().find_map(|n| match n {
            Json::Text(path) if path.starts_with(RENDER) => Some(path.clone()),
            _ => None,
        });
        Card {
            address: d.text("address").to_string(),
            id: d.text("device").to_string(),
            model: if d.text("model").is_empty() { named } else { d.text("model") }.to_string(),
            driver: d.text("driver").to_string(),
            memory: d.get("memory").cloned(),
            render,
        }
    }

    /// The card as evidence.
    pub fn line(&self) -> String {
        let driver = if self.driver.is_empty() { "none" } else { &self.driver };
        format!("{} is {}:{}, driver: {}", self.address, PCI_ID, self.id, driver)
    }
}

pub struct Node {
    pub number: u32,
}

impl Node {
    pub fn path(&self) -> String {
        format!("{}{}", NODE, self.number)
    }
}

pub struct Machine {
    pub cards: Vec<Card>, // by PCI address
    pub nodes: Vec<Node>, // by number
    pub render: Vec<String>,
    pub nodes_unknown: Option<String>, // why
}

impl Machine {
    pub fn of(facts: &Json) -> Machine {
        let mut cards: Vec<Card> = known(facts, "pci").iter().filter(|d| d.text("vendor") == PCI_ID).map(Card::of).collect();
        cards.sort_by(|a, b| a.address.cmp(&b.address));
        let number = |d: &Json| d.text("path").strip_prefix(NODE)?.parse().ok().map(|number| Node { number });
        let mut nodes: Vec<Node> = known(facts, "devices").iter().filter_map(number).collect();
        nodes.sort_by_key(|n| n.number);
        let listed = facts.get("devices").unwrap_or(&Json::Null);
        Machine {
            render: cards.iter().filter_map(|c| c.render.clone()).collect(),
            nodes_unknown: if listed.text("status") == "unknown" { Some(listed.text("why").to_string()) } else { None },
            cards,
            nodes,
        }
    }

    /// The cards, if there is one for each node: the driver numbers them by PCI address.
    pub fn pairs(&self) -> Option<&[Card]> {
        if self.cards.len() == self.nodes.len() {
            Some(&self.cards)
        } else {
            None
        }
    }

    /// What the answers rest on.
    pub fn seen(&self) -> Vec<String> {
        let mut out: Vec<String> = self
            .cards
            .iter()
            .map(|c| format!("{} at {}", if c.model.is_empty() { "a Moore Threads GPU" } else { &c.model }, c.address))
            .collect();
        if !self.nodes.is_empty() {
            let paths: Vec<String> = self.nodes.iter().map(Node::path).collect();
            out.push(format!("device nodes: {}", paths.join(", ")));
        }
        out
    }
}

/// The elements of a fact, if they are known.
pub fn known<'a>(facts: &'a Json, name: &str) -> &'a [Json] {
    match facts.get(name) {
        Some(fact) if fact.text("status") == "known" => fact.list("value"),
        _ => &[],
    }
}
