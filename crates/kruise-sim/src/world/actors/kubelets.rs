//! Kubelets: the model decides, this writes.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Actors, Errand, delete};
use crate::kubelet::{self, Pod, Step};
use crate::server::{Call, Name, Part, Verb};

const WHO: &str = "kubelet";

impl Actors {
    pub(super) fn kubelet(&mut self, name: &Name) {
        let Some(object) = self.get(self.kinds.pods, name) else { return };
        // What cannot be read is nothing a kubelet would run.
        let Ok(pod) = Pod::deserialize(&object.value) else { return };
        let now = self.clock.now();
        match kubelet::next(&pod, &self.knobs(), now) {
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
