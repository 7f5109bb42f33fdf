//! PodProbeMarker: the node probes what the marker says, and nothing after it; pods are marked with what was found, and only then. Node
//! agents are played by actors.

use std::collections::BTreeSet;

use kruise_api::apps::nodepodprobe::state::SUCCEEDED;
use kruise_api::finalizers::POD_PROBE_MARKER;
use kruise_api::resource::{NODES, PODS};
use kruise_core::lookup::Slim;
use kruise_core::nodepodprobe::NodePodProbe;
use kruise_core::podprobemarker::PodProbeMarker;
use serde_json::{Value, json};

use super::SimulatedKind;
use super::workload::Names;
use crate::server::{Change, Object, Store};
use crate::world::rules::{Notes, SafetyRules, is_manager};
use crate::world::scenario::{Scenario, Step, Target, merge};

pub static KIND: SimulatedKind = SimulatedKind {
    registered: "podprobemarker",
    title: "PodProbeMarker",
    scenarios,
    random: None,
    workload: None,
    pod_names: Names::Kept,
    rules: Some(|| Box::new(Rules::default())),
    goal,
    end: super::nothing,
};

/// No other scenario has a node that is Ready, so that only these have agents.
pub const NODE: Target = Target::new(NODES, "node-p");
pub const LIST: Target = Target::new(NodePodProbe::RESOURCE, "node-p");
const MARKER: Target = Target::new(PodProbeMarker::RESOURCE, "m");
const OTHER: Target = Target::new(PodProbeMarker::RESOURCE, "mm");
/// The mark of a probe that succeeded.
const MARK: &str = "idle";

fn scenarios() -> Vec<Scenario> {
    use Step::{Create, Delete, Patch, Settle};
    let scenario = |name, steps: Vec<Step>| {
        let empty = Scenario::new(&KIND, name).with(NODE, node()).with(MARKER, marker(MARKER.name, "true"));
        empty.with(pod_named("a"), pod("a")).then(steps)
    };
    let fails = json!({"spec": {"probes": [probe("false")]}});
    let other = Create(OTHER, marker(OTHER.name, "true"));
    let later = Create(pod_named("b"), pod("b"));
    vec![
        scenario("marks", vec![Settle, later, Settle]),
        scenario("edited", vec![Settle, Patch(MARKER, fails), Settle]),
        scenario("deleted", vec![other, Settle, Delete(MARKER), Settle]),
    ]
}

pub fn node() -> Value {
    let ready = json!([{"type": "Ready", "status": "True"}]);
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE.name}, "status": {"conditions": ready}})
}

pub fn pod_named(name: &'static str) -> Target {
    Target::new(PODS, name)
}

pub fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "probed"}},
        "spec": {
            "nodeName": NODE.name, "containers": [{"name": "main", "image": "nginx:1"}], "terminationGracePeriodSeconds": 2,
        },
    })
}

fn probe(command: &str) -> Value {
    json!({
        "name": "idle", "containerName": "main", "podConditionType": "example.com/idle",
        "probe": {"exec": {"command": [command]}}, "markerPolicy": [{"state": SUCCEEDED, "labels": {MARK: "yes"}}],
    })
}

pub fn marker(name: &str, command: &str) -> Value {
    let resource = PodProbeMarker::RESOURCE;
    let mut probe = probe(command);
    if name != MARKER.name {
        merge(&mut probe, &json!({"podConditionType": "example.com/other", "markerPolicy": null}));
    }
    let spec = json!({"selector": {"matchLabels": {"app": "probed"}}, "probes": [probe]});
    json!({"apiVersion": resource.api_version(), "kind": resource.kind(), "metadata": {"name": name}, "spec": spec})
}

