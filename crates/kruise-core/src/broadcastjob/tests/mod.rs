//! Fixtures that read like the sentence in the specification.

mod admission;
mod plan;
mod properties;
mod takeover;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::chain::{Act, Purpose};
use crate::cluster::node::Node;
use crate::fixtures::{self, t0};
use crate::gates::Gates;
use crate::inplace::Resize;
use crate::lookup::{Lookup, Memory, Source};
use crate::plan::Plan;
use crate::pod::{Assign, PodView};
use crate::turn::{Setup, Turn};
use crate::workload::base::Sources;

/// A job named `b` in the making; it started at [`t0`].
#[derive(Clone)]
pub struct Job {
    object: Value,
    nodes: Vec<Value>,
    pods: Vec<Value>,
    assign: Assign,
}

/// On so many nodes that fit, `n1` and following.
pub fn job(nodes: usize) -> Job {
    let object = json!({
        "metadata": {"name": "b", "namespace": "n", "uid": "j", "resourceVersion": "1", "generation": 1},
        "spec": {"template": {"metadata": {"labels": {"app": "b"}}, "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}},
        "status": {"startTime": "2026-06-01T12:00:00Z", "phase": "running"},
    });
    let nodes = (1..=nodes).map(|place| node(&format!("n{place}"))).collect();
    Job { object, nodes, pods: Vec::new(), assign: Assign::Scheduler }
}

pub fn node(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "uid": name, "resourceVersion": "1"},
        "spec": {}, "status": {"allocatable": {"cpu": "4", "pods": "110"}},
    })
}

/// A pod of the job that runs on a node.
pub fn pod(node: &str) -> fixtures::Pod {
    fixtures::pod(&format!("b-{node}"))
        .set("/metadata/namespace", json!("n"))
        .set("/metadata/ownerReferences", json!([{"uid": "j", "kind": "BroadcastJob", "controller": true}]))
        .set("/spec/restartPolicy", json!("Never"))
        .label("broadcastjob-name", "b")
        .label("broadcastjob-controller-uid", "j")
        .node(node)
        .running()
}

/// Made for a node and not bound to it yet.
pub fn waiting(node: &str) -> fixtures::Pod {
    let field = json!({"key": "metadata.name", "operator": "In", "values": [node]});
    let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [field]}]}}});
    pod(node).node("").phase("Pending").set("/spec/affinity", affinity)
}

pub fn succeeded(node: &str) -> fixtures::Pod {
    pod(node).phase("Succeeded")
}

pub fn failed(node: &str) -> fixtures::Pod {
    pod(node).phase("Failed")
}

impl Job {
    pub fn spec(mut self, path: &str, value: Value) -> Self {
        let mut at = &mut self.object["spec"];
        for part in path.split('/') {
            at = &mut at[part];
        }
        *at = value;
        self
    }

    pub fn status(mut self, field: &str, value: Value) -> Self {
        self.object["status"][field] = value;
        self
    }

    pub fn annotated(mut self, key: &str, value: &str) -> Self {
        self.object["metadata"]["annotations"][key] = json!(value);
        self
    }

    pub fn deleted(mut self) -> Self {
        self.object["metadata"]["deletionTimestamp"] = json!("2026-06-01T12:00:00Z");
        self
    }

    pub fn pods(mut self, pods: impl IntoIterator<Item = fixtures::Pod>) -> Self {
        self.pods.extend(pods.into_iter().map(|pod| pod.0));
        self
    }

    pub fn node(mut self, name: &str, path: &str, value: Value) -> Self {
        let node = self.nodes.iter_mut().find(|node| node["metadata"]["name"] == name).unwrap();
        node["spec"][path] = value;
        self
    }

    pub fn without_node(mut self, name: &str) -> Self {
        self.nodes.retain(|node| node["metadata"]["name"] != name);
        self
    }

    pub fn directly(self) -> Self {
        Self { assign: Assign::Directly, ..self }
    }

    pub fn view(&self) -> View {
        self.view_of(&self.memory())
    }

    pub fn memory(&self) -> Memory {
        let mut memory = Memory::default();
        for node in &self.nodes {
            memory.put(Arc::new(serde_json::from_value::<Node>(node.clone()).unwrap()));
        }
        for pod in &self.pods {
            memory.put(Arc::new(serde_json::from_value::<PodView>(pod.clone()).unwrap()));
        }
        memory
    }

    pub fn view_of(&self, source: &dyn Source) -> View {
        let (setup, turn) = (setup(), Turn::first(t0(), 7));
        let from = Sources { lookup: Lookup::new(source), setup: &setup, turn: &turn };
        View::assemble(&BroadcastJob::read(&self.object), self.assign, from)
    }

    pub fn plan(&self) -> Plan {
        self.plan_at(t0())
    }

    pub fn plan_at(&self, now: Timestamp) -> Plan {
        plan(&self.view(), now)
    }
}

fn setup() -> Setup {
    Setup { gates: Gates::default(), resize: Resize::Endpoint, namespace: "kruise-system".into() }
}

/// The bodies of the pods that a plan creates.
pub fn created(plan: &Plan) -> Vec<Value> {
    plan.writes().filter_map(crate::chain::Write::created).collect()
}

/// The nodes that they are made for, in order.
pub fn served(plan: &Plan) -> Vec<String> {
    let pods = created(plan).into_iter().map(|pod| serde_json::from_value::<PodView>(pod).unwrap());
    pods.map(|pod| census::node_of(&pod).unwrap().to_owned()).collect()
}

pub fn deleted(plan: &Plan) -> Vec<&str> {
    let is_delete = |write: &&crate::chain::Write| matches!(write.act, Act::Delete { .. });
    plan.writes().filter(is_delete).map(|write| write.object.name()).collect()
}

/// The status that a plan writes; null if it writes none.
pub fn written(plan: &Plan) -> Value {
    plan.status.as_ref().map(|write| merged(write)["status"].clone()).unwrap_or_default()
}

/// The body of a merge patch.
fn merged(write: &crate::chain::Write) -> Value {
    let Act::Patch(crate::chain::Patch::Merge(patch)) = &write.act else { panic!("{write:?}") };
    patch.clone()
}

pub fn events(plan: &Plan) -> Vec<&str> {
    plan.events.iter().map(|event| event.reason).collect()
}

pub fn edits(plan: &Plan) -> Vec<Value> {
    let edits = plan.chains.iter().filter(|chain| chain.purpose == Purpose::EditSpec);
    edits.flat_map(|chain| chain.writes.iter().map(merged)).collect()
}
