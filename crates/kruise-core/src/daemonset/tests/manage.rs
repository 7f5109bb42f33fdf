//! DS-6 … DS-25.

use super::*;
use crate::chain::{Pace, Siblings};
use crate::fixtures::at;
use crate::time;

#[test]
fn ds_11_every_node_that_should_have_a_pod_gets_one_and_others_a_reason() {
    let set = set(3).taint("n2", "dedicated", "NoSchedule").pods([new("n3")]);

    let plan = set.plan();

    assert_eq!(served(&plan), ["n1"]);
    assert_eq!(reason(&plan, "n2").to_string(), "taint dedicated:NoSchedule is not tolerated");
    assert_eq!(*reason(&plan, "new-n3"), Reason::Done);
}

#[test]
fn ds_6_nothing_is_done_for_a_deleted_one_or_for_a_selector_that_says_nothing() {
    let plan = set(1).pods([old("n1")]).deleted().plan();
    assert_eq!((plan.writes().count(), reason(&plan, "old-n1")), (0, &Reason::OwnerDeleted));

    let again = set(1).spec("selector", json!({})).plan();
    assert_eq!(again.writes().count(), 0);
    assert_eq!(again.events[0].reason, "SelectingAll");
}

#[test]
fn ds_9_orphans_are_adopted_after_a_live_read_and_lost_pods_released() {
    let orphan = new("n1").set("/metadata/ownerReferences", json!([]));
    let lost = new("n2").label("app", "other");
    let foreign = new("n3")
        .set("/metadata/ownerReferences", json!([{"uid": "x", "kind": "DaemonSet", "controller": true}]));
    let plan = set(3).pods([orphan, lost, foreign]).plan();

    assert_eq!(touched(&plan, Purpose::Adopt), ["new-n1"]);
    let adopt = plan.chains.iter().find(|chain| chain.purpose == Purpose::Adopt).unwrap();
    assert_eq!(adopt.confirm.as_ref().unwrap().uid.as_str(), "uid-web");
    assert_eq!(touched(&plan, Purpose::Release), ["new-n2"]);
    assert_eq!(served(&plan), ["n2", "n3"], "an orphan holds its node, a released or foreign pod does not");

    let going = new("n1").set("/metadata/ownerReferences", json!([])).going();
    assert_eq!(served(&set(1).pods([going]).plan()), ["n1"]);
}

/// B1: the version in the owner reference does not matter.
#[test]
fn daemonset_b1_pods_of_older_releases_are_its_own() {
    let owner = json!([{"apiVersion": "apps.kruise.io/v1alpha1", "uid": "uid-web", "kind": "DaemonSet", "controller": true}]);
    let plan = set(1).pods([new("n1").set("/metadata/ownerReferences", owner)]).plan();
    assert!(plan.chains.is_empty(), "{:?}", plan.chains);
}

#[test]
fn ds_10_a_pods_node_is_where_it_runs_or_the_only_one_it_may_run_on() {
    let plan = set(2).pods([new("n1").pending_on("n1"), new("x").node("")]).plan();

    assert_eq!(served(&plan), ["n2"]);
    assert!(reason(&plan, "new-x").to_string().contains("neither runs on a node nor names one"));
}

#[test]
fn ds_12_ds_13_a_failed_pod_is_replaced_with_back_off_that_does_not_hold_up_other_nodes() {
    let failing = set(3).pods([new("n1").failed(), new("n2").failed()]);
    let until = time::after(t0(), 4);

    let plan = failing.clone().waits_on("n1", until).plan();

    assert_eq!(deleted(&plan), ["new-n2"]);
    assert_eq!(served(&plan), ["n3"]);
    assert_eq!(name_of(&plan, "new-n1"), "BackOff");
    assert_eq!(plan.revisit_at, Some(until));
    let done =
        plan.chains.iter().find_map(|chain| chain.done.clone().filter(|_| chain.purpose == Purpose::Delete));
    assert_eq!(done.unwrap().reason, "FailedDaemonPod", "told when it is done (B16)");
    assert_eq!(deleted(&failing.waits_on("n1", until).plan_at(until)), ["new-n1", "new-n2"]);
}

