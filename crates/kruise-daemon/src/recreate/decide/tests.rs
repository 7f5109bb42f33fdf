use serde_json::{Value, json};

use super::*;

const NOW: &str = "2026-01-01T00:10:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// A request for containers `a` and `b`, with this strategy and status.
#[expect(clippy::needless_pass_by_value, reason = "fixtures are made on the spot")]
fn request(strategy: Value, status: Value) -> ContainerRecreateRequest {
    let container = |name: &str| json!({"name": name, "statusContext": {"containerID": format!("containerd://{name}0"), "restartCount": 0}});
    serde_json::from_value(json!({
        "apiVersion": "apps.kruise.io/v1beta1", "kind": "ContainerRecreateRequest",
        "metadata": {"name": "r", "namespace": "n", "labels": {"crr.apps.kruise.io/pod-uid": "u"}},
        "spec": {"podName": "p", "containers": [container("a"), container("b")], "strategy": strategy},
        "status": status,
    }))
    .unwrap()
}

fn named(name: &str, phase: &str, created: &str) -> ContainerRecreateRequest {
    let mut request = request(json!({}), json!({"phase": phase}));
    request.metadata.name = Some(name.to_owned());
    request.metadata.creation_timestamp =
        serde_json::from_value(json!(format!("2026-01-01T00:00:{created}Z"))).unwrap();
    request
}

fn seen(pairs: &[(&str, &str)]) -> BTreeMap<String, Seen> {
    let one = |id: &str| Seen {
        id: ContainerId { runtime: "containerd".to_owned(), id: id.trim_end_matches('!').to_owned() },
        restart_count: i32::from(!id.ends_with('0')),
        has_exited: id.ends_with('!'),
        started_at: Some("2026-01-01T00:09:50Z".parse().unwrap()),
    };
    pairs.iter().map(|(name, id)| ((*name).to_owned(), one(id))).collect()
}

fn both() -> BTreeMap<String, Seen> {
    seen(&[("a", "a0"), ("b", "b0")])
}

/// A state as it is written; with `!` at the end of the phase, the container was killed.
fn state(name: &str, phase: &str) -> Value {
    let mut state = json!({"name": name, "phase": phase.trim_end_matches('!')});
    if phase.ends_with('!') {
        state["isKilled"] = json!(true);
    }
    state
}

fn phases(states: &[RecreateState]) -> Vec<&str> {
    states.iter().map(|state| state.phase.as_str()).collect()
}

/// Applies a step as the loop does, with stops that succeed.
fn apply(request: &mut ContainerRecreateRequest, step: &Step) -> Option<String> {
    let (states, stopped) = match step {
        Step::Write(states) => (states.clone(), None),
        Step::Stop { index, target, states, .. } => {
            (after_stop(states.clone(), *index, Ok(())), Some(target.container.clone()))
        }
        Step::Complete | Step::Wait(_) => return None,
    };
    request.status.get_or_insert_default().container_recreate_states = Some(states);
    stopped
}

#[test]
fn cd_2_recreating_before_pending_before_new_and_the_oldest_first() {
    let all = [named("new", "", "01"), named("newer", "", "02"), named("old", "Completed", "00")];
    let picked = pick(&all);
    assert_eq!(picked.next.unwrap().metadata.name.as_deref(), Some("new"));
    assert_eq!(picked.to_pending.len(), 1);

    let three = [named("new", "", "01"), named("waits", "Pending", "02"), named("runs", "Recreating", "03")];
    let running = pick(&three);
    assert_eq!(running.next.unwrap().metadata.name.as_deref(), Some("runs"));
    let names: Vec<_> = running.to_pending.iter().map(|one| one.metadata.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["new"], "one that waits already is not written again");
}

