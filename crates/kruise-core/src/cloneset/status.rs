//! Status and conditions (CS-72, CS-90 … CS-93).

use jiff::Timestamp;
use kruise_api::conditions;
use kruise_api::reasons::condition as reasons;
use serde_json::{Map, Value, json};

use super::numbers::Side;
use super::plan::Cx;
use super::revisions::collisions;
use super::spec::Fault;
use super::view::View;
use crate::chain::{Part, Patch, Resource, Write};
use crate::plan::Plan;
use crate::pod::PodView;
use crate::reason::Reason;
use crate::time;

/// Ours: tells in one line why nothing moves; gone when something does.
pub const WAITING: &str = "Waiting";
/// Reason of the failure conditions that we write. Upstream writes none, which tells its leftovers apart (B5).
const FAILED: &str = "WriteFailed";
const UNREADABLE: &str = "UnreadableSpec";

/// Fields whose change is worth a write (CS-93).
const WATCHED: [&str; 10] = [
    "replicas",
    "readyReplicas",
    "availableReplicas",
    "updatedReplicas",
    "updatedReadyReplicas",
    "updatedAvailableReplicas",
    "expectedUpdatedReplicas",
    "currentRevision",
    "updateRevision",
    "labelSelector",
];

/// Patches the status if it changed; asks to come back when the deadline passes.
pub fn settle(cx: &Cx<'_>, plan: &mut Plan) {
    let mut status = counts(cx);
    let conditions = Conditions::read(&cx.view.status);
    let mut wanted = conditions.clone();
    progressing(cx, &status, &mut wanted, plan);
    failures(cx, &mut wanted, plan);
    waiting(cx, &mut wanted, plan);
    let old = &cx.view.status;
    let generation = old.get("observedGeneration").and_then(Value::as_i64).unwrap_or(0);
    let is_worth = generation < cx.view.generation
        || WATCHED.iter().any(|field| {
            old.get(field).unwrap_or(&Value::Null) != status.get(*field).unwrap_or(&Value::Null)
                && !both_zero(old.get(field), status.get(*field))
        })
        || wanted.differs_visibly_from(&conditions);
    if is_worth {
        status.insert("conditions".to_owned(), wanted.wire());
        plan.status = Some(write(cx.view, &Value::Object(status)));
    }
}

/// Nothing is touched; the condition says what to correct.
pub fn unreadable(view: &View, fault: &Fault, now: Timestamp, plan: &mut Plan) {
    let conditions = Conditions::read(&view.status);
    let mut wanted = conditions.clone();
    wanted.set(conditions::CLONESET_FAILED_UPDATE, "True", (UNREADABLE, &fault.to_string()), now);
    if wanted.differs_visibly_from(&conditions) {
        plan.status = Some(write(view, &json!({"conditions": wanted.wire()})));
    }
}

fn write(view: &View, status: &Value) -> Write {
    let body = json!({"metadata": {"uid": view.uid.as_str()}, "status": status});
    Write::patch(Resource::Workload, &view.name, Part::Status, Patch::Merge(body))
}

/// An absent count is zero: upstream leaves some zero fields out.
fn both_zero(old: Option<&Value>, new: Option<&Value>) -> bool {
    let is_zero = |value: Option<&Value>| value.is_none_or(|value| value.as_i64() == Some(0) || value == "");
    is_zero(old) && is_zero(new)
}

/// The counts over the pods that were there when the plan began.
fn counts(cx: &Cx<'_>) -> Map<String, Value> {
    let spec = cx.spec;
    let count = |test: &dyn Fn(&PodView) -> bool| cx.pods().filter(|pod| test(pod)).count();
    let is_new = |pod: &PodView| cx.is_new(pod, Side::Update);
    let is_ready = |pod: &PodView| pod.is_update_ready(0, cx.now);
    let is_available = |pod: &PodView| spec.is_available(pod, cx.now);
    let (replicas, updated) = (count(&|_| true), count(&is_new));
    let wanted = usize::try_from(spec.replicas).unwrap_or(usize::MAX);
    // CS-72: without waiting for readiness.
    let is_over = replicas == wanted && updated == wanted;
    let current = if is_over { cx.revisions.update } else { cx.revisions.current };
    let expected = spec.replicas.saturating_sub(spec.rolling.partition.partition(spec.replicas));
    let status = json!({
        "observedGeneration": cx.view.generation,
        "replicas": replicas,
        "readyReplicas": count(&is_ready),
        "availableReplicas": count(&is_available),
        "updatedReplicas": updated,
        "updatedReadyReplicas": count(&|pod| is_new(pod) && is_ready(pod)),
        "updatedAvailableReplicas": count(&|pod| is_new(pod) && is_available(pod)),
        "expectedUpdatedReplicas": expected,
        "currentRevision": current.name.as_str(),
        "updateRevision": cx.revisions.update.name.as_str(),
        "collisionCount": collisions(cx.view),
        "labelSelector": spec.selector.text(),
    });
    if let Value::Object(map) = status { map } else { Map::new() }
}

