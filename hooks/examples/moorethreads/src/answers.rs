//! The responses of a hook.

use crate::json::Json;
pub use crate::json::object;

pub fn response(kind: &str, fields: Vec<(&str, Json)>) -> Json {
    let mut all = vec![("api", "rigup.hook/v1".into()), ("kind", kind.into())];
    all.extend(fields);
    object(all)
}

pub fn decline(why: &str) -> Json {
    response("decline", vec![("why", vec![why.to_string()].into())])
}

pub fn probes(list: Vec<Vec<(&str, Json)>>) -> Json {
    let list: Vec<Json> = list.into_iter().map(object).collect();
    response("probes", vec![("probes", list.into())])
}

pub fn reason(id: &str, text: &str, remedy: Vec<String>, evidence: Vec<String>) -> Json {
    response("reason", vec![("reason", reason_object(id, text, remedy, evidence))])
}

pub fn reason_object(id: &str, text: &str, remedy: Vec<String>, evidence: Vec<String>) -> Json {
    let mut r = vec![("id", id.into()), ("text", text.into())];
    for (name, list) in [("remedy", remedy), ("evidence", evidence)] {
        if !list.is_empty() {
            r.push((name, list.into()));
        }
    }
    object(r)
}
