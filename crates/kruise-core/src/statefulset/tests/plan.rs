#![expect(clippy::shadow_unrelated, reason = "each sentence of a test plans anew")]

use super::*;
use crate::chain::{Op, Patch};
use crate::time::just_after;
use kruise_api::Resource;
use kruise_api::resource::{PODS, REVISIONS};

fn operations(plan: &Plan, resource: Resource) -> Vec<Op> {
    let writes = plan.writes().filter(|write| write.object.resource == resource);
    let patches = writes.filter_map(|write| match &write.act {
        Act::Patch(Patch::Json(ops)) => Some(ops.clone()),
        Act::Patch(_) | Act::Create(_) | Act::Delete { .. } => None,
    });
    patches.flatten().collect()
}

/// The template goes back to the old revision.
fn rolled_back(fixture: Fixture) -> Fixture {
    let mut fixture = fixture.and(|view| {
        let (old, new) = (view.revisions[0].as_ref().clone(), view.revisions[1].as_ref().clone());
        view.revisions =
            vec![Arc::new(Revision { number: 1, ..new }), Arc::new(Revision { number: 2, ..old })];
    });
    std::mem::swap(&mut fixture.old, &mut fixture.object["spec"]["template"]);
    fixture
}

#[test]
fn as_12_as_57_a_rollback_raises_the_number_of_the_old_revision_and_moves_pods_back() {
    let fixture = rolled_back(parallel());
    let abandoned = fixture.old_name();

    let plan = fixture.pods([old().label("controller-revision-hash", &abandoned), new(), new()]).plan();

    let number = Op::Replace { path: "/revision".to_owned(), value: json!(3) };
    assert!(operations(&plan, REVISIONS).contains(&number), "{:?}", plan.chains);
    assert_eq!(touched(&plan, Purpose::Recreate), ["web-0"]);
    assert_eq!(count(&plan, Purpose::Revision), 1);
}

#[test]
fn as_13_a_current_revision_that_is_gone_is_the_update_revision() {
    let mut fixture = parallel().rolling("partition", json!(3));
    fixture.object["status"]["currentRevision"] = json!("web-gone");

    assert!(created(&fixture.plan()).iter().all(|(_, revision)| *revision == fixture.new_name()));
}

#[test]
fn as_14_only_revisions_that_no_pod_is_at_are_truncated() {
    let more = |fixture: Fixture| {
        fixture.set("/revisionHistoryLimit", json!(0)).and(|view| {
            let dead = Revision {
                name: crate::ids::RevisionName::new("web-dead"),
                number: 0,
                ..view.revisions[0].as_ref().clone()
            };
            view.revisions.insert(0, Arc::new(dead));
        })
    };
    let deleted = |plan: &Plan| -> Vec<String> {
        let history = plan.chains.iter().filter(|chain| chain.purpose == Purpose::History);
        history.flat_map(|chain| &chain.writes).map(|write| write.object.name().to_owned()).collect()
    };

    assert_eq!(deleted(&more(parallel().settled().pods([old(), new(), new()])).plan()), ["web-dead"]);
    assert!(
        deleted(&more(parallel().pods([old().label("controller-revision-hash", "web-dead")])).plan())
            .is_empty()
    );
}

#[test]
fn as_5_the_revision_is_stored_before_anything_else() {
    let plan = parallel().pods([old(), old()]).and(|view| view.revisions.truncate(1)).plan();

    assert_eq!((plan.chains.len(), count(&plan, Purpose::Revision)), (1, 1));
    assert_eq!(*reason(&plan, "web-0"), Reason::RevisionFirst);
    assert!(plan.status.is_none());
}

#[test]
fn as_21_a_wrong_pod_name_label_is_repaired_and_a_missing_index_is_not() {
    let wrong = |view: &mut View| {
        let pod = Arc::make_mut(&mut view.pods[0]);
        pod.labels = pod.labels.with("statefulset.kubernetes.io/pod-name", "web-9");
    };

    let plan = parallel().settled().pods([new(), new(), new()]).and(wrong).plan();

    assert_eq!(touched(&plan, Purpose::Refresh), ["web-0"]);
    assert_eq!(plan.chains.len(), 1, "nobody is given an index");
}

