//! DS-26 … DS-36.

use super::*;
use crate::chain::Patch;

fn many(set: Set, pods: impl IntoIterator<Item = Pod>) -> Plan {
    set.pods(pods).plan()
}

fn nodes(count: usize) -> Vec<String> {
    (1..=count).map(|place| format!("n{place}")).collect()
}

fn all_old(count: usize) -> Vec<Pod> {
    nodes(count).iter().map(|node| old(node)).collect()
}

#[test]
fn ds_26_hash_or_template_generation_say_that_a_pod_is_updated() {
    let generation = old("n1").label("pod-template-generation", "4");
    let plan = many(set(1).annotated("deprecated.daemonset.template.generation", "4"), [generation.clone()]);
    assert!(deleted(&plan).is_empty());
    let again = many(set(1).annotated("deprecated.daemonset.template.generation", "x"), [generation]);
    assert_eq!(deleted(&again), ["old-n1"]);
}

/// Acceptance 15: nodes that drop out count for the partition unless the gate prunes them.
#[test]
fn ds_27_the_gate_leaves_nodes_without_eligibility_out() {
    let base = || {
        set(3).taint("n3", "x", "NoSchedule").rolling("partition", json!(2)).pods([
            new("n3"),
            old("n2"),
            old("n1"),
        ])
    };
    assert!(deleted(&base().plan()).is_empty(), "the updated node n3 is the one that the partition leaves");
    let pruned = base().gate(Gate::DaemonSetPruneIneligibleNodes).rolling("partition", json!(1));
    assert_eq!(deleted(&pruned.plan()), ["old-n2"]);
}

#[test]
fn ds_28_limits_round_up_and_never_stand_still() {
    for (unavailable, expected) in [(json!("20%"), 2), (json!("1%"), 1), (json!(0), 1), (json!(3), 3)] {
        let plan = many(set(6).max_unavailable(unavailable.clone()), all_old(6));
        assert_eq!(deleted(&plan).len(), expected, "{unavailable}");
    }
    assert_eq!(served(&many(set(6).surge(json!("20%")), all_old(6))).len(), 2);
}

/// daemonset/B15, DS-31, acceptance 10.
#[test]
fn ds_29_ds_31_nodes_are_updated_by_name_downward_and_the_partition_keeps_the_first() {
    let plan = many(set(4).rolling("partition", json!(2)).max_unavailable(json!(4)), all_old(4));
    assert_eq!(deleted(&plan), ["old-n4", "old-n3"]);
    assert_eq!(*reason(&plan, "old-n1"), Reason::Partition { keep: 2 });

    let pods = [new("n1"), old("n2"), old("n3"), old("n4")];
    let then = many(set(4).rolling("partition", json!(2)).max_unavailable(json!(4)), pods);
    assert_eq!(deleted(&then), ["old-n4"], "an updated node comes first, wherever it is");

    for (partition, expected) in [(json!("50%"), 3), (json!("100%"), 0), (json!("0%"), 5), (json!(9), 0)] {
        let again =
            many(set(5).rolling("partition", partition.clone()).max_unavailable(json!(5)), all_old(5));
        assert_eq!(deleted(&again).len(), expected, "{partition}");
    }
}

#[test]
fn ds_29_the_update_selector_picks_nodes_and_shares_the_partition() {
    let picked =
        |labels: Value| set(4).max_unavailable(json!(4)).rolling("selector", json!({"matchLabels": labels}));
    let plan = many(picked(json!({"host": "n2"})), all_old(4));
    assert_eq!(deleted(&plan), ["old-n2"]);
    assert_eq!(name_of(&plan, "old-n4"), "NodeNotSelected");
    assert_eq!(
        deleted(&many(picked(json!({})), all_old(4))).len(),
        4,
        "an empty selector matches every node"
    );
    let again = many(picked(json!({"host": "n2"})).rolling("partition", json!(4)), all_old(4));
    assert!(deleted(&again).is_empty());
    assert_eq!(*reason(&again, "old-n2"), Reason::Partition { keep: 4 });
}

/// DS-35: what was updated stays updated.
#[test]
fn ds_35_a_node_that_lost_the_canary_label_keeps_its_new_pod() {
    let plan =
        many(set(2).rolling("selector", json!({"matchLabels": {"canary": "yes"}})), [new("n1"), old("n2")]);
    assert!(plan.chains.is_empty(), "{:?}", plan.chains);
}

