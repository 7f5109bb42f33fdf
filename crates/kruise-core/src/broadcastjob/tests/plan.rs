use super::*;
use crate::fixtures::at;
use crate::fixtures::sources::Backwards;
use crate::reason::Reason;

/// broadcastjob/B3, broadcastjob/B10: counts are of pods that are there, not of writes that are planned.
#[test]
fn bj_6_first_reconcile_starts_the_job() {
    let plan = job(2).status("startTime", Value::Null).status("phase", Value::Null).plan();

    let status = written(&plan);
    assert_eq!((&status["startTime"], &status["phase"]), (&json!("2026-06-01T12:00:00Z"), &json!("running")));
    assert_eq!(
        (&status["desired"], &status["active"]),
        (&json!(2), &json!(0)),
        "counts are of pods that are there (B3)"
    );
}

#[test]
fn bj_19_bj_20_as_many_pods_as_parallelism_has_room_for_by_name_of_the_node() {
    assert_eq!(served(&job(3).plan()), ["n1", "n2", "n3"]);
    let two = job(5).spec("parallelism", json!(2));
    assert_eq!(served(&two.plan()), ["n1", "n2"]);
    assert_eq!(served(&two.clone().pods([pod("n1"), succeeded("n2")]).plan()), ["n3"]);
    assert_eq!(served(&two.clone().pods([waiting("n3"), pod("n4")]).plan()), [""; 0]);
    assert_eq!(
        two.clone().pods([pod("n1"), pod("n2")]).plan().reason_of("n3").unwrap().to_string(),
        "waits for a slot: parallelism 2 of 2 in use"
    );
    for (parallelism, count) in [(json!("50%"), 3), (json!("5"), 1), (json!(0), 0), (json!(-1), 0)] {
        let plan = job(5).spec("parallelism", parallelism.clone()).plan();
        assert_eq!(served(&plan).len(), count, "{parallelism}: a text is a percentage, rounded up (B12)");
    }
    let lowered = two.pods([pod("n1"), pod("n2"), pod("n3")]).plan();
    assert_eq!((served(&lowered).len(), events(&lowered)), (0, vec!["TooManyActivePods"]));
    assert!(deleted(&lowered).is_empty(), "nothing is killed");
}

/// broadcastjob/B18: whatever order the cache has, nodes are served by name.
#[test]
fn broadcastjob_b18_nodes_are_served_by_name() {
    let job = job(4).spec("parallelism", json!(2)).pods([succeeded("n2")]);

    let plan = plan(&job.view_of(&Backwards(job.memory())), t0());

    assert_eq!(served(&plan), ["n1", "n3"]);
}

/// broadcastjob/B2: the status is a patch of what changed, without the version that was read. A label that somebody writes meanwhile is no
/// conflict, and no result is lost to it.
#[test]
fn broadcastjob_b2_status_does_not_depend_on_the_version_that_was_read() {
    let plan = job(1).pods([succeeded("n1")]).plan();

    let patch = merged(plan.status.as_ref().unwrap());

    assert_eq!(patch["metadata"], json!({"uid": "j"}));
    assert_eq!(patch["status"]["phase"], "completed");
}

#[test]
fn broadcastjob_b11_bad_parallelism_touches_nothing_and_says_so() {
    let plan = job(2).spec("parallelism", json!("many")).pods([pod("n1")]).plan();

    assert_eq!((plan.writes().count(), events(&plan)), (0, vec!["UnreadableSpec"]));
    assert!(matches!(plan.reason_of("b-n1"), Some(Reason::UnreadableSpec { .. })));
}

