//! WorkloadSpread v1alpha1: node selectors have other names and conditions are looser.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;

use super::v1beta1::{TargetFilter, WorkloadSpreadScheduleStrategy};
use crate::{
    convert::json::{Object, child, items, rename},
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{
        Condition, Extra, IntOrString, NodeSelectorTerm, PreferredSchedulingTerm, RawJson, TargetReference,
        Time, Toleration,
    },
    reasons::condition::UNKNOWN,
};

kind! {
    /// Spreads the pods of a workload over subsets of nodes, each with a quota and a patch of its own.
    Namespaced WorkloadSpread(APPS_GROUP, "v1alpha1", "workloadspreads") {
        /// Which workload is spread over which subsets.
        spec: WorkloadSpreadSpec,
        status: WorkloadSpreadStatus,
    }
}

/// Which workload is spread over which subsets.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::workloadspread::spec)]
pub struct WorkloadSpreadSpec {
    /// What happens to pods that cannot be scheduled.
    pub schedule_strategy: Option<WorkloadSpreadScheduleStrategy>,
    /// The subsets, the first filled first.
    #[schemars(transform = rules::workloadspread::subsets)]
    pub subsets: Vec<WorkloadSpreadSubset>,
    /// Which pods of the workload are spread, and where its size is found.
    pub target_filter: Option<TargetFilter>,
    /// The workload. Group, kind and name cannot be changed.
    #[schemars(transform = rules::workloadspread::target)]
    pub target_ref: TargetReference,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// One subset.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadSpreadSubset {
    /// Most pods in the subset: a number or a percentage. No limit if not given.
    #[schemars(transform = rules::listed_share)]
    pub max_replicas: Option<IntOrString>,
    /// Name of the subset.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Strategic merge patch for pods of the subset.
    #[serde(default, deserialize_with = "crate::parts::null_too")]
    pub patch: Option<RawJson>,
    /// Nodes that pods of the subset should run on.
    pub preferred_node_selector_terms: Option<Vec<PreferredSchedulingTerm>>,
    /// Nodes that pods of the subset must run on.
    pub required_node_selector_term: Option<NodeSelectorTerm>,
    /// Taints that pods of the subset tolerate.
    pub tolerations: Option<Vec<Toleration>>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What the controller observed last.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadSpreadStatus {
    /// Generation of the spec that this status belongs to.
    pub observed_generation: Option<i64>,
    /// State of the subsets over all versions of the workload.
    pub subset_statuses: Option<Vec<SubsetStatus>>,
    /// State of the subsets by version of the workload.
    pub versioned_subset_statuses: Option<BTreeMap<String, Vec<SubsetStatus>>>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// State of one subset.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SubsetStatus {
    /// Whether pods can be scheduled.
    #[schemars(transform = rules::keyed_by_type)]
    pub conditions: Option<Vec<Condition>>,
    /// Pods admitted and not seen yet.
    pub creating_pods: Option<BTreeMap<String, Time>>,
    /// Pods being deleted and still seen.
    pub deleting_pods: Option<BTreeMap<String, Time>>,
    /// Free places; -1 means no limit.
    pub missing_replicas: i32,
    /// Name of the subset.
    pub name: String,
    /// Pods in the subset.
    pub replicas: i32,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
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
