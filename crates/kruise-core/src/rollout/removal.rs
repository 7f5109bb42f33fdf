//! Taking one pod away: its preDelete hook comes first (SM-45, CS-47, AS-78).

use jiff::Timestamp;
use kruise_api::reasons::event;

use crate::budget::Permit;
use crate::chain::{Chain, Purpose, Write};
use crate::ids::ResourceVersion;
use crate::lifecycle::{self, Hooks, LifecycleState};
use crate::plan::Plan;
use crate::pod::{Edit, Guard, PodView};
use crate::reason::{HookPoint, Reason};

/// The next step of a removal that was paid for.
#[derive(Debug)]
pub enum Step<'a> {
    /// The hook holds the pod: its state tells the hook's owner. Empty if it does already.
    Mark(Edit<'a>),
    Delete(Write),
}

/// With a version where the decision depends on more than the pod's identity.
pub fn step<'a>(
    permit: &Permit<'a>,
    hooks: Option<&Hooks>,
    version: Option<ResourceVersion>,
    now: Timestamp,
) -> Step<'a> {
    let pod = permit.pod();
    if hooks.is_some_and(|hooks| hooks.holds_delete(pod)) {
        let mut edit = Edit::of(pod);
        lifecycle::enter(&mut edit, LifecycleState::PreparingDelete, hooks, now);
        return Step::Mark(edit);
    }
    Step::Delete(Write::delete_version(pod.object(), &pod.uid, version))
}

/// Tells the hook's owner by the pod's state, and the user by an event what holds it; nothing is written twice.
pub fn mark(edit: &Edit<'_>, pod: &PodView, purpose: Purpose, hooks: Option<&Hooks>, plan: &mut Plan) {
    let Some(write) = edit.write(Guard::Version) else {
        return plan.hold(pod, Reason::HookHeld { hook: HookPoint::PreDelete });
    };
    let hook = hooks.and_then(|hooks| hooks.pre_delete.as_ref());
    let blockers = hook.map(|hook| hook.blockers(pod)).unwrap_or_default();
    let message = format!(
        "pod {} waits for its {} hook before it is deleted: {blockers}",
        pod.name,
        HookPoint::PreDelete
    );
    let chain = Chain::about(purpose, pod, vec![write]);
    plan.act(chain.telling(event::WAITING_FOR_HOOK, message, event::FAILED_DELETE));
}

/// Gives a pod back to normal life that is no longer to go (CS-40, statefulset/B10).
pub fn cancel(pod: &PodView, hooks: Option<&Hooks>, now: Timestamp) -> Option<Write> {
    let mut edit = Edit::of(pod);
    lifecycle::enter(&mut edit, LifecycleState::PreparingNormal, hooks, now);
    edit.write(Guard::Version)
}
