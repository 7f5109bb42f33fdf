//! PodUnavailableBudget v1beta1, the hub.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{
    crd::rules,
    kind::kind,
    names::POLICY_GROUP,
    parts::{Extra, IntOrString, LabelSelector, Time},
    wire_enum::wire_enum,
};

kind! {
    /// Limits how many pods may be made unavailable at the same time, by deletion, eviction or in-place change.
    Namespaced PodUnavailableBudget(POLICY_GROUP, "v1beta1", "podunavailablebudgets") {
        /// Which pods are guarded, and how many may be unavailable.
        spec: PodUnavailableBudgetSpec,
        status: PodUnavailableBudgetStatus,
    }
}

/// Which pods are guarded, and how many may be unavailable.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::podunavailablebudget::spec)]
pub struct PodUnavailableBudgetSpec {
    /// Pods that are never guarded but still counted.
    #[schemars(transform = rules::selector)]
    pub ignored_pod_selector: Option<LabelSelector>,
    /// Most pods that may be unavailable. Excludes minAvailable.
    #[schemars(transform = rules::share)]
    pub max_unavailable: Option<IntOrString>,
    /// Fewest pods that must stay available. Excludes maxUnavailable.
    #[schemars(transform = rules::share)]
    pub min_available: Option<IntOrString>,
    /// What is guarded. DELETE, UPDATE and EVICT if not given.
    pub protect_operations: Option<Vec<PubOperation>>,
    /// How many pods there should be, where the workload cannot be asked.
    #[schemars(range(min = 1))]
    pub protect_total_replicas: Option<i32>,
    /// The pods. Excludes targetRef; cannot be changed.
    #[schemars(transform = rules::selector)]
    pub selector: Option<LabelSelector>,
    /// The workload whose pods are guarded. Excludes selector; cannot be changed.
    pub target_ref: Option<PubTargetReference>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// An operation that makes a pod unavailable.
    closed enum PubOperation {
        /// The pod is deleted.
        Delete = "DELETE",
        /// The pod is changed in place.
        Update = "UPDATE",
        /// The pod is evicted.
        Evict = "EVICT",
        /// The resources of the pod are changed.
        Resize = "RESIZE",
    }
}

/// A workload in the same namespace.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::podunavailablebudget::target)]
pub struct PubTargetReference {
    /// Group and version of the workload.
    pub api_version: Option<String>,
    /// Kind of the workload.
    pub kind: Option<String>,
    /// Name of the workload.
    pub name: Option<String>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What the controller observed last.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PodUnavailableBudgetStatus {
    /// Pods that are available.
    pub current_available: i32,
    /// Pods that must stay available.
    pub desired_available: i32,
    /// Pods whose deletion was allowed and not seen yet.
    pub disrupted_pods: Option<BTreeMap<String, Time>>,
    /// Generation of the spec that this status belongs to.
    pub observed_generation: Option<i64>,
    /// Pods that there should be.
    pub total_replicas: i32,
    /// Pods that may become unavailable now.
    pub unavailable_allowed: i32,
    /// Pods whose change was allowed and not seen yet.
    pub unavailable_pods: Option<BTreeMap<String, Time>>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}
