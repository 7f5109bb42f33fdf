//! The scheduler: any node will do once the claims of a pod exist.

use serde_json::{Value, json};

use super::{Actors, Errand};
use crate::server::{Call, Name, Object, Part, Verb};

pub const NODES: [&str; 3] = ["node-a", "node-b", "node-c"];

impl Actors {
    pub(super) fn schedule(&mut self, name: &Name) {
        let Some(pod) = self.get(self.kinds.pods, name) else { return };
        if pod.is_deleting() || !pod.str("/spec/nodeName").is_empty() {
            return;
        }
        let is_there = |claim: &str| self.get(self.kinds.claims, &(name.0.clone(), claim.into())).is_some();
        if !claims_of(&pod).iter().all(|claim| is_there(claim)) {
            self.plan(Errand::Schedule(name.clone()), 2_000);
            return;
        }
        let node = self.rng.pick(&NODES).copied().unwrap_or_default();
        let body = json!({"target": {"kind": "Node", "name": node}});
        let call = Call::object(Verb::Create, self.kinds.pods, (&name.0, &name.1), body);
        self.write("scheduler", &call.part(Part::Binding));
    }
}

/// Names of the claims that a pod mounts.
pub fn claims_of(pod: &Object) -> Vec<&str> {
    let volumes = pod.value.pointer("/spec/volumes").and_then(Value::as_array);
    let claim = |volume| Value::pointer(volume, "/persistentVolumeClaim/claimName").and_then(Value::as_str);
    volumes.into_iter().flatten().filter_map(claim).collect()
}