/// The earliest of several instants counts.
#[test]
fn ds_8_the_next_look_is_at_the_earliest_instant_that_changes_something() {
    let (soon, late) = (time::after(t0(), 3), time::after(t0(), 8));
    let failing = set(2).pods([new("n1").failed(), new("n2").failed()]);
    let plan = failing.waits_on("n1", late).waits_on("n2", soon).plan();
    assert_eq!(plan.revisit_at, Some(soon));
}

/// B16: a deletion that a limit puts off is told of by nobody.
#[test]
fn daemonset_b16_nothing_is_told_of_a_deletion_that_waits() {
    let plan = set(2).spec("burstReplicas", json!(1)).pods([new("n1").failed(), new("n2").failed()]).plan();
    assert_eq!(deleted(&plan).len(), 1);
    assert_eq!(plan.events, []);
    assert_eq!(name_of(&plan, "new-n2"), "BurstReplicas");
}

#[test]
fn ds_14_of_several_pods_the_first_scheduled_and_oldest_stays() {
    let young = new("n1").named("a").created("2026-05-02T00:00:00Z");
    let elder = new("n1").named("b").created("2026-05-01T00:00:00Z");
    let unbound = new("n1").named("c").created("2026-04-01T00:00:00Z").pending_on("n1");
    assert_eq!(deleted(&set(1).pods([young, elder, unbound]).plan()), ["a", "c"]);
}

#[test]
fn ds_14_a_pod_that_is_going_keeps_the_node_from_getting_another_one() {
    let plan = set(1).pods([old("n1").going()]).plan();
    assert!(served(&plan).is_empty());
    assert_eq!(reason(&plan, "n1").to_string(), "gets its next pod when old-n1 is gone");
}

#[test]
fn ds_15_with_surge_a_node_without_a_running_pod_gets_one_at_once() {
    assert_eq!(served(&set(1).surge(json!(1)).pods([old("n1").going()]).plan()), ["n1"]);
    let failed = set(1).surge(json!(1)).pods([new("n1").failed()]).waits_on("n1", time::after(t0(), 9));
    assert!(served(&failed.plan()).is_empty(), "not beside one that failed");
}

#[test]
fn ds_15_with_surge_the_old_pod_goes_when_the_new_one_is_available_or_it_is_not_ready() {
    let both = |old_pod: Pod, new_pod: Pod| {
        set(1).surge(json!(1)).spec("minReadySeconds", json!(10)).pods([old_pod, new_pod]).plan()
    };
    let fresh = new("n1").ready_since("2026-06-01T11:59:55Z");

    let plan = both(old("n1"), fresh.clone());
    assert!(deleted(&plan).is_empty());
    assert_eq!(name_of(&plan, "old-n1"), "Surging");
    assert_eq!(plan.revisit_at, Some(time::just_after(at("2026-06-01T12:00:05Z"))));
    assert_eq!(deleted(&both(old("n1"), new("n1"))), ["old-n1"]);
    assert_eq!(deleted(&both(old("n1").not_ready(), fresh)), ["old-n1"]);
    let third = new("n1").named("third").created("2026-05-09T00:00:00Z");
    let again = set(1).surge(json!(1)).pods([old("n1"), new("n1").not_ready(), third]).plan();
    assert_eq!(deleted(&again), ["third"], "two of one revision are one too many");
}

#[test]
fn ds_16_pods_leave_a_node_that_does_not_take_them() {
    let plan = set(1)
        .taint("n1", "dedicated", "NoExecute")
        .pods([old("n1"), new("n1"), new("n1").named("c").going()])
        .plan();
    assert_eq!(deleted(&plan), ["new-n1", "old-n1"]);
}

