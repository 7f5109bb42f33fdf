//! Strategic merge: lists that Kubernetes merges by a key of their items, and the directives we send.

use serde_json::{Map, Value};

/// Lists of pods and their metadata that are merged by this field of an item. All others are replaced.
fn key_of(field: &str) -> Option<&'static str> {
    match field {
        "containers" | "initContainers" | "ephemeralContainers" | "volumes" | "env" | "imagePullSecrets" => {
            Some("name")
        }
        "conditions" => Some("type"),
        "ownerReferences" => Some("uid"),
        "ports" => Some("containerPort"),
        "volumeMounts" => Some("mountPath"),
        "topologySpreadConstraints" => Some("topologyKey"),
        "podIPs" => Some("ip"),
        _ => None,
    }
}

const DELETE_FROM: &str = "$deleteFromPrimitiveList/";

/// Merges `patch` into the value of `field`.
pub fn merge(value: &mut Value, patch: &Value, field: &str) {
    match patch {
        Value::Object(members) => {
            if !value.is_object() {
                *value = Value::Object(Map::new());
            }
            if let Some(map) = value.as_object_mut() {
                merge_members(map, members);
            }
        }
        Value::Array(items) => match (key_of(field), value.as_array_mut()) {
            (Some(key), Some(list)) => merge_items(list, items, key),
            (Some(key), None) => {
                let mut list = Vec::new();
                merge_items(&mut list, items, key);
                *value = Value::Array(list);
            }
            (None, Some(list)) if field == "finalizers" => {
                let new: Vec<Value> = items.iter().filter(|item| !list.contains(item)).cloned().collect();
                list.extend(new);
            }
            (None, _) => *value = patch.clone(),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => *value = patch.clone(),
    }
}

fn merge_members(map: &mut Map<String, Value>, members: &Map<String, Value>) {
    for (name, inner) in members {
        if let Some(list) = name.strip_prefix(DELETE_FROM) {
            let gone = inner.as_array().cloned().unwrap_or_default();
            if let Some(there) = map.get_mut(list).and_then(Value::as_array_mut) {
                there.retain(|item| !gone.contains(item));
            }
        } else if name.starts_with("$setElementOrder/") || name == "$patch" || name == "$retainKeys" {
            // Order and replacement are not asked for by us.
        } else if inner.is_null() {
            map.shift_remove(name);
        } else {
            merge(map.entry(name.clone()).or_insert(Value::Null), inner, name);
        }
    }
}

fn merge_items(list: &mut Vec<Value>, items: &[Value], key: &str) {
    for item in items {
        let found = list.iter_mut().find(|there| there.get(key).is_some() && there.get(key) == item.get(key));
        if item.get("$patch").and_then(Value::as_str) == Some("delete") {
            list.retain(|there| there.get(key) != item.get(key));
        } else if let Some(there) = found {
            merge(there, item, "");
        } else {
            let mut new = Value::Null;
            merge(&mut new, item, "");
            list.push(new);
        }
    }
}