/// CS-90, CS-91; a new update revision starts the clock again (B4).
fn progressing(cx: &Cx<'_>, status: &Map<String, Value>, conditions: &mut Conditions, plan: &mut Plan) {
    let kind = conditions::CLONESET_PROGRESSING;
    let Some(deadline) = cx.spec.progress_deadline else {
        conditions.drop(kind);
        return;
    };
    let was = cx.view.status.get("updateRevision").and_then(Value::as_str);
    let update = cx.revisions.update.name.as_str();
    if was.is_some_and(|was| was != update) {
        conditions.drop(kind);
    }
    let number = |field: &str| status.get(field).and_then(Value::as_u64).unwrap_or(0);
    let replicas = u64::from(cx.spec.replicas);
    let all = ["replicas", "updatedReplicas", "updatedAvailableReplicas"];
    let is_over = status.get("currentRevision") == status.get("updateRevision")
        && all.iter().all(|field| number(field) == replicas);
    let expected = number("expectedUpdatedReplicas");
    let started = conditions.last_update(kind).unwrap_or(cx.now);
    let until = time::after(started, i64::from(deadline));
    let (state, reason, message) = if is_over {
        ("True", reasons::CLONESET_AVAILABLE, "CloneSet is available".to_owned())
    } else if cx.spec.rolling.is_paused {
        ("True", reasons::CLONESET_PAUSED, "CloneSet is paused".to_owned())
    } else if expected < replicas && expected <= number("updatedAvailableReplicas") {
        let message = "CloneSet has been paused due to partition ready".to_owned();
        ("True", reasons::PROGRESS_PARTITION_AVAILABLE, message)
    } else if conditions.reason(kind) == Some(reasons::PROGRESS_DEADLINE_EXCEEDED) || until < cx.now {
        let message = format!("CloneSet revision {update} has timed out progressing");
        ("False", reasons::PROGRESS_DEADLINE_EXCEEDED, message)
    } else {
        plan.revisit(time::after(until, 1));
        ("True", reasons::CLONESET_UPDATED, "CloneSet is progressing".to_owned())
    };
    conditions.set(kind, state, (reason, &message), cx.now);
}

/// CS-92, but cleared when the cause is gone and refreshed when it changes (B5).
fn failures(cx: &Cx<'_>, conditions: &mut Conditions, plan: &Plan) {
    let blocked = plan.reasons.iter().find(|(_, reason)| matches!(reason, Reason::NotInPlace { .. }));
    let blocked = blocked.map(|(pod, reason)| format!("{pod}: {reason}"));
    let update = cx.view.failures.update.clone().or(blocked);
    for (kind, failure) in [
        (conditions::CLONESET_FAILED_SCALE, cx.view.failures.scale.clone()),
        (conditions::CLONESET_FAILED_UPDATE, update),
    ] {
        match failure {
            Some(message) => conditions.set(kind, "True", (FAILED, &message), cx.now),
            None => conditions.drop(kind),
        }
    }
}

/// Ours: the weightiest reason of a plan that does nothing to any pod.
fn waiting(cx: &Cx<'_>, conditions: &mut Conditions, plan: &Plan) {
    if plan.chains.iter().any(|chain| chain.pod.is_some()) {
        return; // Something moves; an old condition goes with the next write.
    }
    let heaviest =
        plan.reasons.values().max_by_key(|reason| reason.weight()).filter(|reason| reason.weight() > 0);
    let Some(reason) = heaviest else {
        conditions.drop(WAITING);
        return;
    };
    let names: Vec<&str> = plan
        .reasons
        .iter()
        .filter(|(_, one)| one.name() == reason.name())
        .map(|(pod, _)| pod.as_str())
        .collect();
    // A few names are enough to look further; the list must not grow with the replicas.
    let shown = names.iter().take(3).copied().collect::<Vec<_>>().join(", ");
    let message = format!("{} of {} pods ({shown}): {reason}", names.len(), cx.pods().count());
    conditions.set(WAITING, "True", (reason.name(), &message), cx.now);
}

/// The conditions of the status, by type, in the order they stand.
#[derive(Debug, Clone, PartialEq)]
struct Conditions(Vec<Map<String, Value>>);

impl Conditions {
    fn read(status: &Value) -> Self {
        let list = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
        Self(list.filter_map(|one| one.as_object().cloned()).collect())
    }

    fn find(&self, kind: &str) -> Option<&Map<String, Value>> {
        self.0.iter().find(|one| text(one, "type") == Some(kind))
    }

    fn reason(&self, kind: &str) -> Option<&str> {
        text(self.find(kind)?, "reason")
    }

    fn last_update(&self, kind: &str) -> Option<Timestamp> {
        time::read(text(self.find(kind)?, "lastUpdateTime")?)
    }

    fn drop(&mut self, kind: &str) {
        self.0.retain(|one| text(one, "type") != Some(kind));
    }

    /// Same status and reason: left as it is, times and message too (CS-91), unless it reports a failure (B5).
    fn set(&mut self, kind: &str, status: &str, why: (&str, &str), now: Timestamp) {
        let (reason, message) = why;
        let there = self.find(kind);
        let is_same = there
            .is_some_and(|one| text(one, "status") == Some(status) && text(one, "reason") == Some(reason));
        let is_stale = reason == FAILED && there.and_then(|one| text(one, "message")) != Some(message);
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

    /// A failure without reason is upstream's leftover: it goes with the next write, but is not worth one (take-over).
    fn differs_visibly_from(&self, old: &Self) -> bool {
        let is_leftover = |one: &Map<String, Value>| {
            let kind = text(one, "type").unwrap_or_default();
            [conditions::CLONESET_FAILED_SCALE, conditions::CLONESET_FAILED_UPDATE].contains(&kind)
                && text(one, "reason").is_none_or(str::is_empty)
        };
        let visible = |all: &Self| -> Vec<Map<String, Value>> {
            all.0.iter().filter(|one| !is_leftover(one)).cloned().collect()
        };
        visible(self) != visible(old)
    }

    fn wire(self) -> Value {
        Value::Array(self.0.into_iter().map(Value::Object).collect())
    }
}

fn text<'a>(condition: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    condition.get(key).and_then(Value::as_str)
}
