//! StatefulSet v1beta1, the hub.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{
        Condition, Extra, InPlaceUpdateStrategy, IntOrString, LabelSelector, Lifecycle, PodUpdatePolicy,
        RawClaims, RawTemplate, UpdatePriorityStrategy, UpdateType,
    },
    wire_enum::wire_enum,
};

kind! {
    /// Runs pods with fixed names and claims of their own, in order or in parallel, updated in place where possible.
    #[schemars(transform = rules::statefulset::name)]
    Namespaced StatefulSet(APPS_GROUP, "v1beta1", "statefulsets") {
        /// What should run.
        spec: StatefulSetSpec,
        status: StatefulSetStatus,
    }
}

/// What should run.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::statefulset::spec)]
pub struct StatefulSetSpec {
    /// Hooks that hold a pod before it is deleted, updated in place, or counted as normal.
    pub lifecycle: Option<Lifecycle>,
    /// Where the numbering of pods starts.
    pub ordinals: Option<StatefulSetOrdinals>,
    /// What happens to claims when pods go. Claims are kept if not given.
    pub persistent_volume_claim_retention_policy: Option<ClaimRetentionPolicy>,
    /// OrderedReady creates and deletes pods one after another, Parallel all at once. OrderedReady if not given; cannot be changed.
    pub pod_management_policy: Option<PodManagementPolicy>,
    /// How many pods should run; reserved ordinals do not count. 1 if not given.
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,
    /// Ordinals that must have no pod: numbers, or ranges such as "3-5".
    #[schemars(transform = rules::statefulset::reserved)]
    pub reserve_ordinals: Option<Vec<IntOrString>>,
    /// How many old revisions are kept for going back. 10 if not given.
    #[schemars(range(min = 0))]
    pub revision_history_limit: Option<i32>,
    /// How fast pods are created.
    pub scale_strategy: Option<StatefulSetScaleStrategy>,
    /// Which pods belong to this object. Must match the labels of the template and cannot be changed.
    #[schemars(transform = rules::workload_selector)]
    pub selector: LabelSelector,
    /// Service that gives pods their network names. Cannot be changed.
    pub service_name: Option<String>,
    /// The pod to run.
    pub template: RawTemplate,
    /// How pods are brought to a changed template.
    pub update_strategy: Option<StatefulSetUpdateStrategy>,
    /// Claims made for each pod, one per template.
    #[serde(default, deserialize_with = "crate::parts::null_too")]
    pub volume_claim_templates: Option<RawClaims>,
    /// How existing claims follow a changed claim template.
    pub volume_claim_update_strategy: Option<ClaimUpdateStrategy>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Where the numbering of pods starts.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatefulSetOrdinals {
    /// First ordinal. 0 if not given.
    #[schemars(range(min = 0))]
    pub start: Option<i32>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What happens to claims when pods go.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimRetentionPolicy {
    /// Retain or Delete claims when the set is deleted. Retain if not given.
    pub when_deleted: Option<ClaimRetention>,
    /// Retain or Delete claims of pods that are scaled away. Retain if not given.
    pub when_scaled: Option<ClaimRetention>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// What happens to a claim.
    closed or empty enum ClaimRetention {
        /// It stays.
        Retain = "Retain",
        /// It goes with its pod or set.
        Delete = "Delete",
    }
}

wire_enum! {
    /// How pods are created and deleted.
    closed or empty enum PodManagementPolicy {
        /// One after another, each ready before the next.
        OrderedReady = "OrderedReady",
        /// All at once.
        Parallel = "Parallel",
    }
}

/// How fast pods are created.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatefulSetScaleStrategy {
    /// How many pods may be unavailable while pods are created. No limit if not given; anything but 1 needs Parallel.
    #[schemars(transform = rules::statefulset::budget)]
    pub max_unavailable: Option<IntOrString>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// How existing claims follow a changed claim template.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimUpdateStrategy {
    /// OnDelete changes nothing; OnPodRollingUpdate expands a claim when its pod is updated. OnDelete if not given.
    pub r#type: Option<ClaimUpdateType>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// How existing claims follow a changed claim template.
    open enum ClaimUpdateType {
        /// Claims are left alone.
        OnDelete = "OnDelete",
        /// Claims are expanded when their pod is updated.
        OnPodRollingUpdate = "OnPodRollingUpdate",
    }
}

/// How pods are brought to a changed template.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::statefulset::on_delete)]
pub struct StatefulSetUpdateStrategy {
    /// Settings of RollingUpdate. Not allowed with OnDelete.
    pub rolling_update: Option<RollingUpdateStatefulSet>,
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
pub struct RollingUpdateStatefulSet {
    /// Settings of in-place updates. Image pre-download is set by annotations for this kind.
    pub in_place_update_strategy: Option<InPlaceUpdateStrategy>,
    /// How many pods may be unavailable during an update. 1 if not given; anything else needs Parallel.
    #[schemars(transform = rules::statefulset::budget)]
    pub max_unavailable: Option<IntOrString>,
    /// Seconds a pod must be ready before it counts as available.
    #[schemars(range(min = 0, max = 300))]
    pub min_ready_seconds: Option<i32>,
    /// How many pods stay on the old revision. 0 if not given.
    #[schemars(range(min = 0))]
    pub partition: Option<i32>,
    /// Stops updating pods; scaling goes on.
    pub paused: Option<bool>,
    /// How one pod is updated. ReCreate if not given; in-place needs the readiness gate InPlaceUpdateReady in the template.
    pub pod_update_policy: Option<PodUpdatePolicy>,
    /// Updates pods by priority instead of from the highest ordinal down. Needs Parallel.
    pub unordered_update: Option<UnorderedUpdate>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Updates pods by priority instead of from the highest ordinal down.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnorderedUpdate {
    /// Which pods are updated first.
    pub priority_strategy: Option<UpdatePriorityStrategy>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What the controller observed last.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct StatefulSetStatus {
    /// Pods that have been ready for minReadySeconds.
    pub available_replicas: i32,
    /// Number of hash collisions that revision names had to avoid.
    pub collision_count: Option<i32>,
    /// What went well or wrong.
    #[schemars(transform = rules::keyed_by_type)]
    pub conditions: Option<Vec<Condition>>,
    /// Pods at the current revision.
    pub current_replicas: i32,
    /// Revision that pods not yet updated run.
    pub current_revision: Option<String>,
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
    pub updated_ready_replicas: Option<i32>,
    /// Pods at the update revision.
    pub updated_replicas: i32,
    /// How far existing claims agree with each claim template, in the order of the templates.
    pub volume_claims: Option<Vec<ClaimStatus>>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// How far existing claims agree with one claim template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimStatus {
    /// Claims that agree and are ready.
    pub compatible_ready_replicas: i32,
    /// Claims that agree.
    pub compatible_replicas: i32,
    /// Name of the claim template.
    pub volume_claim_name: String,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}
