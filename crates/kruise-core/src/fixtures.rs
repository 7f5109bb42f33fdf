//! Test support: pods that say one sentence.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::pod::PodView;

/// The instant at which tests happen.
pub fn t0() -> Timestamp {
    at("2026-06-01T12:00:00Z")
}

pub fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A pod in the making, as a wire object.
#[derive(Debug, Clone)]
pub struct Pod(pub Value);

/// A bare pending pod with one container `main`.
pub fn pod(name: &str) -> Pod {
    Pod(json!({
        "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {}, "annotations": {}},
        "spec": {"containers": [{"name": "main", "image": "nginx:1"}]},
        "status": {"phase": "Pending", "conditions": [], "containerStatuses": []},
    }))
}

impl Pod {
    pub fn view(self) -> PodView {
        serde_json::from_value(self.0).unwrap()
    }

    pub fn set(mut self, path: &str, value: Value) -> Self {
        let (parent, key) = path.rsplit_once('/').unwrap();
        self.0.pointer_mut(parent).unwrap()[key] = value;
        self
    }

    fn push(mut self, path: &str, value: Value) -> Self {
        let (parent, key) = path.rsplit_once('/').unwrap();
        let list = &mut self.0.pointer_mut(parent).unwrap()[key];
        if list.is_null() {
            *list = json!([]);
        }
        list.as_array_mut().unwrap().push(value);
        self
    }

    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.0["metadata"]["labels"][key] = json!(value);
        self
    }

    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.0["metadata"]["annotations"][key] = json!(value);
        self
    }

    pub fn finalizer(self, name: &str) -> Self {
        self.push("/metadata/finalizers", json!(name))
    }

    pub fn state(self, state: &str) -> Self {
        self.label("lifecycle.apps.kruise.io/state", state)
    }

    pub fn cost(self, cost: &str) -> Self {
        self.annotation("controller.kubernetes.io/pod-deletion-cost", cost)
    }

    pub fn node(self, node: &str) -> Self {
        self.set("/spec/nodeName", json!(node))
    }

    pub fn phase(self, phase: &str) -> Self {
        self.set("/status/phase", json!(phase))
    }

    pub fn running(self) -> Self {
        self.phase("Running")
    }

    pub fn created(self, time: &str) -> Self {
        self.set("/metadata/creationTimestamp", json!(time))
    }

    pub fn deleted(self, time: &str) -> Self {
        self.set("/metadata/deletionTimestamp", json!(time))
    }

    pub fn condition(mut self, kind: &str, status: &str, since: &str) -> Self {
        let conditions = self.0["status"]["conditions"].as_array_mut().unwrap();
        conditions.retain(|one| one["type"] != kind);
        self.push("/status/conditions", json!({"type": kind, "status": status, "lastTransitionTime": since}))
    }

    pub fn ready_since(self, since: &str) -> Self {
        self.condition("ContainersReady", "True", since).condition("Ready", "True", since)
    }

    pub fn gate(self, kind: &str) -> Self {
        self.push("/spec/readinessGates", json!({"conditionType": kind}))
    }

    /// A container beside `main`, with the given fields.
    pub fn container(self, container: Value) -> Self {
        self.push("/spec/containers", container)
    }

    /// Replaces all containers.
    pub fn containers(self, containers: Value) -> Self {
        self.set("/spec/containers", containers)
    }

    pub fn restarts(self, count: u32) -> Self {
        self.push("/status/containerStatuses", json!({"name": "main", "restartCount": count}))
    }

    pub fn container_status(self, name: &str, image: &str, image_id: &str) -> Self {
        let status = json!({"name": name, "image": image, "imageID": image_id, "containerID": format!("id-{name}"), "ready": true});
        self.push("/status/containerStatuses", status)
    }
}