/// daemonset/B13, acceptance 18.
#[test]
fn ds_17_pods_that_wait_for_a_vanished_node_go_and_those_that_ran_there_are_left() {
    let plan = set(0).pods([new("gone").pending_on("gone"), new("n9")]).plan();
    assert_eq!(deleted(&plan), ["new-gone"]);
    assert!(reason(&plan, "new-n9").to_string().contains("does not exist any more"));
    assert_eq!(written(&plan)["desiredNumberScheduled"], 0);
}

/// daemonset/B4, acceptance 11: of the nodes that there are now, from the first plan on.
#[test]
fn ds_18_partitioned_scaling_leaves_the_last_nodes_without_a_pod() {
    let scaled = |partition: Value| {
        set(5).spec("scaleStrategy", json!({"partitionedScaling": true})).rolling("partition", partition)
    };
    let plan = scaled(json!(2)).plan();
    assert_eq!(served(&plan), ["n1", "n2", "n3"]);
    assert_eq!(reason(&plan, "n5").to_string(), "gets no pod yet: partitionedScaling, and partition keeps 2");
    assert_eq!(served(&scaled(json!("50%")).plan()), ["n1", "n2", "n3"], "percentages are rounded down");
    assert_eq!(served(&scaled(json!(2)).pods([new("n5"), old("n4")]).plan()), ["n1", "n2"]);
    assert_eq!(served(&scaled(json!(9)).plan()), Vec::<String>::new());
    assert_eq!(
        served(&set(5).rolling("partition", json!(2)).plan()).len(),
        5,
        "only with partitionedScaling"
    );
    let on_delete = scaled(json!(2)).spec("updateStrategy/type", json!("OnDelete"));
    assert_eq!(served(&on_delete.plan()).len(), 5);
}

/// Acceptance 12.
#[test]
fn ds_19_ds_34_new_pods_have_the_newest_template_whatever_else_is_said() {
    let wanted = hash(&template("nginx:2"));
    for set in [
        set(1).rolling("paused", json!(true)),
        set(1).rolling("partition", json!(1)),
        set(1).rolling("selector", json!({"matchLabels": {"none": "such"}})),
        set(1).spec("updateStrategy/type", json!("OnDelete")),
    ] {
        let plan = set.plan();
        let pods = created(&plan, "Pod");
        assert_eq!(pods[0]["metadata"]["labels"]["controller-revision-hash"], wanted);
        assert_eq!(pods[0]["spec"]["containers"][0]["image"], "nginx:2");
    }
}

/// daemonset/B5, acceptance 16.
#[test]
fn ds_20_creations_and_deletions_are_cut_to_burst_replicas() {
    for (burst, expected) in
        [(json!(2), 2), (json!("50%"), 2), (json!("10%"), 1), (json!(0), 1), (Value::Null, 5)]
    {
        let plan = set(5).spec("burstReplicas", burst.clone()).plan();
        assert_eq!(served(&plan).len(), expected, "{burst}");
        let tainted = (1..=5).fold(set(5).spec("burstReplicas", burst.clone()), |set, place| {
            set.taint(&format!("n{place}"), "x", "NoExecute").pods([new(&format!("n{place}"))])
        });
        let limit = if burst == json!("50%") { 1 } else { expected };
        assert_eq!(deleted(&tainted.plan()).len(), limit, "{burst}: of no node that should have a pod");
    }
}

/// Acceptance 17.
#[test]
fn ds_21_creations_start_slowly_and_say_something_about_each_other() {
    let plan = set(3).plan();
    let creations = plan.chains.iter().filter(|chain| chain.purpose == Purpose::Create);
    assert!(creations.clone().all(|chain| chain.pace == Pace::SlowStart(Siblings::Alike)));
    assert_eq!(creations.count(), 3);
}