#[test]
fn bj_21_pod_has_the_template_its_labels_and_one_node() {
    let affine = json!({"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}],
    }});
    let one = job(1)
        .spec("template/spec/affinity", affine)
        .spec("template/metadata/labels/broadcastjob-name", json!("forged"));

    let pod = created(&one.plan()).remove(0);

    assert_eq!(
        pod["metadata"]["labels"],
        json!({"app": "b", "broadcastjob-name": "b", "broadcastjob-controller-uid": "j"})
    );
    assert_eq!(pod["metadata"]["generateName"], "b-");
    let owner = json!({"apiVersion": "apps.kruise.io/v1beta1", "kind": "BroadcastJob", "name": "b", "uid": "j", "controller": true, "blockOwnerDeletion": true});
    assert_eq!(pod["metadata"]["ownerReferences"], json!([owner]));
    let affinity = &pod["spec"]["affinity"]["nodeAffinity"];
    let only = json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]);
    assert_eq!(affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"], only);
    assert_eq!(affinity["preferredDuringSchedulingIgnoredDuringExecution"], json!([{"weight": 1}]));

    let direct = created(&one.directly().plan()).remove(0);
    assert_eq!(direct["spec"]["nodeName"], "n1");
}

/// B13: a template that names a node is a job for that node.
#[test]
fn bj_5_broadcastjob_b13_template_with_a_node_name_serves_that_node() {
    let plan = job(3).spec("template/spec/nodeName", json!("n2")).plan();

    assert_eq!((served(&plan), &written(&plan)["desired"]), (vec!["n2".to_owned()], &json!(1)));
}

#[test]
fn bj_7_only_pods_with_the_labels_and_the_owner_count() {
    let others = [
        pod("n1").label("broadcastjob-name", "other"),
        pod("n1").label("broadcastjob-controller-uid", "other").set("/metadata/name", json!("x")),
        pod("n1")
            .set("/metadata/ownerReferences", json!([{"uid": "o", "controller": true}]))
            .set("/metadata/name", json!("y")),
    ];
    assert_eq!(served(&job(1).pods(others).plan()), ["n1"]);
}

/// Acceptance 15: a second pod is reported, and the job still completes.
#[test]
fn bj_7_two_pods_on_one_node_are_told_and_the_better_one_counts() {
    let second = pod("n1").set("/metadata/name", json!("b-second"));
    let plan = job(1).pods([succeeded("n1"), second]).plan();

    assert_eq!(events(&plan), ["DuplicatePodCreatedOnSameNode", "JobComplete"]);
}

#[test]
fn bj_8_restarts_count_per_pod_and_only_with_on_failure() {
    let restarted = |policy: &str, app: u32, init: u32| {
        pod("n1")
            .set("/spec/restartPolicy", json!(policy))
            .set("/status/containerStatuses", json!([{"name": "main", "restartCount": app}]))
            .set("/status/initContainerStatuses", json!([{"name": "init", "restartCount": init}]))
    };
    let failed = |limit: u32, pod: fixtures::Pod| {
        let job = job(2).spec("failurePolicy", json!({"type": "Continue", "restartLimit": limit}));
        written(&job.pods([pod]).plan())["failed"].as_u64().unwrap()
    };
    assert_eq!(failed(0, restarted("OnFailure", 1, 0)), 1, "the first restart fails the pod");
    assert_eq!(failed(3, restarted("OnFailure", 2, 1)), 0);
    assert_eq!(failed(3, restarted("OnFailure", 2, 2)), 1, "init containers count");
    assert_eq!(failed(0, restarted("Never", 9, 0)), 0);
}

/// B8: a pod over the limit is stopped once and stays as a record of the failure.
#[test]
fn broadcastjob_b8_pod_that_restarts_too_often_is_stopped() {
    let looping = pod("n1")
        .set("/spec/restartPolicy", json!("OnFailure"))
        .set("/status/containerStatuses", json!([{"name": "main", "restartCount": 1}]));
    let going_on = job(1).spec("failurePolicy", json!({"type": "Continue"}));
    let plan = going_on.clone().pods([looping.clone()]).plan();

    let write = plan.chains[0].writes[0].clone();
    assert_eq!(format!("{:?}", write.act).matches("activeDeadlineSeconds").count(), 1);
    assert_eq!(events(&plan), ["RestartLimitExceeded"]);
    assert_eq!(written(&plan)["phase"], json!(null), "it waits until the pod has ended");
    let stopped = looping.annotation("kruise.io/restart-limit-exceeded", "true");
    assert!(going_on.clone().pods([stopped.clone()]).plan().chains.is_empty(), "once");
    let over = going_on.pods([stopped.phase("Failed")]).plan();
    assert_eq!(events(&over), ["JobComplete"]);
}

