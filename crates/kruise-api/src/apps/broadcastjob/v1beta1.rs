//! BroadcastJob v1beta1, the hub. v1alpha1 has the same shape.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{CompletionPolicyType, Extra, IntOrString, JobCondition, RawTemplate, Time},
    wire_enum::wire_enum,
};

kind! {
    /// Runs a pod to its end on every node that fits.
    #[schemars(transform = rules::jobs::name)]
    Namespaced BroadcastJob(APPS_GROUP, "v1beta1", "broadcastjobs") {
        /// What should run.
        spec: BroadcastJobSpec,
        status: BroadcastJobStatus,
    }
}

/// What should run.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BroadcastJobSpec {
    /// When the job is over.
    pub completion_policy: Option<BroadcastJobCompletionPolicy>,
    /// What happens when a pod fails.
    pub failure_policy: Option<FailurePolicy>,
    /// How many pods may run at the same time. A text is a percentage of the nodes. No limit if not given.
    #[schemars(transform = rules::jobs::parallelism)]
    pub parallelism: Option<IntOrString>,
    /// Stops the job: nothing is created or deleted.
    pub paused: Option<bool>,
    /// The pod to run. Its restart policy must be Never or OnFailure.
    pub template: RawTemplate,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// When the job is over.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::jobs::completion)]
pub struct BroadcastJobCompletionPolicy {
    /// Seconds after its start at which the job fails. Only with Always.
    #[schemars(range(min = 0))]
    pub active_deadline_seconds: Option<i64>,
    /// Seconds after its end at which the job deletes itself. Only with Always.
    #[schemars(range(min = 0))]
    pub ttl_seconds_after_finished: Option<i32>,
    /// Always ends when all nodes are done; Never goes on for new nodes. Always if not given.
    pub r#type: Option<CompletionPolicyType>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What happens when a pod fails.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailurePolicy {
    /// How often the containers of a pod may restart before it counts as failed. Only for restart policy OnFailure.
    #[schemars(range(min = 0))]
    pub restart_limit: Option<i32>,
    /// What happens when a pod fails. FailFast if not given.
    pub r#type: Option<FailurePolicyType>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// What happens when a pod fails.
    closed or empty enum FailurePolicyType {
        /// The other nodes go on.
        Continue = "Continue",
        /// The job fails.
        FailFast = "FailFast",
        /// The job is paused.
        Pause = "Pause",
    }
}

/// What the controller observed last.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BroadcastJobStatus {
    /// Pods that run.
    pub active: Option<i32>,
    /// When the job ended.
    pub completion_time: Option<Time>,
    /// How the job ended.
    #[schemars(transform = rules::keyed_by_type)]
    pub conditions: Option<Vec<JobCondition>>,
    /// Nodes that should run a pod.
    pub desired: Option<i32>,
    /// Pods that failed.
    pub failed: Option<i32>,
    /// running, paused, completed or failed.
    pub phase: Option<BroadcastJobPhase>,
    /// When the job began.
    pub start_time: Option<Time>,
    /// Pods that succeeded.
    pub succeeded: Option<i32>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// Where the job stands.
    open enum BroadcastJobPhase {
        /// Pods run.
        Running = "running",
        /// Nothing is done until it is resumed.
        Paused = "paused",
        /// Good end.
        Completed = "completed",
        /// Bad end.
        Failed = "failed",
    }
}
