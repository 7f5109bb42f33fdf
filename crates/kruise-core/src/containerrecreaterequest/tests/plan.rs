use serde_json::json;

use super::{body, pod, request, status, written};
use crate::chain::{Act, Part};
use crate::containerrecreaterequest::is_woken_by;
use crate::fixtures::{at, t0};
use crate::gates::{Gate, Gates};

const HELD: &str = r#"[{"userAgent":"ContainerRecreateRequest","key":"n/r"}]"#;

fn draining() -> super::Made {
    request().phase("Recreating").spec("strategy", json!({"unreadyGracePeriodSeconds": 1}))
}

/// The pod while the request holds it.
fn held() -> crate::fixtures::Pod {
    let condition = json!([{"type": "KruisePodReady", "status": "False", "message": HELD, "lastTransitionTime": "2026-06-01T12:00:00Z"}]);
    pod().set("/status/conditions", condition)
}

#[test]
fn cr_3_pod_that_is_gone_going_or_another_ends_the_request() {
    for pod in
        [None, Some(pod().deleted("2026-06-01T12:00:30Z")), Some(pod().set("/metadata/uid", json!("other")))]
    {
        let plan = request().phase("Recreating").pod(pod).plan();

        assert_eq!(
            written(&plan),
            json!({"phase": "Completed", "completionTime": "2026-06-01T12:00:00Z", "message": "pod has gone"})
        );
        assert!(plan.chains.is_empty(), "no pod is touched");
    }
}

#[test]
fn cr_4_agent_that_says_nothing_for_a_minute_ends_the_request() {
    let silent = request().plan_at(at("2026-06-01T12:00:59Z"));
    assert_eq!((written(&silent), silent.revisit_at), (json!(null), Some(at("2026-06-01T12:01:00Z"))));
    let late = request().plan_at(at("2026-06-01T12:01:00Z"));
    assert_eq!(written(&late)["message"], "daemon has not responded for a long time");
    let queued = request().phase("Pending").plan_at(at("2026-06-01T13:00:00Z"));
    assert_eq!(written(&queued), json!(null), "a queued one is exempt");
}

/// containerrecreaterequest/3: states stay, the event names what was not done.
#[test]
fn cr_5_cr_9_deadline_ends_the_request_and_leaves_the_states() {
    let made = request().spec("activeDeadlineSeconds", json!(30)).status(json!({
        "phase": "Recreating", "containerRecreateStates": [{"name": "main", "phase": "Recreating"}],
    }));
    assert_eq!(made.plan().revisit_at, Some(at("2026-06-01T12:00:30Z")));

    let plan = made.plan_at(at("2026-06-01T12:00:30Z"));

    let message = "recreating has exceeded the activeDeadlineSeconds";
    assert_eq!(
        written(&plan),
        json!({"phase": "Completed", "completionTime": "2026-06-01T12:00:30Z", "message": message})
    );
    assert_eq!(plan.events.len(), 1);
    assert!(plan.events[0].message.ends_with("not restarted: main"), "{:?}", plan.events);
}

#[test]
fn cr_6_nothing_is_done_before_the_agent_has_begun() {
    for made in [request(), request().phase("Pending")] {
        let plan = made.spec("strategy", json!({"unreadyGracePeriodSeconds": 1})).plan();
        assert_eq!(plan.writes().count(), 0);
        assert_eq!(plan.reasons.len(), 1, "and it is told why");
    }
}

