//! Nodes as DaemonSets see them (DS-1 … DS-5): whether a pod is made for a node, and whether one that is there may stay. Room, ports and
//! cordons are not looked at; the pods tolerate what Kubernetes itself taints nodes with.

use kruise_api::kubernetes::{
    TAINT_DISK_PRESSURE, TAINT_MEMORY_PRESSURE, TAINT_NETWORK_UNAVAILABLE, TAINT_NOT_READY,
    TAINT_PID_PRESSURE, TAINT_UNREACHABLE, TAINT_UNSCHEDULABLE, operator,
};
use serde_json::{Value, json};

use super::needs::{Needs, Unfit};
use super::taint::{Effect, Taint};
use crate::cluster::node::Node;

/// What every pod tolerates, in the order in which it is added (DS-3).
const TOLERATED: [(&str, Effect); 6] = [
    (TAINT_NOT_READY, Effect::NoExecute),
    (TAINT_UNREACHABLE, Effect::NoExecute),
    (TAINT_DISK_PRESSURE, Effect::NoSchedule),
    (TAINT_MEMORY_PRESSURE, Effect::NoSchedule),
    (TAINT_PID_PRESSURE, Effect::NoSchedule),
    (TAINT_UNSCHEDULABLE, Effect::NoSchedule),
];

/// What a node means for a DaemonSet (DS-1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It should have a pod.
    Runs,
    /// It gets none, but one that is there may stay.
    Stays(Unfit),
    /// A pod that is there has to go.
    Leaves(Unfit),
}

impl Verdict {
    pub fn should_run(&self) -> bool {
        *self == Self::Runs
    }

    pub fn should_continue(&self) -> bool {
        !matches!(self, Self::Leaves(_))
    }

    pub fn unfit(&self) -> Option<&Unfit> {
        match self {
            Self::Runs => None,
            Self::Stays(unfit) | Self::Leaves(unfit) => Some(unfit),
        }
    }
}

impl Needs {
    /// DS-2, DS-4.
    pub fn verdict(&self, node: &Node) -> Verdict {
        if self.node.as_deref().is_some_and(|name| name != &**node.name()) {
            return Verdict::Leaves(Unfit::OtherNode);
        }
        if !self.selects(node) {
            return Verdict::Leaves(Unfit::Labels);
        }
        let repels = |taint: &&Taint| taint.effect.repels() && !self.tolerates(taint);
        let mut repelling: Vec<&Taint> = node.taints().iter().filter(repels).collect();
        // The one that drives pods away says more.
        repelling.sort_by_key(|taint| taint.effect != Effect::NoExecute);
        match repelling.first() {
            None => Verdict::Runs,
            Some(taint) if taint.effect == Effect::NoExecute => {
                Verdict::Leaves(Unfit::Taint((*taint).clone()))
            }
            Some(taint) => Verdict::Stays(Unfit::Taint((*taint).clone())),
        }
    }
}

/// The tolerations of a template and what is added to them (DS-3). One of the template that differs only in its seconds is replaced.
pub fn with_daemon_tolerations(spec: &Value) -> Vec<Value> {
    let mut all = spec.get("tolerations").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_on_host = spec.get("hostNetwork").and_then(Value::as_bool) == Some(true);
    let network = is_on_host.then_some((TAINT_NETWORK_UNAVAILABLE, Effect::NoSchedule));
    for (key, effect) in TOLERATED.into_iter().chain(network) {
        let added = json!({"key": key, "operator": operator::EXISTS, "effect": effect.text()});
        let says_the_same = |one: &Value| {
            let text = |of: &Value, field: &str| {
                of.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            ["key", "operator", "effect", "value"].iter().all(|field| text(one, field) == text(&added, field))
        };
        match all.iter_mut().find(|one| says_the_same(one)) {
            Some(one) => *one = added,
            None => all.push(added),
        }
    }
    all
}
