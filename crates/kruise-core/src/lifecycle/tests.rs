//! SM-40 … SM-46 as tables.

use serde_json::json;

use super::*;
use crate::chain::{Act, Op, Patch};
use crate::fixtures::{Pod, pod, t0};
use crate::pod::Guard;

fn hooks(value: &Value) -> Hooks {
    Hooks::of(&kruise_api::read_part(value.clone()).unwrap())
}

fn step(pod: Pod, hooks: Option<&Hooks>, progress: Progress, at_target: AtTarget) -> Option<LifecycleState> {
    next(&pod.view(), hooks, progress, at_target)
}

#[test]
fn sm_41_a_missing_label_counts_as_normal() {
    assert_eq!(LifecycleState::of(&pod("a").view()), LifecycleState::Normal);
    assert_eq!(LifecycleState::of(&pod("a").state("").view()), LifecycleState::Normal);
    assert_eq!(LifecycleState::of(&pod("a").state("Odd").view()), LifecycleState::Foreign);
}

#[test]
fn sm_42_and_sm_43_held_needs_one_blocker_all_hooked_needs_every_one() {
    let hook = hooks(&json!({"preDelete": {"labelsHandler": {"l": "1"}, "finalizersHandler": ["f"]}}))
        .pre_delete
        .unwrap();
    let empty = Hook::default();
    for (pod, held, all) in [
        (pod("a"), false, false),
        (pod("a").label("l", "1"), true, false),
        (pod("a").label("l", "2"), false, false),
        (pod("a").finalizer("f"), true, false),
        (pod("a").finalizer("f").label("l", "1"), true, true),
    ] {
        let view = pod.view();
        assert_eq!((hook.is_held(&view), hook.is_all_hooked(&view)), (held, all));
        assert_eq!((empty.is_held(&view), empty.is_all_hooked(&view)), (false, true));
    }
}

#[test]
fn sm_44_preparing_normal_waits_for_a_node_or_for_its_hook() {
    let with_hook = hooks(&json!({"preNormal": {"finalizersHandler": ["f"]}}));
    let new = || pod("a").state("PreparingNormal");

    assert_eq!(step(new(), None, Progress::Complete, AtTarget::Yes), None);
    assert_eq!(step(new().node("n"), None, Progress::Complete, AtTarget::Yes), Some(LifecycleState::Normal));
    assert_eq!(step(new().node("n"), Some(&with_hook), Progress::Complete, AtTarget::Yes), None);
    assert_eq!(
        step(new().finalizer("f"), Some(&with_hook), Progress::Complete, AtTarget::Yes),
        Some(LifecycleState::Normal)
    );
}

#[test]
fn sm_44_updating_ends_in_normal_or_updated() {
    let no_update_hook = hooks(&json!({}));
    let hook = hooks(&json!({"inPlaceUpdate": {"labelsHandler": {"l": "1"}}}));
    let updating = || pod("a").state("Updating");
    let end = |pod: Pod, hooks: Option<&Hooks>| step(pod, hooks, Progress::Complete, AtTarget::Yes);

    assert_eq!(step(updating(), None, Progress::Running, AtTarget::Yes), None);
    assert_eq!(end(updating(), None), Some(LifecycleState::Normal));
    assert_eq!(end(updating(), Some(&no_update_hook)), Some(LifecycleState::Updated));
    assert_eq!(end(updating(), Some(&hook)), Some(LifecycleState::Updated));
    assert_eq!(end(updating().label("l", "1"), Some(&hook)), Some(LifecycleState::Normal));
    assert_eq!(end(pod("a").state("Updated"), Some(&hook)), None);
    assert_eq!(end(pod("a").state("Updated").label("l", "1"), Some(&hook)), Some(LifecycleState::Normal));
    assert_eq!(end(pod("a").state("Updated"), Some(&no_update_hook)), Some(LifecycleState::Normal));
}

#[test]
fn sm_44_preparing_update_moves_by_itself_only_after_a_rollback() {
    let preparing = || pod("a").state("PreparingUpdate");

    assert_eq!(step(preparing(), None, Progress::Complete, AtTarget::No), None);
    assert_eq!(step(preparing(), None, Progress::Complete, AtTarget::Yes), Some(LifecycleState::Normal));
}

#[test]
fn sm_40_a_state_that_is_right_is_not_written_again() {
    let view = pod("a").state("Normal").view();
    let mut edit = Edit::of(&view);

    enter(&mut edit, LifecycleState::Normal, None, t0());

    assert!(edit.is_empty());
}

fn operations(edit: &Edit<'_>) -> Vec<Op> {
    let act = edit.write(Guard::Version).unwrap().act;
    let Act::Patch(Patch::Json(ops)) = act else { panic!("{act:?}") };
    ops
}

#[test]
fn sm_40_state_and_time_travel_together() {
    let view = pod("a").state("PreparingNormal").annotation("x", "y").view();
    let mut edit = Edit::of(&view);

    enter(&mut edit, LifecycleState::Normal, None, t0());

    assert_eq!(
        operations(&edit),
        [
            Op::test("/metadata/resourceVersion", "1"),
            Op::add("/metadata/labels/lifecycle.apps.kruise.io~1state", "Normal"),
            Op::add("/metadata/annotations/lifecycle.apps.kruise.io~1timestamp", "2026-06-01T12:00:00Z"),
        ]
    );
}

#[test]
fn sm_45_and_shared_machinery_m3_keys_come_with_the_hook_and_go_on_every_way_back() {
    let hooks = hooks(&json!({"inPlaceUpdate": {"labelsHandler": {"l": "1"}, "markPodNotReady": true}}));
    let gated =
        || pod("a").gate("KruisePodReady").condition("KruisePodReady", "True", "2026-01-01T00:00:00Z");
    let fresh = gated().view();
    let mut edit = Edit::of(&fresh);
    enter(&mut edit, LifecycleState::PreparingUpdate, Some(&hooks), t0());
    assert_eq!(edit.current("KruisePodReady").unwrap().status, crate::pod::Status::False);
    let message = edit.current("KruisePodReady").unwrap().message().unwrap().to_owned();

    let mut held = gated().state("PreparingUpdate");
    held.0["status"]["conditions"][0]["message"] = json!(message);
    held.0["status"]["conditions"][0]["status"] = json!("False");
    let held = held.view();
    for state in [LifecycleState::Normal, LifecycleState::Updated] {
        let mut back = Edit::of(&held);
        enter(&mut back, state, Some(&hooks), t0());
        assert_eq!(back.current("KruisePodReady").unwrap().status, crate::pod::Status::True, "{state:?}");
    }
    assert!(hooks.forbids_cancelling());
}

#[test]
fn sm_46_rearming_puts_the_hooks_own_marks_back() {
    let hook = hooks(&json!({"inPlaceUpdate": {"labelsHandler": {"l": "1"}, "finalizersHandler": ["f"]}}))
        .in_place_update
        .unwrap();
    let view = pod("a").state("Updated").view();
    let mut edit = Edit::of(&view);

    rearm(&mut edit, &hook);

    let ops = operations(&edit);
    assert!(
        ops.contains(&Op::add("/metadata/labels", json!({"l": "1"})))
            || ops.contains(&Op::add("/metadata/labels/l", "1"))
    );
    assert!(ops.contains(&Op::add("/metadata/finalizers", json!(["f"]))));
}
