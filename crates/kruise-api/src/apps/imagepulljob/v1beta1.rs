//! ImagePullJob v1beta1, the hub. v1alpha1 has the same shape.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{
        CompletionPolicy, Extra, ImagePullPolicy, IntOrString, LabelSelector, NodeSelector, PullPolicy,
        SandboxConfig, Time,
    },
};

kind! {
    /// Pulls one image on many nodes before it is needed.
    Namespaced ImagePullJob(APPS_GROUP, "v1beta1", "imagepulljobs") {
        /// What is pulled, and where.
        spec: ImagePullJobSpec,
        status: ImagePullJobStatus,
    }
}

/// What is pulled, and where.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::images::one_selector, transform = rules::images::job)]
pub struct ImagePullJobSpec {
    /// When the job is over.
    #[schemars(transform = rules::images::completion)]
    pub completion_policy: CompletionPolicy,
    /// The image.
    #[schemars(length(min = 1))]
    pub image: String,
    /// Always or IfNotPresent. IfNotPresent if not given.
    pub image_pull_policy: Option<ImagePullPolicy>,
    /// How many nodes may pull at the same time: a number, also as text. 1 if not given, 0 pauses the job.
    #[schemars(transform = rules::count_or_number_text)]
    pub parallelism: Option<IntOrString>,
    /// Only nodes that run pods with these labels, in the namespace of the job. Excludes selector.
    pub pod_selector: Option<LabelSelector>,
    /// How one pull is tried.
    pub pull_policy: Option<PullPolicy>,
    /// Names of secrets in the namespace of the job. Cannot be changed.
    pub pull_secrets: Option<Vec<String>>,
    /// What the container runtime is told about who pulls.
    pub sandbox_config: Option<SandboxConfig>,
    /// Which nodes; all if neither this nor podSelector is given.
    pub selector: Option<NodeSelector>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What the controller observed last.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ImagePullJobStatus {
    /// Nodes that are pulling.
    pub active: Option<i32>,
    /// When the job ended.
    pub completion_time: Option<Time>,
    /// Nodes that should pull.
    pub desired: i32,
    /// Nodes that failed.
    pub failed: Option<i32>,
    /// Names of the nodes that failed.
    pub failed_nodes: Option<Vec<String>>,
    /// How far the job is.
    pub message: Option<String>,
    /// When the job began.
    pub start_time: Option<Time>,
    /// Nodes that have the image.
    pub succeeded: Option<i32>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}
