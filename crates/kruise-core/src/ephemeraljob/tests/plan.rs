use super::*;
use crate::fixtures::at;
use crate::golden;

fn later(seconds: i64) -> Timestamp {
    crate::time::after(t0(), seconds)
}

#[test]
fn ej_5_e4_deleted_job_loses_its_finalizer_and_touches_no_pod() {
    let going =
        job().meta("deletionTimestamp", json!("2026-06-01T12:00:00Z")).pods([pod("a"), own("b", &runs())]);
    let going = going.meta("finalizers", json!(["other", "apps.kruise.io/ephemeralcontainers-cleanup"]));
    let plan = going.plan();

    let writes: Vec<Value> = plan.writes().map(body).collect();
    assert_eq!(writes.len(), 1);
    let ops = json!([
        {"op": "test", "path": "/metadata/uid", "value": "j"},
        {"op": "test", "path": "/metadata/finalizers/1", "value": "apps.kruise.io/ephemeralcontainers-cleanup"},
        {"op": "remove", "path": "/metadata/finalizers/1"},
    ]);
    assert_eq!(writes[0], ops);
    assert_eq!(going.meta("finalizers", json!(["other"])).plan().writes().count(), 0);
}

#[test]
fn ej_6_finalizer_is_added_to_the_version_that_was_seen() {
    let plan = job().meta("finalizers", json!(["other"])).plan();
    let ops = body(plan.writes().next().unwrap());
    assert_eq!(ops[1], json!({"op": "test", "path": "/metadata/resourceVersion", "value": "7"}));
    assert_eq!(ops[2]["value"], json!(["other", "apps.kruise.io/ephemeralcontainers-cleanup"]));
}

/// EJ-7, E5, scenario 16: also without any optional field.
#[test]
fn ej_7_ephemeraljob_e5_finished_job_goes_when_its_time_is_over() {
    let over = job().status("completionTime", json!("2026-06-01T12:00:00Z")).pods([pod("a")]);
    let plan = over.plan_at(later(1_799));
    assert_eq!(
        (plan.writes().count(), plan.revisit_at),
        (0, Some(later(1_800))),
        "nothing else happens to it"
    );
    let due = over.plan_at(later(1_800));
    assert!(matches!(due.writes().next().unwrap().act, Act::Delete { .. }));
    let at_once = over.spec("ttlSecondsAfterFinished", json!(0)).plan();
    assert_eq!(at_once.writes().count(), 1);
}

#[test]
fn ej_8_ej_13_first_plan_starts_the_job() {
    let plan =
        job().status("startTime", Value::Null).status("conditions", Value::Null).pods([pod("a")]).plan();
    assert_eq!(written(&plan)["startTime"], "2026-06-01T12:00:00Z");
    assert_eq!(reason(&plan, "Initialized"), "Initialized");
    assert_eq!(touched(&plan), ["a"]);
}

#[test]
fn ej_10_oldest_active_pods_first_at_most_replicas() {
    let young = pod("a").created("2026-02-01T00:00:00Z");
    let others = [
        pod("gone").deleted("2026-06-01T12:00:00Z"),
        pod("done").phase("Succeeded"),
        pod("failed").phase("Failed"),
        pod("stranger").label("app", "db"),
        pod("elsewhere").set("/metadata/namespace", json!("m")),
    ];
    let three = job().spec("parallelism", json!(9)).pods([young, pod("c"), pod("b")]).pods(others);
    assert_eq!(touched(&three.plan()), ["b", "c", "a"]);
    let two = three.clone().spec("replicas", json!(2)).plan();
    assert_eq!((touched(&two), written(&two)["match"].clone()), (vec!["b".into(), "c".into()], json!(2)));
    assert_eq!(two.reason_of("a").unwrap().name(), "BeyondReplicas");
    let negative = three.clone().spec("replicas", json!(-1)).spec("parallelism", json!(-1)).plan();
    assert!(touched(&negative).is_empty());
    assert!(touched(&three.spec("selector", Value::Null).plan()).is_empty(), "no selector, no pod");
}

