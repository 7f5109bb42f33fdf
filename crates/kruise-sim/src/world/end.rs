//! How a run ended, so that it can be compared with another one: everything that a user sees, without names and times.

use kruise_api::labels::{
    BROADCASTJOB_CONTROLLER_UID, BROADCASTJOB_NAME, CLONESET_INSTANCE_ID, STATEFULSET_POD_NAME,
};
use serde_json::{Map, Value, json};

use super::actors::Kinds;
use super::scenario::Scenario;
use crate::kinds::workload::{self, Names};
use crate::server::{DRAWN, Object, Server, resources};

/// The state at the end: the subject's spec and status, its pods and claims, each list sorted.
pub fn state(server: &Server, scenario: &Scenario) -> Value {
    let Some(kinds) = Kinds::find() else { return Value::Null };
    let workload = scenario.subject.and_then(|target| workload::described(target.resource));
    let names = workload.map_or(scenario.kind.pod_names, |workload| workload.names);
    let keeps_names = names == Names::Kept;
    let state = server.lock();
    let sorted = |kind: &resources::Kind| {
        let mut all: Vec<String> = state
            .store
            .list(kind.id, "default")
            .map(|(name, object)| {
                let text = json!({"name": &*name.1, "what": plain(object)}).to_string();
                // A drawn name is also part of what is derived from it.
                if keeps_names { text } else { text.replace(&*name.1, "") }
            })
            .collect();
        all.sort();
        all
    };
    let set = scenario.subject.and_then(|target| target.find(&state.store));
    let mut status = set.and_then(|set| set.value.get("status")).cloned().unwrap_or_default();
    drop_times(&mut status);
    json!({
        "spec": set.and_then(|set| set.value.get("spec")),
        "status": status,
        "pods": sorted(kinds.pods),
        "claims": sorted(kinds.claims),
        "own": (scenario.kind.end)(&state.store),
        "revisions": state.store.list(kinds.revisions.id, "default").map(|(name, _)| name.1.to_string()).collect::<Vec<_>>(),
    })
}

/// Labels, spec without what was drawn by lot, and whether it is ready.
fn plain(object: &Object) -> Value {
    let mut labels = object.value.pointer("/metadata/labels").cloned().unwrap_or_default();
    if let Some(labels) = labels.as_object_mut() {
        labels.shift_remove(CLONESET_INSTANCE_ID);
        labels.shift_remove(STATEFULSET_POD_NAME);
        // A job that a schedule made is called by its time, and which of them was the last is a matter of time.
        labels.shift_remove(BROADCASTJOB_CONTROLLER_UID);
        labels.shift_remove(BROADCASTJOB_NAME);
        // Put there by a hook that somebody edited in: such a label is its owner's to take off, also when the hook is gone.
        labels.shift_remove(DRAWN);
        labels.sort_keys();
    }
    let mut spec = object.value.get("spec").cloned().unwrap_or_default();
    if let Some(spec) = spec.as_object_mut() {
        spec.shift_remove("nodeName");
        spec.shift_remove("hostname");
        spec.shift_remove("volumes");
        // Where a pod was put first is drawn by lot, and so is where it comes back to.
        spec.shift_remove("nodeSelector");
        // The uid of the job that put them there.
        let ephemeral = spec.get_mut("ephemeralContainers").and_then(Value::as_array_mut);
        for one in ephemeral.into_iter().flatten().filter_map(Value::as_object_mut) {
            one.shift_remove("env");
        }
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

/// Fields that two runs of one scenario may differ in.
const TIMES: [&str; 8] = [
    "lastTransitionTime",
    "lastUpdateTime",
    "lastProbeTime",
    "startTime",
    "lastScheduleTime",
    "completionTime",
    "observedGeneration",
    "message",
];

fn drop_times(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for name in TIMES {
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
