//! How a request ends (CR-3 … CR-5, CR-9), and what is cleared away afterwards (CR-2).

use jiff::Timestamp;
use kruise_api::apps::containerrecreaterequest::RecreatePhase;
use kruise_api::finalizers::CONTAINER_RECREATE_REQUEST;
use kruise_api::{conditions, labels, reasons::event};
use serde_json::{Value, json};

use super::spec::Spec;
use super::view::View;
use crate::chain::{Chain, Event, EventKind, Op, Part, Patch, Purpose, Write};
use crate::plan::Plan;
use crate::pod::{ContainerStatus, Edit, Guard, Phase, PodView};
use crate::{readiness, time};

/// CR-4: an agent that is there answers within seconds.
const AGENT_PATIENCE_SECONDS: i64 = 60;

/// Why a request ends without its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    PodGone,
    NoAgent,
    Deadline,
    PodEnded,
}

impl Ending {
    /// What the status says.
    pub fn message(self) -> &'static str {
        match self {
            Self::PodGone => "pod has gone",
            Self::NoAgent => "daemon has not responded for a long time",
            Self::Deadline => "recreating has exceeded the activeDeadlineSeconds",
            Self::PodEnded => "pod has ended, its containers do not come back",
        }
    }
}

/// The pod to go on with, or why the request ends now.
pub fn due<'a>(view: &'a View, spec: &Spec, now: Timestamp) -> Result<&'a PodView, Ending> {
    let pod = view.pod.as_deref().filter(|pod| pod.deleted.is_none()).ok_or(Ending::PodGone)?;
    let is_over = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
    if is_over(agent_until(view)) {
        return Err(Ending::NoAgent);
    }
    if is_over(deadline(view, spec)) {
        return Err(Ending::Deadline);
    }
    if has_ended(spec, pod) {
        return Err(Ending::PodEnded);
    }
    Ok(pod)
}

/// When time alone ends it.
pub fn next(view: &View, spec: &Spec) -> Option<Timestamp> {
    agent_until(view).into_iter().chain(deadline(view, spec)).min()
}

/// CR-4: only until an agent has said anything; one that is queued is exempt.
fn agent_until(view: &View) -> Option<Timestamp> {
    let is_silent = view.stored("phase").is_none();
    view.head.created.filter(|_| is_silent).map(|created| time::after(created, AGENT_PATIENCE_SECONDS))
}

/// CR-5.
fn deadline(view: &View, spec: &Spec) -> Option<Timestamp> {
    Some(time::after(view.head.created?, spec.deadline?))
}

/// The pod has ended and none of the containers runs (14). A pod that SidecarTerminator ended is said to have ended while the containers
/// that the request is to stop still run.
fn has_ended(spec: &Spec, pod: &PodView) -> bool {
    let is_over = matches!(pod.phase, Phase::Succeeded | Phase::Failed);
    let is_named = |status: &&ContainerStatus| spec.containers.iter().any(|one| one.name == status.name);
    let runs = pod.statuses.iter().chain(&pod.sidecar_statuses).filter(is_named).any(|one| one.is_running);
    is_over && !runs && pod.condition(conditions::SIDECAR_TERMINATED).is_none()
}

/// CR-9. States of containers are the agent's.
pub fn complete(view: &View, spec: &Spec, ending: Ending, now: Timestamp, plan: &mut Plan) {
    let status = json!({
        "phase": RecreatePhase::Completed, "completionTime": time::seconds(now), "message": ending.message(),
    });
    let body = json!({"metadata": {"uid": view.head.uid.as_str()}, "status": status});
    plan.status = Some(Write::patch(view.itself(), Part::Status, Patch::Merge(body)));
    let unfinished = unfinished(view, spec).join(", ");
    if !unfinished.is_empty() {
        let message = format!("{}; not restarted: {unfinished}", ending.message());
        plan.events.push(Event { kind: EventKind::Warning, reason: event::RECREATE_UNFINISHED, message }); // 3
    }
}

/// Containers that the agent has not declared restarted.
fn unfinished<'a>(view: &View, spec: &'a Spec) -> Vec<&'a str> {
    let states = view.head.status.get("containerRecreateStates").and_then(Value::as_array);
    let is_done = |name: &str| {
        let state =
            states.into_iter().flatten().find(|state| state.get("name").is_some_and(|one| one == name));
        let phase = state.and_then(|state| state.get("phase")?.as_str()).map(RecreatePhase::from);
        phase == Some(RecreatePhase::Succeeded)
    };
    spec.containers.iter().map(|one| one.name.as_ref()).filter(|name| !is_done(name)).collect()
}

/// CR-2: the pod goes back into service before the finalizer goes, so that a crash in between is made good.
pub fn tidy(view: &View, now: Timestamp, plan: &mut Plan) {
    let is_deleted = view.head.deleted.is_some();
    let mut writes = Vec::new();
    let mut ops = vec![Op::test("/metadata/uid", view.head.uid.as_str())];
    if let Some(position) = view.finalizer() {
        writes.extend(view.pod.as_deref().and_then(|pod| put_back(view, pod, now)));
        let path = format!("/metadata/finalizers/{position}");
        ops.push(Op::test(&path, CONTAINER_RECREATE_REQUEST));
        ops.push(Op::Remove { path });
    }
    if view.is_marked_active && !is_deleted {
        ops.push(Op::Remove { path: Op::path("/metadata/labels", labels::CRR_ACTIVE) });
    }
    if ops.len() > 1 {
        writes.push(Write::patch(view.itself(), Part::Object, Patch::Json(ops)));
        plan.act(Chain::about(Purpose::Release, view.itself(), writes));
    } else if !is_deleted {
        expire(view, now, plan);
    }
}

fn put_back(view: &View, pod: &PodView, now: Timestamp) -> Option<Write> {
    if pod.deleted.is_some() {
        return None;
    }
    let mut edit = Edit::of(pod);
    readiness::release(&mut edit, &view.readiness_key(), now);
    edit.write(Guard::Version) // Others hold entries in the same text.
}

/// At its time to live, if it has one.
fn expire(view: &View, now: Timestamp, plan: &mut Plan) {
    let ttl = view.spec.as_ref().ok().and_then(|spec| spec.ttl);
    let end = view.stored("completionTime").and_then(time::read);
    let Some((end, ttl)) = end.zip(ttl) else { return };
    let at = time::after(end, ttl);
    if now < at {
        plan.revisit(at);
        return;
    }
    let write = Write::delete(view.itself(), &view.head.uid);
    plan.act(Chain::about(Purpose::Delete, view.itself(), vec![write]));
}