/// Scenario 6: a pod with a container of that name that is not of this job does not count.
#[test]
fn ej_10_pods_with_a_container_of_the_same_name_do_not_count() {
    let plan = job().pods([with(pod("a"), ("dbg", "another"), &runs())]).plan();
    assert_eq!(
        (written(&plan)["match"].clone(), written(&plan)["phase"].clone()),
        (json!(0), json!("Waiting"))
    );
    assert_eq!(plan.reason_of("a").unwrap().name(), "ContainerNameTaken");
    let other_name = job().pods([with(pod("a"), ("sh", "another"), &runs())]).plan();
    assert_eq!(touched(&other_name), ["a"], "scenario 5: another name is no obstacle");
}

/// A pod of the same second that is seen later does not displace one that was injected.
#[test]
fn ej_10_injected_pods_keep_their_place() {
    let plan = job()
        .spec("replicas", json!(1))
        .spec("parallelism", json!(5))
        .pods([pod("a"), own("b", &runs())])
        .plan();
    assert!(touched(&plan).is_empty());
    assert_eq!(written(&plan)["running"], 1);
}

#[test]
fn ej_12_states_of_pods() {
    for (state, field) in [
        (ended(0), "succeeded"),
        (ended(3), "failed"),
        (waits("RunContainerError"), "failed"),
        (waits("ContainerCreating"), "waiting"),
        (runs(), "running"),
    ] {
        let status = written(&job().pods([own("a", &state)]).plan());
        for one in ["succeeded", "failed", "waiting", "running"] {
            assert_eq!(status[one], i32::from(one == field), "{state} {one}");
        }
    }
    let silent = written(&job().pods([own("a", &Value::Null)]).plan());
    assert_eq!((&silent["phase"], &silent["waiting"]), (&json!("Unknown"), &json!(0)));
    let unfinished = job().pods([own("a", &json!({"terminated": {"exitCode": 0}}))]).plan();
    assert_eq!(written(&unfinished)["succeeded"], 0, "exit code 0 counts with its time");
    let both = |second: &Value| with(own("a", &ended(0)), ("two", "j"), second);
    let two = |second: &Value| written(&job().names(&["dbg", "two"]).pods([both(second)]).plan());
    assert_eq!(two(&runs())["running"], 1, "it succeeded only with all its containers");
    assert_eq!(two(&ended(0))["succeeded"], 1);
}

#[test]
fn ej_14_phases() {
    let phase = |pods: Vec<fixtures::Pod>| written(&job().pods(pods).plan())["phase"].clone();
    let empty = job().plan();
    assert_eq!(
        (written(&empty)["phase"].clone(), reason(&empty, "MatchedEmpty")),
        (json!("Waiting"), json!("MatchEmpty"))
    );
    assert_eq!(phase(vec![own("a", &ended(0))]), "Succeeded");
    assert_eq!(phase(vec![own("a", &ended(0)), own("b", &runs())]), "Running");
    assert_eq!(phase(vec![own("a", &ended(1))]), "Failed");
    assert_eq!(phase(vec![own("a", &waits("x"))]), "Waiting");
    assert_eq!(phase(vec![own("a", &waits("x")), pod("b")]), "Unknown");
    let done = job().pods([own("a", &ended(0))]).plan();
    assert_eq!(
        (written(&done)["completionTime"].clone(), reason(&done, "JobSucceeded")),
        (json!("2026-06-01T12:00:00Z"), json!("JobSucceeded"))
    );
}

#[test]
fn ej_15_paused_job_injects_nothing_and_may_end() {
    let paused = job().spec("paused", json!(true)).pods([own("a", &ended(0)), pod("b")]);
    let plan = paused.plan();
    assert_eq!((touched(&plan).len(), written(&plan)["phase"].clone()), (0, json!("Paused")));
    let ended = job().spec("paused", json!(true)).pods([own("a", &ended(0))]).plan();
    assert_eq!(
        (written(&ended)["phase"].clone(), written(&ended)["completionTime"].is_string()),
        (json!("Paused"), true)
    );
    let resumed = paused.spec("paused", json!(false)).plan();
    assert_eq!(touched(&resumed), ["b"], "scenario 14: no pod twice");
}

