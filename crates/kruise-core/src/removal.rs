//! Taking one pod away: its preDelete hook comes first (SM-45, CS-47, AS-78).

use jiff::Timestamp;

use crate::budget::Permit;
use crate::chain::{Act, Resource, Write};
use crate::ids::ResourceVersion;
use crate::lifecycle::{self, Hooks, State};
use crate::pod::{Edit, Guard};

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
        lifecycle::enter(&mut edit, State::PreparingDelete, hooks, now);
        return Step::Mark(edit);
    }
    let act = Act::Delete { uid: pod.uid.clone(), version };
    Step::Delete(Write { resource: Resource::Pod, name: pod.name.to_string(), act })
}

/// Gives a pod back to normal life that is no longer to go (CS-40, statefulset/B10).
pub fn cancel(pod: &crate::pod::PodView, hooks: Option<&Hooks>, now: Timestamp) -> Option<Write> {
    let mut edit = Edit::of(pod);
    lifecycle::enter(&mut edit, State::PreparingNormal, hooks, now);
    edit.write(Guard::Version)
}
