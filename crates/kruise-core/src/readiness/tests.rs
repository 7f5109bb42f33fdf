//! SM-50 … SM-52.

use serde_json::json;

use super::*;
use crate::chain::{Act, Op, Patch};
use crate::fixtures::{Pod, pod, t0};
use crate::pod::Guard;

fn gated() -> Pod {
    pod("a").running().gate("KruisePodReady").gate("InPlaceUpdateReady").ready_since("2026-01-01T00:00:00Z")
}

#[test]
fn sm_50_the_first_true_is_written_once_and_only_with_the_gate() {
    for (pod, written) in [
        (pod("a"), false),
        (gated(), true),
        (gated().condition("KruisePodReady", "False", "2026-01-01T00:00:00Z"), false),
    ] {
        let view = pod.view();
        let mut edit = Edit::of(&view);
        first_ready(&mut edit, t0());
        assert_eq!(!edit.is_empty(), written);
    }
}

/// PW-3: a pod that somebody has decided about, one without the gate and one that is going are left alone.
#[test]
fn pw_3_only_a_missing_condition_of_a_living_pod_is_written() {
    let since = "2026-01-01T00:00:00Z";
    for (pod, written) in [
        (gated(), 1),
        (pod("a").running(), 0),
        (gated().condition("KruisePodReady", "False", since), 0),
        (gated().condition("KruisePodReady", "True", since), 0),
        (gated().deleted(since), 0),
    ] {
        let plan = plan(&pod.view(), t0());
        assert_eq!(plan.writes().count(), written);
        for write in plan.writes() {
            let Act::Patch(Patch::Strategic(body)) = &write.act else { panic!() };
            let condition = &body["status"]["conditions"][0];
            assert_eq!(
                (&condition["type"], &condition["status"]),
                (&json!("KruisePodReady"), &json!("True"))
            );
            assert_eq!((condition.get("reason"), condition.get("message")), (None, None));
        }
    }
}

#[test]
fn shared_machinery_m17_new_conditions_of_both_gates_travel_in_one_patch() {
    let view = pod("a").gate("KruisePodReady").gate("InPlaceUpdateReady").view();
    let mut edit = Edit::of(&view);

    first_ready(&mut edit, t0());
    finish_update(&mut edit, t0());

    let write = edit.write(Guard::Identity).unwrap();
    let Act::Patch(Patch::Strategic(body)) = write.act else { panic!() };
    assert_eq!(body["metadata"]["uid"], "uid-a");
    assert_eq!(body["status"]["conditions"].as_array().unwrap().len(), 2);
}

/// PW-4.
#[test]
fn sm_51_ready_falls_at_once_and_names_the_gate() {
    let since = "2026-01-01T00:00:00Z";
    let view = gated()
        .condition("KruisePodReady", "True", since)
        .condition("InPlaceUpdateReady", "True", since)
        .view();
    let mut edit = Edit::of(&view);

    start_update(&mut edit, t0());

    let ready = edit.current("Ready").unwrap();
    assert_eq!(ready.status, Status::False);
    assert_eq!(ready.reason(), Some("ReadinessGatesNotReady"));
    assert_eq!(
        ready.message(),
        Some("the status of pod readiness gate \"InPlaceUpdateReady\" is not \"True\", but False")
    );
    assert_eq!(ready.since(), Some(t0()), "shared-machinery/M12: with the time");
}

#[test]
fn sm_51_without_ready_containers_the_kubelet_decides() {
    let view = gated().condition("ContainersReady", "False", "2026-01-01T00:00:00Z").view();
    let mut edit = Edit::of(&view);

    start_update(&mut edit, t0());

    assert_eq!(edit.current("Ready").unwrap().status, Status::True);
}

/// PW-4, platform acceptance 18.
#[test]
fn sm_52_ready_only_after_both_keys_are_gone() {
    let view = gated().view();
    let other = Key { user_agent: "ContainerRecreateRequest".to_owned(), key: "ns/crr".to_owned() };
    let mut edit = Edit::of(&view);

    hold(&mut edit, Key::pre_delete(), t0());
    hold(&mut edit, other.clone(), t0());
    let both = edit.current("KruisePodReady").unwrap().clone();
    assert_eq!(both.status, Status::False, "shared-machinery/M12: False, never empty");
    assert_eq!(
        both.message(),
        Some(
            r#"[{"userAgent":"ContainerRecreateRequest","key":"ns/crr"},{"userAgent":"Lifecycle","key":"preDeleteHook"}]"#
        )
    );
    release(&mut edit, &Key::pre_delete(), t0());
    assert_eq!(edit.current("KruisePodReady").unwrap().status, Status::False);
    release(&mut edit, &other, t0());

    let last = edit.current("KruisePodReady").unwrap();
    assert_eq!((last.status, last.message()), (Status::True, Some("[]")));
}

#[test]
fn sm_52_without_the_gate_nothing_is_held() {
    let view = pod("a").view();
    let mut edit = Edit::of(&view);

    hold(&mut edit, Key::pre_delete(), t0());

    assert!(edit.is_empty());
}

#[test]
fn shared_machinery_m11_a_condition_that_says_the_same_is_not_written_again() {
    let view = gated().condition("InPlaceUpdateReady", "True", "2026-01-01T00:00:00Z").view();
    let mut edit = Edit::of(&view);

    finish_update(&mut edit, t0());

    assert!(edit.is_empty());
}

/// True for another reason: corrected once, and then it says the same.
#[test]
fn shared_machinery_m11_a_condition_with_another_reason_is_written_once() {
    let since = "2026-01-01T00:00:00Z";
    let written = |pod: &Pod| {
        let view = pod.clone().view();
        let mut edit = Edit::of(&view);
        finish_update(&mut edit, t0());
        edit.write(Guard::Version)
    };
    let mut other = gated().condition("InPlaceUpdateReady", "True", since);
    other.0["status"]["conditions"][2]["reason"] = json!("Somebody");

    let Some(Act::Patch(Patch::Json(ops))) = written(&other).map(|write| write.act) else { panic!() };

    let Op::Replace { value, .. } = &ops[1] else { panic!("{ops:?}") };
    assert_eq!(value["lastTransitionTime"], since, "the status did not change");
    other.0["status"]["conditions"][2] = value.clone();
    assert_eq!(written(&other), None, "not again at every turn");
}

#[test]
fn sm_30_conditions_that_exist_are_replaced_in_place_under_a_test() {
    let mut pod = gated();
    pod = pod.condition("InPlaceUpdateReady", "False", "2026-01-01T00:00:00Z");
    let view = pod.view();
    let mut edit = Edit::of(&view);
    finish_update(&mut edit, t0());

    let write = edit.write(Guard::Version).unwrap();

    let Act::Patch(Patch::Json(ops)) = write.act else { panic!() };
    let value = json!({"type": "InPlaceUpdateReady", "status": "True", "lastProbeTime": null, "lastTransitionTime": "2026-06-01T12:00:00Z"});
    assert_eq!(
        ops,
        [
            Op::test("/metadata/resourceVersion", "1"),
            Op::Replace { path: "/status/conditions/2".to_owned(), value },
        ]
    );
}
