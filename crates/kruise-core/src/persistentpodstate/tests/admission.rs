use std::collections::BTreeSet;

use kruise_api::names::CONFIGURATION_PERSISTENT_POD_STATE;
use serde_json::{Value, json};

use super::*;
use crate::admission::fixtures::Surroundings;
use crate::admission::pod::PodSteps;
use crate::admission::selection::Concern;
use crate::admission::{Answer, Request};
use crate::gates::Gates;
use crate::persistentpodstate::PersistentPodState;
use crate::persistentpodstate::Supported;
use crate::persistentpodstate::admission::{Facts, admit, pod_step, validate};

fn fields(spec: &Value, old: Option<&Value>, rival: Option<&str>) -> Vec<String> {
    let facts = Facts { rival: rival.map(str::to_owned), supported: Supported::read(None) };
    validate(spec, old, &facts).iter().map(|fault| fault.field.clone()).collect()
}

/// Section 6, rules 2, 3, 4 and 6.
#[test]
fn what_is_refused() {
    let good = object()["spec"].clone();
    let changed = |field: &str, value: Value| with(good.clone(), &format!("/{field}"), value);
    let reference = |field: &str, value: &str| {
        let mut spec = good.clone();
        spec["targetRef"][field] = json!(value);
        spec
    };
    let none =
        with(changed("requiredPersistentTopology", Value::Null), "/preferredPersistentTopology", json!([]));
    for (spec, rival, expected) in [
        (good.clone(), None, vec![]),
        (changed("requiredPersistentTopology", Value::Null), None, vec![]),
        (changed("preferredPersistentTopology", json!([])), None, vec![]),
        (reference("apiVersion", ""), None, vec!["spec.targetRef.apiVersion"]),
        (reference("kind", ""), None, vec!["spec.targetRef.kind"]),
        (reference("name", ""), None, vec!["spec.targetRef.name"]),
        (reference("kind", "Deployment"), None, vec!["spec.targetRef"]),
        (none, None, vec!["spec"]),
        (good.clone(), Some("first"), vec!["spec.targetRef"]),
    ] {
        assert_eq!(fields(&spec, None, rival), expected, "{spec}");
    }
}

/// Section 6, rule 5: even another version of the same workload is a change.
#[test]
fn target_cannot_be_changed() {
    let old = object()["spec"].clone();
    let mut new = old.clone();
    new["targetRef"]["apiVersion"] = json!("apps/v1beta2");
    assert_eq!(fields(&new, Some(&old), None), ["spec.targetRef"]);
    assert_eq!(fields(&old, Some(&old), None), Vec::<String>::new());
}

/// persistentpodstate/D6: a broken list refuses only what needs it, and says why.
#[test]
fn persistentpodstate_d6_broken_list_refuses_only_other_kinds() {
    let facts = Facts { rival: None, supported: Supported::read(Some("{")) };
    let good = object()["spec"].clone();
    assert!(validate(&good, None, &facts).is_empty());
    let mut other = good;
    other["targetRef"]["kind"] = json!("GameServerSet");
    assert!(validate(&other, None, &facts).to_string().contains("cannot be read"));
}

fn stored(version: &str, keys: &str) -> Value {
    json!({
        "apiVersion": format!("apps.kruise.io/{version}"), "kind": "PersistentPodState",
        "metadata": {"name": "web", "namespace": "n", "uid": "p", "resourceVersion": "1"},
        "spec": {
            "targetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"},
            "requiredPersistentTopology": {(keys): ["zone"]},
        },
        "status": {"podStates": {"web-0": {"nodeName": "a", "nodeTopologyLabels": {"zone": "z"}}}},
    })
}

fn surroundings() -> Surroundings {
    Surroundings::default().with::<PersistentPodState>(&stored("v1beta1", "keys"))
}

