//! What OpenKruise was recorded to do, and states that it left behind (DS-41, DS-45, acceptance 9).

use super::*;
use crate::chain::Patch;
use crate::golden;
use crate::revision::gojson;

/// The recorded revision data come out byte for byte, whatever the hash is called.
#[test]
fn ds_41_recorded_revision_data_match_byte_for_byte() {
    let mut checked = 0;
    for (file, recorded) in golden::folder("daemonset") {
        let Some(revision) = recorded["revisions"].get(0) else { continue };
        let data = Data::of(&recorded["stored_v1beta1"]["spec"]["template"]).unwrap();
        assert_eq!(data.text(), gojson::in_order(&revision["data"]), "{file}");
        checked += 1;
    }
    assert!(checked >= 4, "{checked}");
}

/// DS-3, DS-22: pods have the recorded tolerations and affinity.
#[test]
fn ds_3_ds_22_pods_are_made_as_recorded() {
    let mut checked = 0;
    for (file, recorded) in golden::folder("daemonset") {
        let (Some(pod), Some(first)) = (recorded["pod"].as_object(), recorded["revisions"].get(0)) else {
            continue;
        };
        let mut set = set(0);
        set.nodes = vec![node("fake-0003")];
        set.nodes[0]["metadata"]["labels"] = json!({"kubernetes.io/hostname": "fake-0003"});
        set.object["spec"] = recorded["stored_v1beta1"]["spec"].clone();
        set.object["metadata"]["name"] = recorded["stored_v1beta1"]["metadata"]["name"].clone();
        let mut stored = first.clone();
        stored["metadata"] = json!({"name": first["name"], "namespace": "ns", "uid": "r", "labels": first["labels"],
            "ownerReferences": [{"apiVersion": "apps.kruise.io/v1beta1", "uid": "uid-web", "controller": true}]});
        set.revisions = vec![stored];

        let plan = set.plan();
        let bodies = created(&plan, "Pod");
        let made = bodies.first().unwrap_or_else(|| panic!("{file}: {:?}", plan.reasons));

        for field in ["tolerations", "affinity", "nodeSelector", "hostNetwork"] {
            assert_eq!(made["spec"].get(field), pod["spec"].get(field), "{file}: {field}");
        }
        let label = "controller-revision-hash";
        assert_eq!(made["metadata"]["labels"][label], pod["metadata"]["labels"][label], "{file}");
        checked += 1;
    }
    assert!(checked >= 4, "{checked}");
}

/// DS-32: an update in place leaves the recorded annotation and label, and no lifecycle state.
#[test]
fn ds_32_an_update_in_place_is_recorded_as_in_upstream() {
    let recorded =
        golden::folder("daemonset").into_iter().find(|(name, _)| name == "dsb-inplace.json").unwrap().1;
    let after = &recorded["pod_after"]["metadata"];
    let state: Value =
        serde_json::from_str(after["annotations"]["apps.kruise.io/inplace-update-state"].as_str().unwrap())
            .unwrap();
    let mut set = set(0);
    set.nodes = vec![node("fake-0003")];
    set.nodes[0]["metadata"]["labels"] = json!({"kubernetes.io/hostname": "fake-0003"});
    set.object["spec"] = recorded["stored_v1beta1"]["spec"].clone();
    for op in recorded["second_patch"].as_array().unwrap() {
        let (parent, key) = op["path"].as_str().unwrap().rsplit_once('/').unwrap();
        set.object.pointer_mut(parent).unwrap()[key] = op["value"].clone();
    }
    set.revisions = recorded["revisions_after"].as_array().unwrap().iter().map(|one| {
        let mut stored = one.clone();
        stored["metadata"] = json!({"name": one["name"], "namespace": "ns", "uid": one["name"], "labels": one["labels"],
            "ownerReferences": [{"apiVersion": "apps.kruise.io/v1beta1", "uid": "uid-web", "controller": true}]});
        stored
    }).collect();
    let mut pod = recorded["pod"].clone();
    pod["metadata"]["namespace"] = json!("ns");
    pod["metadata"]["uid"] = json!("p");
    pod["metadata"]["ownerReferences"][0]["uid"] = json!("uid-web");
    let before = &state["lastContainerStatuses"]["main"]["imageID"];
    pod["status"] = json!({"phase": "Running", "conditions": [], "containerStatuses": [{"name": "main", "image": "nginx:1.21", "imageID": before, "containerID": "c"}]});
    let set = set.pods([Pod(pod)]);

    let plan = set.plan();

    let chain = plan.chains.iter().find(|chain| chain.purpose == Purpose::UpdateInPlace).expect("in place");
    let Act::Patch(Patch::Strategic(body)) = &chain.writes.last().unwrap().act else { panic!("{chain:?}") };
    let labels = json!({"controller-revision-hash": after["labels"]["controller-revision-hash"]});
    assert_eq!(body["metadata"]["labels"], labels, "and no lifecycle state");
    let written = body["metadata"]["annotations"]["apps.kruise.io/inplace-update-state"].as_str().unwrap();
    let mut ours: Value = serde_json::from_str(written).unwrap();
    let mut theirs = state.clone();
    for one in [&mut ours, &mut theirs] {
        one["updateTimestamp"] = json!("");
        one["containerBatchesRecord"][0]["timestamp"] = json!("");
    }
    assert_eq!(ours, theirs);
}

fn taken_over(name: &str) -> Set {
    let (_, state) = golden::folder("takeover").into_iter().find(|(file, _)| file == name).unwrap();
    let objects = state["objects"].as_array().unwrap();
    let of = |kind: &str| objects.iter().filter(|one| one["kind"] == kind).cloned().collect::<Vec<Value>>();
    let mut set = set(0);
    set.object = of("DaemonSet")[0].clone();
    set.revisions = of("ControllerRevision");
    set.jobs = of("ImagePullJob");
    set.nodes = (0..6).map(|place| node(&format!("fake-000{place}"))).collect();
    set.pods(of("Pod").into_iter().map(Pod))
}

/// Acceptance 9: no write at all, with and without pre-download.
#[test]
fn ds_45_taken_over_states_see_no_write() {
    let now = "2026-11-18T00:00:00Z".parse().unwrap();
    for name in ["ds-settled.json", "ds-partition.json", "ds-inplace-partition.json", "ds-paused.json"] {
        for gates in [Gates::default(), Gates::default().with(Gate::PreDownloadImageForDaemonSetUpdate)] {
            let mut set = taken_over(name);
            set.gates = gates;
            let plan = set.plan_at(now);
            assert_eq!(plan.writes().count(), 0, "{name}: {:?}", plan.writes().collect::<Vec<_>>());
            assert!(plan.reasons.values().all(|reason| *reason != Reason::Unexplained), "{name}");
        }
    }
}

/// The next rollout goes on where upstream stopped (B1).
#[test]
fn ds_45_a_taken_over_rollout_is_continued() {
    let now = "2026-11-18T00:00:00Z".parse().unwrap();
    let standard = taken_over("ds-partition.json").rolling("partition", json!(0)).plan_at(now);
    assert_eq!(deleted(&standard).len(), 1);
    let in_place = taken_over("ds-inplace-partition.json").rolling("partition", json!(0)).plan_at(now);
    assert_eq!(count(&in_place, Purpose::UpdateInPlace), 1, "{:?}", in_place.reasons);
    let resumed = taken_over("ds-paused.json").rolling("paused", json!(false)).plan_at(now);
    assert_eq!(deleted(&resumed).len(), 1);
}
