//! `spec`, read once: the schedule parsed, defaults applied.

use kruise_api::apps::advancedcronjob::{AdvancedCronJobSpec, ConcurrencyPolicy};
use serde_json::{Value, json};

use super::schedule::{Schedule, says_its_zone};
use crate::fault::{Fault, count};

/// What the user wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    pub schedule: Schedule,
    /// Seconds that a run may be late.
    pub deadline: Option<i64>,
    pub concurrency: Concurrency,
    pub is_paused: bool,
    pub kept_successful: u32,
    pub kept_failed: u32,
    pub template: Template,
    /// Metadata and spec of the children.
    pub child: Value,
}

/// What happens to a run while the last one is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concurrency {
    Allow,
    Forbid,
    Replace,
}

/// The kind of the children (ACJ-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Template {
    Job,
    BroadcastJob,
    ImageListPullJob,
}

impl Spec {
    pub fn read(spec: &Value) -> Result<Self, Fault> {
        let wire = kruise_api::read_part::<AdvancedCronJobSpec>(spec.clone());
        wire.map_err(|error| Fault::of_spec(&error)).and_then(|wire| Self::of(&wire))
    }

    fn of(wire: &AdvancedCronJobSpec) -> Result<Self, Fault> {
        let (template, child) = template(wire)?;
        let usual = match template {
            Template::ImageListPullJob => Concurrency::Replace,
            Template::Job | Template::BroadcastJob => Concurrency::Allow,
        };
        Ok(Self {
            schedule: schedule(&wire.schedule, wire.time_zone.as_deref())?,
            deadline: wire.starting_deadline_seconds,
            concurrency: match wire.concurrency_policy {
                None => usual,
                Some(ConcurrencyPolicy::Other(ref word)) if word.is_empty() => usual,
                Some(ConcurrencyPolicy::Other(ref word)) => {
                    let problem = format!("{word:?}: use {}", ConcurrencyPolicy::WORDS.join(", "));
                    return Err(Fault::new("spec.concurrencyPolicy", &problem));
                }
                Some(ConcurrencyPolicy::Allow) => Concurrency::Allow,
                Some(ConcurrencyPolicy::Forbid) => Concurrency::Forbid,
                Some(ConcurrencyPolicy::Replace) => Concurrency::Replace,
            },
            is_paused: wire.paused == Some(true),
            kept_successful: count("spec.successfulJobsHistoryLimit", wire.successful_jobs_history_limit)?
                .unwrap_or(u32::MAX),
            kept_failed: count("spec.failedJobsHistoryLimit", wire.failed_jobs_history_limit)?
                .unwrap_or(u32::MAX),
            template,
            child,
        })
    }
}

/// ACJ-15, B20: a zone that does not exist stops the schedule; one in the text counts alone.
pub fn schedule(text: &str, zone: Option<&str>) -> Result<Schedule, Fault> {
    let zone = zone.filter(|_| !says_its_zone(text));
    Schedule::read(text, None).map_err(|error| Fault::new("spec.schedule", &error))?;
    Schedule::read(text, zone).map_err(|error| Fault::new("spec.timeZone", &error))
}

/// ACJ-1.
fn template(wire: &AdvancedCronJobSpec) -> Result<(Template, Value), Fault> {
    let all = &wire.template;
    if let Some(job) = &all.job_template {
        return Ok((Template::Job, json!(job)));
    }
    if let Some(list) = &all.image_list_pull_job_template {
        return Ok((Template::ImageListPullJob, json!(list)));
    }
    match &all.broadcast_job_template {
        Some(job) => Ok((Template::BroadcastJob, json!(job))),
        None => Err(Fault::new("spec.template", &"has no template: nothing can be created")),
    }
}

/// What an absent field means.
pub mod defaults {
    pub const KEPT_SUCCESSFUL: u32 = 3;
    pub const KEPT_FAILED: u32 = 1;
}