/// B6: acceptance 9.
#[test]
fn bj_10_broadcastjob_b6_pod_that_ran_is_never_deleted_because_its_node_changed() {
    let cordoned = |pod: fixtures::Pod| {
        job(2).node("n1", "unschedulable", json!(true)).pods([pod, succeeded("n2")]).plan()
    };

    assert_eq!(events(&cordoned(succeeded("n1"))), ["JobComplete"], "a succeeded node stays done");
    let running = cordoned(pod("n1"));
    assert_eq!((deleted(&running).len(), &written(&running)["desired"]), (0, &json!(2)));
    let waiting = cordoned(waiting("n1"));
    assert_eq!((deleted(&waiting), &written(&waiting)["desired"]), (vec!["b-n1"], &json!(1)), "it never ran");
    assert_eq!(waiting.reason_of("n1").unwrap().to_string(), "the node is cordoned");
    let gone = job(2).without_node("n1").pods([super::waiting("n1"), pod("n2")]).plan();
    assert_eq!(deleted(&gone), ["b-n1"], "made for a node that is gone");
}

/// B7: a pod that was evicted has not run to its end.
#[test]
fn bj_17_broadcastjob_b7_terminating_pod_is_not_done() {
    let leaving = pod("n1").deleted("2026-06-01T12:00:00Z");
    let plan = job(2).pods([leaving, succeeded("n2")]).plan();

    assert!(events(&plan).is_empty() && served(&plan).is_empty(), "{plan:?}");
    assert_eq!(*plan.reason_of("b-n1").unwrap(), Reason::Terminating);
    assert_eq!(
        served(&job(2).pods([succeeded("n2")]).plan()),
        ["n1"],
        "when it is gone, the node is served again"
    );
}

#[test]
fn bj_17_job_completes_when_every_node_is_done() {
    let plan = job(2).pods([succeeded("n1"), succeeded("n2")]).plan();

    let status = written(&plan);
    assert_eq!(
        (&status["phase"], &status["completionTime"]),
        (&json!("completed"), &json!("2026-06-01T12:00:00Z"))
    );
    let condition = json!([{
        "type": "Complete", "status": "True", "reason": "Complete", "message": "Job completed, 2 pods succeeded, 0 pods failed",
        "lastProbeTime": "2026-06-01T12:00:00Z", "lastTransitionTime": "2026-06-01T12:00:00Z",
    }]);
    assert_eq!((&status["conditions"], events(&plan)), (&condition, vec!["JobComplete"]));
    let continued = job(2)
        .spec("failurePolicy", json!({"type": "Continue"}))
        .pods([succeeded("n1"), failed("n2")])
        .plan();
    assert_eq!(written(&continued)["phase"], "completed");
    assert_eq!(written(&job(0).plan())["phase"], json!(null), "without a node it waits");
}

#[test]
fn bj_13_bj_15_fail_fast_deletes_active_pods_before_it_gives_its_result() {
    let failing = job(3).pods([failed("n1"), pod("n2"), waiting("n3")]).plan();
    assert_eq!(deleted(&failing), ["b-n2", "b-n3"]);
    assert_eq!((written(&failing)["conditions"].clone(), events(&failing).len()), (Value::Null, 0));

    let over = job(3).pods([failed("n1"), pod("n2").deleted("2026-06-01T12:00:00Z")]).plan();
    let status = written(&over);
    assert_eq!((&status["phase"], &status["conditions"][0]["reason"]), (&json!("failed"), &json!("Failed")));
    assert_eq!(events(&over), ["FailedPodFound"], "broadcastjob/B20: one event, a reason without spaces");
    assert!(over.events[0].message.contains("FailurePolicyTypeFailFast"));
    assert!(served(&over).is_empty());
}

