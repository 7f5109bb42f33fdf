//! CS-72, CS-80, CS-90 … CS-93.

use super::*;
use crate::chain::Patch;

fn written(plan: &Plan) -> Option<Value> {
    let Act::Patch(Patch::Merge(body)) = &plan.status.as_ref()?.act else { panic!() };
    Some(body["status"].clone())
}

fn condition(status: &Value, kind: &str) -> Option<Value> {
    status["conditions"].as_array().into_iter().flatten().find(|one| one["type"] == kind).cloned()
}

/// The same fixture with the status that its own plan writes.
fn after(mut fixture: Fixture) -> Fixture {
    if let Some(status) = written(&fixture.plan()) {
        fixture.object["status"] = status;
    }
    fixture
}

fn with_deadline() -> Fixture {
    cloneset().replicas(2).max_unavailable(json!(0)).set("/progressDeadlineSeconds", json!(60))
}

#[test]
fn cs_93_status_is_written_only_when_it_changed() {
    let fixture = cloneset().replicas(2).settled().pods([new(), new().not_ready()]);
    let status = written(&fixture.plan()).unwrap();
    assert_eq!(status["replicas"], 2);
    assert_eq!(status["readyReplicas"], 1);
    assert_eq!(status["availableReplicas"], 1);
    assert_eq!(status["updatedReplicas"], 2);
    assert_eq!(status["updatedReadyReplicas"], 1);
    assert_eq!(status["expectedUpdatedReplicas"], 2);
    assert_eq!(status["observedGeneration"], 1);
    assert_eq!(status["collisionCount"], 0);
    assert_eq!(status["labelSelector"], "app=web");

    let mut settled = after(fixture);
    assert_eq!(written(&settled.plan()), None);
    settled.object["metadata"]["generation"] = json!(2);
    assert!(written(&settled.plan()).is_some());
}

#[test]
fn cs_72_the_current_revision_moves_when_all_pods_are_updated_ready_or_not() {
    let half = cloneset().replicas(2).max_unavailable(json!(0)).pods([old(), new()]);
    assert_eq!(written(&half.plan()).unwrap()["currentRevision"], half.old_name());

    let all = cloneset().replicas(2).pods([new().not_ready(), new()]);
    assert_eq!(written(&all.plan()).unwrap()["currentRevision"], all.new_name());
}

#[test]
fn cs_20_cs_21_ready_and_available_are_told_apart() {
    let just = "2026-06-01T11:59:50Z";
    let fixture = |seconds: u32| {
        cloneset()
            .replicas(1)
            .settled()
            .set("/minReadySeconds", json!(seconds))
            .pods([new().ready_since(just)])
    };

    let early = fixture(10).plan();
    let status = written(&early).unwrap();
    assert_eq!(
        (&status["readyReplicas"], &status["availableReplicas"]),
        (&json!(1), &json!(0)),
        "strictly before now"
    );
    assert_eq!(written(&fixture(9).plan()).unwrap()["availableReplicas"], 1);
    let changing = new().condition("InPlaceUpdateReady", "False", LONG_AGO);
    for pod in [new().phase("Pending"), new().not_ready(), changing] {
        let down = written(&cloneset().settled().pods([pod.clone()]).plan()).unwrap();
        assert_eq!((&down["readyReplicas"], &down["availableReplicas"]), (&json!(0), &json!(0)), "{pod:?}");
    }
    let preparing = cloneset().settled().pods([new().state("PreparingUpdate")]);
    let held = written(&preparing.plan()).unwrap();
    assert_eq!((&held["readyReplicas"], &held["availableReplicas"]), (&json!(1), &json!(0)));
}

#[test]
fn cloneset_b11_cs_80_comes_back_at_the_exact_instant() {
    let plan = cloneset()
        .settled()
        .set("/minReadySeconds", json!(30))
        .pods([new().ready_since("2026-06-01T11:59:50Z")])
        .plan();

    assert_eq!(plan.revisit_at, Some(crate::fixtures::at("2026-06-01T12:00:20.001Z")));
    assert_eq!(
        reason(&plan, "web-00"),
        &Reason::MinReadySeconds { until: crate::fixtures::at("2026-06-01T12:00:20Z") }
    );
}

