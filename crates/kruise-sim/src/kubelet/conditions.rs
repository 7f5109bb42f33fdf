//! Pod conditions as a kubelet computes them from container statuses and readiness gates.

use jiff::Timestamp;

use super::pod::{Condition, Pod, Status};

/// The conditions that a kubelet owns. Those of others are not listed and stay as they are.
pub fn of(pod: &Pod, status: &Status, resize_refused: Option<String>, now: Timestamp) -> Vec<Condition> {
    let mut set = Setter { pod, now, conditions: Vec::new() };
    let initialized = status.init_container_statuses.iter().all(|container| container.ready);
    set.truth("PodReadyToStartContainers", Verdict::yes());
    set.truth(
        "Initialized",
        if initialized { Verdict::yes() } else { Verdict::no("ContainersNotInitialized", "") },
    );
    let containers = containers_ready(status);
    let ready = if containers.is_true { gates_ready(pod) } else { containers.clone() };
    set.truth("Ready", ready);
    set.truth("ContainersReady", containers);
    if pod.condition("PodScheduled").is_none() {
        set.truth("PodScheduled", Verdict::yes());
    }
    match resize_refused {
        Some(message) => {
            set.truth("PodResizePending", Verdict { is_true: true, ..Verdict::no("Infeasible", &message) });
        }
        None if pod.condition("PodResizePending").is_some_and(|condition| condition.status == "True") => {
            set.truth("PodResizePending", Verdict::no("", ""));
        }
        None => {}
    }
    set.conditions
}

/// The status of a pod that the node does not take.
pub fn rejected(pod: &Pod, reason: &str, now: Timestamp) -> Status {
    let mut set = Setter { pod, now, conditions: Vec::new() };
    set.truth("Ready", Verdict::no("PodFailed", ""));
    Status {
        phase: "Failed".to_owned(),
        conditions: set.conditions,
        start_time: Some(now),
        observed_generation: pod.metadata.generation,
        reason: Some(reason.to_owned()),
        ..Status::default()
    }
}

/// A pod whose deadline has passed: its containers are stopped, and it stays as it is.
pub fn timed_out(pod: &Pod, now: Timestamp) -> Status {
    let mut set = Setter { pod, now, conditions: Vec::new() };
    set.truth("Ready", Verdict::no("PodFailed", ""));
    Status {
        phase: "Failed".to_owned(),
        conditions: set.conditions,
        observed_generation: pod.metadata.generation,
        reason: Some("DeadlineExceeded".to_owned()),
        ..pod.status.clone()
    }
}

#[derive(Debug, Clone)]
struct Verdict {
    is_true: bool,
    reason: Option<String>,
    message: Option<String>,
}

impl Verdict {
    fn yes() -> Self {
        Self { is_true: true, reason: None, message: None }
    }

    fn no(reason: &str, message: &str) -> Self {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Self { is_true: false, reason: some(reason), message: some(message) }
    }
}

struct Setter<'a> {
    pod: &'a Pod,
    now: Timestamp,
    conditions: Vec<Condition>,
}

impl Setter<'_> {
    /// The time of an unchanged status stays.
    fn truth(&mut self, kind: &str, verdict: Verdict) {
        let status = if verdict.is_true { "True" } else { "False" };
        let old = self.pod.condition(kind);
        let since = old.filter(|old| old.status == status).and_then(|old| old.last_transition_time);
        self.conditions.push(Condition {
            kind: kind.to_owned(),
            status: status.to_owned(),
            reason: verdict.reason,
            message: verdict.message,
            last_transition_time: since.or(Some(self.now)),
            // Kept as it was: a patch for nothing but a new number would cost a write per spec change.
            observed_generation: old.and_then(|old| old.observed_generation).or(self.pod.metadata.generation),
        });
    }
}

fn containers_ready(status: &Status) -> Verdict {
    if status.phase == "Succeeded" {
        return Verdict::no("PodCompleted", "");
    }
    let unready: Vec<&str> =
        status.container_statuses.iter().filter(|c| !c.ready).map(|c| c.name.as_str()).collect();
    if unready.is_empty() {
        return Verdict::yes();
    }
    Verdict::no("ContainersNotReady", &format!("containers with unready status: [{}]", unready.join(" ")))
}

fn gates_ready(pod: &Pod) -> Verdict {
    for gate in &pod.spec.readiness_gates {
        let kind = &gate.condition_type;
        match pod.condition(kind) {
            Some(condition) if condition.status == "True" => {}
            Some(_) => {
                let message =
                    format!("the status of pod readiness gate \"{kind}\" is not \"True\", but False");
                return Verdict::no("ReadinessGatesNotReady", &message);
            }
            None => {
                let message =
                    format!("corresponding condition of pod readiness gate \"{kind}\" does not exist.");
                return Verdict::no("ReadinessGatesNotReady", &message);
            }
        }
    }
    Verdict::yes()
}
