//! ImageListPullJob v1beta1, the hub. v1alpha1 has the same shape.

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
    /// Pulls several images on many nodes before they are needed: one ImagePullJob per image.
    Namespaced ImageListPullJob(APPS_GROUP, "v1beta1", "imagelistpulljobs") {
        /// What is pulled, and where.
        spec: ImageListPullJobSpec,
        status: ImageListPullJobStatus,
    }
}

/// What is pulled, and where.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::images::one_selector)]
pub struct ImageListPullJobSpec {
    /// When the job is over.
    #[schemars(transform = rules::images::completion)]
    pub completion_policy: CompletionPolicy,
    /// Always or IfNotPresent. IfNotPresent if not given.
    pub image_pull_policy: Option<ImagePullPolicy>,
    /// The images, at most 255, each once.
    #[schemars(transform = rules::images::list)]
    pub images: Vec<String>,
    /// How many nodes may pull at the same time: a number, also as text. 1 if not given, 0 pauses the job.
    #[schemars(transform = rules::count_or_number_text)]
    pub parallelism: Option<IntOrString>,
    /// Only nodes that run pods with these labels, in the namespace of the job. Excludes selector.
    pub pod_selector: Option<LabelSelector>,
    /// How one pull is tried.
    pub pull_policy: Option<PullPolicy>,
    /// Names of secrets in the namespace of the job.
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
pub struct ImageListPullJobStatus {
    /// Images that are being pulled.
    pub active: Option<i32>,
    /// Images that are done, well or not.
    pub completed: Option<i32>,
    /// When the job ended.
    pub completion_time: Option<Time>,
    /// Images that should be pulled.
    pub desired: i32,
    /// Images that some nodes could not pull.
    pub failed_image_statuses: Option<Vec<FailedImageStatus>>,
    /// When the job began.
    pub start_time: Option<Time>,
    /// Images that all nodes have.
    pub succeeded: Option<i32>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// One image that some nodes could not pull.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FailedImageStatus {
    /// The job that pulled it.
    pub image_pull_job: Option<String>,
    /// Where to look.
    pub message: Option<String>,
    /// The image.
    pub name: Option<String>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}
