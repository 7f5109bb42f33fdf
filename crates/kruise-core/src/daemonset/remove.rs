//! Taking a pod away (DS-20, DS-24, DS-25): its preDelete hook comes first, and only so many go at once.

use kruise_api::reasons::event;

use super::plan::{Burst, Cx};
use super::reason;
use crate::budget::DeleteBudget;
use crate::chain::{Chain, Event, EventKind, Purpose};
use crate::plan::Plan;
use crate::pod::PodView;
use crate::rollout::removal::{self, Step};

/// What a deletion is for and what is told when it is done.
pub struct Removal {
    pub purpose: Purpose,
    /// Reason and message of the event.
    pub told: (&'static str, String),
}

/// A pod that a chain is already about, such as its adoption, is looked at again by the next plan.
pub fn remove(cx: &Cx<'_>, pod: &PodView, removal: Removal, burst: &mut Burst, plan: &mut Plan) {
    if plan.acts_on(pod) {
        return;
    }
    let Removal { purpose, told: (reason, message) } = removal;
    let hooks = cx.spec.hooks.as_ref();
    match removal::step(&DeleteBudget::paid(pod), hooks, None, cx.now) {
        // Not cut by burstReplicas: nothing is deleted yet (DS-24).
        Step::Mark(edit) => removal::mark(&edit, pod, purpose, hooks, plan),
        Step::Delete(write) if burst.delete() => {
            let kind = match reason {
                event::FAILED_DAEMON_POD => EventKind::Warning,
                _ => EventKind::Normal,
            };
            let chain = Chain::about(purpose, pod, vec![write]).or_tell(event::FAILED_DELETE);
            plan.act(Chain { done: Some(Event { kind, reason, message }), ..chain });
        }
        Step::Delete(_) => plan.hold(pod, reason::burst(burst.limit)),
    }
}