/// B4: armed at every plan, from the stored start.
#[test]
fn bj_9_bj_14_broadcastjob_b4_deadline() {
    let job = job(1).spec("completionPolicy", json!({"activeDeadlineSeconds": 60})).pods([pod("n1")]);
    assert_eq!(job.plan().revisit_at, Some(at("2026-06-01T12:01:00Z")));
    assert_eq!(job.plan_at(at("2026-06-01T12:00:59Z")).revisit_at, Some(at("2026-06-01T12:01:00Z")));
    assert_eq!(deleted(&job.plan_at(at("2026-06-01T12:01:00Z"))), ["b-n1"]);
    let zero = super::job(1).spec("completionPolicy", json!({"activeDeadlineSeconds": 0})).plan();
    assert_eq!((events(&zero), &written(&zero)["phase"]), (vec!["DeadlineExceeded"], &json!("failed")));
    let message = written(&zero)["conditions"][0]["message"].clone();
    assert_eq!(message, "Job n/b was active longer than specified deadline");
}

/// broadcastjob/B14: while paused nothing ends; the deadline counts as soon as the job goes on.
#[test]
fn bj_12_bj_22_paused_job_is_left_alone() {
    let paused =
        job(3).spec("paused", json!(true)).spec("completionPolicy", json!({"activeDeadlineSeconds": 0}));
    let plan = paused.pods([pod("n1"), failed("n2")]).plan();

    assert!(plan.chains.is_empty() && events(&plan).is_empty(), "{plan:?}");
    let status = written(&plan);
    assert_eq!(
        (&status["phase"], &status["active"], &status["failed"]),
        (&json!("paused"), &json!(1), &json!(1))
    );
    assert_eq!(*plan.reason_of("n3").unwrap(), Reason::Paused);
    let resumed = job(1).status("phase", json!("paused")).plan();
    assert_eq!((events(&resumed), &written(&resumed)["phase"]), (vec!["Continue"], &json!("running")));
}

/// B9: acceptance 7.
#[test]
fn bj_23_broadcastjob_b9_pause_policy_pauses_the_job_itself() {
    const KEY: &str = "kruise.io/broadcastjob-paused-for-failures";
    let policy = || job(3).spec("failurePolicy", json!({"type": "Pause"}));
    let first = policy().pods([failed("n1"), pod("n2")]).plan();
    let paused = |value: bool, count: Value| json!({"metadata": {"uid": "j", "annotations": {KEY: count}}, "spec": {"paused": value}});
    assert_eq!((edits(&first), events(&first)), (vec![paused(true, json!("1"))], vec!["Paused"]));
    assert!(served(&first).is_empty() && deleted(&first).is_empty());

    let stored = policy().spec("paused", json!(true)).annotated(KEY, "1").status("phase", json!("paused"));
    let rests = stored.clone().pods([failed("n1"), pod("n2")]).plan();
    assert!(rests.chains.is_empty() && events(&rests).is_empty(), "one event");
    let repaired = stored.clone().pods([pod("n2")]).plan();
    assert_eq!(edits(&repaired), [paused(false, Value::Null)], "the failed pod is gone");
    let accepted = policy().annotated(KEY, "1").pods([failed("n1"), pod("n2")]).plan();
    assert_eq!(
        (edits(&accepted).len(), served(&accepted)),
        (0, vec!["n3".to_owned()]),
        "the user resumed it"
    );
    let again = policy().annotated(KEY, "1").pods([failed("n1"), failed("n2")]).plan();
    assert_eq!(edits(&again), [paused(true, json!("2"))]);
}

