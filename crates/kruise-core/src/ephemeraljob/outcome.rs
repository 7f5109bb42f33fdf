//! Phase, end and conditions (EJ-14 … EJ-18).

use jiff::Timestamp;
use kruise_api::apps::ephemeraljob::EphemeralJobPhase as Phase;
use kruise_api::conditions::{
    EPHEMERALJOB_ERROR, EPHEMERALJOB_FAILED, EPHEMERALJOB_MATCHED_EMPTY, EPHEMERALJOB_SUCCEEDED,
};
use kruise_api::reasons::{condition, event};

use super::census::{Census, Stand};
use super::spec::Spec;
use super::view::View;
use crate::time;

/// What has become of the job.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub phase: Phase,
    /// It has ended now.
    pub is_over: bool,
    /// Type, reason, message; at most one of a type.
    pub conditions: Vec<(&'static str, &'static str, String)>,
}

impl Outcome {
    /// The first that applies (EJ-14), then what overrides it.
    pub fn of(view: &View, spec: &Spec, census: &Census<'_>, now: Timestamp) -> Self {
        let mut outcome = Self::of_pods(census);
        let failed = census.count(Stand::Failed);
        if spec.is_paused {
            outcome.phase = Phase::Paused; // EJ-15: an end stays one.
        }
        if 0 < failed {
            let message = "a container failed: status.failed counts the pods".to_owned();
            outcome.say(EPHEMERALJOB_FAILED, event::CREATE_FAILED, message); // EJ-16
        }
        let is_late = deadline(view, spec, now).is_some_and(|at| at <= now);
        if is_late && matches!(outcome.phase, Phase::Waiting | Phase::Running | Phase::Unknown) {
            (outcome.phase, outcome.is_over) = (Phase::Failed, true);
            let message = "the job did not end within activeDeadlineSeconds; containers that run are not stopped, because Kubernetes cannot stop them";
            outcome.say(EPHEMERALJOB_FAILED, event::DEADLINE_EXCEEDED, message.to_owned()); // EJ-17, E12
        }
        if spec.containers.is_empty() {
            outcome.phase = Phase::Error; // EJ-18, E11
            let message = "spec.template.ephemeralContainers is empty: there is nothing to put into pods";
            outcome.say(EPHEMERALJOB_ERROR, condition::ERROR, message.to_owned());
        }
        outcome
    }

    /// E1, E2: it ends when every pod that counts has ended, however they did.
    fn of_pods(census: &Census<'_>) -> Self {
        let all = census.targets.len();
        let mut outcome = Self { phase: Phase::Unknown, is_over: false, conditions: Vec::new() };
        if all == 0 {
            outcome.phase = Phase::Waiting;
            let message = "no pod matches".to_owned();
            outcome.say(EPHEMERALJOB_MATCHED_EMPTY, condition::MATCH_EMPTY, message);
        } else if census.count(Stand::Succeeded) == all {
            (outcome.phase, outcome.is_over) = (Phase::Succeeded, true);
            let message = "the containers of all pods succeeded".to_owned();
            outcome.say(EPHEMERALJOB_SUCCEEDED, condition::JOB_SUCCEEDED, message);
        } else if census.targets.iter().all(|member| member.stand.is_over()) {
            (outcome.phase, outcome.is_over) = (Phase::Failed, true);
        } else if 0 < census.count(Stand::Running) {
            outcome.phase = Phase::Running;
        } else if census.count(Stand::Waiting) == all {
            outcome.phase = Phase::Waiting;
        }
        outcome
    }

    /// Later ones count more.
    fn say(&mut self, kind: &'static str, reason: &'static str, message: String) {
        self.conditions.retain(|(one, _, _)| *one != kind);
        self.conditions.push((kind, reason, message));
    }

    /// E16.
    pub fn may_inject(&self) -> bool {
        !self.is_over && !matches!(self.phase, Phase::Paused | Phase::Error)
    }
}

/// When the job fails if it is not over by then.
pub fn deadline(view: &View, spec: &Spec, now: Timestamp) -> Option<Timestamp> {
    let start = view.stored("startTime").and_then(time::read).unwrap_or(now);
    spec.deadline.map(|seconds| time::after(start, seconds))
}
