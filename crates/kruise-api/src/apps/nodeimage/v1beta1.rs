//! NodeImage v1beta1, the hub.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{Extra, ImagePullPolicy, ObjectReference, SandboxConfig, Time},
};

kind! {
    /// The images that one node should pull. Has the name of the node; written by pull jobs, read by the node agent.
    Cluster NodeImage(APPS_GROUP, "v1beta1", "nodeimages") {
        /// What the node should pull.
        #[serde(default)]
        spec: NodeImageSpec,
        status: NodeImageStatus,
    }
}

/// What the node should pull.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeImageSpec {
    /// Tags to pull, by repository name.
    #[schemars(transform = rules::images::node_images)]
    pub images: Option<BTreeMap<String, ImageSpec>>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What to pull from one repository.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageSpec {
    /// Secrets with credentials.
    pub pull_secrets: Option<Vec<ReferenceObject>>,
    /// What the container runtime is told about who pulls.
    pub sandbox_config: Option<SandboxConfig>,
    /// The tags.
    #[schemars(transform = rules::images::tags)]
    pub tags: Vec<ImageTagSpec>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// A secret in any namespace.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReferenceObject {
    /// How the secret was copied: batch, or empty for copies of old releases.
    pub mode: Option<String>,
    /// Name.
    pub name: Option<String>,
    /// Namespace.
    pub namespace: Option<String>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// One tag to pull.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageTagSpec {
    /// When the tag was asked for.
    pub created_at: Option<Time>,
    /// Always or IfNotPresent. Empty means Always.
    pub image_pull_policy: Option<ImagePullPolicy>,
    /// Jobs that want the tag.
    pub owner_references: Option<Vec<ObjectReference>>,
    /// How it is pulled.
    pub pull_policy: Option<ImageTagPullPolicy>,
    /// Tag or digest.
    #[schemars(length(min = 1))]
    pub tag: String,
    /// A larger number than before means: pull again.
    #[schemars(range(min = 0))]
    pub version: Option<i64>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// How one tag is pulled.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageTagPullPolicy {
    /// Seconds after which the tag is given up.
    pub active_deadline_seconds: Option<i64>,
    /// How often a failed pull is tried again. 3 if not given.
    pub backoff_limit: Option<i32>,
    /// Seconds one attempt may take. 600 if not given.
    pub timeout_seconds: Option<i32>,
    /// Seconds after the end at which the tag leaves this list.
    pub ttl_seconds_after_finished: Option<i32>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What the node agent observed last.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeImageStatus {
    /// Tags that should be pulled.
    pub desired: i32,
    /// Tags that failed.
    pub failed: Option<i32>,
    /// Result of the first look at the node.
    pub first_sync_status: Option<SyncStatus>,
    /// State of the tags, by repository name.
    pub image_statuses: Option<BTreeMap<String, ImageStatus>>,
    /// Tags being pulled.
    pub pulling: Option<i32>,
    /// Tags that are there.
    pub succeeded: Option<i32>,
    /// Tags that wait for their turn.
    pub waiting: Option<i32>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Result of a look at the node.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SyncStatus {
    /// Explanation for people.
    pub message: Option<String>,
    /// How it ended.
    pub status: Option<String>,
    /// When it was.
    pub sync_at: Option<Time>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// State of the tags of one repository.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ImageStatus {
    /// The tags.
    pub tags: Vec<ImageTagStatus>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// State of one tag.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ImageTagStatus {
    /// When the pull ended.
    pub completion_time: Option<Time>,
    /// Id that the container runtime gave the image.
    #[serde(rename = "imageID")]
    pub image_id: Option<String>,
    /// Explanation for people.
    pub message: Option<String>,
    /// Waiting, Pulling, Succeeded or Failed.
    pub phase: String,
    /// How far the pull is, from 0 to 100.
    pub progress: Option<i32>,
    /// When the pull began.
    pub start_time: Option<Time>,
    /// Tag or digest.
    pub tag: String,
    /// The version of the request that this belongs to.
    pub version: Option<i64>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}