/// CRR problem 1 and acceptance 13, 14: whoever waits is next when the others are over or gone.
#[test]
fn crr_7_1_waiting_request_is_next_when_the_one_before_is_over() {
    let all = [named("done", "Completed", "00"), named("waits", "Pending", "01")];
    assert_eq!(pick(&all).next.unwrap().metadata.name.as_deref(), Some("waits"));
    let mut deleting = named("deleting", "Recreating", "00");
    deleting.metadata.deletion_timestamp = serde_json::from_value(json!(NOW)).unwrap();
    let two = [deleting, named("waits", "Pending", "01")];
    assert_eq!(pick(&two).next.unwrap().metadata.name.as_deref(), Some("waits"));
    assert_eq!(pick(&[]).next, None);
}

#[test]
fn cd_4_waits_until_the_pod_has_been_unready_for_long_enough() {
    let grace = json!({"unreadyGracePeriodSeconds": 5});
    let since = |time: &str| {
        json!({"phase": "Recreating", "conditions": [{"type": "PreRecreateGrace", "status": "True", "reason": "r",
               "message": "", "lastTransitionTime": time}]})
    };
    assert_eq!(unready_left(&request(json!({}), json!({"phase": ""})), now()), Ok(SignedDuration::ZERO));
    assert_eq!(unready_left(&request(grace.clone(), json!({"phase": ""})), now()), Err(NotUnready));
    let left = unready_left(&request(grace.clone(), since("2026-01-01T00:09:58Z")), now()).unwrap();
    assert_eq!(left, SignedDuration::from_millis(3_100));
    let long_ago = unready_left(&request(grace, since("2026-01-01T00:00:00Z")), now()).unwrap();
    assert_eq!(long_ago, SignedDuration::ZERO);
}

#[test]
fn cd_5_all_containers_must_be_in_one_runtime() {
    let fine = request(json!({}), json!({"phase": ""}));
    assert_eq!(runtime(&fine), Ok("containerd".to_owned()));
    let mut mixed = fine.clone();
    mixed.spec.containers[1].status_context.as_mut().unwrap().container_id = "cri-o://x".to_owned();
    assert!(runtime(&mixed).unwrap_err().contains("different runtimes"));
    let mut odd = fine.clone();
    odd.spec.containers[1].status_context.as_mut().unwrap().container_id = "x".to_owned();
    assert!(runtime(&odd).is_err());
    let mut without = fine;
    without.spec.containers[0].status_context = None;
    assert_eq!(runtime(&without), Err("no statusContext in container a".to_owned()));
}

#[test]
fn cd_7_state_of_a_container() {
    let plain =
        |states: Value| request(json!({}), json!({"phase": "Recreating", "containerRecreateStates": states}));
    let forced = |states: Value| {
        request(
            json!({"forceRecreate": true}),
            json!({"phase": "Recreating", "containerRecreateStates": states}),
        )
    };
    for (request, seen, expected, why) in [
        (plain(json!([])), seen(&[("b", "b0")]), "Pending", "not in the runtime"),
        (plain(json!([])), seen(&[("a", "a0!")]), "Recreating", "it has exited"),
        (forced(json!([])), seen(&[("a", "a1")]), "Pending", "forced, although it restarted by itself"),
        (
            forced(json!([state("a", "Recreating!")])),
            seen(&[("a", "a1")]),
            "Recreating",
            "forced and stopped",
        ),
        (plain(json!([])), seen(&[("a", "a1")]), "Recreating", "it restarted by itself"),
        (plain(json!([])), seen(&[("a", "a0")]), "Pending", "not touched yet"),
        (plain(json!([state("a", "Succeeded!")])), seen(&[]), "Succeeded", "final"),
        (plain(json!([state("a", "Failed")])), seen(&[("a", "a1")]), "Failed", "final"),
    ] {
        let states = states(&request, &seen, now());
        assert_eq!(states[0].phase.as_str(), expected, "{why}");
    }
    let missing = states(&plain(json!([])), &seen(&[]), now());
    assert_eq!(missing[0].message.as_deref(), Some("not found container on Node"));
}

