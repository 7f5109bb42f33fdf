use crate::chain::Write;
use crate::workload::base::Head;
use kruise_api::annotations::{
    PPS_AUTO_GENERATE, PPS_POD_ANNOTATIONS, PPS_PREFERRED_TOPOLOGY, PPS_REQUIRED_TOPOLOGY,
};
use serde_json::{Value, json};

use super::*;
use crate::persistentpodstate::generate::{Asker, generate};

const NATIVE: &str = "apps/v1";
const OURS: &str = "apps.kruise.io/v1beta1";

fn asking(uid: &str, annotations: &[(&str, &str)]) -> Value {
    let annotations: serde_json::Map<_, _> =
        annotations.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    json!({"metadata": {"name": "web", "namespace": "n", "uid": uid, "creationTimestamp": "2026-01-01T00:00:00Z", "annotations": annotations}})
}

fn asker(annotations: &[(&str, &str)]) -> Asker {
    Asker::of(NATIVE, "StatefulSet", &Head::of(&asking("w", annotations)))
}

const ALL: [(&str, &str); 4] = [
    (PPS_AUTO_GENERATE, "true"),
    (PPS_REQUIRED_TOPOLOGY, "zone"),
    (PPS_PREFERRED_TOPOLOGY, "host, rack ,"),
    (PPS_POD_ANNOTATIONS, "ip"),
];

fn act(object: Option<&Value>, askers: &[Asker]) -> Option<Act> {
    write(object, askers).map(|write| write.act)
}

fn write(object: Option<&Value>, askers: &[Asker]) -> Option<Write> {
    generate(object, askers).map(|chain| chain.writes[0].clone())
}

fn created(askers: &[Asker]) -> Value {
    write(None, askers).and_then(|write| write.created()).unwrap()
}

/// PP-26: name, namespace, owner and spec as the original makes them. persistentpodstate/D15: lists are trimmed.
#[test]
fn pp_26_persistentpodstate_d15_object_is_made_as_annotations_say() {
    let body = created(&[asker(&ALL)]);

    assert_eq!(
        (body["apiVersion"].as_str(), body["kind"].as_str()),
        (Some(OURS), Some("PersistentPodState"))
    );
    let owner =
        json!({"apiVersion": NATIVE, "kind": "StatefulSet", "name": "web", "uid": "w", "controller": true});
    assert_eq!(body["metadata"], json!({"name": "web", "namespace": "n", "ownerReferences": [owner]}));
    assert_eq!(
        body["spec"],
        json!({
            "targetRef": {"apiVersion": NATIVE, "kind": "StatefulSet", "name": "web"},
            "requiredPersistentTopology": {"keys": ["zone"]},
            "preferredPersistentTopology": [{"weight": 100, "preference": {"keys": ["host", "rack"]}}],
            "persistentPodAnnotations": [{"key": "ip"}],
        })
    );
    assert!(act(Some(&body), &[asker(&ALL)]).is_none(), "an object that is right is left alone");
}

/// PP-26, PP-29, persistentpodstate/D8, persistentpodstate/D17: what annotations express follows them at every sync, what they do not is kept.
#[test]
fn pp_29_persistentpodstate_d8_d17_only_fields_of_annotations_follow_them() {
    let edited =
        with(created(&[asker(&ALL)]), "/spec/persistentPodStateRetentionPolicy", json!("WhenDeleted"));
    assert!(act(Some(&edited), &[asker(&ALL)]).is_none());

    let changed =
        asker(&[(PPS_AUTO_GENERATE, "true"), (PPS_PREFERRED_TOPOLOGY, "host"), (PPS_POD_ANNOTATIONS, "mac")]);
    let Some(Act::Patch(Patch::Merge(body))) = act(Some(&edited), &[changed]) else { panic!() };

    let mut spec = edited["spec"].clone();
    merge(&mut spec, &body["spec"]);
    assert_eq!(spec["persistentPodStateRetentionPolicy"], "WhenDeleted");
    assert!(spec.get("requiredPersistentTopology").is_none());
    assert_eq!(spec["persistentPodAnnotations"], json!([{"key": "mac"}]));
}

/// PP-27: asked for without a topology, nothing happens.
#[test]
fn pp_27_without_topology_nothing_happens() {
    let unclear = asker(&[(PPS_AUTO_GENERATE, "true"), (PPS_REQUIRED_TOPOLOGY, " ,")]);
    assert!(act(None, std::slice::from_ref(&unclear)).is_none());
    assert!(act(Some(&created(&[asker(&ALL)])), &[unclear]).is_none());
}

/// PP-28, persistentpodstate/D7: no longer asked for, the object goes if it is the workload's own; one made by hand stays, whatever its name.
#[test]
fn pp_28_persistentpodstate_d7_only_generated_objects_are_deleted() {
    let own = with(created(&[asker(&ALL)]), "/metadata/resourceVersion", json!("7"));
    for silent in [vec![], vec![(PPS_AUTO_GENERATE, "false"), (PPS_REQUIRED_TOPOLOGY, "zone")]] {
        assert!(matches!(act(Some(&own), &[asker(&silent)]), Some(Act::Delete { .. })));
    }
    let by_hand = object();
    for annotations in [vec![], ALL.to_vec()] {
        assert!(act(Some(&by_hand), &[asker(&annotations)]).is_none());
    }
}

/// persistentpodstate/D7: two StatefulSets of one name do not fight: the older one gets the object, the other leaves it alone.
#[test]
fn persistentpodstate_d7_two_kinds_of_one_name() {
    let younger = with(asking("k", &ALL), "/metadata/creationTimestamp", json!("2026-02-01T00:00:00Z"));
    let younger = Asker::of(OURS, "StatefulSet", &Head::of(&younger));
    let body = created(&[younger.clone(), asker(&ALL)]);
    assert_eq!(body["spec"]["targetRef"]["apiVersion"], NATIVE);
    assert!(act(Some(&body), &[younger, asker(&ALL)]).is_none());
}

/// A workload that is being deleted asks for nothing: its object goes with it.
#[test]
fn deleted_workload_asks_for_nothing() {
    let dying = with(asking("w", &ALL), "/metadata/deletionTimestamp", json!("2026-01-02T00:00:00Z"));
    assert!(act(None, &[Asker::of(NATIVE, "StatefulSet", &Head::of(&dying))]).is_none());
}
