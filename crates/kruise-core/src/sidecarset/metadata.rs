//! Annotations that pods get from a SidecarSet (SS-48).

use serde_json::{Map, Value};

use super::sidecar::{MetadataPatch, Patching};
use crate::revision::gojson;

/// What the annotations that are patched become. `there` is what the pod has now.
pub fn patched<'a>(
    patches: &[MetadataPatch],
    there: impl Fn(&str) -> Option<&'a str>,
) -> Result<Vec<(String, String)>, String> {
    let mut changed: Vec<(String, String)> = Vec::new();
    for patch in patches {
        for (key, value) in &patch.annotations {
            let earlier = changed.iter().rev().find(|(one, _)| one == key).map(|(_, text)| text.clone());
            let current = earlier.or_else(|| there(key).map(str::to_owned));
            let wanted = match (patch.policy, current) {
                (Patching::Unknown, _) | (Patching::Retain, Some(_)) => continue,
                (Patching::MergeJson, Some(current)) if !current.is_empty() => merged(key, &current, value)?,
                (Patching::Retain | Patching::Overwrite | Patching::MergeJson, _) => value.clone(),
            };
            changed.push((key.clone(), wanted));
        }
    }
    Ok(changed)
}

fn merged(key: &str, current: &str, patch: &str) -> Result<String, String> {
    let read = |whose: &str, text: &str| {
        serde_json::from_str::<Value>(text)
            .map_err(|error| format!("annotation {key}: {whose} value is not JSON: {error}"))
    };
    let mut target = read("the pod's", current)?;
    merge(&mut target, read("the SidecarSet's", patch)?);
    Ok(gojson::sorted(&target))
}

/// RFC 7386.
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(object) = target.as_object_mut() else { return };
    for (key, value) in patch {
        if value.is_null() {
            object.shift_remove(&key);
        } else {
            merge(object.entry(key).or_insert(Value::Null), value);
        }
    }
}