#[test]
fn ds_30_nodes_that_are_down_use_up_the_limit() {
    let spent = |more: Vec<Pod>| {
        many(set(4).max_unavailable(json!(2)), more.into_iter().chain([old("n1"), old("n2")]))
    };
    assert_eq!(deleted(&spent(vec![new("n3"), new("n4")])), ["old-n2", "old-n1"]);
    assert_eq!(deleted(&spent(vec![new("n3").not_ready(), new("n4")])), ["old-n2"]);
    let plan = spent(vec![new("n3").not_ready(), new("n4").not_ready()]);
    assert!(deleted(&plan).is_empty());
    assert_eq!(*reason(&plan, "old-n1"), Reason::MaxUnavailable { down: 2, limit: 2 });
    assert_eq!(deleted(&spent(vec![new("n3")])), ["old-n2"], "n4 has no pod and gets one");
    assert_eq!(deleted(&spent(vec![new("n3"), old("n4").going()])), ["old-n2"]);
    let held = || new("n4").state("PreparingDelete").label("hold", "true").not_ready();
    let hooked = || set(4).max_unavailable(json!(2)).hooked();
    assert_eq!(deleted(&many(hooked(), [old("n1"), old("n2"), new("n3"), held()])), ["old-n2"]);
    let again = many(hooked(), [old("n1"), old("n2"), new("n3"), held(), old("n4")]);
    assert!(deleted(&again).is_empty(), "held and not available counts twice beside an old one");
}

#[test]
fn ds_30_nodes_beyond_the_partition_use_up_nothing() {
    let pods = [old("n1"), old("n2").not_ready(), old("n3"), old("n4")];
    assert_eq!(deleted(&many(set(4).rolling("partition", json!(2)), pods)), ["old-n4"]);
}

#[test]
fn ds_30_an_old_pod_that_is_down_is_replaced_outside_the_limit() {
    let pods = || [old("n1").not_ready(), old("n2").not_ready(), old("n3"), new("n4").not_ready()];
    assert_eq!(deleted(&many(set(4), pods())), ["old-n2", "old-n1"]);
}

/// B3: two quick updates do not take everything down.
#[test]
fn daemonset_b3_strict_max_unavailable_counts_broken_pods_and_takes_them_first() {
    let strict =
        || set(4).max_unavailable(json!(2)).annotated("daemonset.kruise.io/strict-max-unavailable", "true");
    let pods = [old("n1").not_ready(), old("n2").not_ready(), old("n3").not_ready(), old("n4")];
    assert_eq!(deleted(&many(strict(), pods)), ["old-n3", "old-n2"]);
    let pods_again = [old("n1").not_ready(), old("n2"), new("n3"), new("n4").not_ready()];
    assert_eq!(deleted(&many(strict(), pods_again)), ["old-n1"]);
}

/// Acceptance 4 and 5.
#[test]
fn ds_32_an_image_changes_in_place_and_an_environment_by_a_new_pod() {
    let plan = many(set(1).in_place(), [old("n1")]);
    assert!(deleted(&plan).is_empty());
    assert_eq!(touched(&plan, Purpose::UpdateInPlace), ["old-n1"]);
    let chain = plan.chains.iter().find(|chain| chain.purpose == Purpose::UpdateInPlace).unwrap();
    let Act::Patch(Patch::Strategic(body)) = &chain.writes[1].act else { panic!("{chain:?}") };
    let labels = json!({"controller-revision-hash": hash(&template("nginx:2"))});
    assert_eq!(body["metadata"]["labels"], labels, "and no lifecycle state");
    let mut changed = set(1).in_place();
    changed.object["spec"]["template"]["spec"]["containers"][0]["env"] = json!([{"name": "A", "value": "b"}]);
    changed.revisions[1] = revision(&changed.object["spec"]["template"].clone(), 2);
    assert_eq!(deleted(&many(changed, [old("n1")])), ["old-n1"]);
}

#[test]
fn ds_32_a_pod_without_gate_or_revision_is_made_anew_and_burst_replicas_cut_updates_in_place() {
    let bare = old("n1").set("/spec/readinessGates", json!([]));
    assert_eq!(deleted(&many(set(1).in_place(), [bare])), ["old-n1"]);
    let pruned = old("n1").label("controller-revision-hash", "7777");
    assert_eq!(deleted(&many(set(1).in_place(), [pruned])), ["old-n1"]);
    let plan = many(set(3).in_place().max_unavailable(json!(3)).spec("burstReplicas", json!(2)), all_old(3));
    assert_eq!(touched(&plan, Purpose::UpdateInPlace), ["old-n3", "old-n2"]);
    assert_eq!(name_of(&plan, "old-n1"), "BurstReplicas");
}

