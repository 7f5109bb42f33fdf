//! Pods that are made for one node (BJ-21, DS-22).

use kruise_api::kubernetes::operator::IN;
use serde_json::{Map, Value, json};

use crate::admission::workload::object_in;

/// Who binds a pod to its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assign {
    /// The scheduler, by an affinity that allows no other node.
    Scheduler,
    /// The pod itself names its node.
    Directly,
}

/// Replaces all required terms, which have been checked, by one that only this node matches; preferred ones stay.
pub fn pin(spec: &mut Map<String, Value>, node: &str) {
    let field = json!({"key": "metadata.name", "operator": IN, "values": [node]});
    let terms = json!({"nodeSelectorTerms": [{"matchFields": [field]}]});
    let affinity = object_in(spec, "affinity").and_then(|affinity| object_in(affinity, "nodeAffinity"));
    if let Some(affinity) = affinity {
        affinity.insert("requiredDuringSchedulingIgnoredDuringExecution".to_owned(), terms);
    }
}
