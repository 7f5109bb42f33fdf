//! NodePodProbe: it comes and goes with its node, and no pod is in it twice.

use std::collections::BTreeSet;

use kruise_core::lookup::Slim;
use kruise_core::nodepodprobe::NodePodProbe;
use kruise_core::podprobemarker::PodProbeMarker;
use serde_json::Value;

use super::SimulatedKind;
use super::podprobemarker::{LIST, NODE, is_told, marker, node, pod, pod_named};
use super::workload::Names;
use crate::server::{Change, Store};
use crate::world::rules::{Notes, SafetyRules, is_manager};
use crate::world::scenario::{Scenario, Step, Target};

pub static KIND: SimulatedKind = SimulatedKind {
    registered: "nodepodprobe",
    title: "NodePodProbe",
    scenarios,
    random: None,
    workload: None,
    pod_names: Names::Kept,
    rules: Some(|| Box::new(Rules)),
    goal,
    end: super::nothing,
};

const MARKER: Target = Target::new(PodProbeMarker::RESOURCE, "m");

fn scenarios() -> Vec<Scenario> {
    use Step::{Create, Delete, Settle};
    let scenario = |name, steps: Vec<Step>| {
        let empty = Scenario::new(&KIND, name).with(NODE, node()).with(MARKER, marker(MARKER.name, "true"));
        empty.with(pod_named("a"), pod("a")).then(steps)
    };
    vec![
        scenario("node-gone", vec![Settle, Delete(NODE), Settle]),
        scenario("deleted", vec![Settle, Delete(LIST), Settle]),
        scenario(
            "pod-gone",
            vec![Settle, Delete(pod_named("a")), Settle, Create(pod_named("a"), pod("a")), Settle],
        ),
    ]
}

fn goal(store: &Store, scenario: &Scenario) -> Result<(), String> {
    match (LIST.find(store), scenario.name) {
        (None, "node-gone") => Ok(()),
        (Some(_), "node-gone") => Err("the list has outlived its node".into()),
        (None, _) => Err("the node has no list".into()),
        (Some(list), _) => is_told(store).and_then(|()| is_current(store, &list.value)),
    }
}

/// The list is about the pod that is there now, if it is about any.
fn is_current(store: &Store, list: &Value) -> Result<(), String> {
    let Some(listed) = list.pointer("/spec/podProbes/0/uid").and_then(Value::as_str) else { return Ok(()) };
    let uid = pod_named("a").find(store).map(|pod| pod.uid().to_owned()).unwrap_or_default();
    if listed == uid { Ok(()) } else { Err(format!("the node probes pod {listed} instead of {uid}")) }
}

/// Looks at what is written; needs no memory of its own.
struct Rules;

impl SafetyRules for Rules {
    fn restored(&mut self, _: &Store) {}

    fn changed(&mut self, change: &Change<'_>, notes: &mut Notes) {
        if !change.is_of(NodePodProbe::RESOURCE) || !is_manager(change.who) {
            return;
        }
        let pods = change.event.object.value.pointer("/spec/podProbes").and_then(Value::as_array);
        let mut seen = BTreeSet::new();
        for pod in pods.into_iter().flatten() {
            if !seen.insert(pod.get("uid").and_then(Value::as_str).unwrap_or_default()) {
                notes.broken.push(format!("a pod is listed twice: {pod}"));
            }
        }
    }
}
