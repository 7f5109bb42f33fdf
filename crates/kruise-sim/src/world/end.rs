//! How a run ended, so that it can be compared with another one: everything that a user sees, without names and times.

use kruise_api::labels::{CLONESET_INSTANCE_ID, STATEFULSET_POD_NAME};
use serde_json::{Map, Value, json};

use super::actors::Kinds;
use super::scenario::{BAD_IMAGE, Kind, Scenario};
use crate::server::{DRAWN, Object, Server, resources};

/// The state at the end: the workload's spec and status, its pods and claims, each list sorted.
pub fn state(server: &Server, scenario: &Scenario) -> Value {
    let Some(kinds) = Kinds::find() else { return Value::Null };
    let keeps_names = scenario.kind == Kind::StatefulSet;
    let state = server.lock();
    let sorted = |kind: &resources::Kind| {
        let mut all: Vec<String> = state
            .store
            .list(kind.id, "default")
            .map(|(name, object)| {
                let name = if keeps_names { &*name.1 } else { "" };
                json!({"name": name, "what": plain(object)}).to_string()
            })
            .collect();
        all.sort();
        all
    };
    let set = resources::find(kruise_api::names::APPS_GROUP, "v1beta1", scenario.kind.plural());
    let set = set.and_then(|kind| state.store.get(kind.id, &("default".into(), "web".into())));
    let mut status = set.and_then(|set| set.value.get("status")).cloned().unwrap_or_default();
    drop_times(&mut status);
    json!({
        "spec": set.and_then(|set| set.value.get("spec")),
        "status": status,
        "pods": sorted(kinds.pods),
        "claims": sorted(kinds.claims),
        "revisions": state.store.list(kinds.revisions.id, "default").map(|(name, _)| name.1.to_string()).collect::<Vec<_>>(),
    })
}

/// Labels, spec without what was drawn by lot, and whether it is ready.
fn plain(object: &Object) -> Value {
    let mut labels = object.value.pointer("/metadata/labels").cloned().unwrap_or_default();
    if let Some(labels) = labels.as_object_mut() {
        labels.shift_remove(CLONESET_INSTANCE_ID);
        labels.shift_remove(STATEFULSET_POD_NAME);
        // Put there by a hook that somebody edited in: such a label is its owner's to take off, also when the hook is gone.
        labels.shift_remove(DRAWN);
        labels.sort_keys();
    }
    let mut spec = object.value.get("spec").cloned().unwrap_or_default();
    if let Some(spec) = spec.as_object_mut() {
        spec.shift_remove("nodeName");
        spec.shift_remove("hostname");
        spec.shift_remove("volumes");
        spec.sort_keys();
    }
    let mut conditions: Vec<String> = object
        .value
        .pointer("/status/conditions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|one| Some(format!("{}={}", one.get("type")?.as_str()?, one.get("status")?.as_str()?)))
        .collect();
    conditions.sort();
    json!({"labels": labels, "spec": spec, "phase": object.str("/status/phase"), "conditions": conditions, "deleting": object.is_deleting()})
}

fn drop_times(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for name in ["lastTransitionTime", "lastUpdateTime", "observedGeneration", "message"] {
                map.shift_remove(name);
            }
            // A list that has become empty again says what no list says.
            map.retain(|_, one| one.as_array().is_none_or(|list| !list.is_empty()));
            let inner: &mut Map<String, Value> = map;
            inner.values_mut().for_each(drop_times);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_times),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether the workload is where its user wants it; if not, what is missing.
pub fn goal(server: &Server, scenario: &Scenario) -> Result<(), String> {
    let Some(kinds) = Kinds::find() else { return Err("no kinds".into()) };
    let set = resources::find(kruise_api::names::APPS_GROUP, "v1beta1", scenario.kind.plural());
    let state = server.lock();
    let set = set.and_then(|kind| state.store.get(kind.id, &("default".into(), "web".into())));
    let Some(set) = set else { return Err("the workload is gone".into()) };
    let number = |pointer: &str| set.value.pointer(pointer).and_then(Value::as_i64);
    let wanted = number("/spec/replicas").unwrap_or(1);
    // Failed pods of a CloneSet stay for whoever wants to know why (CS-6).
    let pods = state.store.list(kinds.pods.id, "default").map(|(_, pod)| pod);
    let pods: Vec<&std::sync::Arc<Object>> = pods.filter(|pod| !super::rules::is_over(pod)).collect();
    let ready = pods.iter().filter(|pod| super::rules::is_available(pod)).count();
    let ready = i64::try_from(ready).unwrap_or(i64::MAX);
    let all = i64::try_from(pods.len()).unwrap_or(i64::MAX);
    let partition = number("/spec/updateStrategy/rollingUpdate/partition").unwrap_or(0).min(wanted);
    // A partition keeps pods of an older revision, also where that is a bad edit which was taken back.
    let is_bad = |pod: &&&std::sync::Arc<Object>| pod.str("/spec/containers/0/image") == BAD_IMAGE;
    let bad = pods.iter().filter(is_bad).filter(|pod| !super::rules::is_updated(pod, set)).count();
    let serving = wanted - i64::try_from(bad).unwrap_or(0).min(partition);
    if (ready, all) != (serving, wanted) {
        return Err(format!("{ready} of {all} pods are available, {wanted} are wanted"));
    }
    if let Some(other) = pods.iter().find(|pod| !super::rules::is_wanted(pod, scenario.kind, set)) {
        return Err(format!("pod {} is not wanted", other.str("/metadata/name")));
    }
    if number("/status/observedGeneration") != number("/metadata/generation") {
        return Err("the status does not speak of the newest generation".into());
    }
    let updated =
        i64::try_from(pods.iter().filter(|pod| super::rules::is_updated(pod, set)).count()).unwrap_or(0);
    // A partition that is raised later brings nobody back.
    if updated < wanted - partition {
        return Err(format!("{updated} pods are updated, at least {} should be", wanted - partition));
    }
    for (field, expected) in [("replicas", wanted), ("readyReplicas", serving), ("updatedReplicas", updated)]
    {
        let said = number(&format!("/status/{field}")).unwrap_or(0);
        if said != expected {
            return Err(format!("status.{field} is {said} instead of {expected}"));
        }
    }
    Ok(())
}