/// containerrecreaterequest/2: the start time of the container is years before the request.
#[test]
fn cr_7_new_container_is_told_by_its_id_or_restart_count() {
    let with = |status| Some(pod().set("/status/containerStatuses", json!([status])));
    let snapshot = |id: &str, restarts: u32| json!([{"name": "main", "ready": true, "restartCount": restarts, "containerID": id}]);
    let plan = |status| request().phase("Recreating").pod(with(status)).plan();
    assert_eq!(written(&plan(status("c://1", 0))), json!(null), "still the old one");
    assert_eq!(written(&plan(status("c://2", 1)))["containerStatusSnapshot"], snapshot("c://2", 1));
    assert_eq!(written(&plan(status("c://1", 1)))["containerStatusSnapshot"], snapshot("c://1", 1));
    let mut waits = status("c://2", 1);
    waits["state"] = json!({"waiting": {"reason": "CrashLoopBackOff"}});
    assert_eq!(written(&plan(waits.clone())), json!(null), "it does not run");

    let known =
        request().status(json!({"phase": "Recreating", "containerStatusSnapshot": snapshot("c://2", 1)}));
    assert_eq!(known.clone().pod(with(status("c://2", 1))).plan().writes().count(), 0, "written once");
    assert_eq!(written(&known.pod(with(waits)).plan()), json!(null), "an empty one replaces nothing");
}

/// containerrecreaterequest/5.
#[test]
fn cr_7_native_sidecar_is_among_the_new_containers() {
    let sidecar = pod()
        .set("/spec/initContainers", json!([{"name": "main", "restartPolicy": "Always"}]))
        .set("/status/containerStatuses", json!([]))
        .set("/status/initContainerStatuses", json!([status("c://2", 1)]));

    let plan = request().phase("Recreating").pod(Some(sidecar)).plan();

    assert_eq!(written(&plan)["containerStatusSnapshot"][0]["containerID"], "c://2");
}

#[test]
fn cr_8_finalizer_then_readiness_then_condition() {
    let plan = draining().plan();

    let [chain] = plan.chains.as_slice() else { panic!("{plan:?}") };
    let [finalizer, readiness, condition] = chain.writes.as_slice() else { panic!("{chain:?}") };
    assert_eq!(body(finalizer)[2]["value"], json!(["crr.apps.kruise.io/unready-acquired"]));
    assert_eq!((readiness.object.name(), readiness.part), ("web", Part::Status));
    assert!(body(readiness).to_string().contains(&HELD.replace('"', "\\\"")), "{}", body(readiness));
    let said = &body(condition)["status"]["conditions"][0];
    assert_eq!((&said["type"], &said["status"]), (&json!("PreRecreateGrace"), &json!("True")));
    assert_eq!(said["lastTransitionTime"], "2026-06-01T12:00:00Z");
}

#[test]
fn cr_8_what_is_done_is_not_done_again() {
    let again = draining()
        .meta("finalizers", json!(["crr.apps.kruise.io/unready-acquired"]))
        .pod(Some(held()))
        .plan();
    assert_eq!(again.writes().count(), 1, "only the condition is missing");
    let graced =
        json!({"phase": "Recreating", "conditions": [{"type": "PreRecreateGrace", "status": "True"}]});
    assert_eq!(draining().status(graced).pod(Some(held())).plan().writes().count(), 0);
    let other = json!({"phase": "Recreating", "conditions": [{"type": "Other", "status": "True"}]});
    let plan = draining().status(other).plan();
    let conditions = body(plan.writes().last().unwrap())["status"]["conditions"].clone();
    assert_eq!(conditions.as_array().unwrap().len(), 2, "others stay");
}

#[test]
fn cr_8_pod_without_the_gate_is_only_waited_for() {
    let ungated = pod().set("/spec/readinessGates", json!([]));
    let plan = draining().pod(Some(ungated)).plan();
    assert_eq!(plan.writes().map(|write| write.object.name().to_owned()).collect::<Vec<_>>(), ["r"]);
    assert_eq!(plan.writes().next().unwrap().part, Part::Status, "no finalizer");
}

fn over() -> super::Made {
    request().status(json!({"phase": "Completed", "completionTime": "2026-06-01T12:00:00Z"}))
}