#[test]
fn ej_16_failed_pods_are_told_in_a_condition() {
    let plan = job().pods([own("a", &ended(1)), pod("b")]).plan();
    assert_eq!(reason(&plan, "JobFailed"), "CreateFailed");
    assert_eq!(touched(&plan), ["b"], "the others go on");
}

/// EJ-11: containers first, then the status, which is the only write of a paused job; with a deadline, it is looked at again then.
#[test]
fn ej_11_injection_comes_before_the_status_and_a_paused_job_writes_only_that() {
    let late = || job().spec("activeDeadlineSeconds", json!(20)).pods([pod("a")]);
    let parts = |plan: &Plan| plan.writes().map(|write| write.part).collect::<Vec<_>>();

    let plan = late().plan();
    let paused = late().spec("paused", json!(true)).plan();

    assert_eq!(parts(&plan), [Part::EphemeralContainers, Part::Status]);
    assert_eq!(plan.revisit_at, Some(later(20)));
    assert_eq!(parts(&paused), [Part::Status]);
}

/// ephemeraljob/E10: start and counts are in the plan that injects, and no chain holds them back: the deadline counts from the first
/// try, however often the server refuses.
#[test]
fn ephemeraljob_e10_status_does_not_depend_on_the_injection() {
    let first = job().status("startTime", Value::Null).spec("activeDeadlineSeconds", json!(20));
    let first = first.pods([own("a", &ended(0)), pod("b")]);

    let plan = first.plan();

    assert_eq!(touched(&plan), ["b"]);
    assert_eq!(written(&plan)["startTime"], "2026-06-01T12:00:00Z");
    assert_eq!(written(&plan)["succeeded"], 1);
    let refused = first.after(&plan).plan_at(later(20));
    assert_eq!(reason(&refused, "JobFailed"), "DeadlineExceeded");
}

/// EJ-17, ephemeraljob/E12, ephemeraljob/E16: the deadline ends the job, says that containers run on, and nothing is injected in that plan.
#[test]
fn ej_17_ephemeraljob_e12_ephemeraljob_e16_deadline() {
    let job = job().spec("activeDeadlineSeconds", json!(20)).pods([own("a", &runs()), pod("b")]);
    let job = job.spec("parallelism", json!(5));
    let before = job.plan_at(later(19));
    assert_eq!((before.revisit_at, touched(&before)), (Some(later(20)), vec!["b".to_owned()]));
    let plan = job.plan_at(later(20));
    assert_eq!(
        (written(&plan)["phase"].clone(), reason(&plan, "JobFailed")),
        (json!("Failed"), json!("DeadlineExceeded"))
    );
    assert!(written(&plan)["conditions"].to_string().contains("are not stopped"));
    assert!(touched(&plan).is_empty() && written(&plan)["completionTime"].is_string());
    let paused = job.spec("paused", json!(true)).plan_at(later(99));
    assert_eq!(
        (written(&paused)["phase"].clone(), written(&paused)["completionTime"].clone()),
        (json!("Paused"), Value::Null)
    );
}

#[test]
fn ej_18_ephemeraljob_e11_empty_template_is_an_error_with_and_without_pods() {
    for pods in [vec![], vec![pod("a")]] {
        let plan = job().names(&[]).pods(pods).plan();
        assert_eq!(
            (written(&plan)["phase"].clone(), reason(&plan, "JobError")),
            (json!("Error"), json!("Error"))
        );
        assert_eq!((touched(&plan).len(), written(&plan)["completionTime"].clone()), (0, Value::Null));
    }
}