/// daemonset/B21: a gate that the template has already is not added again.
#[test]
fn ds_22_ds_23_a_pod_is_made_for_its_node() {
    let preferred = json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}]}});
    let set = set(1)
        .in_place()
        .spec("template/metadata/finalizers", json!(["a.b/c"]))
        .spec("template/metadata/annotations", json!({"note": "x"}))
        .spec("template/spec/readinessGates", json!([{"conditionType": "InPlaceUpdateReady"}]))
        .spec("template/spec/affinity", preferred)
        .annotated("deprecated.daemonset.template.generation", "3");
    let mut set = set;
    set.revisions = vec![revision(&set.object["spec"]["template"].clone(), 1)];

    let plan = set.plan();
    let pod = &created(&plan, "Pod")[0];

    let affinity = &pod["spec"]["affinity"]["nodeAffinity"];
    let required = &affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
    assert_eq!(
        required[0]["matchFields"][0],
        json!({"key": "metadata.name", "operator": "In", "values": ["n1"]})
    );
    assert!(affinity["preferredDuringSchedulingIgnoredDuringExecution"].is_array());
    assert_eq!(
        pod["spec"]["readinessGates"],
        json!([{"conditionType": "InPlaceUpdateReady"}, {"conditionType": "KruisePodReady"}]),
        "B21"
    );
    assert_eq!(pod["metadata"]["finalizers"], json!(["a.b/c"]));
    assert_eq!(pod["metadata"]["annotations"]["note"], "x");
    assert_eq!(pod["metadata"]["labels"]["pod-template-generation"], "3");
    assert_eq!(pod["metadata"]["labels"].get("lifecycle.apps.kruise.io/state"), None);
    assert_eq!(pod["metadata"]["ownerReferences"][0]["apiVersion"], "apps.kruise.io/v1beta1");

    let again = set.directly().plan();
    let pod_again = &created(&again, "Pod")[0];
    assert_eq!(pod_again["spec"]["nodeName"], "n1");
    assert_eq!(pod_again["spec"]["schedulerName"], "kubernetes.io/daemonset-controller");
}

/// Acceptance 19.
#[test]
fn ds_24_a_hooked_pod_is_marked_and_not_deleted_whatever_it_goes_for() {
    for set in [
        set(1).taint("n1", "x", "NoExecute").pods([new("n1").label("hold", "true")]),
        set(1).pods([new("n1").label("hold", "true").failed()]),
        set(1).pods([old("n1").label("hold", "true")]),
    ] {
        let plan = set.hooked().spec("burstReplicas", json!(1)).plan();
        assert!(deleted(&plan).is_empty());
        let writes: Vec<String> = plan.writes().map(|write| format!("{:?}", write.act)).collect();
        assert!(writes.iter().any(|write| write.contains("PreparingDelete")), "{writes:?}");
    }
    let not_held = set(1).hooked().pods([old("n1").label("hold", "no")]).plan();
    assert_eq!(deleted(&not_held), ["old-n1"]);
    let finalizers = json!({"preDelete": {"finalizersHandler": ["a/b"], "markPodNotReady": true}});
    let plan = set(1).spec("lifecycle", finalizers).pods([old("n1").finalizer("a/b")]).plan();
    let writes: Vec<String> = plan.writes().map(|write| format!("{:?}", write.act)).collect();
    assert!(
        writes.iter().any(|write| write.contains("KruisePodReady") && write.contains("preDeleteHook")),
        "{writes:?}"
    );
}

#[test]
fn ds_25_a_pod_goes_when_its_hook_lets_go_or_is_gone() {
    let held = new("n1").state("PreparingDelete").label("hold", "true");
    let plan = set(1).hooked().pods([held.clone()]).plan();
    assert!(deleted(&plan).is_empty());
    assert_eq!(name_of(&plan, "new-n1"), "HookHeld");
    assert_eq!(deleted(&set(1).hooked().pods([new("n1").state("PreparingDelete")]).plan()), ["new-n1"]);
    assert_eq!(deleted(&set(1).pods([held]).plan()), ["new-n1"], "preDelete was removed from the spec");
}
