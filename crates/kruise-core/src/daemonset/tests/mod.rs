//! Fixtures that read like the sentence in the specification.

mod admission;
mod download;
mod golden;
mod history;
mod manage;
mod nodes;
mod properties;
mod status;
mod update;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::places::node_of;
use super::*;
use crate::chain::{Act, Purpose, Write};
use crate::cluster::node::Node;
use crate::fixtures::workload::LONG_AGO;
use crate::fixtures::{self, Pod, t0};
use crate::gates::{Gate, Gates};
use crate::inplace::Resize;
use crate::lookup::{Lookup, Memory};
use crate::plan::Plan;
use crate::pod::{Assign, PodView};
use crate::predownload::PullJob;
use crate::reason::Reason;
use crate::revision::{Data, Known};
use crate::turn::{Setup, Turn};
use crate::workload::base::Sources;

pub use crate::fixtures::workload::{count, touched};

/// A DaemonSet named `web` in the making: Standard, maxUnavailable 1, template with image nginx:2.
#[derive(Clone)]
pub struct Set {
    pub object: Value,
    pub nodes: Vec<Value>,
    pods: Vec<Value>,
    pub revisions: Vec<Value>,
    jobs: Vec<Value>,
    gates: Gates,
    assign: Assign,
    back_off: BTreeMap<Arc<str>, Timestamp>,
}

pub fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": image}]}})
}

/// On so many nodes, `n1` and following. The revisions of nginx:1 and nginx:2 are stored.
pub fn set(nodes: usize) -> Set {
    let rolling = json!({"rollingUpdateType": "Standard", "maxUnavailable": 1, "maxSurge": 0});
    let object = json!({
        "metadata": {"name": "web", "namespace": "ns", "uid": "uid-web", "resourceVersion": "7", "generation": 1},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}}, "template": template("nginx:2"),
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
        },
        "status": {},
    });
    Set {
        object,
        nodes: (1..=nodes).map(|place| node(&format!("n{place}"))).collect(),
        pods: Vec::new(),
        revisions: vec![revision(&template("nginx:1"), 1), revision(&template("nginx:2"), 2)],
        jobs: Vec::new(),
        gates: Gates::default(),
        assign: Assign::Scheduler,
        back_off: BTreeMap::new(),
    }
}

pub fn node(name: &str) -> Value {
    json!({"metadata": {"name": name, "uid": name, "resourceVersion": "1", "labels": {"host": name}}, "spec": {}, "status": {}})
}

pub fn hash(template: &Value) -> String {
    Data::of(template).unwrap().name("web", 0).hash().to_string()
}

/// A stored revision of `web`.
pub fn revision(template: &Value, number: i64) -> Value {
    let data = Data::of(template).unwrap();
    let (name, hash) = (data.name("web", 0), hash(template));
    let stored: Value = serde_json::from_str(data.text()).unwrap();
    json!({
        "metadata": {
            "name": name.as_str(), "namespace": "ns", "uid": format!("uid-{name}"), "resourceVersion": "1",
            "labels": {"app": "web", "controller-revision-hash": hash},
            "ownerReferences": [{"apiVersion": "apps.kruise.io/v1beta1", "kind": "DaemonSet", "uid": "uid-web", "controller": true}],
        },
        "revision": number, "data": stored,
    })
}

fn pod(name: &str, node: &str, image: &str) -> Pod {
    fixtures::pod(name)
        .set("/metadata/namespace", json!("ns"))
        .set(
            "/metadata/ownerReferences",
            json!([{"uid": "uid-web", "kind": "DaemonSet", "controller": true}]),
        )
        .label("app", "web")
        .label("controller-revision-hash", &hash(&template(image)))
        .containers(json!([{"name": "main", "image": image}]))
        .container_status("main", image, image)
        .node(node)
        .running()
        .gate("InPlaceUpdateReady")
        .gate("KruisePodReady")
        .ready_since(LONG_AGO)
        .condition("InPlaceUpdateReady", "True", LONG_AGO)
        .condition("KruisePodReady", "True", LONG_AGO)
}

/// An available pod of the old revision on this node.
pub fn old(node: &str) -> Pod {
    pod(&format!("old-{node}"), node, "nginx:1")
}

/// An available pod of the new revision on this node.
pub fn new(node: &str) -> Pod {
    pod(&format!("new-{node}"), node, "nginx:2")
}

impl Pod {
    /// Made for its node and not bound to it yet.
    pub fn pending_on(self, node: &str) -> Self {
        let field = json!({"key": "metadata.name", "operator": "In", "values": [node]});
        let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [field]}]}}});
        self.node("").phase("Pending").not_ready().set("/spec/affinity", affinity)
    }

    pub fn going(self) -> Self {
        self.deleted("2026-06-01T12:00:30Z")
    }

    pub fn failed(self) -> Self {
        self.phase("Failed").not_ready()
    }
}

impl Set {
    pub fn spec(mut self, path: &str, value: Value) -> Self {
        let mut at = &mut self.object["spec"];
        for part in path.split('/') {
            at = &mut at[part];
        }
        *at = value;
        self
    }

