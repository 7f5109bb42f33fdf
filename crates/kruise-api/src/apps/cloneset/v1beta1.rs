//! CloneSet v1beta1, the hub.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{
        Extra, InPlaceUpdateStrategy, IntOrString, LabelSelector, Lifecycle, PodUpdatePolicy, RawClaims,
        RawTemplate, Time, UpdatePriorityStrategy, UpdateScatterTerm, UpdateType,
    },
};

kind! {
    /// Runs a number of equal pods without fixed order, scales them and updates them, in place where that is possible.
    Namespaced CloneSet(APPS_GROUP, "v1beta1", "clonesets") {
        /// What should run.
        spec: CloneSetSpec,
        status: CloneSetStatus,
    }
}

/// What should run.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::cloneset::stands_still, transform = rules::cloneset::deadline)]
pub struct CloneSetSpec<S = CloneSetScaleStrategy, U = CloneSetUpdateStrategy> {
    /// Hooks that hold a pod before it is deleted, updated in place, or counted as normal.
    pub lifecycle: Option<Lifecycle>,
    /// Seconds a pod must be ready before it counts as available.
    #[schemars(range(min = 0))]
    pub min_ready_seconds: Option<i32>,
    /// Seconds without progress after which the condition Progressing becomes False. No deadline if not given.
    pub progress_deadline_seconds: Option<i32>,
    /// How many pods should run. 1 if not given.
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,
    /// How many old revisions are kept for going back. 10 if not given.
    #[schemars(range(min = 0))]
    pub revision_history_limit: Option<i32>,
    /// How pods are created and deleted.
    pub scale_strategy: Option<S>,
    /// Which pods belong to this object. Must match the labels of the template and cannot be changed.
    #[schemars(transform = rules::workload_selector)]
    pub selector: LabelSelector,
    /// The pod to run.
    pub template: RawTemplate,
    /// How pods are brought to a changed template.
    pub update_strategy: Option<U>,
    /// Claims made for each pod, one per template.
    #[serde(default, deserialize_with = "crate::parts::null_too")]
    pub volume_claim_templates: Option<RawClaims>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// How pods are created and deleted.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloneSetScaleStrategy<X = Extra> {
    /// Gives claims of deleted pods to new pods instead of deleting them.
    #[serde(rename = "enablePVCReuse")]
    #[schemars(extend("x-default" = false))]
    pub enable_pvc_reuse: Option<bool>,
    /// Does not count pods that a hook holds before deletion, so that their successors start at once.
    pub exclude_preparing_delete: Option<bool>,
    /// How many pods may be unavailable while new ones are being created. No limit if not given.
    #[schemars(transform = rules::amount)]
    pub max_unavailable: Option<IntOrString>,
    /// Names of pods to delete first. Names of pods that are gone are removed by the controller.
    #[schemars(transform = rules::set)]
    pub pods_to_delete: Option<Vec<String>>,
    /// Fields of newer releases, and those that only an older version has.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: X,
}

/// How pods are brought to a changed template.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloneSetUpdateStrategy {
    /// Settings of RollingUpdate.
    pub rolling_update: Option<RollingUpdateCloneSet>,
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
#[schemars(transform = rules::cloneset::no_surge_in_place)]
pub struct RollingUpdateCloneSet<X = Extra> {
    /// Settings of in-place updates.
    #[schemars(transform = rules::cloneset::pre_download)]
    pub in_place_update_strategy: Option<InPlaceUpdateStrategy>,
    /// How many pods may run above the wanted number during an update. 0 if not given.
    #[schemars(transform = rules::amount)]
    pub max_surge: Option<IntOrString>,
    /// How many pods may be unavailable during an update. 20% if not given.
    #[schemars(transform = rules::amount)]
    pub max_unavailable: Option<IntOrString>,
    /// How many pods stay on the old revision. 0 if not given.
    #[schemars(transform = rules::amount)]
    pub partition: Option<IntOrString>,
    /// Stops updating pods; scaling goes on.
    pub paused: Option<bool>,
    /// How one pod is updated. ReCreate if not given.
    pub pod_update_policy: Option<PodUpdatePolicy>,
    /// Which pods are updated first.
    pub priority_strategy: Option<UpdatePriorityStrategy>,
    /// Which pods are spread over the update.
    #[schemars(transform = rules::keyed_by_key_and_value)]
    pub scatter_strategy: Option<Vec<UpdateScatterTerm>>,
    /// Fields of newer releases, and those that only an older version has.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: X,
}

/// What the controller observed last.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CloneSetStatus {
    /// Pods that have been ready for minReadySeconds.
    pub available_replicas: i32,
    /// Number of hash collisions that revision names had to avoid.
    pub collision_count: Option<i32>,
    /// What went well or wrong.
    #[schemars(transform = rules::keyed_by_type)]
    pub conditions: Option<Vec<CloneSetCondition>>,
    /// Revision that pods held back by the partition run.
    pub current_revision: Option<String>,
    /// Pods that should run the update revision, given the partition.
    pub expected_updated_replicas: Option<i32>,
    /// The selector as text, for autoscalers.
    pub label_selector: Option<String>,
    /// Generation of the spec that this status belongs to.
    pub observed_generation: Option<i64>,
    /// Pods that are ready.
    pub ready_replicas: i32,
    /// Pods that exist.
    pub replicas: i32,
    /// Revision of the present template.
    pub update_revision: Option<String>,
    /// Updated pods that are available.
    pub updated_available_replicas: Option<i32>,
    /// Updated pods that are ready.
    pub updated_ready_replicas: i32,
    /// Pods at the update revision.
    pub updated_replicas: i32,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// One condition of a CloneSet.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CloneSetCondition {
    /// When the status last changed.
    pub last_transition_time: Option<Time>,
    /// When the condition was last written.
    pub last_update_time: Option<Time>,
    /// Explanation for people.
    pub message: Option<String>,
    /// Reason of the last change in one word.
    pub reason: Option<String>,
    /// True, False or Unknown.
    pub status: String,
    /// FailedScale, FailedUpdate or Progressing.
    pub r#type: String,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}
