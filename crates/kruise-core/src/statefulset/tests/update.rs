#![expect(clippy::shadow_unrelated, reason = "each sentence of a test plans anew")]

use super::*;

#[test]
fn as_50_as_56_ordered_updates_the_highest_ordinal_first_one_at_a_time() {
    let plan = ordered().pods([old(), old(), old()]).plan();
    assert_eq!(touched(&plan, Purpose::Recreate), ["web-2"]);
    assert_eq!(*reason(&plan, "web-1"), Reason::MaxUnavailable { down: 1, limit: 1 });

    let plan = ordered().pods([old(), old(), new().not_ready()]).plan();
    assert_eq!(count(&plan, Purpose::Recreate), 0);
    assert_eq!(*reason(&plan, "web-1"), waits_for("web-2"));
}

#[test]
fn as_46_as_53_parallel_updates_as_many_as_may_be_down() {
    let fixture = parallel().replicas(4).rolling("maxUnavailable", json!(2));

    let plan = fixture.clone().pods([old(), old(), old(), old()]).plan();
    assert_eq!(touched(&plan, Purpose::Recreate), ["web-3", "web-2"]);
    let plan = fixture.pods([old(), old(), old(), new().not_ready()]).plan();
    assert_eq!(touched(&plan, Purpose::Recreate), ["web-2"]);
}

#[test]
fn as_49_the_partition_is_a_count_of_pods_also_with_reserved_ordinals() {
    let fixture = parallel().rolling("partition", json!(2)).rolling("maxUnavailable", json!(3));
    let fixture = fixture.set("/reserveOrdinals", json!([0, 1]));
    let pods = [old().named("web-2"), old().named("web-3"), old().named("web-4")];

    let plan = fixture.pods(pods).plan();

    assert_eq!(touched(&plan, Purpose::Recreate), ["web-4"]);
    assert_eq!(*reason(&plan, "web-2"), Reason::Partition { keep: 2 });
}

#[test]
fn as_51_as_52_unordered_follows_the_priority_and_updated_pods_use_up_quota() {
    let weights = json!({"priorityStrategy": {"weightPriority": [{"weight": 10, "matchSelector": {"matchLabels": {"first": "yes"}}}]}});
    let fixture = parallel().replicas(4).rolling("unorderedUpdate", weights);
    let fixture = fixture.rolling("partition", json!(2)).rolling("maxUnavailable", json!(4));

    let plan = fixture.clone().pods([old(), old().label("first", "yes"), old(), old()]).plan();
    assert_eq!(touched(&plan, Purpose::Recreate), ["web-1", "web-3"]);
    let plan = fixture.pods([new(), old().label("first", "yes"), old(), old()]).plan();
    assert_eq!(touched(&plan, Purpose::Recreate), ["web-1"]);
}

#[test]
fn statefulset_b27_with_its_gate_a_pod_that_prepares_uses_up_quota() {
    let fixture =
        parallel().replicas(2).in_place().rolling("unorderedUpdate", json!({})).hook("inPlaceUpdate");
    let fixture = fixture.rolling("partition", json!(1)).rolling("maxUnavailable", json!(2));
    let pods = [old().label("hold", "on").state("PreparingUpdate"), old()];

    let gated = fixture.clone().gate(Gate::PreparingUpdateAsUpdate).pods(pods.clone()).plan();
    assert_eq!(*reason(&gated, "web-1"), Reason::Partition { keep: 1 });
    assert_eq!(touched(&fixture.pods(pods).plan(), Purpose::UpdateInPlace), ["web-1"]);
}

#[test]
fn as_45_as_80_paused_and_on_delete_touch_nothing_but_what_scaling_needs() {
    let paused =
        parallel().rolling("paused", json!(true)).pods([old(), old().marked(), old().phase("Failed")]).plan();
    assert_eq!(*reason(&paused, "web-0"), Reason::Paused);
    assert_eq!(*reason(&paused, "web-1"), Reason::Paused, "statefulset/B9");
    assert_eq!(touched(&paused, Purpose::Delete), ["web-2"]);

    let on_delete = parallel()
        .set("/updateStrategy", json!({"type": "OnDelete"}))
        .pods([old(), old().marked(), old()])
        .plan();
    assert_eq!(*reason(&on_delete, "web-0"), Reason::OnDelete);
    assert_eq!(*reason(&on_delete, "web-1"), Reason::OnDelete, "statefulset/B9");
    assert!(on_delete.chains.is_empty());
}

/// install/T36: by `rollingUpdate.podUpdatePolicy`.
#[test]
fn as_54_as_55_in_place_where_the_policy_and_the_change_allow_it() {
    let pods = || [old(), old(), old()];
    let plan = ordered().in_place().pods(pods()).plan();
    assert_eq!(touched(&plan, Purpose::UpdateInPlace), ["web-2"]);

    let mut other = ordered().in_place().pods(pods());
    other.object["spec"]["template"]["spec"]["hostNetwork"] = json!(true);
    assert_eq!(touched(&other.plan(), Purpose::Recreate), ["web-2"]);
    let only = other.rolling("podUpdatePolicy", json!("InPlaceOnly")).plan();
    assert!(matches!(reason(&only, "web-2"), Reason::NotInPlace { .. }));
}

