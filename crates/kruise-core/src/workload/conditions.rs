//! Conditions in the status of a workload: kept, cleared and compared the same way by every kind.

use jiff::Timestamp;
use kruise_api::{conditions::WAITING, kubernetes::status, reasons::condition as reasons};
use serde_json::{Map, Value, json};

use crate::fault::Fault;
use crate::plan::Plan;
use crate::reason::Reason;
use crate::time;
use crate::turn::Failures;
use crate::workload::Workload;

/// Nothing is touched; the last of the failure conditions says what to correct.
pub fn report_unreadable(
    workload: &Workload<'_>,
    fault: &Fault,
    failures: &[&str],
    now: Timestamp,
    plan: &mut Plan,
) {
    let conditions = Conditions::read(&workload.status);
    let mut wanted = conditions.clone();
    if let Some(kind) = failures.last() {
        wanted.set(kind, status::TRUE, (reasons::UNREADABLE_SPEC, &fault.to_string()), now);
    }
    if wanted.differ_visibly_from(&conditions, failures) {
        plan.status = Some(workload.status_write(&json!({"conditions": wanted.wire()})));
    }
}

/// What failed, or else the pod that InPlaceOnly keeps from being updated.
pub fn update_failure(failures: &Failures, plan: &Plan) -> Option<String> {
    let blocked = plan.reasons.iter().find(|(_, reason)| matches!(reason, Reason::NotInPlace { .. }));
    failures.update.clone().or(blocked.map(|(pod, reason)| format!("{pod}: {reason}")))
}

/// An absent count is zero: upstream leaves some zero fields out.
pub fn both_zero(old: Option<&Value>, new: Option<&Value>) -> bool {
    let is_zero = |value: Option<&Value>| value.is_none_or(|value| value.as_i64() == Some(0) || value == "");
    is_zero(old) && is_zero(new)
}

/// The conditions of the status, by type, in the order they stand.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions(Vec<Map<String, Value>>);

impl Conditions {
    pub fn read(status: &Value) -> Self {
        let list = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
        Self(list.filter_map(|one| one.as_object().cloned()).collect())
    }

    fn find(&self, kind: &str) -> Option<&Map<String, Value>> {
        self.0.iter().find(|one| text(one, "type") == Some(kind))
    }

    pub fn reason(&self, kind: &str) -> Option<&str> {
        text(self.find(kind)?, "reason")
    }

    pub fn message(&self, kind: &str) -> Option<&str> {
        text(self.find(kind)?, "message")
    }

    pub fn last_update(&self, kind: &str) -> Option<Timestamp> {
        time::read(text(self.find(kind)?, "lastUpdateTime")?)
    }

    pub fn drop(&mut self, kind: &str) {
        self.0.retain(|one| text(one, "type") != Some(kind));
    }

    /// Same status and reason: left as it is, times and message too (CS-91), unless it reports a failure (B5) or names what is
    /// waited for, which may be another pod by now.
    pub fn set(&mut self, kind: &str, status: &str, why: (&str, &str), now: Timestamp) {
        let (reason, message) = why;
        let there = self.find(kind);
        let is_same = there
            .is_some_and(|one| text(one, "status") == Some(status) && text(one, "reason") == Some(reason));
        let is_kept_current = reason == reasons::WRITE_FAILED || kind == WAITING;
        let is_stale = is_kept_current && there.and_then(|one| text(one, "message")) != Some(message);
        if is_same && !is_stale {
            return;
        }
        let moved = there.filter(|one| text(one, "status") == Some(status));
        let transition = moved.and_then(|one| text(one, "lastTransitionTime")).map(str::to_owned);
        let condition = json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastUpdateTime": time::seconds(now),
            "lastTransitionTime": transition.unwrap_or_else(|| time::seconds(now)),
        });
        let Value::Object(condition) = condition else {
            return;
        };
        match self.0.iter_mut().find(|one| text(one, "type") == Some(kind)) {
            Some(one) => *one = condition,
            None => self.0.push(condition),
        }
    }

    /// The result of a job, in the shape that Job conditions have: written once.
    pub fn end(&mut self, kind: &str, (status, reason, message): (&str, &str, &str), now: Timestamp) {
        self.drop(kind);
        self.drop(WAITING);
        let at = time::seconds(now);
        let condition = json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastProbeTime": at, "lastTransitionTime": at,
        });
        if let Value::Object(condition) = condition {
            self.0.push(condition);
        }
    }

    /// A failure without reason is upstream's leftover: it goes with the next write, but is not worth one (take-over).
    pub fn differ_visibly_from(&self, old: &Self, failures: &[&str]) -> bool {
        let is_leftover = |one: &Map<String, Value>| {
            let kind = text(one, "type").unwrap_or_default();
            failures.contains(&kind) && text(one, "reason").is_none_or(str::is_empty)
        };
        let visible = |all: &Self| -> Vec<Map<String, Value>> {
            all.0.iter().filter(|one| !is_leftover(one)).cloned().collect()
        };
        visible(self) != visible(old)
    }

    /// Reports a failure, or clears it when its cause is gone.
    pub fn failure(&mut self, kind: &str, message: Option<&str>, now: Timestamp) {
        match message {
            Some(message) => self.set(kind, status::TRUE, (reasons::WRITE_FAILED, message), now),
            None => self.drop(kind),
        }
    }

    /// The weightiest reason of a plan that does nothing to any pod, out of that many pods.
    pub fn waiting(&mut self, plan: &Plan, pods: usize, now: Timestamp) {
        if plan.chains.iter().any(|chain| chain.item.is_some()) {
            return; // Something moves; an old condition goes with the next write.
        }
        let heaviest =
            plan.reasons.values().max_by_key(|reason| reason.weight()).filter(|reason| reason.weight() > 0);
        let Some(reason) = heaviest else {
            self.drop(WAITING);
            return;
        };
        let names: Vec<&str> = plan
            .reasons
            .iter()
            .filter(|(_, one)| one.name() == reason.name())
            .map(|(item, _)| item.name())
            .collect();
        // A few names are enough to look further; the list must not grow with the replicas.
        let shown = names.iter().take(3).copied().collect::<Vec<_>>().join(", ");
        let message =
            format!("{} of {pods} pods ({shown}): {reason}{}", names.len(), used_up_by(reason, plan));
        self.set(WAITING, status::TRUE, (reason.name(), &message), now);
    }

    pub fn wire(self) -> Value {
        Value::Array(self.0.into_iter().map(Value::Object).collect())
    }
}

/// The first of the pods that a limit is used up by, and what it waits for itself.
fn used_up_by(reason: &Reason, plan: &Plan) -> String {
    let (Reason::MaxUnavailable { .. } | Reason::TargetUnavailable { .. } | Reason::DeleteLimit { .. }) =
        reason
    else {
        return String::new();
    };
    let down = plan.reasons.iter().find(|(_, one)| one.is_down());
    down.map_or_else(String::new, |(pod, why)| format!("; {pod}: {why}"))
}

fn text<'a>(condition: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    condition.get(key).and_then(Value::as_str)
}
