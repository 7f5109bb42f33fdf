//! UnitedDeployment v1beta1, the hub.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{
    apps::{cloneset::CloneSetSpec, statefulset::StatefulSetSpec},
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{Condition, Extra, IntOrString, LabelSelector, NodeSelectorTerm, RawJson, Time, Toleration},
    wire_enum::wire_enum,
};

kind! {
    /// Runs one workload per subset of nodes out of one template, and shares the replicas between them.
    #[schemars(transform = rules::uniteddeployment::name)]
    Namespaced UnitedDeployment(APPS_GROUP, "v1beta1", "uniteddeployments") {
        /// What should run where.
        spec: UnitedDeploymentSpec,
        status: UnitedDeploymentStatus,
    }
}

/// What should run where.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::uniteddeployment::spec)]
pub struct UnitedDeploymentSpec {
    /// Pods over all subsets. 1 if not given.
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,
    /// How many old revisions are kept for going back. 10 if not given.
    #[schemars(range(min = 0))]
    pub revision_history_limit: Option<i32>,
    /// Which workloads belong to this object. Must match the labels of the template.
    #[schemars(transform = rules::selector)]
    pub selector: LabelSelector,
    /// The workload to run: exactly one of the templates.
    pub template: Option<SubsetTemplate>,
    /// The subsets.
    pub topology: Option<Topology>,
    /// How subsets are brought to a changed template.
    pub update_strategy: Option<UnitedDeploymentUpdateStrategy>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// The workload to run: exactly one of the templates.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::uniteddeployment::one_template)]
pub struct SubsetTemplate {
    /// A StatefulSet of this project.
    pub advanced_stateful_set_template: Option<AdvancedStatefulSetTemplate>,
    /// A CloneSet.
    pub clone_set_template: Option<CloneSetTemplate>,
    /// A built-in Deployment.
    pub deployment_template: Option<ForeignTemplate>,
    /// A built-in StatefulSet.
    pub stateful_set_template: Option<ForeignTemplate>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// A StatefulSet of this project.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdvancedStatefulSetTemplate {
    /// Labels and annotations of the workload.
    #[serde(default, deserialize_with = "crate::parts::null_too")]
    pub metadata: Option<RawJson>,
    /// Spec of the workload, in version v1beta1.
    #[schemars(transform = rules::unchecked)]
    pub spec: StatefulSetSpec,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// A CloneSet.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloneSetTemplate {
    /// Labels and annotations of the workload.
    #[serde(default, deserialize_with = "crate::parts::null_too")]
    pub metadata: Option<RawJson>,
    /// Spec of the workload, in version v1beta1.
    #[schemars(transform = rules::unchecked)]
    pub spec: CloneSetSpec,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// A workload that Kubernetes itself runs.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForeignTemplate {
    /// Labels and annotations of the workload.
    #[serde(default, deserialize_with = "crate::parts::null_too")]
    pub metadata: Option<RawJson>,
    /// Spec of the workload.
    pub spec: RawJson,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// The subsets.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Topology {
    /// What happens to pods that cannot be scheduled.
    pub schedule_strategy: Option<UnitedDeploymentScheduleStrategy>,
    /// The subsets. Their order matters for limits and for the adaptive strategy.
    #[schemars(transform = rules::keyed_by_name)]
    pub subsets: Option<Vec<Subset>>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What happens to pods that cannot be scheduled.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnitedDeploymentScheduleStrategy {
    /// Settings of Adaptive.
    pub adaptive: Option<AdaptiveUnitedDeployment>,
    /// Fixed leaves them; Adaptive lets other subsets take over. Fixed if not given.
    pub r#type: Option<ScheduleStrategyType>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// What happens to pods that cannot be scheduled.
    closed or empty enum ScheduleStrategyType {
        /// Other subsets take over.
        Adaptive = "Adaptive",
        /// They stay.
        Fixed = "Fixed",
    }
}

/// Settings of Adaptive.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdaptiveUnitedDeployment {
    /// Seconds a pod may be pending before its subset counts as unschedulable. 30 if not given.
    pub reschedule_critical_seconds: Option<i32>,
    /// Keeps pending pods and runs temporary ones in other subsets until they run. Only for CloneSet and Deployment.
    pub reserve_unschedulable_pods: Option<bool>,
    /// Seconds a subset stays unschedulable. 300 if not given.
    pub unschedulable_duration: Option<i32>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// One subset.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::uniteddeployment::subset)]
pub struct Subset {
    /// Most pods of the subset: a number or a percentage. No limit if not given.
    #[schemars(transform = rules::listed_share)]
    pub max_replicas: Option<IntOrString>,
    /// Pods that the subset gets before others: a number or a percentage.
    #[schemars(transform = rules::listed_share)]
    pub min_replicas: Option<IntOrString>,
    /// Name of the subset, part of the workload's name.
    #[schemars(transform = rules::uniteddeployment::subset_name)]
    pub name: String,
    /// Nodes of the subset. Cannot be changed while the subset exists.
    pub node_selector_term: Option<NodeSelectorTerm>,
    /// Strategic merge patch for the pod template of the subset.
    #[serde(default, deserialize_with = "crate::parts::null_too")]
    pub patch: Option<RawJson>,
    /// Pods of the subset: a number or a percentage. Excludes minReplicas and maxReplicas in all subsets.
    #[schemars(transform = rules::listed_share)]
    pub replicas: Option<IntOrString>,
    /// Taints that pods of the subset tolerate. Cannot be changed while the subset exists.
    #[schemars(transform = rules::bounded)]
    pub tolerations: Option<Vec<Toleration>>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// How subsets are brought to a changed template.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnitedDeploymentUpdateStrategy {
    /// Settings of Manual.
    pub manual_update: Option<ManualUpdate>,
    /// Manual, the only strategy.
    pub r#type: Option<UnitedDeploymentUpdateType>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// How subsets are brought to a changed template.
    closed or empty enum UnitedDeploymentUpdateType {
        /// By partitions that the user sets.
        Manual = "Manual",
    }
}

/// Settings of Manual.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManualUpdate {
    /// How many pods of a subset stay on the old revision, by subset name.
    pub partitions: Option<BTreeMap<String, i32>>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What the controller observed last.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UnitedDeploymentStatus<X: Default = Extra> {
    /// Number of hash collisions that revision names had to avoid.
    pub collision_count: Option<i32>,
    /// What went well or wrong.
    pub conditions: Option<Vec<UnitedDeploymentCondition>>,
    /// Revision that was in place before.
    pub current_revision: String,
    /// The selector as text, for autoscalers.
    pub label_selector: Option<String>,
    /// Generation of the spec that this status belongs to.
    pub observed_generation: Option<i64>,
    /// Pods that are ready.
    pub ready_replicas: Option<i32>,
    /// Pods that exist, without reserved ones.
    pub replicas: i32,
    /// Pods that are kept although they are pending.
    pub reserved_pods: Option<i32>,
    /// State of the subsets.
    pub subset_statuses: Option<Vec<UnitedDeploymentSubsetStatus>>,
    /// Updated pods that are ready.
    pub updated_ready_replicas: Option<i32>,
    /// Pods at the updated revision.
    pub updated_replicas: i32,
    /// Revision of the present template.
    pub updated_revision: Option<String>,
    /// Fields of newer releases, and those that only an older version has.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: X,
}

/// One condition of a UnitedDeployment.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UnitedDeploymentCondition {
    /// When the status last changed.
    pub last_transition_time: Option<Time>,
    /// Explanation for people.
    pub message: Option<String>,
    /// Reason of the last change in one word.
    pub reason: Option<String>,
    /// True, False or Unknown.
    pub status: Option<String>,
    /// What the condition is about.
    pub r#type: Option<String>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// State of one subset.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UnitedDeploymentSubsetStatus {
    /// Whether pods can be scheduled.
    #[schemars(transform = rules::keyed_by_type)]
    pub conditions: Option<Vec<Condition>>,
    /// Name of the subset.
    pub name: Option<String>,
    /// Pods held back on the old revision.
    pub partition: Option<i32>,
    /// Pods that are ready.
    pub ready_replicas: Option<i32>,
    /// Pods that the subset should have.
    pub replicas: Option<i32>,
    /// Pods that are kept although they are pending.
    pub reserved_pods: Option<i32>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}
