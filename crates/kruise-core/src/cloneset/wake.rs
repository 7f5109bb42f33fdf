//! Which changes of a pod wake its CloneSet (CS-84). With the gate, a change that no rule reads is ignored.

use std::collections::BTreeSet;

use kruise_api::conditions;

use crate::inplace::{self, Incomplete};
use crate::lifecycle::{Hooks, LifecycleState};
use crate::pod::{PodView, Status};

/// Conditions that rules read; with their times, because availability counts from them.
const WATCHED: [&str; 3] =
    [conditions::POD_READY, conditions::IN_PLACE_UPDATE_READY, conditions::KRUISE_POD_READY];

/// Whether an update event matters to the planner; what is ignored here must not change any plan.
pub fn matters(old: &PodView, new: &PodView, hooks: Option<&Hooks>) -> bool {
    old.labels != new.labels
        || old.owners != new.owners
        || old.containers != new.containers
        || old.annotations != new.annotations
        || WATCHED.iter().any(|kind| old.condition(kind) != new.condition(kind))
        || old.phase != new.phase
        || old.is_active() != new.is_active()
        || old.node != new.node
        || hook_finalizers(old, hooks) != hook_finalizers(new, hooks)
        || may_finish(new)
}

/// Finalizers that a hook names; others come and go without a meaning here.
fn hook_finalizers<'a>(pod: &'a PodView, hooks: Option<&Hooks>) -> BTreeSet<&'a str> {
    let named: Vec<&String> = hooks
        .into_iter()
        .flat_map(|hooks| [&hooks.pre_normal, &hooks.in_place_update, &hooks.pre_delete])
        .flatten()
        .flat_map(|hook| &hook.finalizers)
        .collect();
    pod.finalizers
        .iter()
        .map(AsRef::as_ref)
        .filter(|one| named.iter().any(|name| name.as_str() == *one))
        .collect()
}

/// An in-place update whose last batch is complete: it may be declared finished, or the next batch may start.
fn may_finish(pod: &PodView) -> bool {
    let is_open = LifecycleState::of(pod) != LifecycleState::Normal
        || (pod.has_readiness_gate(conditions::IN_PLACE_UPDATE_READY)
            && !pod.condition_is(conditions::IN_PLACE_UPDATE_READY, Status::True));
    is_open
        && matches!(
            inplace::is_complete(pod),
            Ok(()) | Err(Incomplete::NextBatch | Incomplete::UnreadableState)
        )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cloneset::tests::{LONG_AGO, new};

    #[test]
    fn cs_84_only_changes_that_a_rule_reads_wake_the_controller() {
        let wire = json!({"preDelete": {"finalizersHandler": ["ours"]}});
        let hooks = Some(Hooks::of(&kruise_api::read_part(wire).unwrap()));
        let before = new().named("a");
        let changed =
            |pod: crate::fixtures::Pod| matters(&before.clone().view(), &pod.view(), hooks.as_ref());

        assert!(!changed(before.clone().set("/metadata/resourceVersion", json!("2"))));
        assert!(!changed(before.clone().finalizer("other")));
        assert!(changed(before.clone().finalizer("ours")));
        assert!(changed(before.clone().label("l", "v")));
        assert!(changed(before.clone().not_ready()));
        assert!(changed(before.clone().phase("Failed")));
        assert!(
            changed(before.clone().ready_since("2026-05-02T00:00:00Z")),
            "availability counts from that time"
        );
        assert!(
            changed(before.clone().condition("InPlaceUpdateReady", "False", LONG_AGO)),
            "complete, not declared"
        );
    }
}
