//! The order of the steps (CR-2 … CR-8).

use jiff::Timestamp;
use kruise_api::apps::containerrecreaterequest::RecreatePhase;
use kruise_api::reasons::condition;

use super::spec::Spec;
use super::view::View;
use super::{end, reason, snapshot, unready};
use crate::chain::{Event, EventKind};
use crate::plan::Plan;
use crate::pod::PodView;

/// The next writes for one request.
pub fn plan(view: &View, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let is_deleted = view.head.deleted.is_some();
    if is_deleted || view.stored("completionTime").is_some() {
        end::tidy(view, now, &mut plan);
        return plan;
    }
    if !view.has_agents {
        plan.hold(view.itself(), reason::no_agents());
        return plan;
    }
    let spec = match &view.spec {
        Ok(spec) => spec,
        Err(fault) => {
            let message = format!("{fault}: create the request anew");
            plan.events.push(Event { kind: EventKind::Warning, reason: condition::UNREADABLE_SPEC, message });
            return plan;
        }
    };
    let pod = match end::due(view, spec, now) {
        Ok(pod) => pod,
        Err(ending) => {
            end::complete(view, spec, ending, now, &mut plan);
            return plan;
        }
    };
    if let Some(at) = end::next(view, spec) {
        plan.revisit(at);
    }
    match view.stored("phase").map(RecreatePhase::from) {
        Some(RecreatePhase::Recreating) => help(view, spec, pod, now, &mut plan),
        None => plan.hold(view.itself(), reason::agent()),
        Some(_) => plan.hold(view.itself(), reason::turn()), // CR-6
    }
    plan
}

/// The agent is at work: it is told what the pod says, and waits for a pod that is out of service.
fn help(view: &View, spec: &Spec, pod: &PodView, now: Timestamp, plan: &mut Plan) {
    if spec.unready_grace.is_some() && !view.has_grace() {
        unready::acquire(view, pod, now, plan);
        return;
    }
    snapshot::settle(view, spec, pod, plan);
    plan.hold(view.itself(), reason::recreating());
}
