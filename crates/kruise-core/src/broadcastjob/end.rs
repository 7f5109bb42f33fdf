//! Ends: a bad one, the stop of pods that restart too often, and what happens to a finished job (BJ-3, BJ-13 … BJ-15).

use jiff::Timestamp;
use kruise_api::annotations::RESTART_LIMIT_EXCEEDED;
use kruise_api::reasons::event;
use serde_json::json;

use super::census::{Census, Fate};
use super::spec::{Completion, OnFailure, Spec};
use super::view::View;
use crate::chain::{Chain, Event, EventKind, Part, Patch, Purpose, Write};
use crate::plan::Plan;
use crate::pod::PodView;
use crate::time;

/// Why a job fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    FailedPod,
    Deadline,
}

impl Failure {
    /// BJ-13 before BJ-14. The deadline counts from the first reconcile, whatever happened since (B4).
    pub fn of(view: &View, spec: &Spec, census: &Census<'_>, now: Timestamp) -> Option<Self> {
        if 0 < census.failed() && spec.on_failure == OnFailure::FailFast {
            return Some(Self::FailedPod);
        }
        deadline(view, spec, now).filter(|at| *at <= now).map(|_| Self::Deadline)
    }

    pub fn event(self) -> &'static str {
        match self {
            Self::FailedPod => event::FAILED_POD_FOUND,
            Self::Deadline => event::DEADLINE_EXCEEDED,
        }
    }

    /// As the original words it.
    pub fn message(self, view: &View) -> String {
        match self {
            Self::FailedPod => {
                "failure policy is FailurePolicyTypeFailFast and failed pod is found".to_owned()
            }
            Self::Deadline => format!(
                "Job {}/{} was active longer than specified deadline",
                view.head.namespace, view.head.name
            ),
        }
    }
}

/// When the job fails if it is not over by then.
pub fn deadline(view: &View, spec: &Spec, now: Timestamp) -> Option<Timestamp> {
    let Completion::Always { deadline: Some(seconds), .. } = spec.completion else { return None };
    let start = view.stored("startTime").and_then(time::read).unwrap_or(now);
    Some(time::after(start, seconds))
}

/// Deletes pods that have not come to an end (BJ-15).
pub fn delete<'a>(pods: impl Iterator<Item = &'a PodView>, why: &str, plan: &mut Plan) {
    for pod in pods {
        let write = Write::delete(pod.object(), &pod.uid);
        let message = format!("deleted pod {}: {why}", pod.name);
        plan.act(Chain::about(Purpose::Delete, pod, vec![write]).telling(
            event::SUCCESSFUL_DELETE,
            message,
            event::FAILED_DELETE,
        ));
    }
}

/// Ends pods that restarted too often. A deadline of one second makes the kubelet stop the pod for good and keeps it as a record of the
/// failure; deleting it would let the node be served again (B8).
pub fn stop_over_limit(census: &Census<'_>, plan: &mut Plan) {
    for pod in census.of_fate(Fate::OverLimit) {
        if pod.annotations.has(RESTART_LIMIT_EXCEEDED) {
            continue;
        }
        let patch = json!({
            "metadata": {"uid": pod.uid.as_str(), "annotations": {RESTART_LIMIT_EXCEEDED: "true"}},
            "spec": {"activeDeadlineSeconds": 1},
        });
        let write = Write::patch(pod.object(), Part::Object, Patch::Merge(patch));
        plan.act(Chain::about(Purpose::Delete, pod, vec![write]));
        let message = format!(
            "pod {} restarted more often than failurePolicy.restartLimit allows: stopping it",
            pod.name
        );
        plan.events.push(Event { kind: EventKind::Warning, reason: event::RESTART_LIMIT_EXCEEDED, message });
    }
}

/// BJ-3: a finished job is deleted when its time to live is over, and else left as it is.
pub fn retire(view: &View, spec: &Spec, now: Timestamp, plan: &mut Plan) {
    let Completion::Always { ttl: Some(ttl), .. } = spec.completion else { return };
    let Some(end) = view.stored("completionTime").and_then(time::read) else { return };
    let at = time::after(end, ttl);
    if view.head.deleted.is_some() {
        return;
    }
    if now < at {
        plan.revisit(at);
        return;
    }
    let job = view.workload().itself();
    plan.act(Chain::about(Purpose::Delete, job.clone(), vec![Write::delete(job, &view.head.uid)]));
}