#[test]
fn ej_19_ej_22_one_patch_with_all_containers_signed_by_the_job() {
    let containers = json!([
        {"name": "one", "image": "i", "env": [{"name": "KRUISE_EJOB_ID", "value": "forged"}, {"name": "A", "value": "b"}], "targetContainerName": "main"},
        {"name": "two", "image": "i"},
    ]);
    let plan = job().spec("template", json!({"ephemeralContainers": containers})).pods([pod("a")]).plan();
    let write = plan.writes().next().unwrap();
    assert!(matches!(write.act, Act::Patch(Patch::Strategic(_))));
    let sign = json!({"name": "KRUISE_EJOB_ID", "value": "j"});
    assert_eq!(
        body(write),
        json!({"metadata": {"uid": "uid-a"}, "spec": {"ephemeralContainers": [
            {"name": "one", "image": "i", "env": [{"name": "A", "value": "b"}, sign], "targetContainerName": "main"},
            {"name": "two", "image": "i", "env": [sign]},
        ]}})
    );
    let chain = &plan.chains[0];
    assert_eq!(
        (chain.failed, chain.pace),
        (Some("CreateFailed"), crate::chain::Pace::SlowStart(crate::chain::Siblings::Alike)),
        "EJ-21"
    );
}

/// EJ-20, E3: what is injected and has not ended holds a slot, whatever the kubelet says about it yet.
#[test]
fn ej_20_ephemeraljob_e3_slots_are_what_is_injected_and_unfinished() {
    let all = || {
        [
            own("a", &runs()),
            own("b", &waits("x")),
            own("c", &Value::Null),
            own("d", &ended(0)),
            pod("e"),
            pod("f"),
        ]
    };
    let with =
        |parallelism: i32| touched(&job().spec("parallelism", json!(parallelism)).pods(all()).plan()).len();
    assert_eq!([2, 3, 4, 5, 9].map(with), [0, 0, 1, 2, 2], "the last pods start, too");
    assert_eq!(touched(&job().pods([pod("a"), pod("b")]).plan()), ["a"], "one by default");
    let plan = job().pods([own("a", &runs()), pod("b")]).plan();
    assert_eq!(plan.reason_of("b").unwrap().to_string(), "waits for a slot: parallelism 1 of 1 in use");
    let lowered = job().spec("replicas", json!(1)).spec("parallelism", json!(2));
    let displaced = lowered.pods([own("a", &ended(0)), own("b", &runs())]).plan();
    assert_eq!(displaced.reason_of("b").unwrap().name(), "Running", "counted for slots, not for replicas");
}

/// E1, scenario 11: mixed results end the job.
#[test]
fn ephemeraljob_e1_mixed_results_end_as_failed() {
    let plan = job().pods([own("a", &ended(0)), own("b", &ended(2))]).plan();
    assert_eq!(
        (written(&plan)["phase"].clone(), written(&plan)["completionTime"].is_string()),
        (json!("Failed"), true)
    );
    assert_eq!(reason(&plan, "JobFailed"), "CreateFailed", "EJ-16 overrides the reason");
}

/// E2, scenario 12: more replicas than pods.
#[test]
fn ephemeraljob_e2_ends_after_the_pods_that_there_are() {
    let ten = job().spec("replicas", json!(10));
    assert_eq!(
        written(&ten.clone().pods([own("a", &ended(0)), own("b", &ended(0))]).plan())["phase"],
        "Succeeded"
    );
    assert_eq!(written(&ten.pods([own("a", &ended(0)), own("b", &runs())]).plan())["phase"], "Running");
}

#[test]
fn ephemeraljob_e7_stored_job_without_selection_is_warned_about() {
    let plan = job().spec("selector", json!({})).pods([pod("a").label("app", "db")]).plan();
    assert_eq!((touched(&plan), events(&plan)), (vec!["a".to_owned()], vec!["EmptySelector"]));
}

/// E9: the same view again writes nothing.
#[test]
fn ephemeraljob_e9_only_changes_are_written() {
    for pods in [vec![], vec![own("a", &runs())], vec![own("a", &ended(1)), own("b", &runs())]] {
        let before = job().pods(pods);
        let plan = before.plan();
        assert_eq!(before.after(&plan).plan_at(later(60)).writes().count(), 0);
    }
}

/// E13: what is missing is added to pods that have their slot, and only that.
#[test]
fn ephemeraljob_e13_partial_injections_are_completed() {
    let two = || job().names(&["dbg", "two"]);
    let plan = two().pods([own("a", &runs()), pod("b")]).plan();
    assert_eq!(injected(&plan), [("a".to_owned(), vec!["two".to_owned()])]);
    let foreign = with(own("a", &runs()), ("two", "another"), &runs());
    assert!(touched(&two().pods([foreign]).plan()).is_empty());
    assert!(touched(&two().pods([own("a", &ended(1))]).plan()).is_empty(), "a pod that failed is done");
}

