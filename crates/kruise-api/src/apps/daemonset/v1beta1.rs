//! DaemonSet v1beta1, the hub.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{Condition, Extra, IntOrString, LabelSelector, Lifecycle, RawTemplate, UpdateType},
    wire_enum::wire_enum,
};

kind! {
    /// Runs one pod on every node that fits, updated step by step and in place where possible.
    Namespaced DaemonSet(APPS_GROUP, "v1beta1", "daemonsets") {
        /// What should run.
        spec: DaemonSetSpec,
        status: DaemonSetStatus,
    }
}

/// What should run.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DaemonSetSpec {
    /// How many pods may be created, deleted or updated in place at once. 250 if not given.
    #[schemars(transform = rules::whole_amount)]
    pub burst_replicas: Option<IntOrString>,
    /// Hook that holds a pod before it is deleted. The in-place hook is not supported.
    #[schemars(transform = rules::daemonset::lifecycle)]
    pub lifecycle: Option<Lifecycle>,
    /// Seconds a pod must be ready before it counts as available.
    #[schemars(range(min = 0))]
    pub min_ready_seconds: Option<i32>,
    /// How many old revisions are kept for going back. 10 if not given.
    #[schemars(range(min = 0))]
    pub revision_history_limit: Option<i32>,
    /// How pods are created.
    pub scale_strategy: Option<DaemonSetScaleStrategy>,
    /// Which pods belong to this object. Must match the labels of the template and cannot be changed.
    #[schemars(transform = rules::workload_selector)]
    pub selector: LabelSelector,
    /// The pod to run.
    pub template: RawTemplate,
    /// How pods are brought to a changed template.
    pub update_strategy: Option<DaemonSetUpdateStrategy>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// How pods are created.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DaemonSetScaleStrategy {
    /// Creates no pod on nodes that the partition holds back.
    pub partitioned_scaling: Option<bool>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// How pods are brought to a changed template.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DaemonSetUpdateStrategy {
    /// Settings of RollingUpdate.
    pub rolling_update: Option<RollingUpdateDaemonSet>,
    /// RollingUpdate replaces pods step by step; OnDelete updates a pod only when it is deleted. RollingUpdate if not given.
    pub r#type: Option<UpdateType>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Settings of RollingUpdate.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::daemonset::rolling_update)]
pub struct RollingUpdateDaemonSet {
    /// How many nodes may run an old and a new pod at once. Excludes maxUnavailable.
    #[schemars(transform = rules::share)]
    pub max_surge: Option<IntOrString>,
    /// How many pods may be unavailable during an update. 1 if neither it nor maxSurge is given.
    #[schemars(transform = rules::share)]
    pub max_unavailable: Option<IntOrString>,
    /// How many nodes stay on the old revision. 0 if not given.
    #[schemars(transform = rules::share)]
    pub partition: Option<IntOrString>,
    /// Stops updating pods; everything else goes on.
    pub paused: Option<bool>,
    /// How one pod is replaced. Standard if not given.
    pub rolling_update_type: Option<RollingUpdateType>,
    /// Only pods on nodes that match are updated.
    #[schemars(transform = rules::selector_valid)]
    pub selector: Option<LabelSelector>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// How one pod is replaced. The original takes any word and works as with Standard.
    open enum RollingUpdateType {
        /// Delete it and create a new one, or the other way round with maxSurge.
        Standard = "Standard",
        /// Change it where it runs if the change allows that.
        InPlaceIfPossible = "InPlaceIfPossible",
    }
}

/// What the controller observed last.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DaemonSetStatus<X: Default = Extra> {
    /// Number of hash collisions that revision names had to avoid.
    pub collision_count: Option<i32>,
    /// What went well or wrong.
    #[schemars(transform = rules::keyed_by_type)]
    pub conditions: Option<Vec<Condition>>,
    /// Nodes that run a pod and should.
    pub current_number_scheduled: i32,
    /// Nodes that should run a pod.
    pub desired_number_scheduled: i32,
    /// Nodes whose pod is available.
    pub number_available: Option<i32>,
    /// Nodes that run a pod and should not.
    pub number_misscheduled: i32,
    /// Nodes whose pod is ready.
    pub number_ready: i32,
    /// Nodes that should have an available pod and have none.
    pub number_unavailable: Option<i32>,
    /// Generation of the spec that this status belongs to.
    pub observed_generation: Option<i64>,
    /// Hash of the present template's revision.
    pub update_revision: Option<String>,
    /// Nodes whose pod runs the present template.
    pub updated_number_scheduled: i32,
    /// Fields of newer releases, and those that only an older version has.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: X,
}
