//! ResourceDistribution v1beta1, the hub.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{Extra, LabelSelector, RawJson, Time},
};

kind! {
    /// Copies a Secret or ConfigMap into many namespaces and keeps the copies equal.
    Cluster ResourceDistribution(APPS_GROUP, "v1beta1", "resourcedistributions") {
        /// What is copied, and where.
        spec: ResourceDistributionSpec,
        status: ResourceDistributionStatus,
    }
}

/// What is copied, and where.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceDistributionSpec<X = Extra> {
    /// The whole Secret or ConfigMap. Its kind and name cannot be changed.
    #[schemars(transform = rules::resourcedistribution::resource)]
    pub resource: RawJson,
    /// The namespaces.
    pub targets: DistributionTargets<X>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// The namespaces: all that one of the first three selects, without the excluded ones.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DistributionTargets<X = Extra> {
    /// All namespaces but kube-system and kube-public.
    pub all_namespaces: Option<bool>,
    /// Namespaces that never get a copy.
    pub excluded_namespaces: Option<NamespaceList>,
    /// Namespaces by name. They need not exist yet.
    pub included_namespaces: Option<NamespaceList>,
    /// Namespaces by their labels. An empty selector selects none.
    #[schemars(transform = rules::selector_valid)]
    pub namespace_selector: Option<LabelSelector>,
    /// Fields of newer releases, and those that only an older version has.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: X,
}

/// A list of namespaces.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceList {
    /// The namespaces, each once.
    #[schemars(transform = rules::resourcedistribution::namespaces)]
    pub list: Option<Vec<NamespaceName>>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// One namespace.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceName {
    /// Its name.
    #[schemars(transform = rules::resourcedistribution::namespace)]
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
pub struct ResourceDistributionStatus<X: Default = Extra> {
    /// What failed, and where. Always the same six.
    #[schemars(transform = rules::keyed_by_type)]
    pub conditions: Option<Vec<DistributionCondition<X>>>,
    /// Namespaces that should have a copy.
    pub desired: Option<i32>,
    /// Namespaces without a right copy.
    pub failed: Option<i32>,
    /// Generation of the spec that this status belongs to.
    pub observed_generation: Option<i64>,
    /// Namespaces with a right copy.
    pub succeeded: Option<i32>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// One kind of failure.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DistributionCondition<X: Default = Extra> {
    /// Where it happened.
    pub failed_namespaces: Option<Vec<String>>,
    /// When the status last changed.
    pub last_transition_time: Option<Time>,
    /// Text of the last failure.
    pub reason: Option<String>,
    /// True if something failed.
    pub status: String,
    /// What failed.
    pub r#type: String,
    /// Fields of newer releases, and those that only an older version has.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: X,
}