/// The earliest of all that time alone changes: a pod that becomes available, the deadline, the end of a grace period.
#[test]
fn cs_80_comes_back_for_what_happens_first() {
    let grace = |revision: &str, seconds: u32| {
        let state = json!({"revision": revision, "updateTimestamp": "2026-06-01T12:00:00Z", "lastContainerStatuses": null, "updateImages": true});
        let grace =
            json!({"revision": revision, "containerImages": {"main": "nginx:2"}, "graceSeconds": seconds});
        new()
            .state("Updating")
            .not_ready()
            .annotation("apps.kruise.io/inplace-update-state", &state.to_string())
            .annotation("apps.kruise.io/inplace-update-grace", &grace.to_string())
    };
    let name = cloneset().new_name();
    for (min_ready, deadline, seconds, instant) in [
        (30, 60, 90, "2026-06-01T12:00:20.001Z"),
        (60, 10, 90, "2026-06-01T12:00:11Z"),
        (60, 60, 7, "2026-06-01T12:00:07Z"),
    ] {
        let fixture = cloneset().replicas(3).max_unavailable(json!(0));
        let fixture = fixture
            .set("/minReadySeconds", json!(min_ready))
            .set("/progressDeadlineSeconds", json!(deadline));
        let pods = [old(), new().ready_since("2026-06-01T11:59:50Z"), grace(&name, seconds)];

        let plan = after(fixture.pods(pods)).plan();

        assert_eq!(plan.revisit_at, Some(crate::fixtures::at(instant)), "{min_ready} {deadline} {seconds}");
    }
}

#[test]
fn cs_90_progressing_exists_only_with_a_deadline() {
    for deadline in [Value::Null, json!(i32::MAX)] {
        let fixture = cloneset().set("/progressDeadlineSeconds", deadline).settled().pods([new()]);
        assert_eq!(condition(&written(&fixture.plan()).unwrap(), "Progressing"), None);
    }
}

#[test]
fn cs_90_first_match_wins() {
    let reason_of = |fixture: Fixture| {
        let status = written(&fixture.plan()).unwrap();
        let one = condition(&status, "Progressing").unwrap();
        (one["status"].as_str().unwrap().to_owned(), one["reason"].as_str().unwrap().to_owned())
    };
    let named = |status: &str, reason: &str| (status.to_owned(), reason.to_owned());

    assert_eq!(reason_of(with_deadline().settled().pods([new(), new()])), named("True", "CloneSetAvailable"));
    assert_eq!(reason_of(with_deadline().paused().pods([old(), new()])), named("True", "CloneSetPaused"));
    let parted = with_deadline().partition(json!(1)).pods([old(), new()]);
    assert_eq!(reason_of(parted), named("True", "ProgressPartitionAvailable"));
    assert_eq!(reason_of(with_deadline().pods([old(), new()])), named("True", "CloneSetUpdated"));
}

#[test]
fn cs_91_the_deadline_counts_from_the_start_and_sticks_when_exceeded() {
    let mut fixture = after(with_deadline().pods([old(), new()]));
    let running = fixture.plan();
    assert_eq!(written(&running), None, "unchanged status and reason are left untouched");
    assert_eq!(running.revisit_at, Some(crate::fixtures::at("2026-06-01T12:01:01Z")));

    let late = super::super::plan(&fixture.view(), crate::fixtures::at("2026-06-01T12:01:01Z"));
    let exceeded = written(&late).unwrap();
    let one = condition(&exceeded, "Progressing").unwrap();
    assert_eq!(
        (one["status"].as_str(), one["reason"].as_str()),
        (Some("False"), Some("ProgressDeadlineExceeded"))
    );
    assert_eq!(one["message"], format!("CloneSet revision {} has timed out progressing", fixture.new_name()));

    fixture.object["status"] = exceeded;
    assert_eq!(written(&fixture.plan()), None, "it sticks");
}

#[test]
fn cloneset_b4_a_new_update_revision_starts_the_deadline_again() {
    let mut fixture = after(with_deadline().pods([old(), new()]));
    let conditions = fixture.object["status"]["conditions"].as_array_mut().unwrap();
    let progressing = conditions.iter_mut().find(|one| one["type"] == "Progressing").unwrap();
    progressing["reason"] = json!("ProgressDeadlineExceeded");
    progressing["status"] = json!("False");
    fixture.object["status"]["updateRevision"] = json!("web-before");

    let status = written(&fixture.plan()).unwrap();

    assert_eq!(condition(&status, "Progressing").unwrap()["reason"], "CloneSetUpdated");
}

