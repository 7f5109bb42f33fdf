//! Bad input gives an error with the path of the field, never a panic.

use kruise_api::{Kind, ReadError, apps::cloneset::CloneSet, convert, crd::all_crds, read};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    generator::{Choices, anything},
    support,
};

fn kinds() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for crd in all_crds() {
        let spec = &crd["spec"];
        for version in spec["versions"].as_array().unwrap() {
            let api_version =
                format!("{}/{}", spec["group"].as_str().unwrap(), version["name"].as_str().unwrap());
            found.push((api_version, spec["names"]["kind"].as_str().unwrap().to_owned()));
        }
    }
    found
}

fn object(spec: &Value) -> Value {
    json!({"apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "metadata": {"name": "web"}, "spec": spec})
}

fn refused(value: &Value) -> ReadError {
    read::<CloneSet>(value.to_string().as_bytes()).unwrap_err()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_json_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for (api_version, kind) in kinds() {
            let mut choices = Choices::from(&bytes);
            let object = json!({
                "apiVersion": api_version,
                "kind": kind,
                "metadata": {"name": "x", "annotations": {"a": "b"}},
                "spec": anything(&mut choices, 5),
                "status": anything(&mut choices, 5),
            });
            if let Err(error) = support::read_and_write(&object) {
                prop_assert!(error.path == "." || error.path.starts_with('s'), "{error}");
            }
            for version in ["v1alpha1", "v1beta1"] {
                if let Ok(there) = convert(object.clone(), version) {
                    prop_assert_eq!(convert(there, &api_version).unwrap(), object.clone());
                }
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(read::<CloneSet>(&bytes).is_err());
        if let Ok(value) = serde_json::from_slice::<Value>(&bytes) {
            prop_assert!(convert(value, "v1beta1").is_err());
        }
    }
}

#[test]
fn an_error_names_the_field() {
    let selector = json!({"matchLabels": {"a": "b"}});
    for (spec, path) in [
        (json!({"selector": selector, "template": {}, "replicas": "three"}), "spec.replicas"),
        (json!({"selector": selector, "template": {}, "replicas": 3_000_000_000_u64}), "spec.replicas"),
        (json!({"selector": selector, "template": {}, "replicas": 1e300}), "spec.replicas"),
        (
            json!({"selector": selector, "template": {}, "updateStrategy": {"rollingUpdate": {"maxSurge": []}}}),
            "spec.updateStrategy.rollingUpdate.maxSurge",
        ),
        (
            json!({"selector": {"matchExpressions": [{"key": "a", "operator": 1}]}, "template": {}}),
            "spec.selector.matchExpressions[0].operator",
        ),
        (json!({"selector": selector}), "spec"),
        (json!("text"), "spec"),
    ] {
        assert_eq!(refused(&object(&spec)).path, path, "{spec}");
    }
}

#[test]
fn another_kind_or_version_is_not_mistaken() {
    let spec = json!({"selector": {}, "template": {}});
    let mut other = object(&spec);
    other["kind"] = json!("StatefulSet");
    assert_eq!(refused(&other).path, "kind");
    other["kind"] = json!("CloneSet");
    other["apiVersion"] = json!("apps.kruise.io/v1alpha1");
    assert_eq!(refused(&other).path, "apiVersion");
    assert_eq!(CloneSet::RESOURCE.kind(), "CloneSet");
}

#[test]
fn deep_nesting_is_an_error() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let text = format!(
        "{{\"apiVersion\":\"apps.kruise.io/v1beta1\",\"kind\":\"CloneSet\",\"spec\":{{\"selector\":{{}},\"template\":{deep}}}}}"
    );
    assert!(read::<CloneSet>(text.as_bytes()).unwrap_err().path.starts_with("spec.template"));
}

#[test]
fn what_is_not_ours_is_not_converted() {
    for value in [json!(null), json!([]), json!({}), json!({"apiVersion": "apps/v1", "kind": "Deployment"})] {
        assert!(convert(value, "v1beta1").is_err());
    }
    let job = json!({"apiVersion": "apps.kruise.io/v1alpha1", "kind": "EphemeralJob"});
    let message = convert(job, "v1beta1").unwrap_err().to_string();
    assert_eq!(message, "EphemeralJob is not served as v1beta1");
}