/// EJ-24, scenarios 17 and 19; EJ-25.
#[test]
fn ej_24_ej_25_freed_slots_new_pods_and_new_names() {
    let two = job().spec("replicas", json!(2)).spec("parallelism", json!(2));
    let going = own("a", &runs()).deleted("2026-06-01T12:00:00Z");
    assert_eq!(touched(&two.pods([going, own("b", &runs()), pod("c")]).plan()), ["c"]);
    let renamed = job().names(&["other"]).pods([own("a", &ended(0))]).plan();
    assert_eq!(injected(&renamed), [("a".to_owned(), vec!["other".to_owned()])]);
}

/// ephemeraljob/E14: jobs and pods are found by their namespace, and the selector was read when the job arrived.
#[test]
fn ephemeraljob_e14_jobs_are_indexed_and_their_selectors_ready() {
    let mut places = Vec::new();
    job().read().index(&mut |index, value| places.push((index, value.to_owned())));

    assert!(places.contains(&(crate::pod::NAMESPACE, "n".to_owned())), "{places:?}");
    let (job, web, db) = (job().read(), pod("a").view(), pod("a").label("app", "db").view());
    assert!(job.spec.as_ref().unwrap().selector.is_some());
    assert!(job.selects(&web) && !job.selects(&db));
}

/// EJ-2: only what can change a plan wakes a job.
#[test]
fn ej_2_wake_ups() {
    let view = |pod: fixtures::Pod| pod.view();
    let (plain, running, done) = (view(pod("a")), view(own("a", &runs())), view(own("a", &ended(0))));
    let stranger = view(pod("a").label("app", "db"));
    let wakes = |old: Option<&PodView>, new: Option<&PodView>| job().read().is_woken_by(old, new);
    assert!(wakes(None, Some(&plain)) && wakes(Some(&plain), None) && wakes(Some(&running), Some(&done)));
    assert!(wakes(Some(&plain), Some(&stranger)) && wakes(Some(&stranger), Some(&plain)), "labels change");
    assert!(wakes(Some(&plain), Some(&view(pod("a").deleted("2026-06-01T12:00:00Z")))), "it frees its slot");
    assert!(!wakes(Some(&plain), Some(&view(pod("a").ready_since("2026-06-01T12:00:00Z")))));
    assert!(!wakes(None, Some(&stranger)));
    let over = job().status("completionTime", json!("2026-06-01T12:00:00Z"));
    assert!(!over.read().is_woken_by(None, Some(&plain)));
}

#[test]
fn unreadable_selector_touches_nothing_and_says_so() {
    let bad = json!({"matchExpressions": [{"key": "a", "operator": "Near"}]});
    let plan = job().spec("selector", bad).pods([pod("a")]).plan();
    assert_eq!(
        (touched(&plan).len(), events(&plan), written(&plan)["phase"].clone()),
        (0, vec!["UnreadableSpec"], json!("Error"))
    );
}

/// Scenario 22: a state that OpenKruise left behind is continued without a write of its conditions.
#[test]
fn ephemeraljob_scenario_22_recorded_state_is_continued() {
    let all = golden::folder("objects");
    let (_, recorded) = all.iter().find(|(file, _)| file == "ephemeraljob-v1alpha1-ej-bad.json").unwrap();
    let mut object = recorded["stored_v1alpha1"].clone();
    object["status"] = recorded["status"].clone();
    let plan = Job { object, pods: Vec::new() }.plan_at(at("2026-11-15T19:30:00Z"));
    assert_eq!(plan.writes().count(), 0, "{:?}", plan.writes().collect::<Vec<_>>());
    let mid = job().spec("parallelism", json!(1)).pods([own("a", &ended(0)), own("b", &runs()), pod("c")]);
    assert!(touched(&mid.plan()).is_empty(), "no second injection");
}