    pub fn rolling(self, field: &str, value: Value) -> Self {
        self.spec(&format!("updateStrategy/rollingUpdate/{field}"), value)
    }

    pub fn in_place(self) -> Self {
        self.rolling("rollingUpdateType", json!("InPlaceIfPossible"))
    }

    pub fn max_unavailable(self, value: Value) -> Self {
        self.rolling("maxUnavailable", value)
    }

    pub fn surge(self, value: Value) -> Self {
        self.rolling("maxUnavailable", json!(0)).rolling("maxSurge", value)
    }

    pub fn hooked(self) -> Self {
        self.spec("lifecycle", json!({"preDelete": {"labelsHandler": {"hold": "true"}}}))
    }

    pub fn annotated(mut self, key: &str, value: &str) -> Self {
        self.object["metadata"]["annotations"][key] = json!(value);
        self
    }

    pub fn status(mut self, status: Value) -> Self {
        self.object["status"] = status;
        self
    }

    pub fn deleted(mut self) -> Self {
        self.object["metadata"]["deletionTimestamp"] = json!(LONG_AGO);
        self
    }

    pub fn pods(mut self, pods: impl IntoIterator<Item = Pod>) -> Self {
        self.pods.extend(pods.into_iter().map(|pod| pod.0));
        self
    }

    pub fn job(mut self, job: Value) -> Self {
        self.jobs.push(job);
        self
    }

    pub fn node(mut self, name: &str, path: &str, value: Value) -> Self {
        let node = self.nodes.iter_mut().find(|node| node["metadata"]["name"] == name).unwrap();
        let (parent, key) = path.rsplit_once('/').unwrap();
        node.pointer_mut(parent).unwrap()[key] = value;
        self
    }

    pub fn taint(self, name: &str, key: &str, effect: &str) -> Self {
        self.node(name, "/spec/taints", json!([{"key": key, "effect": effect}]))
    }

    pub fn gate(mut self, gate: Gate) -> Self {
        self.gates = self.gates.with(gate);
        self
    }

    pub fn directly(self) -> Self {
        Self { assign: Assign::Directly, ..self }
    }

    pub fn waits_on(mut self, node: &str, until: Timestamp) -> Self {
        self.back_off.insert(node.into(), until);
        self
    }

    pub fn view(&self) -> View {
        let mut memory = Memory::default();
        for node in &self.nodes {
            memory.put(Arc::new(serde_json::from_value::<Node>(node.clone()).unwrap()));
        }
        for pod in &self.pods {
            memory.put(Arc::new(serde_json::from_value::<PodView>(pod.clone()).unwrap()));
        }
        for revision in &self.revisions {
            memory.put(Arc::new(serde_json::from_value::<Known>(revision.clone()).unwrap()));
        }
        for job in &self.jobs {
            memory.put(Arc::new(serde_json::from_value::<PullJob>(job.clone()).unwrap()));
        }
        let setup =
            Setup { gates: self.gates.clone(), resize: Resize::Endpoint, namespace: "kruise-system".into() };
        let turn = Turn::first(t0(), 7);
        let from = Sources { lookup: Lookup::new(&memory), setup: &setup, turn: &turn };
        View::assemble(&DaemonSet::read(&self.object), self.assign, self.back_off.clone(), from)
    }

    pub fn plan(&self) -> Plan {
        self.plan_at(t0())
    }

    pub fn plan_at(&self, now: Timestamp) -> Plan {
        plan(&self.view(), now)
    }
}

/// The bodies of the objects of this kind that a plan creates.
pub fn created(plan: &Plan, kind: &str) -> Vec<Value> {
    plan.writes().filter_map(Write::created).filter(|object| object["kind"] == kind).collect()
}

/// The nodes that pods are created for, in order.
pub fn served(plan: &Plan) -> Vec<String> {
    let pods = created(plan, "Pod").into_iter().map(|pod| serde_json::from_value::<PodView>(pod).unwrap());
    pods.map(|pod| node_of(&pod).unwrap().to_owned()).collect()
}

/// Pods that a plan deletes.
pub fn deleted(plan: &Plan) -> Vec<&str> {
    let is_delete = |write: &&Write| {
        matches!(write.act, Act::Delete { .. }) && write.object.resource == kruise_api::resource::PODS
    };
    plan.writes().filter(is_delete).map(|write| write.object.name()).collect()
}

/// The status that a plan writes; null if it writes none.
pub fn written(plan: &Plan) -> Value {
    let Some(write) = &plan.status else { return Value::Null };
    let Act::Patch(crate::chain::Patch::Merge(patch)) = &write.act else { panic!("{write:?}") };
    patch["status"].clone()
}

pub fn reason<'a>(plan: &'a Plan, name: &str) -> &'a Reason {
    plan.reason_of(name).unwrap_or_else(|| panic!("no reason for {name}: {:?}", plan.reasons))
}

pub fn name_of(plan: &Plan, name: &str) -> &'static str {
    reason(plan, name).name()
}