/// Section 6: both versions, code 400, one object per target.
#[test]
fn both_versions_are_judged_by_the_same_rules() {
    let surroundings = surroundings();
    for (version, keys) in [("v1alpha1", "nodeTopologyKeys"), ("v1beta1", "keys")] {
        let good = Request::create(stored(version, keys));
        assert_eq!(admit(good.clone(), &surroundings.known()), Answer::allowed(), "{version}");

        let second = admit(good.at("n", "second"), &surroundings.known()).denial.unwrap();
        assert_eq!(second.code, 400);
        assert!(second.message.contains("web already records the pods"), "{}", second.message);

        let mut moved = stored(version, keys);
        moved["spec"]["targetRef"]["name"] = json!("other");
        let moving = Request::update(stored(version, keys), moved);
        let denial = admit(moving, &surroundings.known()).denial.unwrap();
        assert!(denial.message.contains("cannot be changed"), "{}", denial.message);
    }
}

/// persistentpodstate/D14: the list as it is at this moment, not as a cache has it.
#[test]
fn persistentpodstate_d14_listed_kinds_are_those_that_were_asked_for() {
    let mut surroundings = Surroundings::default();
    let mut other = stored("v1beta1", "keys");
    other["spec"]["targetRef"] = json!({"apiVersion": "game.io/v1", "kind": "GameServerSet", "name": "web"});
    let judge = |with: &Surroundings| admit(Request::create(other.clone()), &with.known());
    assert_eq!(judge(&surroundings).code(), 400);

    let list = r#"{"workloads":[{"Group":"game.io","Kind":"GameServerSet"}]}"#;
    let key = CONFIGURATION_PERSISTENT_POD_STATE.to_owned();
    surroundings.live.configuration = Ok([(key, list.to_owned())].into());
    assert_eq!(judge(&surroundings), Answer::allowed());

    surroundings.live.configuration = Err("no answer".to_owned());
    assert!(judge(&surroundings).denial.unwrap().message.contains("no answer"));
}

fn pod_of(api: &str) -> Value {
    let owner = json!({"apiVersion": api, "kind": "StatefulSet", "name": "web", "controller": true});
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web-0", "namespace": "n", "ownerReferences": [owner]}, "spec": {},
    })
}

/// PP-25: only creation places a pod.
#[test]
fn pp_25_change_of_a_pod_places_nothing() {
    let (steps, surroundings) = (PodSteps::new([pod_step()]), surroundings());
    let pod = pod_of("apps/v1");

    let created = steps.mutate(&Request::create(pod.clone()), &surroundings.known());
    let changed = steps.mutate(&Request::update(pod.clone(), pod), &surroundings.known());

    assert!(!created.patch.is_empty());
    assert_eq!(changed, Answer::allowed());
}

/// PP-17, PP-18: a pod is placed by the object of its owner's name and group, and only by that.
#[test]
fn pp_17_pod_finds_its_object_by_owner() {
    let (steps, surroundings) = (PodSteps::new([pod_step()]), surroundings());
    let placed = json!([{"op": "add", "path": "/spec/nodeSelector", "value": {"zone": "z"}}]);
    for (api, expected) in [("apps/v1", placed[0].clone()), ("apps.kruise.io/v1beta1", Value::Null)] {
        let answer = steps.mutate(&Request::create(pod_of(api)), &surroundings.known());
        let found = answer.patch.iter().map(|one| json!(one)).find(|one| one["path"] == "/spec/nodeSelector");
        assert_eq!(found.unwrap_or_default(), expected, "{api}");
    }
    let elsewhere = Request::create(pod_of("apps/v1")).at("other", "web-0");
    assert_eq!(steps.mutate(&elsewhere, &surroundings.known()), Answer::allowed());
}

/// The webhook is asked about pods of remembered workloads and about no others.
#[test]
fn pods_of_remembered_workloads_are_selected() {
    let concerns = (pod_step().concerns)(surroundings().lookup(), &Gates::default());
    let owned = Concern::OwnedBy { namespace: "n".into(), kind: "StatefulSet".into(), name: "web".into() };
    assert_eq!(concerns, BTreeSet::from([owned]));
}
