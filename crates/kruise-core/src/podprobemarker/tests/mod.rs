//! Fixtures that read like the sentence in the specification; NodePodProbe uses them, too.

mod admission;
mod plan;
mod serverless;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::chain::{Act, Patch, Write};
use crate::cluster::node::Node;
use crate::fixtures::{self, t0};
use crate::gates::{Gate, Gates};
use crate::inplace::Resize;
use crate::lookup::{Lookup, Memory};
use crate::nodepodprobe::{self, NodePodProbe};
use crate::plan::Plan;
use crate::pod::PodView;
use crate::podprobemarker::{self, PodProbeMarker, View};
use crate::turn::{Setup, Turn};
use crate::workload::base::Sources;

/// A namespace `n` and some nodes.
#[derive(Clone, Default)]
pub struct World {
    pub nodes: Vec<Value>,
    pub lists: Vec<Value>,
    pub pods: Vec<Value>,
    pub markers: Vec<Value>,
    pub gates: Gates,
}

/// A ready node `n1` with an empty list.
pub fn world() -> World {
    World { nodes: vec![node("n1")], lists: vec![list("n1", json!([]), json!([]))], ..World::default() }
}

pub fn node(name: &str) -> Value {
    json!({"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
}

pub fn virtual_node(name: &str) -> Value {
    let mut node = node(name);
    node["metadata"]["labels"] = json!({"type": "virtual-kubelet"});
    node
}

pub fn list(node: &str, pods: Value, results: Value) -> Value {
    let metadata =
        json!({"name": node, "uid": format!("list-{node}"), "resourceVersion": "5", "generation": 3});
    let mut list = json!({"metadata": metadata, "spec": {}, "status": {}});
    list["spec"]["podProbes"] = pods;
    list["status"]["podProbeStatuses"] = results;
    list
}

/// An initialized pod of app `web` on node `n1` at 10.0.0.1.
pub fn pod(name: &str) -> fixtures::Pod {
    fixtures::pod(name)
        .set("/metadata/namespace", json!("n"))
        .set("/status/podIP", json!("10.0.0.1"))
        .label("app", "web")
        .node("n1")
        .running()
        .condition("Initialized", "True", "2026-06-01T12:00:00Z")
}

/// A probe named `idle` that runs `true`; its condition is `example.com/idle`.
pub fn probe(name: &str) -> Value {
    json!({
        "name": name, "containerName": "main", "podConditionType": format!("example.com/{name}"),
        "probe": {"exec": {"command": ["true"]}},
    })
}

/// With marks `labels` for a result.
pub fn marking(mut probe: Value, policies: &[(&str, Value, Value)]) -> Value {
    let policy = |(state, labels, annotations): &(&str, Value, Value)| json!({"state": state, "labels": labels, "annotations": annotations});
    probe["markerPolicy"] = policies.iter().map(policy).collect();
    probe
}

/// A settled marker of pods of app `web`.
pub fn marker(name: &str, probes: &[Value]) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "n", "uid": format!("uid-{name}"), "resourceVersion": "7", "generation": 1,
            "finalizers": ["kruise.io/node-pod-probe-cleanup"]},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "probes": probes},
        "status": {"observedGeneration": 1},
    })
}

pub fn deleted(mut object: Value) -> Value {
    object["metadata"]["deletionTimestamp"] = json!("2026-06-01T12:00:00Z");
    object
}

/// An entry of a list, for the pod of that fixture name.
pub fn entry(pod: &str, probes: &[(&str, Value)]) -> Value {
    let probe =
        |(name, check): &(&str, Value)| json!({"name": name, "containerName": "main", "probe": check});
    let probes: Vec<Value> = probes.iter().map(probe).collect();
    json!({"name": pod, "namespace": "n", "uid": format!("uid-{pod}"), "IP": "10.0.0.1", "probes": probes})
}

/// The check of [`probe`].
pub fn check() -> Value {
    json!({"exec": {"command": ["true"]}})
}