/// What the node probes, as `pod marker#probe`.
pub fn probed(list: &Object) -> BTreeSet<String> {
    let pods = list.value.pointer("/spec/podProbes").and_then(Value::as_array).into_iter().flatten();
    let names = |pod: &Value| -> Vec<String> {
        let probes = pod.get("probes").and_then(Value::as_array).into_iter().flatten();
        let text = |value: &Value, field: &str| {
            value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        probes.map(|probe| format!("{} {}", text(pod, "name"), text(probe, "name"))).collect()
    };
    pods.flat_map(names).collect()
}

/// Status of a condition, and whether the mark is there.
fn shown(store: &Store, pod: &'static str, kind: &str) -> (String, bool) {
    let Some(pod) = pod_named(pod).find(store) else { return (String::new(), false) };
    let all = pod.value.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    let mut found = all.into_iter().filter(|one| one.get("type").is_some_and(|text| text == kind));
    let status = found.next().and_then(|one| one.get("status")?.as_str()).unwrap_or_default();
    (status.to_owned(), is_marked(pod))
}

fn is_marked(pod: &Object) -> bool {
    pod.value.pointer("/metadata/labels").is_some_and(|labels| labels.get(MARK).is_some())
}

/// The list says what the markers and pods that are there want; somebody may have evicted a pod.
pub fn is_told(store: &Store) -> Result<(), String> {
    let list = LIST.find(store).ok_or("the node has no NodePodProbe")?;
    let is_there = |target: &&Target| target.find(store).is_some_and(|object| !object.is_deleting());
    let pods = [pod_named("a"), pod_named("b")];
    let wanted = pods.iter().filter(is_there).flat_map(|pod| {
        let markers = [MARKER, OTHER].into_iter().filter(|marker| is_there(&marker));
        markers.map(|marker| format!("{} {}#idle", pod.name, marker.name))
    });
    let wanted: BTreeSet<String> = wanted.collect();
    if probed(list) == wanted {
        return Ok(());
    }
    Err(format!("the node probes {:?} instead of {wanted:?}", probed(list)))
}

fn goal(store: &Store, scenario: &Scenario) -> Result<(), String> {
    is_told(store)?;
    let wanted = match scenario.name {
        "marks" => Some(("True", true)),
        "edited" => Some(("False", false)),
        _ => None, // It may have gone before anything was found.
    };
    let found = shown(store, "a", "example.com/idle");
    if let Some((status, has_mark)) = wanted
        && pod_named("a").find(store).is_some_and(|pod| !pod.is_deleting())
        && found != (status.to_owned(), has_mark)
    {
        return Err(format!("pod a shows {found:?} instead of {status} and mark {has_mark}"));
    }
    match (MARKER.find(store), scenario.name) {
        (None, "deleted") => Ok(()),
        (Some(_), "deleted") => Err("the marker is still there".into()),
        (Some(marker), _) if marker.str("/metadata/finalizers/0") == POD_PROBE_MARKER => Ok(()),
        (_, _) => Err("the marker is gone or has no finalizer".into()),
    }
}

/// Pods that an agent has found good at some time.
#[derive(Default)]
struct Rules {
    good: BTreeSet<String>,
}

impl SafetyRules for Rules {
    /// What an agent has said it has said.
    fn restored(&mut self, _: &Store) {}

    fn changed(&mut self, change: &Change<'_>, notes: &mut Notes) {
        let (now, before) = (&change.event.object, change.event.before.as_deref());
        if change.is_of(NodePodProbe::RESOURCE) {
            let all = now.value.pointer("/status/podProbeStatuses").and_then(Value::as_array);
            for pod in all.into_iter().flatten() {
                let is_good = pod
                    .pointer("/probeStates")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                    .any(|state| state.get("state").is_some_and(|one| one == SUCCEEDED));
                let uid = pod.get("uid").and_then(Value::as_str);
                self.good.extend(uid.filter(|_| is_good).map(str::to_owned));
            }
        }
        let is_new = is_marked(now) && !before.is_some_and(is_marked);
        if change.is_of(PODS) && is_new && is_manager(change.who) && !self.good.contains(now.uid()) {
            notes
                .broken
                .push(format!("pod {} was marked before any probe succeeded", now.str("/metadata/name")));
        }
    }
}
