//! States that the original left behind, on real nodes: settled ones see no write at all, unfinished ones are continued
//! without touching more than the rules demand.

use super::*;
use crate::golden;

/// A view of the recorded objects, at the moment they were recorded.
fn view(recorded: &Value) -> (View, Timestamp) {
    let (mut view, now) = workload::recorded::<View>(recorded, "CloneSet");
    view.base.gates = view
        .base
        .gates
        .with(Gate::CloneSetShortHash)
        .with(Gate::PreDownloadImageForInPlaceUpdate)
        .with(Gate::InPlaceWorkloadVerticalScaling);
    (view, now)
}

fn states() -> Vec<(String, View, Timestamp)> {
    let all = golden::folder("takeover").into_iter().filter(|(name, _)| name.starts_with("cs-"));
    let states: Vec<_> = all
        .map(|(name, recorded)| {
            let (view, now) = view(&recorded);
            (name, view, now)
        })
        .collect();
    assert!(states.len() >= 10, "recorded states are missing");
    states
}

#[test]
fn sm_10a_taken_over_states_see_no_pod_deleted_or_restarted_and_no_new_revision() {
    for (name, view, now) in states() {
        let plan = plan(&view, now);
        for write in plan.writes() {
            assert!(!matches!(write.act, Act::Create(_) | Act::Delete { .. }), "{name}: {write:?}");
        }
        let restarts = plan.chains.iter().filter(|chain| chain.purpose == Purpose::UpdateInPlace).count();
        assert_eq!(restarts, 0, "{name}: {:?}", plan.chains);
        assert_eq!(
            plan.chains.iter().filter(|chain| chain.item.is_some()).count(),
            0,
            "{name}: {:?}",
            plan.chains
        );
    }
}

#[test]
fn sm_10a_a_settled_state_sees_no_write_at_all() {
    let standing = [
        "cs-settled.json",
        "cs-partition-half.json",
        "cs-alpha-partition-half.json",
        "cs-claims.json",
        "cs-paused-middle.json",
    ];
    for (name, mut view, now) in states().into_iter().filter(|(name, _, _)| standing.contains(&name.as_str()))
    {
        for gates in [view.gates.clone(), Gates::default()] {
            view.gates = gates;
            let plan = plan(&view, now);
            assert_eq!(plan.writes().count(), 0, "{name}: {:?}", plan.writes().collect::<Vec<_>>());
        }
    }
}

#[test]
fn sm_10a_every_pod_of_a_taken_over_state_has_a_reason_that_fits() {
    let expected = [
        ("cs-grace.json", "Updating"),
        ("cs-hook-preparing-delete.json", "HookHeld"),
        ("cs-hook-preparing-update.json", "HookHeld"),
        ("cs-stuck-image.json", "Updating"),
        ("cs-surge-recreate.json", "DeleteLimit"),
        ("cs-partition-half.json", "Partition"),
        ("cs-paused-middle.json", "Paused"),
    ];
    for (name, view, now) in states() {
        let plan = plan(&view, now);
        assert_eq!(plan.reasons.len(), view.active().count(), "{name}");
        assert!(plan.reasons.values().all(|reason| *reason != Reason::Unexplained), "{name}");
        if let Some((_, wanted)) = expected.iter().find(|(file, _)| *file == name) {
            assert!(
                plan.reasons.values().any(|reason| reason.name() == *wanted),
                "{name}: {:?}",
                plan.reasons
            );
        }
    }
}

#[test]
fn sm_29_a_grace_period_begun_by_the_original_is_finished_by_ours() {
    let (_, view, now) = states().into_iter().find(|(name, _, _)| name == "cs-grace.json").unwrap();
    let waiting = plan(&view, now);
    let until = waiting.revisit_at.unwrap();

    let plan = plan(&view, until);

    assert_eq!(
        count(&plan, Purpose::Refresh),
        2,
        "both pods in grace get their image now: {:?}",
        plan.chains
    );
    assert_eq!(count(&plan, Purpose::UpdateInPlace), 0, "and nobody else");
}

#[test]
fn cs_75_a_revision_that_repairs_a_stuck_image_is_not_blocked_by_it() {
    let (_, mut view, now) = states().into_iter().find(|(name, _, _)| name == "cs-stuck-image.json").unwrap();
    let recorded =
        golden::folder("takeover").into_iter().find(|(name, _)| name == "cs-stuck-image.json").unwrap().1;
    let mut object =
        recorded["objects"].as_array().unwrap().iter().find(|one| one["kind"] == "CloneSet").unwrap().clone();
    object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("nginx:1.22");
    object["metadata"]["generation"] = json!(3);
    let first = View::alone(&object, view.pods.clone(), view.revisions.clone());
    let body = plan(&first, now).chains[0].writes[0].created().expect("the repairing revision is stored");
    view.revisions.push(Arc::new(Revision::read(&body).unwrap()));
    view = first.with(view.base.pods, view.base.revisions);

    let plan = plan(&view, now);

    assert_eq!(touched(&plan, Purpose::UpdateInPlace), ["w-625ps"], "{:?}", plan.reasons);
}

#[test]
fn sm_8_cs_4_owner_references_of_any_version_and_both_label_forms_are_accepted() {
    for short in [true, false] {
        let mut fixture = cloneset().replicas(1).settled();
        let revision = fixture.new_name();
        let label = if short { revision.rsplit('-').next().unwrap().to_owned() } else { revision };
        let mut pod = new().label("controller-revision-hash", &label);
        pod.0["metadata"]["ownerReferences"][0]["apiVersion"] = json!("apps.kruise.io/v1alpha1");
        fixture = fixture.pods([pod]);

        let plan = fixture.plan();

        assert!(plan.chains.is_empty(), "{:?}", plan.chains);
    }
}