#[test]
fn cr_2_pod_goes_back_into_service_before_the_finalizer_goes() {
    let finalizers = json!(["other", "crr.apps.kruise.io/unready-acquired"]);
    for made in [over(), draining().meta("deletionTimestamp", json!("2026-06-01T12:00:00Z"))] {
        let plan = made.meta("finalizers", finalizers.clone()).pod(Some(held())).plan();

        let writes: Vec<_> = plan.writes().collect();
        assert_eq!(writes.iter().map(|write| write.object.name()).collect::<Vec<_>>(), ["web", "r"]);
        assert!(body(writes[0]).to_string().contains("True"));
        assert!(body(writes[1]).to_string().contains("/metadata/finalizers/1"));
    }
    let gone =
        over().meta("finalizers", finalizers).pod(Some(held().set("/metadata/uid", json!("other")))).plan();
    assert!(
        gone.writes().all(|write| write.object.name() == "r"),
        "another pod of the same name is left alone"
    );
}

#[test]
fn cr_2_label_goes_then_time_to_live() {
    let plan = over().plan();
    assert!(body(plan.writes().next().unwrap()).to_string().contains("crr.apps.kruise.io~1active"));
    let tidy = over().meta("labels", json!({}));
    assert_eq!(tidy.plan().revisit_at, None, "no time to live: it stays");
    let mortal = tidy.spec("ttlSecondsAfterFinished", json!(5));
    assert_eq!(mortal.plan().revisit_at, Some(at("2026-06-01T12:00:05Z")));
    let again = mortal.plan_at(at("2026-06-01T12:00:05Z"));
    assert!(matches!(again.writes().next().unwrap().act, Act::Delete { .. }));
}

/// containerrecreaterequest/11.
#[test]
fn request_lets_go_of_its_pod_without_the_gate_too() {
    let off = Gates::default().without(Gate::KruiseDaemon);
    assert_eq!(draining().gates(off.clone()).plan().writes().count(), 0);
    let deleted = draining()
        .meta("deletionTimestamp", json!("2026-06-01T12:00:00Z"))
        .meta("finalizers", json!(["crr.apps.kruise.io/unready-acquired"]));
    assert_eq!(deleted.gates(off).pod(Some(held())).plan().writes().count(), 2);
}

/// containerrecreaterequest/14.
#[test]
fn request_ends_with_a_pod_whose_containers_do_not_come_back() {
    let mut ended = status("c://1", 0);
    ended["state"] = json!({"terminated": {"exitCode": 137}});
    let failed = pod().phase("Failed").set("/status/containerStatuses", json!([ended]));
    let made = request().phase("Recreating");
    assert_eq!(written(&made.clone().pod(Some(failed.clone())).plan())["phase"], "Completed");
    let still_runs = pod().phase("Failed");
    assert_eq!(written(&made.clone().pod(Some(still_runs)).plan()), json!(null), "it is to be stopped");
    let terminated = failed.condition("SidecarTerminated", "True", "2026-06-01T12:00:00Z");
    assert_eq!(written(&made.pod(Some(terminated)).plan()), json!(null));
}

#[test]
fn cr_1_pod_wakes_by_end_and_container_states() {
    let (was, other) = (pod().view(), pod().label("a", "b").view());
    assert!(!is_woken_by(Some(&was), Some(&other)), "labels do not matter");
    let restarted = pod().set("/status/containerStatuses", json!([status("c://2", 1)])).view();
    let going = pod().deleted("2026-06-01T12:00:00Z").view();
    for new in [Some(&restarted), Some(&going), None] {
        assert!(is_woken_by(Some(&was), new));
    }
    assert!(is_woken_by(None, Some(&was)));
}

/// Nothing that can be stored makes it panic, and each state has an explanation or a write.
#[test]
fn broken_objects_are_told_and_left_alone() {
    for spec in [json!(null), json!("x"), json!({"podName": 7}), json!({"podName": "web", "containers": "x"})]
    {
        let made = super::Made { object: json!({"metadata": {"name": "r"}, "spec": spec}), ..request() };
        assert!(made.plan_at(t0()).chains.is_empty());
    }
}
