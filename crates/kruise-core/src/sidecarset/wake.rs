//! Which changes of pods can change a plan (SS-50, B11).

use super::missed::is_missed;
use super::object::SidecarSet;
use crate::lookup::Lookup;
use crate::pod::PodView;

/// Of a pod that has the set in its list, before or after.
pub fn matters(old: &PodView, new: &PodView) -> bool {
    old.is_active() != new.is_active()
        || old.is_ready() != new.is_ready()
        || old.phase != new.phase
        || old.labels != new.labels
        || old.annotations != new.annotations
        || old.containers != new.containers
        || old.statuses != new.statuses
        || old.node.is_some() != new.node.is_some()
}

/// Of a pod that should have the set and has not, before or after.
pub fn is_missed_differently(
    set: &SidecarSet,
    old: Option<&PodView>,
    new: Option<&PodView>,
    lookup: Lookup<'_>,
) -> bool {
    let missed = |pod: Option<&PodView>| pod.is_some_and(|pod| is_missed(set, pod, lookup));
    missed(old) != missed(new)
}
