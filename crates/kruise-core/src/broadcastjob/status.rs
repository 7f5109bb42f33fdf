//! Counts, phase, times and conditions (BJ-6, BJ-17, BJ-18). Written only when something changed (B15).

use jiff::Timestamp;
use kruise_api::apps::broadcastjob::BroadcastJobPhase;
use kruise_api::conditions::{JOB_COMPLETE, JOB_FAILED};
use kruise_api::kubernetes::status::TRUE;
use kruise_api::reasons::condition;
use serde_json::{Map, Value, json};

use super::census::Census;
use super::view::View;
use crate::plan::Plan;
use crate::time;
use crate::workload::conditions::Conditions;

/// Where the job stands after this plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stand {
    Running,
    Paused,
    /// With Never: it failed and is still counted (BJ-11).
    StaysFailed,
    Completed(String),
    Failed(String),
}

impl Stand {
    fn phase(&self) -> BroadcastJobPhase {
        match self {
            Self::Running => BroadcastJobPhase::Running,
            Self::Paused => BroadcastJobPhase::Paused,
            Self::Completed(_) => BroadcastJobPhase::Completed,
            Self::StaysFailed | Self::Failed(_) => BroadcastJobPhase::Failed,
        }
    }

    fn condition(&self) -> Option<(&'static str, &'static str, &str)> {
        match self {
            Self::Running | Self::Paused | Self::StaysFailed => None,
            Self::Completed(message) => Some((JOB_COMPLETE, condition::COMPLETE, message)),
            Self::Failed(message) => Some((JOB_FAILED, condition::FAILED, message)),
        }
    }
}

/// Patches what changed.
pub fn settle(view: &View, census: &Census<'_>, stand: &Stand, now: Timestamp, plan: &mut Plan) {
    let mut wanted = Map::new();
    for (field, count) in [
        ("active", census.active().count()),
        ("succeeded", census.succeeded()),
        ("failed", census.failed()),
        ("desired", census.desired.len()),
    ] {
        wanted.insert(field.to_owned(), json!(count));
    }
    wanted.insert("phase".to_owned(), json!(stand.phase()));
    if view.stored("startTime").is_none() {
        wanted.insert("startTime".to_owned(), json!(time::seconds(now)));
    }
    let stored = Conditions::read(&view.head.status);
    let mut conditions = stored.clone();
    conditions.waiting(plan, census.desired.len(), now);
    if let Some((kind, reason, message)) = stand.condition() {
        conditions.end(kind, (TRUE, reason, message), now);
        wanted.insert("completionTime".to_owned(), json!(time::seconds(now)));
    }
    if conditions != stored {
        wanted.insert("conditions".to_owned(), conditions.wire());
    }
    wanted.retain(|field, value| view.head.status.get(field) != Some(value));
    if !wanted.is_empty() {
        plan.status = Some(view.workload().status_write(&Value::Object(wanted)));
    }
}
