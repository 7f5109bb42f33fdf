//! PersistentPodState v1beta1, the hub.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{Extra, StringMap, TargetReference},
    wire_enum::wire_enum,
};

kind! {
    /// Remembers where the pods of a workload ran, so that they come back to the same node, zone or rack.
    Namespaced PersistentPodState(APPS_GROUP, "v1beta1", "persistentpodstates") {
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
pub struct PersistentPodStateSpec<T = TopologyTerm> {
    /// Pod annotations to remember in the status, for others to read.
    pub persistent_pod_annotations: Option<Vec<PersistentPodAnnotation>>,
    /// When a record may be dropped. WhenScaled if not given.
    pub persistent_pod_state_retention_policy: Option<RetentionPolicy>,
    /// Node labels that a pod should find again.
    pub preferred_persistent_topology: Option<Vec<PreferredTopologyTerm<T>>>,
    /// Node labels that a pod must find again.
    pub required_persistent_topology: Option<T>,
    /// The workload. Cannot be changed.
    #[schemars(transform = rules::persistentpodstate::target)]
    pub target_ref: TargetReference,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// One pod annotation to remember.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersistentPodAnnotation {
    /// Key of the annotation.
    pub key: String,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// When a record may be dropped.
    closed enum RetentionPolicy {
        /// When the pod is scaled away.
        WhenScaled = "WhenScaled",
        /// When the workload is deleted.
        WhenDeleted = "WhenDeleted",
    }
}

/// Node labels that a pod should find again, with a weight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreferredTopologyTerm<T = TopologyTerm> {
    /// The node labels.
    pub preference: T,
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
    pub keys: Vec<String>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What the controller observed last.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PersistentPodStateStatus {
    /// Generation of the spec that this status belongs to.
    pub observed_generation: i64,
    /// What is remembered, by pod name.
    pub pod_states: Option<BTreeMap<String, PodState>>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What is remembered about one pod.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PodState {
    /// Annotations of the pod.
    pub annotations: Option<StringMap>,
    /// Node it ran on.
    pub node_name: Option<String>,
    /// Labels of that node.
    pub node_topology_labels: Option<StringMap>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}
