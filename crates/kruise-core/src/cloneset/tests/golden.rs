//! Second revisions and in-place updates as the original recorded them.

use super::*;
use crate::chain::{Op, Patch};
use crate::golden;

/// Recorded workloads that were changed once, with the spec after the change.
fn changed() -> Vec<(String, Value, Value)> {
    let all =
        golden::folder("cloneset").into_iter().filter(|(_, recorded)| recorded["second_patch"].is_array());
    let changed = all.map(|(file, recorded)| {
        let mut object = recorded["stored_v1beta1"].clone();
        for op in recorded["second_patch"].as_array().unwrap() {
            let (parent, key) = op["path"].as_str().unwrap().rsplit_once('/').unwrap();
            object.pointer_mut(parent).unwrap()[key] = op["value"].clone();
        }
        (file, recorded, object)
    });
    let changed: Vec<_> = changed.collect();
    assert!(changed.len() >= 6);
    changed
}

fn revisions(recorded: &Value) -> Vec<Arc<Revision>> {
    let all = recorded["revisions_after"].as_array().unwrap().iter().map(|one| {
        let mut object = one.clone();
        object["metadata"] = json!({"name": one["name"], "uid": one["name"], "resourceVersion": "1",
            "labels": one["labels"], "annotations": one["annotations"]});
        Arc::new(Revision::read(&object).unwrap())
    });
    all.collect()
}

/// A state annotation without its times.
fn timeless(text: &str) -> Value {
    let mut state: Value = serde_json::from_str(text).unwrap();
    state["updateTimestamp"] = json!("");
    for batch in state["containerBatchesRecord"].as_array_mut().into_iter().flatten() {
        batch["timestamp"] = json!("");
    }
    state
}

#[test]
fn sm_1_sm_3_cs_10_second_revisions_match_the_recorded_ones() {
    for (file, recorded, object) in changed() {
        let data = Data::of(&object["spec"]["template"]).unwrap();
        let second = recorded["revisions_after"].as_array().unwrap().last().unwrap();

        assert_eq!(
            data.name(object["metadata"]["name"].as_str().unwrap(), 0).as_str(),
            second["name"],
            "{file}"
        );
        assert_eq!(data.text(), crate::revision::gojson::in_order(&second["data"]), "{file}");
    }
}

#[test]
fn sm_26_cs_79_in_place_updates_leave_the_recorded_annotations_and_labels() {
    let mut checked = 0;
    for (file, recorded, mut object) in changed() {
        let after = &recorded["pod_after"]["metadata"];
        let Some(text) = after["annotations"]["apps.kruise.io/inplace-update-state"].as_str() else {
            continue;
        };
        let state = timeless(text);
        let mut pod = recorded["pod"].clone();
        let statuses: Vec<Value> = recorded["pod_after"]["status"]["containerStatuses"].as_array().unwrap().iter().map(|one| {
            let before = &state["lastContainerStatuses"][one["name"].as_str().unwrap()]["imageID"];
            json!({"name": one["name"], "image": one["image"], "imageID": before.as_str().unwrap_or("same"), "containerID": "c"})
        }).collect();
        pod["metadata"]["uid"] = json!("uid-pod");
        pod["status"] = json!({"phase": "Running", "containerStatuses": statuses, "conditions": []});
        object["status"] = json!({"currentRevision": recorded["revisions_after"][0]["name"]});
        let view = View::alone(&object, Vec::new(), Vec::new());
        let mut view = view.with(vec![Arc::new(serde_json::from_value(pod).unwrap())], revisions(&recorded));
        view.gates = Gates::default().with(Gate::CloneSetShortHash);

        let plan = super::super::plan(&view, now());

        let write = plan.chains[0].writes.last().unwrap();
        let Act::Patch(Patch::Json(ops)) = &write.act else { panic!("{file}: {write:?}") };
        let set = |path: &str| {
            let found = ops.iter().find(|op| matches!(op, Op::Add { path: at, .. } if at == path));
            let Some(Op::Add { value, .. }) = found else { panic!("{file}: {path} in {ops:?}") };
            value.as_str().unwrap().to_owned()
        };
        assert_eq!(
            timeless(&set("/metadata/annotations/apps.kruise.io~1inplace-update-state")),
            state,
            "{file}"
        );
        assert_eq!(
            set("/metadata/labels/controller-revision-hash"),
            after["labels"]["controller-revision-hash"],
            "{file}"
        );
        assert_eq!(set("/metadata/labels/pod-template-hash"), after["labels"]["pod-template-hash"], "{file}");
        checked += 1;
    }
    assert!(checked >= 5, "{checked}");
}