#[test]
fn cd_7_4_success_needs_the_same_container_ready_and_running_for_long_enough() {
    let snapshot = |id: &str, ready: bool, min: i32| {
        request(
            json!({"minStartedSeconds": min}),
            json!({"phase": "Recreating", "containerStatusSnapshot":
                   [{"name": "a", "ready": ready, "restartCount": 1, "containerID": id}]}),
        )
    };
    let seen = seen(&[("a", "a1"), ("b", "b0")]);
    for (request, expected, why) in [
        (snapshot("containerd://a1", true, 0), "Succeeded", "ready"),
        (snapshot("containerd://a1", true, 9), "Succeeded", "10 seconds are more than 9"),
        (snapshot("containerd://a1", true, 10), "Recreating", "10 seconds are not more than 10"),
        (snapshot("containerd://a1", false, 0), "Recreating", "not ready"),
        (snapshot("containerd://other", true, 0), "Recreating", "another container"),
    ] {
        assert_eq!(states(&request, &seen, now())[0].phase.as_str(), expected, "{why}");
    }
}

/// CD-9, CD-12: unordered containers are stopped one per pass, without waiting for the first to be ready.
#[test]
fn cd_8_cd_9_one_stop_per_pass_and_states_are_written_first() {
    let mut request = request(json!({}), json!({"phase": "Recreating"}));
    let first = step(&request, &both(), now());
    assert!(matches!(&first, Step::Write(states) if phases(states) == ["Pending", "Pending"]), "{first:?}");
    apply(&mut request, &first);

    let second = step(&request, &both(), now());
    assert_eq!(apply(&mut request, &second).as_deref(), Some("a"));
    let after = seen(&[("a", "a1"), ("b", "b0")]);
    let third = step(&request, &after, now());
    assert_eq!(apply(&mut request, &third).as_deref(), Some("b"), "the first need not be ready");
    let last = step(&request, &seen(&[("a", "a1"), ("b", "b1")]), now());
    assert_eq!(last, Step::Wait(None), "nothing is stopped twice");
}

#[test]
fn cd_9_ordered_waits_for_the_one_before() {
    let states = json!([state("a", "Recreating!"), state("b", "Pending")]);
    let mut request = request(
        json!({"orderedRecreate": true}),
        json!({"phase": "Recreating", "containerRecreateStates": states}),
    );
    let after = seen(&[("a", "a1"), ("b", "b0")]);
    assert!(matches!(step(&request, &after, now()), Step::Wait(_)));
    request.status.as_mut().unwrap().container_status_snapshot = serde_json::from_value(
        json!([{"name": "a", "ready": true, "restartCount": 1, "containerID": "containerd://a1"}]),
    )
    .unwrap();
    let write = step(&request, &after, now());
    apply(&mut request, &write);
    assert_eq!(apply(&mut request.clone(), &step(&request, &after, now())).as_deref(), Some("b"));
}

#[test]
fn cd_10_failed_stop_ends_or_goes_on_as_the_policy_says() {
    let states = vec![
        serde_json::from_value(state("a", "Pending")).unwrap(),
        serde_json::from_value(state("b", "Pending")).unwrap(),
    ];
    let failed = after_stop(states, 0, Err("no such container".to_owned()));
    assert_eq!(failed[0].message.as_deref(), Some("kill container error: no such container"));
    assert_eq!((failed[0].phase.as_str(), failed[0].is_killed), ("Failed", None));
    for (policy, expected) in [(json!({}), None), (json!({"failurePolicy": "Ignore"}), Some("b"))] {
        let request = request(policy, json!({"phase": "Recreating", "containerRecreateStates": failed}));
        let step = step(&request, &both(), now());
        match expected {
            None => assert_eq!(step, Step::Complete),
            Some(name) => assert_eq!(apply(&mut request.clone(), &step).as_deref(), Some(name)),
        }
    }
}

