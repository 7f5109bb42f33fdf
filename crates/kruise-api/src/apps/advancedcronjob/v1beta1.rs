//! AdvancedCronJob v1beta1, the hub.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{
    apps::{broadcastjob::BroadcastJobSpec, imagelistpulljob::ImageListPullJobSpec},
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{Extra, ObjectReference, RawJson, StringMap, Time},
    wire_enum::wire_enum,
};

kind! {
    /// Creates Jobs, BroadcastJobs or ImageListPullJobs at planned times.
    Namespaced AdvancedCronJob(APPS_GROUP, "v1beta1", "advancedcronjobs") {
        /// What is created, and when.
        spec: AdvancedCronJobSpec,
        status: AdvancedCronJobStatus,
    }
}

/// What is created, and when.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::advancedcronjob::spec, transform = rules::advancedcronjob::image_list)]
pub struct AdvancedCronJobSpec {
    /// What happens when the last child still runs. Allow if not given; Replace for image lists.
    pub concurrency_policy: Option<ConcurrencyPolicy>,
    /// How many failed children are kept. 1 if not given.
    #[schemars(range(min = 0))]
    pub failed_jobs_history_limit: Option<i32>,
    /// Creates no further children.
    pub paused: Option<bool>,
    /// When, in cron syntax.
    #[schemars(length(min = 1))]
    pub schedule: String,
    /// How many seconds late a child may be created. Any time if not given.
    #[schemars(range(min = 0))]
    pub starting_deadline_seconds: Option<i64>,
    /// How many successful children are kept. 3 if not given.
    #[schemars(range(min = 0))]
    pub successful_jobs_history_limit: Option<i32>,
    /// What is created: exactly one of the templates.
    pub template: CronJobTemplate,
    /// Time zone of the schedule, such as Europe/Berlin. The zone of the manager if not given.
    #[schemars(length(min = 1))]
    pub time_zone: Option<String>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// What happens when the last child still runs.
    closed enum ConcurrencyPolicy {
        /// Both run.
        Allow = "Allow",
        /// The new one is skipped.
        Forbid = "Forbid",
        /// The old one is deleted.
        Replace = "Replace",
    }
}

/// What is created: exactly one of the templates.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::advancedcronjob::one_template)]
pub struct CronJobTemplate {
    /// A BroadcastJob. Cannot be changed.
    pub broadcast_job_template: Option<BroadcastJobTemplate>,
    /// An ImageListPullJob.
    pub image_list_pull_job_template: Option<ImageListPullJobTemplate>,
    /// A Job, as in a CronJob. Cannot be changed.
    #[schemars(extend("type" = "object"))]
    #[serde(default, deserialize_with = "crate::parts::null_too")]
    pub job_template: Option<RawJson>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// A BroadcastJob to create.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BroadcastJobTemplate {
    /// Labels and annotations of the child.
    pub metadata: Option<TemplateMetadata>,
    /// The child's spec.
    pub spec: Option<BroadcastJobSpec>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// An ImageListPullJob to create.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageListPullJobTemplate {
    /// Labels and annotations of the child.
    pub metadata: Option<TemplateMetadata>,
    /// The child's spec.
    pub spec: Option<ImageListPullJobSpec>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Labels and annotations of a child.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateMetadata {
    /// Annotations.
    pub annotations: Option<StringMap>,
    /// Labels.
    pub labels: Option<StringMap>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What the controller observed last.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AdvancedCronJobStatus {
    /// Children that run.
    pub active: Option<Vec<ObjectReference>>,
    /// When a child was last created, by plan.
    pub last_schedule_time: Option<Time>,
    /// Kind of the children: Job, BroadcastJob or ImageListPullJob.
    pub r#type: Option<TemplateKind>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// Kind of the children.
    open enum TemplateKind {
        /// Jobs.
        Job = "Job",
        /// BroadcastJobs.
        BroadcastJob = "BroadcastJob",
        /// ImageListPullJobs.
        ImageListPullJob = "ImageListPullJob",
    }
}
