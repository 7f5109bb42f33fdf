#![expect(clippy::shadow_unrelated, reason = "each sentence of a test plans anew")]

use super::*;
use crate::time::just_after;

fn names(plan: &Plan) -> Vec<String> {
    created(plan).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn as_23_as_32_ordered_creates_one_pod_after_the_other() {
    assert_eq!(names(&ordered().plan()), ["web-0"]);
    assert_eq!(names(&ordered().pods([new()]).plan()), ["web-1"]);
    assert!(names(&ordered().pods([new().not_ready()]).plan()).is_empty());
    assert!(names(&ordered().pods([new().deleted(LONG_AGO)]).plan()).is_empty());
    let young = ordered().rolling("minReadySeconds", json!(10)).pods([new().ready_since(JUST_NOW)]);
    assert!(names(&young.plan()).is_empty());
    assert_eq!(young.plan().revisit_at, Some(just_after(at(8))));
}

#[test]
fn as_23_parallel_creates_all_at_once() {
    assert_eq!(names(&parallel().pods([new().not_ready()]).plan()), ["web-1", "web-2"]);
}

#[test]
fn as_22_as_58_new_pods_get_the_revision_of_their_place() {
    let fixture = parallel().replicas(4).rolling("partition", json!(2)).set("/reserveOrdinals", json!([1]));
    let (old, new) = (fixture.old_name(), fixture.new_name());

    let made = created(&fixture.plan());

    let wanted = [("web-0", &old), ("web-2", &old), ("web-3", &new), ("web-4", &new)];
    assert_eq!(made, wanted.map(|(name, revision)| (name.to_owned(), revision.clone())));
    assert!(
        created(&fixture.set("/updateStrategy", json!({"type": "OnDelete"})).plan())
            .iter()
            .all(|(_, revision)| *revision == new)
    );
}

#[test]
fn as_22_unordered_counts_the_pods_that_are_not_updated() {
    let fixture = parallel().replicas(4).rolling("partition", json!(2)).rolling("unorderedUpdate", json!({}));
    let made = created(&fixture.clone().pods([old(), new()]).plan());

    assert_eq!(made, [("web-2".to_owned(), fixture.old_name()), ("web-3".to_owned(), fixture.new_name())]);
}

#[test]
fn as_33_a_failed_replica_is_deleted_and_comes_back_later() {
    let plan = ordered().pods([new().phase("Failed"), new()]).plan();

    assert_eq!(touched(&plan, Purpose::Delete), ["web-0"]);
    assert!(names(&plan).is_empty());
}

#[test]
fn as_37_the_scale_budget_streams_and_one_pod_uses_one_unit() {
    let limited = |count| parallel().replicas(10).set("/scaleStrategy", json!({"maxUnavailable": count}));

    assert_eq!(names(&limited(2).pods([new(), new(), new()]).plan()), ["web-3", "web-4"]);
    assert_eq!(names(&limited(2).pods([new(), new(), new().not_ready()]).plan()), ["web-3"]);
    assert_eq!(
        names(&limited(2).pods([new().not_ready().deleted(LONG_AGO)]).plan()).len(),
        1,
        "B4, statefulset/B4"
    );
}

#[test]
fn statefulset_b3_a_failed_pod_is_replaced_although_the_scale_budget_is_used_up() {
    let fixture = parallel().set("/scaleStrategy", json!({"maxUnavailable": 1}));

    let plan = fixture.pods([new().not_ready(), new().phase("Failed"), new()]).plan();

    assert_eq!(touched(&plan, Purpose::Delete), ["web-1"]);
}

#[test]
fn statefulset_b5_what_the_update_took_down_does_not_use_the_scale_budget() {
    let fixture = parallel().set("/scaleStrategy", json!({"maxUnavailable": 1}));

    let plan = fixture.pods([old().deleted(LONG_AGO), old().deleted(LONG_AGO)]).plan();

    assert_eq!(names(&plan), ["web-2"]);
}

#[test]
fn as_18_as_39_ordered_scale_down_takes_the_highest_one_at_a_time() {
    let down = ordered().replicas(1).settled();

    let plan = down.clone().pods([new(), new(), new()]).plan();
    assert_eq!(touched(&plan, Purpose::Delete), ["web-2"]);
    assert_eq!(*reason(&plan, "web-1"), waits_for("web-2"));

    let plan = down.clone().pods([new(), new(), new().deleted(LONG_AGO)]).plan();
    assert_eq!(count(&plan, Purpose::Delete), 0);
    assert_eq!(*reason(&plan, "web-2"), Reason::Terminating);

    let plan = down.clone().pods([new(), new().not_ready(), new()]).plan();
    assert_eq!(touched(&plan, Purpose::Delete), ["web-2"], "an available one goes first");
    let plan = down.clone().pods([new(), new().not_ready(), new().not_ready()]).plan();
    assert_eq!(count(&plan, Purpose::Delete), 0, "web-1 is unhealthy, too, and lower");
    let failed = || new().not_ready().phase("Failed");
    let plan = down.clone().pods([new(), failed(), failed()]).plan();
    assert_eq!(touched(&plan, Purpose::Delete), ["web-2"], "a failed pod never recovers");
    let plan = down.clone().pods([new().not_ready(), new(), new().not_ready()]).plan();
    assert_eq!(count(&plan, Purpose::Delete), 0, "a replica that is down blocks them all");
    let plan = down.pods([new(), new(), new().not_ready()]).plan();
    assert_eq!(touched(&plan, Purpose::Delete), ["web-2"], "it is itself the lowest one that is down");
}

#[test]
fn as_40_as_41_parallel_scale_down_takes_all_and_ignores_marks() {
    let plan = parallel().replicas(1).settled().pods([new().marked(), new(), new().not_ready()]).plan();

    assert_eq!(
        touched(&plan, Purpose::Delete),
        ["web-2", "web-1", "web-0"],
        "web-0 by its mark, within the budget"
    );
}

/// With three pods that are not ready and no replicas wanted, none is deleted until they recover, as Kubernetes promises.
#[test]
fn as_39_ordered_scale_down_halts_while_several_pods_are_unhealthy() {
    let halted = |first: Pod| {
        ordered().replicas(0).settled().pods([new().not_ready(), new().not_ready(), first]).plan()
    };
    let plan = halted(new().not_ready());
    assert_eq!(count(&plan, Purpose::Delete), 0);
    let unhealthy = crate::ids::PodName::new("web-0");
    assert_eq!(*reason(&plan, "web-2"), Reason::RemovalHalted { unhealthy });
    assert_eq!(*reason(&plan, "web-1"), Reason::WaitsFor { pod: crate::ids::PodName::new("web-2") });

    assert_eq!(touched(&halted(new()), Purpose::Delete), ["web-2"], "it is healthy itself");
    assert_eq!(touched(&halted(new().not_ready().marked()), Purpose::Delete), ["web-2"], "a way out");
    let alone = ordered().replicas(0).settled().pods([new(), new(), new().not_ready()]).plan();
    assert_eq!(touched(&alone, Purpose::Delete), ["web-2"], "no other pod is unhealthy");
}

#[test]
fn as_19_a_reserved_ordinal_moves_its_replica() {
    let reserved =
        |fixture: Fixture| fixture.settled().set("/reserveOrdinals", json!([1])).pods([new(), new(), new()]);

    let plan = reserved(ordered()).plan();
    assert_eq!((names(&plan), count(&plan, Purpose::Delete)), (vec!["web-3".to_owned()], 0));
    let plan = reserved(parallel()).plan();
    assert_eq!((names(&plan), touched(&plan, Purpose::Delete)), (vec!["web-3".to_owned()], vec!["web-1"]));
}

#[test]
fn as_24_as_25_moving_the_range_condemns_what_is_left_outside() {
    let moved =
        parallel().settled().gate(Gate::StatefulSetStartOrdinal).set("/ordinals", json!({"start": 2}));

    let plan = moved.pods([new(), new(), new()]).plan();

    assert_eq!(names(&plan), ["web-3", "web-4"]);
    assert_eq!(touched(&plan, Purpose::Delete), ["web-1", "web-0"]);
}

#[test]
fn as_78_statefulset_b2_a_held_pod_is_marked_and_nobody_else_is_touched() {
    let down = ordered().replicas(0).settled().hook("preDelete");
    let held = || new().label("hold", "on");

    let plan = down.clone().pods([held(), held()]).plan();
    assert_eq!(touched(&plan, Purpose::Delete), ["web-1"]);
    let plan = down.clone().pods([held(), held().state("PreparingDelete")]).plan();
    assert_eq!(count(&plan, Purpose::Delete), 0);
    let plan = down.pods([held(), new().state("PreparingDelete")]).plan();
    assert_eq!(touched(&plan, Purpose::Delete), ["web-1"], "released");
}

#[test]
fn statefulset_b10_a_pod_that_is_wanted_again_comes_back_to_life() {
    let fixture = ordered().settled().hook("preDelete");
    let leaving = || new().label("hold", "on").state("PreparingDelete");

    let plan = fixture.clone().pods([new(), new(), leaving()]).plan();
    assert_eq!((touched(&plan, Purpose::Refresh), count(&plan, Purpose::Delete)), (vec!["web-2"], 0));
    let plan = fixture.pods([new(), new(), new().state("PreparingDelete").marked()]).plan();
    assert_eq!(touched(&plan, Purpose::Delete), ["web-2"], "somebody asked for it");
}

/// Those of others are not even in the view; that the set itself is alive is read live before anything is adopted.
#[test]
fn sm_76_as_3_as_4_orphans_are_adopted_and_lost_pods_let_go() {
    let orphan = new().set("/metadata/ownerReferences", json!([]));
    let fixture = parallel().settled().pods([orphan, new().label("app", "other"), new()]);
    let fixture = fixture.and(|view| {
        view.orphan_revisions = view.revisions.iter().map(|one| one.name.clone()).take(1).collect();
    });

    let plan = fixture.clone().plan();

    assert_eq!(touched(&plan, Purpose::Adopt), ["web-0"]);
    assert_eq!(count(&plan, Purpose::Adopt), 2, "the revision too");
    assert_eq!(touched(&plan, Purpose::Release), ["web-1"]);
    for chain in plan.chains.iter().filter(|chain| chain.purpose == Purpose::Adopt) {
        assert_eq!(chain.confirm.as_ref().unwrap().uid, crate::ids::Uid::new("uid-web"));
    }

    let plan = fixture.and(|view| view.deleted = Some(now())).plan();
    assert!(plan.chains.is_empty(), "a set that is being deleted takes nothing and lets nothing go");
}

#[test]
fn as_8_a_set_that_is_being_deleted_only_reports() {
    let plan = ordered().pods([old(), old().not_ready()]).and(|view| view.deleted = Some(now())).plan();

    assert!(plan.chains.is_empty() && plan.status.is_some());
    assert_eq!(*reason(&plan, "web-0"), Reason::OwnerDeleted);
}

#[test]
fn as_38_statefulset_b18_a_name_that_somebody_else_has_stops_only_that_ordinal() {
    let taken = |fixture: Fixture| {
        fixture.and(|view| {
            view.strangers.insert(crate::ids::PodName::new("web-0"));
        })
    };

    assert_eq!(names(&taken(parallel()).plan()), ["web-1", "web-2"]);
    assert!(names(&taken(ordered()).plan()).is_empty());
}

/// B16: any number may be asked for; a plan looks at a bounded number of ordinals without a pod, and the next ones go on.
#[test]
fn statefulset_b16_any_number_of_missing_pods_is_created_in_bounded_plans() {
    let limit = crate::plan::CREATIONS_MAX;
    for replicas in [1_000_000, 2_147_483_647] {
        let many = parallel().settled().set("/replicas", json!(replicas)).plan();
        assert_eq!(count(&many, Purpose::Create), limit);
        assert!(many.reasons.is_empty(), "{:?}", many.reasons.len());
    }
    let next = parallel().settled().set("/replicas", json!(1_000_000)).pods((0..600).map(|_| new())).plan();
    assert_eq!(count(&next, Purpose::Create), limit);
    let first = &next.chains.iter().find(|chain| chain.purpose == Purpose::Create).unwrap().item;
    assert!(format!("{first:?}").contains("web-600"), "{first:?}");
}

/// AS-46: ordinals that a plan does not look at are down all the same: no pod is updated on their account.
#[test]
fn as_46_missing_pods_beyond_one_plan_count_as_down() {
    let plan = parallel()
        .set("/replicas", json!(2_000))
        .rolling("maxUnavailable", json!(1_000))
        .pods((0..10).map(|_| old()))
        .plan();

    assert_eq!((count(&plan, Purpose::Recreate), count(&plan, Purpose::UpdateInPlace)), (0, 0));
}