#[test]
fn cd_11_all_done_completes_and_the_rest_is_looked_at_again() {
    let done = json!([state("a", "Succeeded!"), state("b", "Succeeded!")]);
    let over = request(json!({}), json!({"phase": "Recreating", "containerRecreateStates": done}));
    assert_eq!(step(&over, &both(), now()), Step::Complete);

    let running = json!([state("a", "Recreating!"), state("b", "Recreating!")]);
    let waits = request(
        json!({"minStartedSeconds": 5}),
        json!({"phase": "Recreating", "containerRecreateStates": running}),
    );
    let after = seen(&[("a", "a1"), ("b", "b1")]);
    assert_eq!(step(&waits, &after, now()), Step::Wait(Some(SignedDuration::from_secs(5))));
}

/// CRR problem 7: nothing outside need change for a missing container to be found.
#[test]
fn crr_7_7_missing_container_is_looked_for_again() {
    let mut request = request(json!({}), json!({"phase": "Recreating"}));
    let write = step(&request, &BTreeMap::new(), now());
    apply(&mut request, &write);
    assert_eq!(step(&request, &BTreeMap::new(), now()), Step::Wait(Some(SignedDuration::from_secs(2))));
}

/// CRR problem 8 and acceptance 16: the agent dies after a forced stop and before it wrote so; the new container lives.
#[test]
fn crr_7_8_crash_after_a_forced_stop_does_not_stop_the_new_container() {
    let mut request = request(json!({"forceRecreate": true}), json!({"phase": "Recreating"}));
    let write = step(&request, &both(), now());
    apply(&mut request, &write);
    let Step::Stop { target, is_forced, .. } = step(&request, &both(), now()) else { panic!("no stop") };
    assert!(is_forced);
    request.status.as_mut().unwrap().conditions = Some(issued(&request, &target, now()));

    assert_eq!(states(&request, &both(), now())[0].phase.as_str(), "Pending", "it was not stopped after all");
    let after = seen(&[("a", "a1"), ("b", "b0")]);
    let states = states(&request, &after, now());
    assert_eq!((states[0].phase.as_str(), states[0].is_killed), ("Recreating", Some(true)));
}

#[test]
fn cd_9_cd_13_stop_takes_grace_hook_and_ports_of_the_request() {
    let mut request = request(json!({}), json!({"phase": "Recreating"}));
    request.spec.containers[0].pre_stop =
        serde_json::from_value(json!({"httpGet": {"port": "http", "path": "/bye"}})).unwrap();
    request.spec.containers[0].ports =
        serde_json::from_value(json!([{"name": "http", "containerPort": 80}])).unwrap();
    let one = target(&request, &request.spec.containers[0], &both()["a"]);
    assert_eq!((one.grace, one.ports.len()), (30, 1));
    assert!(matches!(one.pre_stop, Some(Hook::Http(_))));
    assert_eq!(one.message, "Stopping container a by ContainerRecreateRequest r");
    assert_eq!(one.field_path, "spec.containers{a}");
    assert_eq!((one.pod.namespace.as_str(), one.pod.name.as_str(), one.pod.uid.as_str()), ("n", "p", "u"));
    request.spec.strategy = serde_json::from_value(json!({"terminationGracePeriodSeconds": 0})).unwrap();
    assert_eq!(target(&request, &request.spec.containers[0], &both()["a"]).grace, 0, "the hook is skipped");
}

/// CRR problem 4: a sleep is carried although the type of this version does not know it.
#[test]
fn crr_7_4_sleep_of_a_newer_release_is_slept() {
    let mut request = request(json!({}), json!({"phase": "Recreating"}));
    request.spec.containers[0].pre_stop = serde_json::from_value(json!({"sleep": {"seconds": 3}})).unwrap();
    let one = target(&request, &request.spec.containers[0], &both()["a"]);
    assert_eq!(one.pre_stop, Some(Hook::Sleep { seconds: 3 }));
}