/// Results of a pod: probe, state, message.
pub fn results(pod: &str, states: &[(&str, &str, &str)]) -> Value {
    let state = |(name, state, message): &(&str, &str, &str)| {
        json!({
            "name": name, "state": state, "message": message,
            "lastProbeTime": "2026-06-01T11:00:09Z", "lastTransitionTime": "2026-06-01T11:00:00Z",
        })
    };
    let states: Vec<Value> = states.iter().map(state).collect();
    json!({"name": pod, "namespace": "n", "uid": format!("uid-{pod}"), "probeStates": states})
}

impl World {
    pub fn pods(mut self, pods: impl IntoIterator<Item = fixtures::Pod>) -> Self {
        self.pods.extend(pods.into_iter().map(|pod| pod.0));
        self
    }

    pub fn marker(mut self, marker: Value) -> Self {
        self.markers.push(marker);
        self
    }

    /// Replaces the nodes.
    pub fn nodes(mut self, nodes: impl IntoIterator<Item = Value>) -> Self {
        self.nodes = nodes.into_iter().collect();
        self
    }

    /// Replaces the list of node `n1`.
    pub fn list(mut self, pods: Value, results: Value) -> Self {
        self.lists = vec![list("n1", pods, results)];
        self
    }

    pub fn without_list(mut self) -> Self {
        self.lists.clear();
        self
    }

    pub fn serverless(mut self) -> Self {
        self.gates = Gates::default().with(Gate::EnablePodProbeMarkerOnServerless);
        self
    }

    pub fn memory(&self) -> Memory {
        let mut memory = Memory::default();
        for one in &self.nodes {
            memory.put(Arc::new(serde_json::from_value::<Node>(one.clone()).unwrap()));
        }
        for one in &self.lists {
            memory.put(Arc::new(NodePodProbe::read(one)));
        }
        for one in &self.pods {
            memory.put(Arc::new(serde_json::from_value::<PodView>(one.clone()).unwrap()));
        }
        for one in &self.markers {
            memory.put(Arc::new(PodProbeMarker::read(one)));
        }
        memory
    }

    /// The plan of the first marker.
    pub fn plan_marker(&self) -> Plan {
        self.plan_marker_named(self.markers[0]["metadata"]["name"].as_str().unwrap())
    }

    pub fn plan_marker_named(&self, name: &str) -> Plan {
        let memory = self.memory();
        let marker = self.markers.iter().find(|one| one["metadata"]["name"] == name).unwrap();
        let setup =
            Setup { gates: self.gates.clone(), resize: Resize::Endpoint, namespace: "kruise-system".into() };
        let turn = Turn::first(t0(), 7);
        let from = Sources { lookup: Lookup::new(&memory), setup: &setup, turn: &turn };
        podprobemarker::plan(&View::assemble(&PodProbeMarker::read(marker), from), t0())
    }

    /// The plan of node `n1`.
    pub fn plan_node(&self) -> Plan {
        self.plan_node_named("n1")
    }

    pub fn plan_node_named(&self, name: &str) -> Plan {
        let memory = self.memory();
        nodepodprobe::plan(&nodepodprobe::View::assemble(&name.into(), Lookup::new(&memory)), t0())
    }
}

pub fn body(write: &Write) -> Value {
    match &write.act {
        Act::Patch(Patch::Strategic(body) | Patch::Merge(body)) => body.clone(),
        Act::Patch(Patch::Json(ops)) => json!(ops),
        Act::Create(body) => serde_json::from_str(body).unwrap(),
        Act::Delete { .. } => panic!("{write:?}"),
    }
}

/// All bodies that a plan writes.
pub fn bodies(plan: &Plan) -> Vec<Value> {
    plan.writes().map(body).collect()
}

pub fn reason(plan: &Plan, name: &str) -> &'static str {
    plan.reason_of(name).map_or("", |reason| reason.name())
}
