//! AdvancedCronJob v1alpha1: the hub without image lists.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::v1beta1::{AdvancedCronJobStatus, BroadcastJobTemplate, ConcurrencyPolicy};
use crate::{
    convert::json::{Object, child},
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{Extra, RawJson},
};

kind! {
    /// Creates Jobs or BroadcastJobs at planned times.
    Namespaced AdvancedCronJob(APPS_GROUP, "v1alpha1", "advancedcronjobs") {
        /// What is created, and when.
        spec: AdvancedCronJobSpec,
        status: AdvancedCronJobStatus,
    }
}

/// What is created, and when.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::advancedcronjob::spec)]
pub struct AdvancedCronJobSpec {
    /// What happens when the last child still runs. Allow if not given.
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

/// What is created: exactly one of the templates.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::advancedcronjob::v1alpha1_one_template)]
pub struct CronJobTemplate {
    /// A BroadcastJob. Cannot be changed.
    pub broadcast_job_template: Option<BroadcastJobTemplate>,
    /// A Job, as in a CronJob. Cannot be changed.
    #[schemars(extend("type" = "object"))]
    #[serde(default, deserialize_with = "crate::parts::null_too")]
    pub job_template: Option<RawJson>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Every field of this version is in the hub under the same name.
pub(crate) fn up(_: &mut Object) {}

/// An image list cannot be shown here: it is kept aside, and the object has no template in this version (B19).
pub(crate) fn down(object: &mut Object) {
    if let Some(template) = child(object, "spec").and_then(|spec| child(spec, "template")) {
        template.shift_remove("imageListPullJobTemplate");
    }
}
