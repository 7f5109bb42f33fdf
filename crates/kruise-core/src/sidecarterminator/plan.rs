//! The steps for one pod, in their order (ST-8).

use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::kubernetes::{phase, status};
use kruise_api::{conditions, reasons};
use serde_json::json;

use super::classes::{Classes, Host, has_succeeded, is_due, is_over};
use super::reason;
use super::requests::{self, Next, sorted};
use crate::chain::{Blame, Chain, Event, EventKind, Op, Part, Patch, Purpose, Write};
use crate::cluster::node::Node;
use crate::containerrecreaterequest::ContainerRecreateRequest;
use crate::lookup::Lookup;
use crate::object::Key;
use crate::plan::Plan;
use crate::pod::{Container, PodView};
use crate::reason::Reason;
use crate::time;

/// A sidecar that cannot start may do so later; its pod is looked at again after so many seconds (T3).
const LOOK_AGAIN_SECONDS: i64 = 60;

/// Everything that one plan depends on.
#[derive(Debug)]
pub struct View {
    pub pod: Arc<PodView>,
    /// A node that is gone counts as one with an agent: its pods are the garbage collector's (T6).
    pub host: Host,
    pub requests: Vec<Arc<ContainerRecreateRequest>>,
}

impl View {
    pub fn assemble(pod: Arc<PodView>, lookup: &Lookup<'_>) -> Self {
        let node = pod.node.as_ref().and_then(|node| lookup.get::<Node>(&Key::new("", Arc::clone(node))));
        let requests = requests::requests(&pod, lookup);
        let host = if node.is_some_and(|node| node.is_virtual()) { Host::Virtual } else { Host::Ordinary };
        Self { pod, host, requests }
    }
}

pub fn plan(view: &View, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let pod = view.pod.as_ref();
    if !is_due(pod) {
        return plan;
    }
    let classes = Classes::of(pod, view.host);
    replace(pod, &classes.in_place, &mut plan);
    if !classes.stuck.is_empty() {
        complain(pod, reason::stuck(&listed(&classes.stuck)), &mut plan);
    }
    stop(view, &classes.normal, now, &mut plan);
    let is_next = classes.normal.is_empty() && classes.in_place.is_empty();
    if is_next && !classes.ignored.is_empty() {
        end(view, &classes.ignored, now, &mut plan);
    }
    plan
}

/// ST-10, ST-11, T5: on the very containers that were seen, and told only when something changes.
fn replace(pod: &PodView, sidecars: &[&Container], plan: &mut Plan) {
    let mut ops = vec![Op::test("/metadata/uid", pod.uid.as_str())];
    let mut replaced = Vec::new();
    for (at, container) in pod.containers.iter().enumerate() {
        let image = container.job_sidecar.as_ref().and_then(|sidecar| sidecar.image());
        let is_one = sidecars.iter().any(|one| one.name == container.name);
        let Some(image) = image.filter(|image| is_one && **image != container.image) else { continue };
        ops.push(Op::test(&format!("/spec/containers/{at}/name"), &*container.name));
        ops.push(Op::Replace { path: format!("/spec/containers/{at}/image"), value: json!(image) });
        replaced.push(container);
    }
    if replaced.is_empty() {
        if !sidecars.is_empty() {
            plan.hold(pod, reason::sidecars_end(&listed(sidecars)));
        }
        return;
    }
    let write = Write::patch(pod.object(), Part::Object, Patch::Json(ops));
    let text = format!("Terminating sidecars {} using in-place update", listed(&replaced));
    plan.act(told(Chain::about(Purpose::UpdateInPlace, pod, vec![write]), text));
}

