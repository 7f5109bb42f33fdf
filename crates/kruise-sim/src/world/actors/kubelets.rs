//! Kubelets: the model decides, this writes.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Actors, Errand, delete};
use crate::kubelet::{self, Behaviour, Pod, Rule, Step, Which};
use crate::server::{Call, Name, Object, Part, Verb};

const WHO: &str = "kubelet";

impl Actors {
    pub(super) fn kubelet(&mut self, name: &Name) {
        let Some(object) = self.get(self.kinds.pods, name) else { return };
        // What cannot be read is nothing a kubelet would run.
        let Ok(pod) = Pod::deserialize(&object.value) else { return };
        let now = self.clock.now();
        let mut knobs = self.knobs();
        knobs.0.extend(self.barred(&object));
        match kubelet::next(&pod, &knobs, now) {
            Step::Wait(None) => {}
            Step::Wait(Some(at)) => {
                let wait = Duration::try_from(at.duration_since(now)).unwrap_or(Duration::ZERO);
                self.plan_at(
                    Errand::Kubelet(name.clone()),
                    Instant::now() + wait.max(Duration::from_millis(1)),
                );
            }
            Step::Patch(patch) => {
                let call =
                    Call::object(Verb::JsonPatch, self.kinds.pods, (&name.0, &name.1), Value::Array(patch));
                self.write(WHO, &call.part(Part::Status));
            }
            Step::Remove => {
                let options = json!({"gracePeriodSeconds": 0, "preconditions": {"uid": pod.metadata.uid}});
                self.write(WHO, &delete(self.kinds.pods, name, options));
            }
        }
    }
}

impl Actors {
    /// Containers of a pod whose environment needs a key of a ConfigMap that is not there do not start.
    fn barred(&self, pod: &Object) -> Vec<Rule> {
        let text = |value: &Value, field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
        let namespace = pod.str("/metadata/namespace");
        let mut rules = Vec::new();
        for container in list(pod.value.pointer("/spec/containers")) {
            let references = list(container.get("env"))
                .filter_map(|variable| variable.pointer("/valueFrom/configMapKeyRef"));
            let is_there = |reference: &Value| {
                let name = text(reference, "name").unwrap_or_default();
                let found = self.get(self.kinds.config_maps, &(namespace.into(), name.as_str().into()));
                let key = text(reference, "key").unwrap_or_default();
                found.is_some_and(|map| map.value.get("data").is_some_and(|data| data.get(&key).is_some()))
            };
            if !references.into_iter().all(is_there) {
                let which = Which {
                    namespace: Some(namespace.to_owned()),
                    pod: Some(pod.str("/metadata/name").to_owned()),
                    container: text(container, "name"),
                    ..Which::default()
                };
                // To the model it is one more image that does not come: the container waits, and the rest goes on.
                rules.push(Rule { which, behaviour: Behaviour::PullFails });
            }
        }
        rules
    }

    /// A ConfigMap came or changed: kubelets look again at pods that have not started all containers.
    pub(super) fn start_waiting(&mut self) {
        let waiting: Vec<Name> = {
            let state = self.server.lock();
            let pods = state.store.list(self.kinds.pods.id, "");
            let waits = |pod: &Object| pod.str("/status/phase") == "Pending";
            pods.filter(|(_, pod)| waits(pod)).map(|(at, _)| at.clone()).collect()
        };
        for name in waiting {
            self.plan_soon(Errand::Kubelet(name));
        }
    }
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}