#[test]
fn as_79_statefulset_b8_marked_pods_are_replaced_within_the_budget_and_once() {
    let fixture = parallel().settled();
    let plan = fixture.clone().pods([new().marked(), new(), new().marked()]).plan();
    assert_eq!(touched(&plan, Purpose::Delete), ["web-2"]);
    assert_eq!(*reason(&plan, "web-0"), Reason::MaxUnavailable { down: 1, limit: 1 });

    let plan = fixture.clone().pods([new().marked().not_ready(), new(), new().marked()]).plan();
    assert_eq!(
        touched(&plan, Purpose::Delete),
        ["web-0"],
        "one that is down already is free and blocks nobody"
    );
    let plan = fixture.pods([new(), new(), new().marked().deleted(LONG_AGO)]).plan();
    assert_eq!(count(&plan, Purpose::Delete), 0);
}

#[test]
fn statefulset_b24_a_broken_revision_never_blocks_the_one_that_repairs_it() {
    let broken = || old().not_ready();

    let plan = ordered().pods([old(), broken(), old()]).plan();
    assert_eq!(touched(&plan, Purpose::Recreate), ["web-1"], "OrderedReady stands still at it");
    assert_eq!(*reason(&plan, "web-2"), waits_for("web-1"));
    let plan = parallel().pods([broken(), old(), old()]).plan();
    assert_eq!(touched(&plan, Purpose::Recreate), ["web-0"], "no look-ahead upstream");
    let plan = ordered().pods([broken(), broken(), broken()]).plan();
    assert_eq!(touched(&plan, Purpose::Recreate), ["web-2"], "one at a time, in the order asked for");
    let plan = ordered().pods([broken(), broken(), new().not_ready()]).plan();
    assert_eq!(count(&plan, Purpose::Recreate), 0, "a target that never becomes ready stops itself");
    let plan = ordered().rolling("partition", json!(3)).pods([old(), broken(), old()]).plan();
    assert_eq!(count(&plan, Purpose::Recreate), 0, "the partition keeps it");
}

#[test]
fn statefulset_b24_a_pod_that_is_ready_but_not_long_enough_is_not_repaired() {
    let fixture = ordered().in_place().rolling("minReadySeconds", json!(300));

    let plan = fixture.pods([old().ready_since(JUST_NOW)]).plan();

    assert_eq!(count(&plan, Purpose::UpdateInPlace), 0);
    assert_eq!(*reason(&plan, "web-0"), waits_for("web-0"));
}

#[test]
fn statefulset_b1_as_73_ordered_finishes_what_a_released_hook_held() {
    let fixture = ordered().in_place().hook("inPlaceUpdate");
    let held = || old().label("hold", "on");

    let plan = fixture.clone().pods([held(), held(), held()]).plan();
    assert_eq!(touched(&plan, Purpose::UpdateInPlace), ["web-2"]);
    let plan = fixture.clone().pods([held(), held(), held().state("PreparingUpdate")]).plan();
    assert!(matches!(reason(&plan, "web-2"), Reason::HookHeld { .. }));
    let plan = fixture.pods([held(), held(), old().state("PreparingUpdate")]).plan();
    assert_eq!(touched(&plan, Purpose::UpdateInPlace), ["web-2"], "released");
}

#[test]
fn statefulset_b1_ordered_finishes_a_replacement_that_pre_delete_held() {
    let fixture = ordered().hook("preDelete");

    let plan = fixture.clone().pods([old(), old(), old().label("hold", "on")]).plan();
    assert_eq!(touched(&plan, Purpose::Recreate), ["web-2"], "marked");
    let plan = fixture.pods([old(), old(), old().state("PreparingDelete")]).plan();
    assert_eq!(touched(&plan, Purpose::Delete), ["web-2"]);
}

#[test]
fn as_80_a_marked_pod_that_is_not_ready_is_replaced_although_the_pass_stands_still_at_it() {
    let plan = ordered().pods([old().not_ready().marked(), old(), old().marked()]).plan();

    assert_eq!(touched(&plan, Purpose::Delete), ["web-0"]);
}

#[test]
fn as_33_a_failed_pod_is_not_updated_and_keeps_no_other_from_being_repaired() {
    for failed in [old(), new()] {
        let plan = ordered().pods([old().not_ready(), old(), failed.phase("Failed")]).plan();

        assert_eq!(touched(&plan, Purpose::Recreate), ["web-0"]);
    }
}

/// statefulset/B11, AS-21: a claim template that was added wedges nothing. The pod is left alone while it is at the wanted revision, and
/// its next update recreates it, in its turn.
#[test]
fn as_21_statefulset_b11_an_added_claim_template_arrives_with_the_next_update() {
    let data = json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}}]);
    let fixture = || ordered().replicas(1).in_place().claim_template("1Gi").claim(&bound(0, "1Gi"));

    let settled = fixture().settled().pods([new()]).plan();
    assert!(settled.chains.is_empty(), "{:?}", settled.chains);
    let updated = fixture().pods([old()]).plan();
    assert_eq!(touched(&updated, Purpose::Recreate), ["web-0"]);
    let complete = fixture().pods([old().set("/spec/volumes", data)]).plan();
    assert_eq!(touched(&complete, Purpose::UpdateInPlace), ["web-0"]);
    let only = fixture().rolling("podUpdatePolicy", json!("InPlaceOnly")).pods([old()]).plan();
    assert_eq!(touched(&only, Purpose::UpdateInPlace), ["web-0"], "never recreated against the policy");
}