#[test]
fn bj_3_broadcastjob_b5_finished_job_is_deleted_after_its_time_to_live_and_else_left_alone() {
    let ended = |ttl: Value| {
        let condition = json!([{"type": "Complete", "status": "True"}]);
        job(2)
            .spec("completionPolicy", json!({"type": "Always", "ttlSecondsAfterFinished": ttl}))
            .status("conditions", condition)
            .status("completionTime", json!("2026-06-01T12:00:00Z"))
    };
    assert_eq!(ended(Value::Null).plan().writes().count(), 0, "also no pod for a new node");
    let waits = ended(json!(30)).plan();
    assert_eq!((waits.writes().count(), waits.revisit_at), (0, Some(at("2026-06-01T12:00:30Z"))));
    assert_eq!(deleted(&ended(json!(30)).plan_at(at("2026-06-01T12:00:30Z"))), ["b"]);
    assert_eq!(deleted(&ended(json!(0)).plan()), ["b"]);
    assert_eq!(ended(json!(0)).deleted().plan().writes().count(), 0);
}

#[test]
fn bj_24_bj_25_never_serves_new_nodes_and_stays_failed() {
    let never = || job(2).spec("completionPolicy", json!({"type": "Never"}));
    let plan = never().pods([succeeded("n1"), succeeded("n2")]).plan();
    assert_eq!(
        (events(&plan).len(), written(&plan)["phase"].clone()),
        (0, Value::Null),
        "it never completes"
    );
    assert_eq!(served(&never().pods([succeeded("n1")]).plan()), ["n2"]);

    let failing = never().pods([failed("n1")]).plan();
    assert_eq!(written(&failing)["phase"], "failed");
    let condition = json!([{"type": "Failed", "status": "True"}]);
    let after =
        never().status("phase", json!("failed")).status("conditions", condition).pods([failed("n1")]).plan();
    assert!(served(&after).is_empty() && events(&after).is_empty());
    assert_eq!(written(&after)["failed"], 1, "BJ-11: counts are kept up to date");
}

#[test]
fn bj_16_bj_27_job_that_is_being_deleted_creates_nothing() {
    let plan =
        job(2).deleted().pods([failed("n1")]).spec("failurePolicy", json!({"type": "Continue"})).plan();
    assert!(served(&plan).is_empty());
}

#[test]
fn bj_18_broadcastjob_b15_status_is_written_only_when_it_changed() {
    let counted = ["active", "succeeded", "failed", "desired"].into_iter().zip([1, 1, 0, 2]);
    let known = counted.fold(job(2), |job, (field, count)| job.status(field, json!(count)));
    assert_eq!(known.clone().pods([pod("n1"), succeeded("n2")]).plan().status, None);
    assert_eq!(written(&known.pods([succeeded("n1"), pod("n2")]).plan()), Value::Null);
}

/// B16: the scheduler decides about room; who waits for it is told.
#[test]
fn broadcastjob_b16_pod_without_room_is_told() {
    let mut stuck = waiting("n1").condition("PodScheduled", "False", "2026-06-01T12:00:00Z");
    stuck.0["status"]["conditions"][0]["message"] = json!("0/3 nodes are available");
    let plan = job(2).pods([stuck]).plan();

    assert_eq!(events(&plan), ["PodUnschedulable"]);
    assert!(plan.events[0].message.contains("0/3 nodes"), "{:?}", plan.events);
}

/// Every deletion is a chain of its own, so that the failure of one is retried and hides no other (B17).
#[test]
fn broadcastjob_b17_deletions_do_not_depend_on_each_other() {
    let plan = job(3).pods([failed("n1"), pod("n2"), pod("n3")]).plan();
    assert_eq!(plan.chains.len(), 2);
    assert!(plan.chains.iter().all(|chain| chain.failed == Some("FailedDelete")));
}