#[test]
fn cs_92_and_cloneset_b5_failures_are_shown_refreshed_and_cleared() {
    let failing: fn(&mut View) = |view| view.failures.scale = Some("quota exceeded".to_owned());
    let worse: fn(&mut View) = |view| view.failures.scale = Some("denied".to_owned());
    let fixture = after(cloneset().settled().pods([new()]).and(failing));
    assert_eq!(condition(&fixture.object["status"], "FailedScale").unwrap()["message"], "quota exceeded");
    assert_eq!(written(&fixture.plan()), None);

    let refreshed = written(&fixture.clone().and(worse).plan()).unwrap();
    assert_eq!(condition(&refreshed, "FailedScale").unwrap()["message"], "denied");

    let healed: fn(&mut View) = |view| view.failures.scale = None;
    let cleared = written(&fixture.and(healed).plan()).unwrap();
    assert_eq!(condition(&cleared, "FailedScale"), None);
}

#[test]
fn sm_10a_a_leftover_failure_of_the_original_is_not_worth_a_write_of_its_own() {
    let mut fixture = after(cloneset().settled().pods([new()]));
    let leftover = json!([{"type": "FailedUpdate", "status": "True", "message": "conflict", "lastTransitionTime": LONG_AGO}]);
    fixture.object["status"]["conditions"] = leftover;

    assert_eq!(written(&fixture.plan()), None);
    fixture.object["metadata"]["generation"] = json!(9);
    assert_eq!(
        condition(&written(&fixture.plan()).unwrap(), "FailedUpdate"),
        None,
        "it goes with the next write"
    );
}

#[test]
fn cs_90_a_rollout_that_stands_still_says_why() {
    let hook = json!({"inPlaceUpdate": {"labelsHandler": {"hold": "on"}}});
    let held = cloneset().set("/lifecycle", hook).pods([old().label("hold", "on").state("PreparingUpdate")]);

    let waiting = condition(&written(&held.plan()).unwrap(), "Waiting").unwrap();

    assert_eq!(waiting["reason"], "HookHeld");
    assert_eq!(waiting["message"], "1 of 1 pods (web-00): held by the inPlaceUpdate hook");
    let asked_for = cloneset().paused().pods([old()]);
    assert_eq!(condition(&written(&asked_for.plan()).unwrap(), "Waiting"), None);
}

/// Of all that stands still, the pods that the others wait for are named, with what is the matter with them.
#[test]
fn cs_75_a_limit_that_is_used_up_says_by_whom() {
    let waiting = |pod| {
        let fixture = cloneset().replicas(2).max_unavailable(json!(1)).set("/minReadySeconds", json!(60));
        let fixture = fixture.pods([pod, old()]); // Of two that weigh alike the last would be told.
        condition(&written(&fixture.plan()).unwrap(), "Waiting").unwrap()["message"].clone()
    };

    assert_eq!(waiting(new().not_ready()), "1 of 2 pods (web-00): not ready since 2026-05-01T00:00:00Z");
    let mut unscheduled = new().state("PreparingNormal").phase("Pending").not_ready();
    unscheduled.0["spec"]["nodeName"] = Value::Null;
    assert_eq!(waiting(unscheduled), "1 of 2 pods (web-00): waits for a node");
    assert_eq!(
        waiting(new().ready_since("2026-06-01T11:59:30Z")),
        "1 of 2 pods (web-01): 1 unavailable, at most 1 allowed; web-00: ready; becomes available at 2026-06-01T12:00:30Z"
    );
}

/// When another pod is waited for than before, the condition says so, although its reason is the same.
#[test]
fn cs_91_the_pod_that_is_waited_for_is_always_the_one_that_is_named() {
    let hook = json!({"inPlaceUpdate": {"labelsHandler": {"hold": "on"}}});
    let held = || old().label("hold", "on").state("PreparingUpdate");
    let one_of_two = |pods: [crate::fixtures::Pod; 2]| {
        cloneset().replicas(2).max_unavailable(json!(1)).set("/lifecycle", hook.clone()).pods(pods)
    };
    let first = after(one_of_two([held(), old()]));
    let mut second = one_of_two([new(), held()]);
    second.object["status"] = first.object["status"].clone();

    let waiting = condition(&written(&second.plan()).unwrap(), "Waiting").unwrap();

    assert_eq!(waiting["message"], "1 of 2 pods (web-01): held by the inPlaceUpdate hook");
    assert_eq!(written(&after(second).plan()), None, "and then it is settled");
}