/// The node agent stops them (ST-13, ST-14); what it cannot stop is told (T3), and what comes back is stopped again (T1).
fn stop(view: &View, sidecars: &[&Container], now: Timestamp, plan: &mut Plan) {
    let pod = view.pod.as_ref();
    let has_started =
        |one: &&Container| pod.status_of(&one.name).is_some_and(|status| !status.container_id.is_empty());
    let (started, never): (Vec<&Container>, Vec<&Container>) =
        sidecars.iter().partition(|one| has_started(one));
    if !started.is_empty() {
        match requests::next(&view.requests, now) {
            Next::Ask(number) => {
                if number > 0 {
                    complain(pod, reason::runs_again(&listed(&started)), plan);
                }
                plan.act(ask(pod, &started, number));
            }
            Next::Wait => plan.hold(pod, reason::agent(&listed(&started))),
            Next::Until(later) => {
                plan.hold(pod, reason::runs_again(&listed(&started)));
                plan.revisit(later);
            }
            Next::GiveUp => {
                complain(pod, reason::given_up(&listed(&started)), plan);
                plan.act_if(marked(pod, now).map(|mark| unblamed(pod, vec![mark])));
            }
        }
    }
    if !never.is_empty() {
        complain(pod, reason::never_started(&listed(&never)), plan);
        plan.revisit(time::after(now, LOOK_AGAIN_SECONDS));
    }
}

/// ST-16, ST-17: the pod gets its result, then the rest is stopped. A request that is there already is enough: the kubelet stops
/// what is left of a pod that is over (ST-18, T9).
fn end(view: &View, sidecars: &[&Container], now: Timestamp, plan: &mut Plan) {
    let pod = view.pod.as_ref();
    let mark = marked(pod, now);
    if !view.requests.is_empty() {
        plan.act_if(mark.map(|mark| unblamed(pod, vec![mark])));
        plan.hold(pod, reason::agent(&listed(sidecars)));
        return;
    }
    let has_started =
        |one: &&Container| pod.status_of(&one.name).is_some_and(|status| !status.container_id.is_empty());
    let started: Vec<&Container> = sidecars.iter().copied().filter(has_started).collect();
    if started.is_empty() {
        plan.act_if(mark.map(|mark| unblamed(pod, vec![mark]))); // T3
        plan.hold(pod, reason::never_started(&listed(sidecars)));
        return;
    }
    let asked = ask(pod, &started, 0);
    let writes = mark.into_iter().chain(asked.writes.clone()).collect();
    plan.act(Chain { writes, ..asked });
}

fn ask(pod: &PodView, sidecars: &[&Container], number: usize) -> Chain {
    let text = format!("Terminating sidecars {} using crr", listed(sidecars));
    told(unblamed(pod, vec![requests::create(pod, sidecars, number)]), text)
}

/// T8: phase and condition in one write; `None` if the pod is over.
fn marked(pod: &PodView, now: Timestamp) -> Option<Write> {
    let result = if has_succeeded(pod) { phase::SUCCEEDED } else { phase::FAILED };
    let condition = json!({
        "type": conditions::SIDECAR_TERMINATED, "status": status::TRUE,
        "message": reasons::SIDECAR_TERMINATED_MESSAGE, "lastTransitionTime": time::seconds(now),
    });
    let body = json!({"metadata": {"uid": pod.uid.as_str()}, "status": {"phase": result, "conditions": [condition]}});
    (!is_over(pod)).then(|| Write::patch(pod.object(), Part::Status, Patch::Strategic(body)))
}

fn unblamed(pod: &PodView, writes: Vec<Write>) -> Chain {
    Chain { blame: Blame::None, ..Chain::about(Purpose::Refresh, pod, writes) }
}

fn told(chain: Chain, message: String) -> Chain {
    let event = Event { kind: EventKind::Normal, reason: reasons::event::SIDECAR_TERMINATOR, message };
    Chain { done: Some(event), ..chain }
}

fn complain(pod: &PodView, why: Reason, plan: &mut Plan) {
    let message = why.to_string();
    plan.events.push(Event {
        kind: EventKind::Warning,
        reason: reasons::event::SIDECAR_KEEPS_RUNNING,
        message,
    });
    plan.hold(pod, why);
}

fn listed(containers: &[&Container]) -> String {
    sorted(containers).join(", ")
}
