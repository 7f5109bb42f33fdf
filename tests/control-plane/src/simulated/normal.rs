//! What two servers may answer differently, and only that.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Fields that are dropped wherever they are, with why.
const DROPPED: &[&str] = &[
    "managedFields", // Nobody of ours reads them.
    "message",       // Words for people; programs read reason, code and causes.
    "tolerations",   // Added by admission, like the next ones.
    "priority",
    "preemptionPolicy",
    "serviceAccount",
    "serviceAccountName",
    "observedGeneration", // Of conditions that the scheduler writes.
    "lastProbeTime",
    "remainingItemCount", // Only an estimate.
    "continue",           // Opaque.
    "reportingInstance",  // An empty text of events.
    "storageClassName",   // Set by admission where a default class exists.
    "causes",             // Compared as a set, see below.
];

/// Fields whose value is one of its own: only that there is one is compared.
const OWN: &[&str] = &["creationTimestamp", "deletionTimestamp", "lastTransitionTime"];

pub fn normal(body: Value) -> Value {
    match body {
        Value::Object(map) => Value::Object(members(map)),
        Value::Array(list) => {
            Value::Array(list.into_iter().filter(|item| !is_token(item)).map(normal).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => body,
    }
}

fn members(map: Map<String, Value>) -> Map<String, Value> {
    let causes = causes(map.get("causes"));
    let is_list = map.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
    let is_bookmark = map.get("type").and_then(Value::as_str) == Some("BOOKMARK");
    let mut out = Map::new();
    for (name, value) in map {
        if DROPPED.contains(&name.as_str()) || value.is_null() {
            continue;
        }
        let value = match (name.as_str(), OWN.contains(&name.as_str())) {
            (_, true) => "<time>".into(),
            // The version of a list is that of the whole server, where others write too.
            ("metadata", _) if is_list => continue,
            // Of a bookmark only metadata counts; the rest are zeros of its type. Its version is that of the
            // whole server, like that of a list.
            ("object", _) if is_bookmark => {
                let mut metadata = normal(value["metadata"].clone());
                metadata["resourceVersion"] = "<of the server>".into();
                json!({"metadata": metadata})
            }
            (_, _) => normal(value),
        };
        // Nothing and an empty list or map are the same to every reader.
        let is_empty = match &value {
            Value::Array(list) => list.is_empty(),
            Value::Object(inner) => inner.is_empty(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        };
        if !is_empty {
            out.insert(name, value);
        }
    }
    if let Some(causes) = causes {
        out.insert("causes".into(), causes);
    }
    out.sort_keys();
    out
}

/// Reasons and fields, in any order.
fn causes(causes: Option<&Value>) -> Option<Value> {
    let mut all: Vec<String> = causes?
        .as_array()?
        .iter()
        // That rules were not checked because of other faults.
        .filter(|cause| !matches!(cause["field"].as_str(), Some("<nil>")))
        // A wrong type is told twice, once by its path with a dot.
        .filter(|cause| !cause["field"].as_str().is_some_and(|field| field.starts_with('.')))
        .map(|cause| {
            format!("{} {}", cause["reason"].as_str().unwrap_or("-"), cause["field"].as_str().unwrap_or("-"))
        })
        .collect();
    all.sort();
    all.dedup();
    Some(all.into())
}

/// The volume with the service account's token, and where it is mounted.
fn is_token(item: &Value) -> bool {
    item["name"].as_str().is_some_and(|name| name.starts_with("kube-api-access"))
}

/// Replaces uids and versions by the step that said them first; those that nobody said by a common word.
pub fn name(value: &mut Value, known: &BTreeMap<String, String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                if matches!(key.as_str(), "uid" | "resourceVersion")
                    && let Some(text) = inner.as_str()
                {
                    let place = known.iter().find(|(_, said)| *said == text).map(|(place, _)| place.clone());
                    *inner = place.unwrap_or_else(|| "<new>".to_owned()).into();
                } else {
                    name(inner, known);
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|inner| name(inner, known)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
