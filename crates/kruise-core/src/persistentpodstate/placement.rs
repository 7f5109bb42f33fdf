//! Where a pod that comes back should go (PP-17 … PP-25). Called by the admission of pods, on creation only.

use kruise_api::annotations;
use kruise_api::kubernetes::operator;
use kruise_api::labels::TRUE;
use serde_json::{Map, Value, json};

use super::target::{Supported, Target};
use super::view::{Record, Spec};

/// The workload that a new pod belongs to, if its pods may be remembered. Everything else need not be looked up.
pub fn target_of(pod: &Value, supported: &Supported) -> Option<Target> {
    let owners = pod.pointer("/metadata/ownerReferences")?.as_array()?;
    let target = Target::read(owners.iter().find(|owner| owner["controller"] == true)?);
    supported.has(&target).then_some(target)
}

/// Of all objects of a target, the one that counts: not being deleted, the oldest, then by name (D13).
pub fn chosen<'a>(objects: impl IntoIterator<Item = &'a Value>) -> Option<&'a Value> {
    let text =
        |object: &'a Value, path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let is_there = |object: &&Value| object.pointer("/metadata/deletionTimestamp").is_none_or(Value::is_null);
    objects
        .into_iter()
        .filter(is_there)
        .min_by_key(|object| (text(object, "/metadata/creationTimestamp"), text(object, "/metadata/name")))
}

/// Steers a new pod to where the object remembers it. Nothing changes without a record that has node labels.
pub fn place(pod: &mut Value, object: &Value) {
    let name = pod.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let stored = object.pointer("/status/podStates").and_then(|states| states.get(name));
    let Some(record) = stored.map(Record::read).filter(|record| !record.labels.is_empty()) else { return };
    let spec = Spec::read(object.get("spec").unwrap_or(&Value::Null));
    let wins =
        object.pointer("/metadata/annotations").and_then(|all| all.get(annotations::PPS_TEMPLATE_WINS));
    let conflict =
        if wins.is_some_and(|value| value == TRUE) { Conflict::TemplateWins } else { Conflict::RecordWins };
    let is_required = require(pod, &spec, &record, conflict);
    let is_preferred = prefer(pod, &spec, &record);
    if is_required || is_preferred {
        let by = object.pointer("/metadata/name").cloned().unwrap_or_default();
        if let Some(all) = object_at(pod, &["metadata", "annotations"]) {
            all.insert(annotations::PPS_INJECTED.to_owned(), by);
        }
    }
}

/// What happens to a required key for which the template has a value of its own (D5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conflict {
    /// As the original.
    RecordWins,
    TemplateWins,
}

fn require(pod: &mut Value, spec: &Spec, record: &Record, conflict: Conflict) -> bool {
    let known: Vec<_> = spec.required.iter().filter_map(|key| Some((key, record.labels.get(key)?))).collect();
    if known.is_empty() {
        return false;
    }
    let Some(selector) = object_at(pod, &["spec", "nodeSelector"]) else { return false };
    for (key, value) in known {
        if conflict == Conflict::RecordWins || !selector.contains_key(key) {
            selector.insert(key.clone(), json!(value));
        }
    }
    true
}

/// One term per entry, also one that ends up without expressions (PP-19).
fn prefer(pod: &mut Value, spec: &Spec, record: &Record) -> bool {
    if spec.preferred.is_empty() {
        return false;
    }
    let term = |weight: i64, keys: &[String]| {
        let known = keys.iter().filter_map(|key| Some((key, record.labels.get(key)?)));
        let expressions: Vec<Value> = known
            .map(|(key, value)| json!({"key": key, "operator": operator::IN, "values": [value]}))
            .collect();
        let preference =
            if expressions.is_empty() { json!({}) } else { json!({"matchExpressions": expressions}) };
        // Outside of this the API server would refuse the pod (D3).
        json!({"weight": weight.clamp(1, 100), "preference": preference})
    };
    let terms = spec.preferred.iter().map(|one| term(one.weight, &one.keys));
    let Some(affinity) = object_at(pod, &["spec", "affinity", "nodeAffinity"]) else { return false };
    let list = affinity.entry("preferredDuringSchedulingIgnoredDuringExecution").or_insert_with(|| json!([]));
    if list.is_null() {
        *list = json!([]);
    }
    let Some(list) = list.as_array_mut() else { return false };
    list.extend(terms);
    true
}

/// The object at a path, made where there is none.
fn object_at<'a>(pod: &'a mut Value, path: &[&str]) -> Option<&'a mut Map<String, Value>> {
    path.iter()
        .try_fold(pod, |place, step| {
            let next = place.as_object_mut()?.entry(*step).or_insert_with(|| json!({}));
            if next.is_null() {
                *next = json!({});
            }
            Some(next)
        })?
        .as_object_mut()
}
