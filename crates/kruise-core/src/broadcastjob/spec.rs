//! `spec`, read once: defaults applied, amounts parsed.

use kruise_api::apps::broadcastjob::{BroadcastJobCompletionPolicy, BroadcastJobSpec, FailurePolicyType};
use kruise_api::parts::{CompletionPolicyType, IntOrString};
use serde_json::Value;

use crate::amount::{Amount, Bare, Rounding};
use crate::eligibility::Needs;
use crate::fault::{Fault, amount};

/// What the user wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    pub template: Value,
    pub needs: Needs,
    parallelism: Amount,
    pub completion: Completion,
    pub on_failure: OnFailure,
    /// Restarts that one pod may have.
    pub restart_limit: u32,
    pub is_paused: bool,
}

/// When the job is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// When every node is done. Seconds from its start to a bad end, and from its end to its deletion.
    Always { deadline: Option<i64>, ttl: Option<i64> },
    /// New nodes are served for as long as it exists.
    Never,
}

/// What a failed pod means for the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    Continue,
    FailFast,
    Pause,
}

impl Spec {
    pub fn read(spec: &Value) -> Result<Self, Fault> {
        let wire = kruise_api::read_part::<BroadcastJobSpec>(spec.clone());
        wire.map_err(|error| Fault::of_spec(&error)).and_then(Self::of)
    }

    fn of(wire: BroadcastJobSpec) -> Result<Self, Fault> {
        let failure = wire.failure_policy.unwrap_or_default();
        Ok(Self {
            needs: Needs::of(&wire.template.0),
            template: wire.template.0,
            parallelism: parallelism(wire.parallelism.as_ref())?,
            completion: Completion::of(&wire.completion_policy.unwrap_or_default()),
            on_failure: OnFailure::of(failure.r#type.as_ref()),
            restart_limit: failure.restart_limit.and_then(|limit| u32::try_from(limit).ok()).unwrap_or(0),
            is_paused: wire.paused == Some(true),
        })
    }

    /// Pods that may be active at once, with so many nodes (BJ-19).
    pub fn limit(&self, nodes: usize) -> usize {
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
        usize::try_from(self.parallelism.of(nodes, Rounding::Up)).unwrap_or(usize::MAX)
    }
}

/// A text is a percentage, with or without the sign (B12); a stored negative number creates nothing (B11).
fn parallelism(wire: Option<&IntOrString>) -> Result<Amount, Fault> {
    if let Some(IntOrString::Int(number)) = wire {
        return Ok(Amount::Pods(u32::try_from(*number).unwrap_or(0)));
    }
    let all = Amount::Pods(i32::MAX.unsigned_abs());
    amount("spec.parallelism", wire, Bare::Percent).map(|read| read.unwrap_or(all))
}

impl Completion {
    /// Anything but Never is Always.
    fn of(wire: &BroadcastJobCompletionPolicy) -> Self {
        match &wire.r#type {
            Some(CompletionPolicyType::Never) => Self::Never,
            Some(_) | None => Self::Always {
                deadline: wire.active_deadline_seconds,
                ttl: wire.ttl_seconds_after_finished.map(i64::from),
            },
        }
    }
}

impl OnFailure {
    /// FailFast if nothing is said; a word that is not known acts like Continue.
    fn of(wire: Option<&FailurePolicyType>) -> Self {
        match wire {
            Some(FailurePolicyType::FailFast) | None => Self::FailFast,
            Some(FailurePolicyType::Pause) => Self::Pause,
            Some(_) => Self::Continue,
        }
    }
}
