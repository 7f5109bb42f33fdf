//! Fixtures that read like the sentence in the specification.

mod admission;
mod plan;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::chain::{Act, Patch};
use crate::fixtures::{self, t0};
use crate::gates::Gates;
use crate::inplace::Resize;
use crate::lookup::{Lookup, Memory};
use crate::plan::Plan;
use crate::pod::PodView;
use crate::turn::{Setup, Turn};
use crate::workload::base::Sources;

/// A request `r` made at [`t0`] for the container `main` of pod `web`, which then had the id `c://1`.
#[derive(Clone)]
pub struct Made {
    object: Value,
    pod: Option<Value>,
    gates: Gates,
}

pub fn request() -> Made {
    let object = json!({
        "metadata": {"name": "r", "namespace": "n", "uid": "r-uid", "resourceVersion": "7", "creationTimestamp": "2026-06-01T12:00:00Z",
            "labels": {"crr.apps.kruise.io/pod-uid": "web-uid", "crr.apps.kruise.io/active": "true"}},
        "spec": {"podName": "web", "containers": [{"name": "main", "statusContext": {"containerID": "c://1", "restartCount": 0}}]},
    });
    Made { object, pod: Some(pod().0), gates: Gates::default() }
}

/// The pod as it was when the request was made; it has the readiness gate.
pub fn pod() -> fixtures::Pod {
    fixtures::pod("web")
        .set("/metadata/namespace", json!("n"))
        .set("/metadata/uid", json!("web-uid"))
        .running()
        .gate("KruisePodReady")
        .condition("KruisePodReady", "True", "2026-06-01T11:00:00Z")
        .set("/status/containerStatuses", json!([status("c://1", 0)]))
}

pub fn status(id: &str, restarts: u32) -> Value {
    let state = json!({"running": {"startedAt": "2020-01-01T00:00:00Z"}});
    json!({"name": "main", "image": "x:1", "imageID": "", "containerID": id, "restartCount": restarts, "ready": true, "state": state})
}

impl Made {
    pub fn spec(mut self, field: &str, value: Value) -> Self {
        self.object["spec"][field] = value;
        self
    }

    pub fn status(mut self, status: Value) -> Self {
        self.object["status"] = status;
        self
    }

    pub fn phase(self, phase: &str) -> Self {
        self.status(json!({"phase": phase}))
    }

    pub fn meta(mut self, field: &str, value: Value) -> Self {
        self.object["metadata"][field] = value;
        self
    }

    pub fn pod(mut self, pod: Option<fixtures::Pod>) -> Self {
        self.pod = pod.map(|pod| pod.0);
        self
    }

    pub fn gates(mut self, gates: Gates) -> Self {
        self.gates = gates;
        self
    }

    pub fn plan(&self) -> Plan {
        self.plan_at(t0())
    }

    pub fn plan_at(&self, now: Timestamp) -> Plan {
        let mut memory = Memory::default();
        if let Some(pod) = &self.pod {
            memory.put(Arc::new(serde_json::from_value::<PodView>(pod.clone()).unwrap()));
        }
        let setup =
            Setup { gates: self.gates.clone(), resize: Resize::Endpoint, namespace: "kruise-system".into() };
        let turn = Turn::first(now, 7);
        let from = Sources { lookup: Lookup::new(&memory), setup: &setup, turn: &turn };
        super::plan(&View::assemble(&ContainerRecreateRequest::read(&self.object), from), now)
    }
}

pub fn body(write: &crate::chain::Write) -> Value {
    match &write.act {
        Act::Patch(Patch::Strategic(body) | Patch::Merge(body)) => body.clone(),
        Act::Patch(Patch::Json(ops)) => json!(ops),
        Act::Create(_) | Act::Delete { .. } => panic!("{write:?}"),
    }
}

/// The status that a plan writes; null if it writes none.
pub fn written(plan: &Plan) -> Value {
    plan.status.as_ref().map(|write| body(write)["status"].clone()).unwrap_or_default()
}
