//! PersistentPodState v1alpha1: key lists have another name, and an unknown retention policy is not refused.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::v1beta1::{PersistentPodAnnotation, PersistentPodStateStatus};
use crate::{
    convert::json::{Object, child, items, rename},
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{Extra, TargetReference},
    wire_enum::wire_enum,
};

kind! {
    /// Remembers where the pods of a workload ran, so that they come back to the same node, zone or rack.
    Namespaced PersistentPodState(APPS_GROUP, "v1alpha1", "persistentpodstates") {
        /// What is remembered, and for which workload.
        spec: PersistentPodStateSpec,
        status: PersistentPodStateStatus,
    }
}

/// What is remembered, and for which workload.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::persistentpodstate::spec)]
pub struct PersistentPodStateSpec {
    /// Pod annotations to remember and give back.
    pub persistent_pod_annotations: Option<Vec<PersistentPodAnnotation>>,
    /// When a record may be dropped: WhenScaled or WhenDeleted. WhenScaled if not given.
    pub persistent_pod_state_retention_policy: Option<RetentionPolicy>,
    /// Node labels that a pod should find again.
    pub preferred_persistent_topology: Option<Vec<PreferredTopologyTerm>>,
    /// Node labels that a pod must find again.
    pub required_persistent_topology: Option<TopologyTerm>,
    /// The workload. Cannot be changed.
    #[schemars(transform = rules::immutable)]
    pub target_ref: TargetReference,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// When a record may be dropped.
    open enum RetentionPolicy {
        /// When the pod is scaled away.
        WhenScaled = "WhenScaled",
        /// When the workload is deleted.
        WhenDeleted = "WhenDeleted",
    }
}

/// Node labels that a pod should find again, with a weight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreferredTopologyTerm {
    /// The node labels.
    pub preference: TopologyTerm,
    /// Weight for the scheduler, from 1 to 100.
    #[schemars(range(min = 1, max = 100))]
    pub weight: i32,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// A set of node labels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TopologyTerm {
    /// Keys of the node labels.
    pub node_topology_keys: Vec<String>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

pub(crate) fn up(object: &mut Object) {
    rename_keys(object, "nodeTopologyKeys", "keys");
}

pub(crate) fn down(object: &mut Object) {
    rename_keys(object, "keys", "nodeTopologyKeys");
}

fn rename_keys(object: &mut Object, from: &str, to: &str) {
    let Some(spec) = child(object, "spec") else { return };
    if let Some(required) = child(spec, "requiredPersistentTopology") {
        rename(required, from, to);
    }
    for preferred in items(spec, "preferredPersistentTopology") {
        if let Some(preference) = child(preferred, "preference") {
            rename(preference, from, to);
        }
    }
}
