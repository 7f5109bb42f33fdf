//! WorkloadSpread v1beta1, the hub.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{
        Extra, IntOrString, LabelSelector, NodeSelectorTerm, PreferredSchedulingTerm, RawJson,
        StrictCondition, TargetReference, Time, Toleration,
    },
    wire_enum::wire_enum,
};

kind! {
    /// Spreads the pods of a workload over subsets of nodes, each with a quota and a patch of its own.
    Namespaced WorkloadSpread(APPS_GROUP, "v1beta1", "workloadspreads") {
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
pub struct WorkloadSpreadSpec<X = Extra> {
    /// What happens to pods that cannot be scheduled.
    pub schedule_strategy: Option<WorkloadSpreadScheduleStrategy>,
    /// The subsets, the first filled first.
    #[schemars(transform = rules::workloadspread::subsets)]
    pub subsets: Vec<WorkloadSpreadSubset<X>>,
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

/// What happens to pods that cannot be scheduled.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::workloadspread::strategy)]
pub struct WorkloadSpreadScheduleStrategy {
    /// Settings of Adaptive.
    pub adaptive: Option<AdaptiveWorkloadSpread>,
    /// Fixed leaves them; Adaptive moves them to a later subset. Fixed if not given.
    pub r#type: Option<ScheduleStrategyType>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// What happens to pods that cannot be scheduled.
    closed or empty enum ScheduleStrategyType {
        /// They move to a later subset.
        Adaptive = "Adaptive",
        /// They stay.
        Fixed = "Fixed",
    }
}

/// Settings of Adaptive.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdaptiveWorkloadSpread {
    /// Has no effect.
    pub disable_simulation_schedule: Option<bool>,
    /// Seconds a pod may be pending before it is moved. Nothing is moved if not given.
    #[schemars(range(min = 0))]
    pub reschedule_critical_seconds: Option<i32>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// One subset.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadSpreadSubset<X = Extra> {
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
    pub preferred_node_selector: Option<Vec<PreferredSchedulingTerm>>,
    /// Nodes that pods of the subset must run on.
    pub required_node_selector: Option<NodeSelectorTerm>,
    /// Taints that pods of the subset tolerate.
    pub tolerations: Option<Vec<Toleration>>,
    /// Fields of newer releases, and those that only an older version has.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: X,
}

/// Which pods of the workload are spread, and where its size is found.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetFilter {
    /// Paths in the workload whose numbers add up to its size.
    pub replicas_path_list: Option<Vec<String>>,
    /// Only pods with these labels are spread.
    #[schemars(transform = rules::selector_valid)]
    pub selector: Option<LabelSelector>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What the controller observed last.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadSpreadStatus<C: Default = StrictCondition> {
    /// Generation of the spec that this status belongs to.
    pub observed_generation: Option<i64>,
    /// State of the subsets over all versions of the workload.
    pub subset_statuses: Option<Vec<SubsetStatus<C>>>,
    /// State of the subsets by version of the workload.
    pub versioned_subset_statuses: Option<BTreeMap<String, Vec<SubsetStatus<C>>>>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// State of one subset.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SubsetStatus<C: Default = StrictCondition> {
    /// Whether pods can be scheduled.
    #[schemars(transform = rules::keyed_by_type)]
    pub conditions: Option<Vec<C>>,
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
