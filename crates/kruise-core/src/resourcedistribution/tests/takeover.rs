//! Scenario 17: what OpenKruise left behind sees no write.

use serde_json::json;

use super::*;
use crate::golden;

fn recorded(file: &str) -> World {
    let all = golden::folder("takeover");
    let (_, state) = all.into_iter().find(|(name, _)| name == file).unwrap();
    let mut world = world(&[]);
    for object in state["objects"].as_array().unwrap() {
        let mut object = object.clone();
        // Copies are found by this name in these tests.
        let name = object["metadata"]["name"].clone();
        if object["kind"] == "ResourceDistribution" {
            object["metadata"]["name"] = json!("d");
            world.objects.insert(itself(), object);
        } else {
            let mut reference = reference(&object);
            reference.key.name = name.as_str().unwrap().into();
            world.objects.insert(reference, object);
        }
    }
    world
}

#[test]
fn rd_24_copies_of_openkruise_are_recognised_and_not_written() {
    for file in ["rd-settled.json", "rd-secret.json"] {
        let mut world = recorded(file);
        let plan = world.plan();
        assert_eq!(plan.writes().count(), 0, "{file}: {:?}", plan.writes().collect::<Vec<_>>());
        assert!(world.reads > 0, "{file}: their content is compared");
    }
}

/// Their hash is the one that we would write.
#[test]
fn rd_24_hash_is_of_the_raw_bytes() {
    let world = recorded("rd-settled.json");
    let object: ResourceDistribution = serde_json::from_value(world.objects[&itself()].clone()).unwrap();
    assert_eq!(
        &*object.spec.unwrap().resource.hash,
        "11495ffb0bca6ec1dcb9973df6fa5784d2da149fa3fdc01ee0561a66c864ee51"
    );
    let raw = r#"{"metadata":{"name":"d"},"spec":{"targets":{},"resource":{"kind":"ConfigMap","apiVersion":"v1", "metadata":{"name":"\u003c"}}}}"#;
    let hash = |text: &str| {
        serde_json::from_str::<ResourceDistribution>(text).unwrap().spec.unwrap().resource.hash.clone()
    };
    assert_ne!(hash(raw), hash(&raw.replace("\\u003c", "<")), "as written, not as understood");
}

#[test]
fn rd_24_wrong_hash_and_older_owner_are_no_reason_to_write() {
    let mut world = world(&["a"]).with(&distribution(&secret(), &json!({"allNamespaces": true})));
    world.settle();
    world.edit_copy("a", |one| {
        one["metadata"]["annotations"] = json!({"kruise.io/resourcedistribution.resource.hashcode": "old"});
        one["metadata"]["ownerReferences"][0]["apiVersion"] = json!("apps.kruise.io/v1alpha1");
    });
    assert_eq!(world.settle(), 0);
}
