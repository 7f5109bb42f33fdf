//! EphemeralJob v1alpha1, the only version.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{Extra, JobCondition, LabelSelector, RawJson, Time},
    wire_enum::wire_enum,
};

kind! {
    /// Puts ephemeral containers into running pods, to look into them.
    Namespaced EphemeralJob(APPS_GROUP, "v1alpha1", "ephemeraljobs") {
        /// What is put where.
        spec: EphemeralJobSpec,
        status: EphemeralJobStatus,
    }
}

/// What is put where.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EphemeralJobSpec {
    /// Seconds after its start at which the job fails. Containers that run are not stopped.
    #[schemars(range(min = 0))]
    pub active_deadline_seconds: Option<i64>,
    /// In how many pods containers may run at the same time. 1 if not given.
    #[schemars(range(min = 0))]
    pub parallelism: Option<i32>,
    /// Stops the job: no further pod is touched.
    pub paused: Option<bool>,
    /// Into how many pods containers are put at most. All that match if not given.
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,
    /// The pods, in the namespace of the job. Must not be empty.
    #[schemars(transform = rules::selector_not_empty)]
    pub selector: LabelSelector,
    /// The containers.
    pub template: EphemeralContainerTemplate,
    /// Seconds after its end at which the job deletes itself. 1800 if not given.
    #[schemars(range(min = 0))]
    pub ttl_seconds_after_finished: Option<i32>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// The containers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EphemeralContainerTemplate {
    /// Ephemeral containers as in a pod.
    pub ephemeral_containers: RawJson,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What the controller observed last.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EphemeralJobStatus {
    /// When the job ended.
    pub completion_time: Option<Time>,
    /// What happened.
    #[schemars(transform = rules::keyed_by_type)]
    pub conditions: Option<Vec<JobCondition>>,
    /// Pods whose containers failed.
    pub failed: Option<i32>,
    /// Pods that match.
    pub r#match: Option<i32>,
    /// Waiting, Running, Succeeded, Failed, Paused, Error or Unknown.
    pub phase: Option<EphemeralJobPhase>,
    /// Pods whose containers run.
    pub running: Option<i32>,
    /// When the job began.
    pub start_time: Option<Time>,
    /// Pods whose containers succeeded.
    pub succeeded: Option<i32>,
    /// Pods whose containers do not run yet.
    pub waiting: Option<i32>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// Where the job stands.
    open enum EphemeralJobPhase {
        /// No container runs yet.
        Waiting = "Waiting",
        /// Containers run.
        Running = "Running",
        /// Good end.
        Succeeded = "Succeeded",
        /// Bad end.
        Failed = "Failed",
        /// Nothing is done until it is resumed.
        Paused = "Paused",
        /// The job cannot work at all.
        Error = "Error",
        /// None of the above.
        Unknown = "Unknown",
    }
}
