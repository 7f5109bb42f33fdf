//! Conditions in a status.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{Extra, Time};

/// One condition, as StatefulSet, DaemonSet, UnitedDeployment and WorkloadSpread v1alpha1 write it.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// When the status last changed.
    pub last_transition_time: Option<Time>,
    /// Explanation for people.
    pub message: Option<String>,
    /// Reason of the last change in one word.
    pub reason: Option<String>,
    /// True, False or Unknown.
    pub status: String,
    /// What the condition is about.
    pub r#type: String,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// One condition in the strict form of newer Kubernetes kinds: every part is required.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["lastTransitionTime", "message", "reason", "status", "type"]))]
pub struct StrictCondition {
    /// When the status last changed.
    pub last_transition_time: Option<Time>,
    /// Explanation for people, maybe empty.
    #[schemars(length(max = 32768))]
    pub message: String,
    /// Generation of the object that the condition was computed from.
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// Reason of the last change in one word.
    #[schemars(length(min = 1, max = 1024), regex(pattern = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"))]
    pub reason: String,
    /// True, False or Unknown.
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    pub status: String,
    /// What the condition is about.
    #[schemars(
        length(max = 316),
        regex(
            pattern = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
        )
    )]
    pub r#type: String,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// One condition of a BroadcastJob or EphemeralJob.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct JobCondition {
    /// When the condition was last checked.
    pub last_probe_time: Option<Time>,
    /// When the status last changed.
    pub last_transition_time: Option<Time>,
    /// Explanation for people.
    pub message: Option<String>,
    /// Reason of the last change in one word.
    pub reason: Option<String>,
    /// True, False or Unknown.
    pub status: String,
    /// What the condition is about.
    pub r#type: String,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}