#[test]
fn as_27_to_as_31_who_is_ready_available_and_failed() {
    // AS-27 AS-28 AS-29 AS-30 AS-31 AS-74
    let spec = |seconds: u32| {
        Spec::read(&ordered().rolling("minReadySeconds", json!(seconds)).object["spec"]).unwrap()
    };
    let undated = || new().set("/status/conditions", json!([{"type": "Ready", "status": "True"}]));
    let rows = [
        (new(), true, true),
        (new().ready_since(JUST_NOW), true, false),
        (undated(), true, false),
        (new().not_ready(), false, false),
        (new().phase("Pending"), false, false),
        (new().state("Updated"), false, false),
        (new().state("PreparingNormal"), false, false),
        (new().deleted(LONG_AGO), true, true),
    ];
    for (pod, at_once, after_ten) in rows {
        let pod = pod.named("web-0").view();
        assert_eq!(spec(0).is_available(&pod, now()), at_once, "{pod:?}");
        assert_eq!(spec(10).is_available(&pod, now()), after_ten, "{pod:?}");
    }
    assert_eq!(touched(&ordered().pods([new().phase("Succeeded")]).plan(), Purpose::Delete), ["web-0"]);
}

#[test]
fn as_36_as_72_states_move_also_while_paused() {
    let fixture = parallel().settled().rolling("paused", json!(true)).hook("inPlaceUpdate");

    let plan =
        fixture.pods([new().state("Updating"), new().state("Updated").label("hold", "on"), new()]).plan();

    assert_eq!(touched(&plan, Purpose::Refresh), ["web-0", "web-1"]);
}

#[test]
fn as_42_deletions_carry_identity_and_version() {
    let plan = parallel().replicas(0).settled().pods([new()]).plan();

    let write = plan.writes().find(|write| write.object.resource == PODS).unwrap();
    assert!(matches!(&write.act, Act::Delete { uid, version: Some(_) } if uid.as_str() == "uid-web-0"));
}

#[test]
fn as_47_as_48_marked_pods_have_the_first_use_of_the_budget() {
    let plan = parallel().pods([old().marked(), old(), old()]).plan();

    assert_eq!((touched(&plan, Purpose::Delete), count(&plan, Purpose::Recreate)), (vec!["web-0"], 0));
    let plan = parallel().pods([old(), old().deleted(LONG_AGO), old()]).plan();
    assert_eq!(count(&plan, Purpose::Recreate), 0, "a terminating pod is down");
    let plan = parallel().pods([old(), new().not_ready(), old()]).plan();
    assert_eq!(count(&plan, Purpose::Recreate), 0, "a pod that is not available is down");
    let plan = parallel().pods([old(), old()]).plan();
    assert_eq!(count(&plan, Purpose::Create), 1);
    assert_eq!(count(&plan, Purpose::Recreate), 0, "a missing pod is down");
}

#[test]
fn statefulset_b6_statefulset_b21_as_7_a_pod_that_is_only_too_young_sets_the_timer() {
    let young = || new().ready_since(JUST_NOW);
    let ten = |fixture: Fixture| fixture.settled().rolling("minReadySeconds", json!(10));

    let scaled = ten(ordered().replicas(1)).pods([young(), new()]).plan();
    assert_eq!(scaled.revisit_at, Some(just_after(at(8))));
    let paused = ten(parallel()).rolling("paused", json!(true)).pods([new(), young(), new()]).plan();
    assert_eq!(paused.revisit_at, Some(just_after(at(8))));
}

#[test]
fn statefulset_b28_statefulset_b29_as_75_leaving_the_update_states_gives_the_pod_back_on_the_version_seen() {
    let marking = json!({"inPlaceUpdate": {"labelsHandler": {"hold": "on"}, "markPodNotReady": true}});
    let fixture = parallel().replicas(1).set("/lifecycle", marking);
    let held = r#"[{"userAgent":"Lifecycle","key":"preUpdateHook"}]"#;
    let entered = fixture.clone().in_place().pods([old().label("hold", "on")]).plan();
    let lowered = operations(&entered, PODS).iter().any(|op| format!("{op:?}").contains("preUpdateHook"));
    assert!(lowered, "{entered:?}");

    let mut back =
        new().label("hold", "on").state("PreparingUpdate").condition("KruisePodReady", "False", LONG_AGO);
    for one in back.0["status"]["conditions"].as_array_mut().unwrap() {
        if one["type"] == "KruisePodReady" {
            one["message"] = json!(held);
        }
    }
    let plan = fixture.settled().pods([back]).plan();

    let ops = operations(&plan, PODS);
    assert_eq!(ops[0], Op::test("/metadata/resourceVersion", "1"));
    assert!(
        ops.iter()
            .any(|op| format!("{op:?}").contains("KruisePodReady") && format!("{op:?}").contains("True")),
        "{ops:?}"
    );
}

#[test]
fn a_new_claim_template_restarts_nobody_in_the_repair_step() {
    let plan = parallel().settled().claim_template("1Gi").pods([new(), new(), new()]).plan();

    assert!(plan.chains.iter().all(|chain| chain.item.is_none()), "{:?}", plan.chains);
}
