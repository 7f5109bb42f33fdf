//! StatefulSet v1alpha1: a part of the hub's fields.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::v1beta1::{PodManagementPolicy, StatefulSetUpdateStrategy};
use crate::{
    convert::json::{Object, child},
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{Condition, Extra, LabelSelector, RawClaims, RawTemplate},
};

kind! {
    /// Runs pods with fixed names and claims of their own, in order or in parallel, updated in place where possible.
    #[schemars(transform = rules::statefulset::name)]
    Namespaced StatefulSet(APPS_GROUP, "v1alpha1", "statefulsets") {
        /// What should run.
        spec: StatefulSetSpec,
        status: StatefulSetStatus,
    }
}

/// What should run.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::statefulset::v1alpha1_spec)]
pub struct StatefulSetSpec {
    /// OrderedReady creates and deletes pods one after another, Parallel all at once. OrderedReady if not given; cannot be changed.
    pub pod_management_policy: Option<PodManagementPolicy>,
    /// How many pods should run. 1 if not given.
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,
    /// How many old revisions are kept for going back. 10 if not given.
    #[schemars(range(min = 0))]
    pub revision_history_limit: Option<i32>,
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
    /// Pods at the update revision.
    pub updated_replicas: i32,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Fields of the hub's spec that this version does not have.
const NEWER_SPEC: [&str; 6] = [
    "lifecycle",
    "ordinals",
    "persistentVolumeClaimRetentionPolicy",
    "reserveOrdinals",
    "scaleStrategy",
    "volumeClaimUpdateStrategy",
];

/// Fields of the hub's status that this version does not have.
const NEWER_STATUS: [&str; 3] = ["updatedAvailableReplicas", "updatedReadyReplicas", "volumeClaims"];

/// Every field of this version is in the hub under the same name.
pub(crate) fn up(_: &mut Object) {}

pub(crate) fn down(object: &mut Object) {
    for (part, newer) in [("spec", NEWER_SPEC.as_slice()), ("status", NEWER_STATUS.as_slice())] {
        if let Some(part) = child(object, part) {
            part.retain(|field, _| !newer.contains(&field.as_str()));
        }
    }
}
