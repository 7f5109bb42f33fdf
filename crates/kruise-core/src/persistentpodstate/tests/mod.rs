//! Fixtures of this kind, and its tests.

mod admission;
mod generate;
mod placement;
mod plan;
mod properties;
mod target;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{View, Workload};
use crate::chain::{Act, Patch};
use crate::fixtures::{Pod, pod, t0};
use crate::plan::Plan;

/// An object that remembers zone and host of the pods of StatefulSet `web`.
pub fn object() -> Value {
    json!({
        "metadata": {"name": "web", "namespace": "n", "uid": "p", "generation": 1, "resourceVersion": "7"},
        "spec": {
            "targetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"},
            "requiredPersistentTopology": {"keys": ["zone"]},
            "preferredPersistentTopology": [{"weight": 100, "preference": {"keys": ["host"]}}],
        },
        "status": {"observedGeneration": 1},
    })
}

pub fn with(mut object: Value, path: &str, value: Value) -> Value {
    let (parent, key) = path.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap().as_object_mut().unwrap().insert(key.to_owned(), value);
    object
}

/// The object with a record per pod: `(pod, node)`.
pub fn remembering(records: &[(&str, &str)]) -> Value {
    let states = records.iter().map(|(pod, node)| ((*pod).to_owned(), record(node)));
    with(object(), "/status/podStates", Value::Object(states.collect()))
}

/// What is remembered of a node of [`nodes`].
pub fn record(node: &str) -> Value {
    json!({"nodeName": node, "nodeTopologyLabels": {"zone": format!("zone-{node}"), "host": node}})
}

pub fn nodes(names: &[&str]) -> BTreeMap<String, BTreeMap<String, String>> {
    let labels = |name: &str| {
        let pairs = [("zone", format!("zone-{name}")), ("host", name.to_owned()), ("other", "x".to_owned())];
        pairs.map(|(key, value)| (key.to_owned(), value)).into()
    };
    names.iter().map(|name| ((*name).to_owned(), labels(name))).collect()
}

pub fn statefulset(replicas: u32) -> Value {
    json!({"metadata": {"name": "web", "uid": "w"}, "spec": {"replicas": replicas}})
}

pub fn ready(name: &str, node: &str) -> Pod {
    pod(name).node(node).running().ready_since("2026-01-01T00:00:00Z")
}

/// A view with three replicas and three nodes.
pub fn view(object: &Value, pods: Vec<Pod>) -> View {
    let mut view = View::of(object);
    view.workload = Workload::of_statefulset(&statefulset(3));
    view.pods = pods.into_iter().map(|pod| Arc::new(pod.view())).collect();
    view.nodes = nodes(&["a", "b", "c"]);
    view
}

pub fn planned(view: &View) -> Plan {
    super::plan(view, t0())
}

/// The status that a plan writes, over the stored one.
pub fn status_after(object: &Value, plan: &Plan) -> Value {
    let mut status = object["status"].clone();
    if let Some(write) = &plan.status {
        let Act::Patch(Patch::Merge(body)) = &write.act else { panic!("{write:?}") };
        assert_eq!(body["metadata"]["uid"], object["metadata"]["uid"]);
        merge(&mut status, &body["status"]);
    }
    status
}

/// JSON merge patch, as the API server applies it.
pub fn merge(target: &mut Value, patch: &Value) {
    let Some(changes) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, change) in changes {
        let members = target.as_object_mut().unwrap();
        if change.is_null() {
            members.shift_remove(key);
        } else {
            merge(members.entry(key).or_insert(Value::Null), change);
        }
    }
}