#[test]
fn ds_32_a_pod_that_is_being_updated_in_place_counts_as_a_new_one_that_is_down() {
    let updating = new("n3").not_ready().condition("InPlaceUpdateReady", "False", LONG_AGO);
    let plan = many(set(3).in_place(), [old("n1"), old("n2"), updating]);
    assert!(touched(&plan, Purpose::UpdateInPlace).is_empty(), "{:?}", plan.chains);
    assert_eq!(*reason(&plan, "old-n1"), Reason::MaxUnavailable { down: 1, limit: 1 });
}

/// Acceptance 6.
#[test]
fn ds_24_ds_30_exactly_one_pod_waits_for_its_hook() {
    let held = |node: &str| old(node).label("hold", "true");
    let first = many(set(3).hooked(), [held("n1"), held("n2"), held("n3")]);
    assert_eq!(touched(&first, Purpose::Recreate), ["old-n3"]);
    let then = many(set(3).hooked(), [held("n1"), held("n2"), held("n3").state("PreparingDelete")]);
    assert!(then.chains.is_empty(), "{:?}", then.chains);
    let released = many(set(3).hooked(), [held("n1"), held("n2"), old("n3").state("PreparingDelete")]);
    assert_eq!(deleted(&released), ["old-n3"]);
}

/// Acceptance 7.
#[test]
fn ds_33_with_surge_the_new_pod_comes_first() {
    let plan = many(set(3).surge(json!(2)), all_old(3));
    assert!(deleted(&plan).is_empty());
    assert_eq!(served(&plan), ["n3", "n2"]);
    assert_eq!(*reason(&plan, "old-n3"), Reason::CreationFirst);
    assert_eq!(name_of(&plan, "old-n1"), "MaxSurge");

    let after_that = many(set(3).surge(json!(2)), [old("n1"), old("n2"), old("n3"), new("n3").not_ready()]);
    assert_eq!(served(&after_that), ["n2"], "one is in flight");
    let then =
        many(set(3).surge(json!(1)), [old("n1").not_ready(), old("n2"), old("n3"), new("n3").not_ready()]);
    assert_eq!(served(&then), ["n1"], "a pod that is down gets its replacement at once");
    let again = many(set(2).surge(json!(1)), [old("n1"), old("n2"), new("n2")]);
    assert_eq!(deleted(&again), ["old-n2"]);
    assert_eq!(served(&again), ["n1"]);
}

#[test]
fn ds_34_paused_and_on_delete_leave_old_pods_where_they_are() {
    let plan = many(set(1).rolling("paused", json!(true)), [old("n1")]);
    assert_eq!((deleted(&plan).len(), reason(&plan, "old-n1")), (0, &Reason::Paused));
    let again = many(set(1).spec("updateStrategy", json!({"type": "OnDelete"})), [old("n1")]);
    assert_eq!((deleted(&again).len(), reason(&again, "old-n1")), (0, &Reason::OnDelete));
}

#[test]
fn daemonset_b14_a_pod_that_could_not_be_made_anew_is_not_deleted_for_an_update() {
    let tainted = || set(2).taint("n2", "x", "NoSchedule").max_unavailable(json!(2));
    let plan = many(tainted(), all_old(2));
    assert_eq!(deleted(&plan), ["old-n1"]);
    assert!(reason(&plan, "old-n2").to_string().contains("could not be created again"));
    assert_eq!(
        touched(&many(tainted().in_place(), all_old(2)), Purpose::UpdateInPlace),
        ["old-n2", "old-n1"]
    );
    let then = many(set(2).taint("n2", "x", "NoSchedule").surge(json!(2)), all_old(2));
    assert_eq!(served(&then), ["n1"]);
}

/// Acceptance 8: pods that hang on dead nodes do not hold up the rest.
#[test]
fn daemonset_b14_nodes_that_were_excluded_do_not_use_up_the_limit() {
    let excluded =
        set(4).max_unavailable(json!(2)).taint("n3", "x", "NoExecute").taint("n4", "x", "NoExecute");
    let plan = many(excluded, [old("n1"), old("n2"), old("n3").going(), old("n4").going()]);
    assert_eq!(deleted(&plan), ["old-n2", "old-n1"]);
}

/// DS-36, acceptance 14: going back is an update to an older revision.
#[test]
fn ds_36_going_back_renumbers_the_old_revision_and_converges_to_it() {
    let back = set(2).spec("template", template("nginx:1"));
    let plan = many(back, [new("n1"), new("n2")]);
    assert_eq!(count(&plan, Purpose::Revision), 1);
    assert_eq!(deleted(&plan), ["new-n2"]);
    assert!(created(&plan, "ControllerRevision").is_empty());
}
