//! The scheduler: any node with the labels that a pod asks for will do once its claims exist.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Actors, Errand};
use crate::server::{Call, Name, Object, Part, Verb};

/// The nodes of every cluster, with their zones. Scenarios may add others.
pub const NODES: [(&str, &str); 3] = [("node-a", "zone-1"), ("node-b", "zone-2"), ("node-c", "zone-2")];

/// The node that a pod of a BroadcastJob or DaemonSet is made for.
const ONLY_NODE: &str = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/values/0";

/// The label of a node's zone.
pub const ZONE: &str = "topology.kubernetes.io/zone";

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
        let nodes = self.nodes_for(&pod);
        let Some(node) = self.rng.pick(&nodes).cloned() else { return };
        let body = json!({"target": {"kind": "Node", "name": node}});
        let call = Call::object(Verb::Create, self.kinds.pods, (&name.0, &name.1), body);
        self.write("scheduler", &call.part(Part::Binding));
    }
}

impl Actors {
    /// Names of all nodes with the labels that the pod's node selector asks for.
    fn nodes_for(&self, pod: &Object) -> Vec<Arc<str>> {
        let wanted = pod.value.pointer("/spec/nodeSelector").and_then(Value::as_object);
        let only = pod.value.pointer(ONLY_NODE).and_then(Value::as_str);
        let fits = |node: &Object| {
            let labels = node.value.pointer("/metadata/labels");
            let has = |(key, value): (&String, &Value)| labels.and_then(|all| all.get(key)) == Some(value);
            let is_cordoned = node.value.pointer("/spec/unschedulable") == Some(&Value::Bool(true));
            wanted.into_iter().flatten().all(has)
                && only.is_none_or(|name| name == node.str("/metadata/name"))
                && !is_cordoned
        };
        let state = self.server.lock();
        let nodes = state.store.list(self.kinds.nodes.id, "").filter(|(_, node)| fits(node));
        nodes.map(|(name, _)| Arc::clone(&name.1)).collect()
    }

    /// A node came or changed: pods without one are looked at again.
    pub(super) fn schedule_waiting(&mut self) {
        let waiting: Vec<Name> = {
            let state = self.server.lock();
            let pods = state.store.list(self.kinds.pods.id, "");
            pods.filter(|(_, pod)| pod.str("/spec/nodeName").is_empty()).map(|(at, _)| at.clone()).collect()
        };
        for name in waiting {
            self.plan_soon(Errand::Schedule(name));
        }
    }
}

/// Names of the claims that a pod mounts.
pub fn claims_of(pod: &Object) -> Vec<&str> {
    let volumes = pod.value.pointer("/spec/volumes").and_then(Value::as_array);
    let claim = |volume| Value::pointer(volume, "/persistentVolumeClaim/claimName").and_then(Value::as_str);
    volumes.into_iter().flatten().filter_map(claim).collect()
}
