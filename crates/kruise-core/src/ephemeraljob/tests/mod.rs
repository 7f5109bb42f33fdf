//! Fixtures that read like the sentence in the specification.

mod admission;
mod plan;
mod properties;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::chain::{Act, Part, Patch};
use crate::fixtures::sources::Indexed;
use crate::fixtures::{self, t0};
use crate::gates::Gates;
use crate::inplace::Resize;
use crate::lookup::{Lookup, Memory, Slim};
use crate::plan::Plan;
use crate::pod::PodView;
use crate::turn::{Setup, Turn};
use crate::workload::base::Sources;

/// A job named `e` in the making; it started at [`t0`] and puts a container `dbg` into pods of app `web`.
#[derive(Clone)]
pub struct Job {
    object: Value,
    pods: Vec<Value>,
}

pub fn job() -> Job {
    let initialized = json!({"type": "Initialized", "status": "True", "reason": "Initialized", "lastProbeTime": "2026-06-01T12:00:00Z"});
    let object = json!({
        "metadata": {"name": "e", "namespace": "n", "uid": "j", "resourceVersion": "7", "generation": 1,
            "finalizers": ["apps.kruise.io/ephemeralcontainers-cleanup"]},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"ephemeralContainers": [{"name": "dbg", "image": "busybox"}]}},
        "status": {"startTime": "2026-06-01T12:00:00Z", "conditions": [initialized]},
    });
    Job { object, pods: Vec::new() }
}

/// A pod that the job selects and has not touched.
pub fn pod(name: &str) -> fixtures::Pod {
    fixtures::pod(name).set("/metadata/namespace", json!("n")).label("app", "web").running()
}

/// With a container of a job in it, in some state.
pub fn with(pod: fixtures::Pod, (name, owner): (&str, &str), state: &Value) -> fixtures::Pod {
    let mut pod = pod.0;
    let mut push = |part: &str, field: &str, value: Value| {
        let list = &mut pod[part][field];
        if list.is_null() {
            *list = json!([]);
        }
        list.as_array_mut().unwrap().push(value);
    };
    let env = json!([{"name": "A", "value": "b"}, {"name": "KRUISE_EJOB_ID", "value": owner}]);
    push("spec", "ephemeralContainers", json!({"name": name, "image": "busybox", "env": env}));
    if !state.is_null() {
        push("status", "ephemeralContainerStatuses", json!({"name": name, "state": state}));
    }
    fixtures::Pod(pod)
}

pub fn ended(code: i32) -> Value {
    json!({"terminated": {"exitCode": code, "finishedAt": "2026-06-01T12:00:00Z"}})
}

pub fn runs() -> Value {
    json!({"running": {"startedAt": "2026-06-01T12:00:00Z"}})
}

pub fn waits(reason: &str) -> Value {
    json!({"waiting": {"reason": reason}})
}

/// A pod with the job's own container.
pub fn own(name: &str, state: &Value) -> fixtures::Pod {
    with(pod(name), ("dbg", "j"), state)
}

impl Job {
    pub fn spec(mut self, field: &str, value: Value) -> Self {
        self.object["spec"][field] = value;
        self
    }

    pub fn names(self, names: &[&str]) -> Self {
        let containers: Vec<Value> = names.iter().map(|name| json!({"name": name, "image": "i"})).collect();
        self.spec("template", json!({"ephemeralContainers": containers}))
    }

    pub fn status(mut self, field: &str, value: Value) -> Self {
        self.object["status"][field] = value;
        self
    }

    pub fn meta(mut self, field: &str, value: Value) -> Self {
        self.object["metadata"][field] = value;
        self
    }

    pub fn pods(mut self, pods: impl IntoIterator<Item = fixtures::Pod>) -> Self {
        self.pods.extend(pods.into_iter().map(|pod| pod.0));
        self
    }

    /// As it is stored once the status of a plan is written.
    pub fn after(mut self, plan: &Plan) -> Self {
        for (field, value) in written(plan).as_object().cloned().unwrap_or_default() {
            self.object["status"][field] = value;
        }
        self
    }

    pub fn read(&self) -> EphemeralJob {
        EphemeralJob::read(&self.object)
    }

    pub fn plan(&self) -> Plan {
        self.plan_at(t0())
    }

    pub fn plan_at(&self, now: Timestamp) -> Plan {
        // ephemeraljob/E14: no plan looks at all pods, or at all jobs.
        let (source, turn) = (Indexed(self.memory()), Turn::first(now, 7));
        let setup =
            Setup { gates: Gates::default(), resize: Resize::Endpoint, namespace: "kruise-system".into() };
        let from = Sources { lookup: Lookup::new(&source), setup: &setup, turn: &turn };
        plan(&View::assemble(&self.read(), from), now)
    }

    fn memory(&self) -> Memory {
        let mut memory = Memory::default();
        for pod in &self.pods {
            memory.put(Arc::new(serde_json::from_value::<PodView>(pod.clone()).unwrap()));
        }
        memory
    }
}

/// The pods that a plan puts containers into, with the names of those.
pub fn injected(plan: &Plan) -> Vec<(String, Vec<String>)> {
    let writes = plan.writes().filter(|write| write.part == Part::EphemeralContainers);
    let names = |body: &Value| {
        let list = body["spec"]["ephemeralContainers"].as_array().unwrap();
        list.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    writes.map(|write| (write.object.name().to_owned(), names(&body(write)))).collect()
}

/// Their names alone.
pub fn touched(plan: &Plan) -> Vec<String> {
    injected(plan).into_iter().map(|(pod, _)| pod).collect()
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

/// Reason of a condition in the status that a plan writes.
pub fn reason(plan: &Plan, kind: &str) -> Value {
    let status = written(plan);
    let all = status["conditions"].as_array().cloned().unwrap_or_default();
    all.iter().find(|one| one["type"] == kind).map(|one| one["reason"].clone()).unwrap_or_default()
}

pub fn events(plan: &Plan) -> Vec<&str> {
    plan.events.iter().map(|event| event.reason).collect()
}
