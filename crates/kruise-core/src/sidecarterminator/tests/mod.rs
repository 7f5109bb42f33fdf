//! Every test is a pod of a job and what is done about it.

mod order;
mod requests;
mod who;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::classes::Host;
use super::plan::{View, plan};
use crate::containerrecreaterequest::ContainerRecreateRequest;
use crate::fixtures::{self, t0};
use crate::plan::Plan;

pub const BY_AGENT: (&str, &str) = ("KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT", "true");
pub const BY_IMAGE: (&str, &str) = ("KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT_WITH_IMAGE", "pause:exit");
pub const IGNORED: (&str, &str) = ("KRUISE_TERMINATE_SIDECAR_IGNORE_EXIT_CODE", "true");

/// A pod `p` with the containers that are added to it, on a node with an agent.
#[derive(Clone)]
pub struct Job {
    pub pod: Value,
    pub host: Host,
    pub requests: Vec<Value>,
}

pub fn job(restart_policy: &str) -> Job {
    let pod = fixtures::pod("p")
        .running()
        .node("n1")
        .containers(json!([]))
        .set("/spec/restartPolicy", json!(restart_policy));
    Job { pod: pod.0, host: Host::Ordinary, requests: Vec::new() }
}

impl Job {
    /// A main container in this state.
    pub fn main(self, state: &Value) -> Self {
        self.with(json!({"name": "main", "image": "job:1"}), state)
    }

    pub fn sidecar(self, name: &str, variables: &[(&str, &str)], state: &Value) -> Self {
        let env: Vec<Value> =
            variables.iter().map(|(key, value)| json!({"name": key, "value": value})).collect();
        self.with(json!({"name": name, "image": "side:1", "env": env}), state)
    }

    pub fn with(mut self, container: Value, state: &Value) -> Self {
        let id =
            if state.get("waiting").is_some() { String::new() } else { format!("c://{}", container["name"]) };
        let status = json!({"name": container["name"], "image": container["image"], "containerID": id, "state": state});
        self.pod["spec"]["containers"].as_array_mut().unwrap().push(container);
        self.pod["status"]["containerStatuses"].as_array_mut().unwrap().push(status);
        self
    }

    pub fn on_virtual_node(mut self) -> Self {
        self.host = Host::Virtual;
        self
    }

    /// The next request for it, as it ended, or under way.
    pub fn request(mut self, ended: Option<&str>) -> Self {
        let status = ended.map_or(json!({}), |time| json!({"phase": "Completed", "completionTime": time}));
        self.requests.push(json!({
            "metadata": {"name": "r", "namespace": "n", "uid": "r", "resourceVersion": "1"},
            "spec": {"podName": "p", "containers": [{"name": "side"}]}, "status": status,
        }));
        self
    }

    pub fn plan_at(&self, now: Timestamp) -> Plan {
        let requests =
            self.requests.iter().map(|one| Arc::new(ContainerRecreateRequest::read(one))).collect();
        let pod = Arc::new(serde_json::from_value(self.pod.clone()).unwrap());
        plan(&View { pod, host: self.host, requests }, now)
    }

    pub fn plan(&self) -> Plan {
        self.plan_at(t0())
    }

    pub fn is_due(&self) -> bool {
        super::is_due(&serde_json::from_value(self.pod.clone()).unwrap())
    }

    /// What is asked for or written, in order: `request(a,b)`, `image(b)`, `Succeeded`.
    pub fn acts(&self) -> Vec<String> {
        acts(&self.plan())
    }
}

pub fn acts(plan: &Plan) -> Vec<String> {
    plan.writes().map(act).collect()
}

fn act(write: &crate::chain::Write) -> String {
    use crate::chain::{Act, Op, Patch};
    match &write.act {
        Act::Create(body) => {
            let body: Value = serde_json::from_str(body).unwrap();
            let names = body["spec"]["containers"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["name"].as_str().unwrap());
            format!("request({})", names.collect::<Vec<_>>().join(","))
        }
        Act::Patch(Patch::Strategic(body)) => body["status"]["phase"].as_str().unwrap().to_owned(),
        Act::Patch(Patch::Json(ops)) => {
            let images = ops.iter().filter_map(|op| match op {
                Op::Replace { path, value } => Some(format!("{path}={}", value.as_str().unwrap())),
                Op::Test { .. } | Op::Add { .. } | Op::Remove { .. } => None,
            });
            images.collect::<Vec<_>>().join(",")
        }
        other @ (Act::Patch(Patch::Merge(_)) | Act::Delete { .. }) => panic!("{other:?}"),
    }
}

pub fn done(exit_code: i32) -> Value {
    json!({"terminated": {"exitCode": exit_code}})
}

pub fn runs() -> Value {
    json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}})
}

pub fn waits() -> Value {
    json!({"waiting": {"reason": "ImagePullBackOff"}})
}
