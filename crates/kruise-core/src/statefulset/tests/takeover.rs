//! States that the original left behind: settled ones see no write at all, unfinished ones are continued without a restart.

use super::*;
use crate::golden;

fn states() -> Vec<(String, View, Timestamp)> {
    let all = golden::folder("takeover").into_iter().filter(|(name, _)| name.starts_with("ss-"));
    let states: Vec<_> = all
        .map(|(name, recorded)| {
            let (view, now) = workload::recorded(&recorded, "StatefulSet");
            (name, view, now)
        })
        .collect();
    assert!(states.len() >= 4, "recorded states are missing");
    states
}

#[test]
fn as_97_as_98_as_100_taken_over_states_see_no_pod_touched_and_no_new_revision() {
    for (name, mut view, now) in states() {
        for gates in [
            Gates::default(),
            Gates::default().with(Gate::InPlaceWorkloadVerticalScaling).with(Gate::StatefulSetAutoResizePvc),
        ] {
            view.gates = gates;
            let plan = plan(&view, now);

            assert!(plan.chains.is_empty(), "{name}: {:?}", plan.chains);
            assert_eq!(plan.reasons.len(), view.pods.len(), "{name}");
        }
    }
}

/// What the original could not know is no change while the status has seen this generation; afterwards it is one.
#[test]
fn as_97_the_revision_that_the_status_names_is_the_update_revision() {
    let mut fixture = ordered().settled().pods([new(), new(), new()]);
    fixture.object["spec"]["template"]["spec"]["hostUsers"] = json!(true);
    let name = fixture.new_name();
    let revisions = |generation: i64, named: &str| {
        let mut fixture = fixture.clone();
        fixture.object["metadata"]["generation"] = json!(generation);
        fixture.object["status"] =
            json!({"currentRevision": name, "updateRevision": named, "observedGeneration": 1});
        let mut view = fixture.view();
        let stored = Arc::make_mut(&mut view.revisions[1]);
        let spec = Arc::make_mut(&mut stored.template).pointer_mut("/spec").unwrap();
        assert!(spec.as_object_mut().unwrap().shift_remove("hostUsers").is_some());
        count(&plan(&view, now()), Purpose::Revision)
    };

    assert_eq!(revisions(1, &name), 0, "seen, and named");
    assert_eq!(revisions(2, &name), 1, "the template may have changed since");
    assert_eq!(revisions(1, "web-other"), 1, "it was made from another template");
}

#[test]
fn as_95_a_settled_state_sees_no_write_at_all() {
    for (name, view, now) in states() {
        if ["ss-partition.json", "ss-claims-scaled-in.json"].contains(&name.as_str()) {
            assert_eq!(plan(&view, now).writes().count(), 0, "{name}: {:?}", plan(&view, now).status);
        }
    }
}

#[test]
fn as_60_a_grace_period_begun_by_the_original_is_finished_by_ours() {
    let (_, view, now) = states().into_iter().find(|(name, _, _)| name == "ss-grace.json").unwrap();
    let until = plan(&view, now).revisit_at.unwrap();

    let plan = plan(&view, until);

    assert_eq!(touched(&plan, Purpose::Refresh), ["w-1", "w-2"]);
    assert!(plan.writes().all(|write| !matches!(write.act, Act::Delete { .. } | Act::Create(_))));
}
