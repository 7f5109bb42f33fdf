//! The difference between a pod's status and the next one, as a JSON patch: for the API server the cheapest form.

use serde::Serialize;
use serde_json::{Value, json};

use super::pod::{Pod, Status};

/// Empty when nothing differs. Never touches conditions of others: they are changed one by one, each tested first.
pub fn between(pod: &Pod, new: &Status) -> Vec<Value> {
    let old = &pod.status;
    let mut patch = Patch(Vec::new());
    patch.set("/status/phase", &old.phase, &new.phase);
    if new.reason.is_some() {
        patch.set("/status/reason", &old.reason, &new.reason);
    }
    patch.set("/status/containerStatuses", &old.container_statuses, &new.container_statuses);
    patch.set("/status/initContainerStatuses", &old.init_container_statuses, &new.init_container_statuses);
    let (had, have) = (&old.ephemeral_container_statuses, &new.ephemeral_container_statuses);
    patch.set("/status/ephemeralContainerStatuses", had, have);
    patch.conditions(pod, new);
    patch.set("/status/startTime", &old.start_time, &new.start_time);
    if old.start_time.is_none()
        && let Some(ip) = &new.pod_ip
    {
        patch.add("/status/hostIP", &"127.0.0.1");
        patch.add("/status/podIP", ip);
        patch.add("/status/podIPs", &json!([{ "ip": ip }]));
    }
    if patch.0.is_empty() {
        return Vec::new();
    }
    // Alone it is not worth a write.
    patch.set("/status/observedGeneration", &old.observed_generation, &new.observed_generation);
    patch.0.insert(0, json!({"op": "test", "path": "/metadata/uid", "value": pod.metadata.uid}));
    patch.0
}

struct Patch(Vec<Value>);

impl Patch {
    fn set<T: Serialize + PartialEq>(&mut self, path: &str, old: &T, new: &T) {
        if old != new {
            self.add(path, new);
        }
    }

    /// Also replaces what is there.
    fn add(&mut self, path: &str, value: &impl Serialize) {
        self.0.push(json!({"op": "add", "path": path, "value": value}));
    }

    fn conditions(&mut self, pod: &Pod, new: &Status) {
        let old = &pod.status.conditions;
        if old.is_empty() {
            self.set("/status/conditions", old, &new.conditions);
            return;
        }
        for condition in &new.conditions {
            match old.iter().position(|candidate| candidate.kind == condition.kind) {
                None => self.add("/status/conditions/-", condition),
                Some(position) if old.get(position) == Some(condition) => {}
                Some(position) => {
                    let path = format!("/status/conditions/{position}");
                    self.0
                        .push(json!({"op": "test", "path": format!("{path}/type"), "value": condition.kind}));
                    self.0.push(json!({"op": "replace", "path": path, "value": condition}));
                }
            }
        }
    }
}
