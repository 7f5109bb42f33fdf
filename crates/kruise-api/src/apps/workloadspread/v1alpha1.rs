//! WorkloadSpread v1alpha1: node selectors have other names and conditions are looser.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;

use super::v1beta1;
use crate::{
    convert::json::{Object, child, items, rename},
    crd::older::{at, with, without},
    kind::kind,
    names::APPS_GROUP,
    parts::{Condition, Extra, NodeSelectorTerm, PreferredSchedulingTerm},
    reasons::condition::UNKNOWN,
};

kind! {
    /// Spreads the pods of a workload over subsets of nodes, each with a quota and a patch of its own.
    Namespaced WorkloadSpread(APPS_GROUP, "v1alpha1", "workloadspreads") {
        /// Which workload is spread over which subsets.
        #[schemars(transform = spec)]
        spec: WorkloadSpreadSpec,
        status: WorkloadSpreadStatus,
    }
}

/// Which workload is spread over which subsets.
pub type WorkloadSpreadSpec = v1beta1::WorkloadSpreadSpec<SelectorTerms>;

/// What the controller observed last.
pub type WorkloadSpreadStatus = v1beta1::WorkloadSpreadStatus<Condition>;

/// What a subset has under other names than in the hub.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SelectorTerms {
    /// Nodes that pods of the subset should run on.
    pub preferred_node_selector_terms: Option<Vec<PreferredSchedulingTerm>>,
    /// Nodes that pods of the subset must run on.
    pub required_node_selector_term: Option<NodeSelectorTerm>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

fn spec(schema: &mut Schema) {
    if let Some(subset) = at(schema, &["subsets", "*"]) {
        without(subset, &SELECTORS.map(|(_, hub)| hub));
        with::<SelectorTerms>(subset);
    }
}

/// Stands where v1alpha1 has no time and v1beta1 demands one.
const NEVER: &str = "1970-01-01T00:00:00Z";

/// Names of the node selectors: here, and in the hub.
const SELECTORS: [(&str, &str); 2] = [
    ("requiredNodeSelectorTerm", "requiredNodeSelector"),
    ("preferredNodeSelectorTerms", "preferredNodeSelector"),
];

pub(crate) fn up(object: &mut Object) {
    each_subset(object, |subset| {
        for (here, hub) in SELECTORS {
            rename(subset, here, hub);
        }
    });
    each_condition(object, |condition| {
        let usable = condition.get("reason").and_then(Value::as_str).is_some_and(is_reason);
        if !usable {
            condition.insert("reason".to_owned(), json!(UNKNOWN));
        }
        condition.entry("message").or_insert_with(|| json!(""));
        condition.entry("lastTransitionTime").or_insert_with(|| json!(NEVER));
    });
}

pub(crate) fn down(object: &mut Object) {
    each_subset(object, |subset| {
        for (here, hub) in SELECTORS {
            rename(subset, hub, here);
        }
    });
    each_condition(object, |condition| {
        condition.shift_remove("observedGeneration");
    });
}

fn each_subset(object: &mut Object, change: impl FnMut(&mut Object)) {
    if let Some(spec) = child(object, "spec") {
        items(spec, "subsets").for_each(change);
    }
}

fn each_condition(object: &mut Object, mut change: impl FnMut(&mut Object)) {
    let Some(status) = child(object, "status") else {
        return;
    };
    for subset in items(status, "subsetStatuses") {
        items(subset, "conditions").for_each(&mut change);
    }
    let Some(versions) = child(status, "versionedSubsetStatuses") else {
        return;
    };
    for subset in
        versions.values_mut().filter_map(Value::as_array_mut).flatten().filter_map(Value::as_object_mut)
    {
        items(subset, "conditions").for_each(&mut change);
    }
}

/// Whether the hub's schema takes the text as a reason.
fn is_reason(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ',' | ':');
    text.len() <= 1024
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && text.chars().all(inner)
}
