//! What ImagePullJob and ImageListPullJob share: which nodes, how fast, until when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{Extra, LabelSelectorRequirement, StringMap};
use crate::{crd::rules, wire_enum::wire_enum};

/// How one pull is tried.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PullPolicy {
    /// How often a failed pull is tried again. 3 if not given.
    pub backoff_limit: Option<i32>,
    /// Seconds one attempt may take. 600 if not given.
    pub timeout_seconds: Option<i32>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// When the job is over.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompletionPolicy {
    /// Seconds after its start at which the job ends, done or not. Only with Always.
    pub active_deadline_seconds: Option<i64>,
    /// Seconds after its end at which the job deletes itself. Only with Always.
    pub ttl_seconds_after_finished: Option<i32>,
    /// Always ends when all nodes are done; Never goes on for new nodes. Always if not given.
    pub r#type: Option<CompletionPolicyType>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// When the job is over.
    closed or empty enum CompletionPolicyType {
        /// When all nodes are done.
        Always = "Always",
        /// Never: new nodes pull too.
        Never = "Never",
    }
}

wire_enum! {
    /// Whether an image that is there is pulled again.
    open enum ImagePullPolicy {
        /// Pull it always.
        Always = "Always",
        /// Pull it only if it is missing.
        IfNotPresent = "IfNotPresent",
    }
}

/// What the container runtime is told about who pulls.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SandboxConfig {
    /// Annotations of the sandbox.
    pub annotations: Option<StringMap>,
    /// Labels of the sandbox.
    pub labels: Option<StringMap>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Which nodes: by name, or by labels. Not both.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"), transform = rules::images::node_selector)]
pub struct NodeSelector {
    /// Conditions on node labels.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub match_expressions: Option<Vec<LabelSelectorRequirement>>,
    /// Node labels that must be there with exactly these values.
    pub match_labels: Option<StringMap>,
    /// Names of nodes.
    #[schemars(transform = rules::set)]
    pub names: Option<Vec<String>>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}
