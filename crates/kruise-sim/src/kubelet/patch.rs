//! The difference between a pod's status and the next one, as a JSON patch: for the API server the cheapest form.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::pod::{Pod, Status};

/// Empty when nothing differs. Never touches conditions of others: they are changed one by one, each tested first.
pub fn between(pod: &Pod, new: &Status, now: Timestamp) -> Vec<Value> {
    let old = &pod.status;
    let mut patch = Patch(Vec::new());
    patch.set_if(old.phase != new.phase, "/status/phase", &new.phase);
    patch.set_if(new.reason.is_some() && old.reason != new.reason, "/status/reason", &new.reason);
    patch.set_if(old.container_statuses != new.container_statuses, "/status/containerStatuses", &new.container_statuses);
    patch.set_if(
        old.init_container_statuses != new.init_container_statuses,
        "/status/initContainerStatuses",
        &new.init_container_statuses,
    );
    patch.set_if(
        old.ephemeral_container_statuses != new.ephemeral_container_statuses,
        "/status/ephemeralContainerStatuses",
        &new.ephemeral_container_statuses,
    );
    patch.conditions(pod, new);
    if old.start_time.is_none() {
        patch.set_if(true, "/status/startTime", &now);
        patch.set_if(true, "/status/hostIP", &"127.0.0.1");
        if let Some(ip) = &new.pod_ip {
            patch.set_if(true, "/status/podIP", ip);
            patch.set_if(true, "/status/podIPs", &json!([{ "ip": ip }]));
        }
    }
    if patch.0.is_empty() {
        return Vec::new();
    }
    patch.set_if(old.observed_generation != new.observed_generation, "/status/observedGeneration", &new.observed_generation);
    patch.0.insert(0, json!({"op": "test", "path": "/metadata/uid", "value": pod.metadata.uid}));
    patch.0
}

struct Patch(Vec<Value>);

impl Patch {
    /// "add" also replaces what is there.
    fn set_if(&mut self, differs: bool, path: &str, value: &impl Serialize) {
        if differs {
            self.0.push(json!({"op": "add", "path": path, "value": value}));
        }
    }

    fn conditions(&mut self, pod: &Pod, new: &Status) {
        let old = &pod.status.conditions;
        if old.is_empty() {
            self.set_if(!new.conditions.is_empty(), "/status/conditions", &new.conditions);
            return;
        }
        for condition in &new.conditions {
            match old.iter().position(|candidate| candidate.kind == condition.kind) {
                None => self.0.push(json!({"op": "add", "path": "/status/conditions/-", "value": condition})),
                Some(position) if old.get(position) == Some(condition) => {}
                Some(position) => {
                    let path = format!("/status/conditions/{position}");
                    self.0.push(json!({"op": "test", "path": format!("{path}/type"), "value": condition.kind}));
                    self.0.push(json!({"op": "replace", "path": path, "value": condition}));
                }
            }
        }
    }
}
