use serde_json::{Value, json};

use super::super::resources;
use super::*;

fn pod() -> Value {
    json!({
        "metadata": {"name": "a", "finalizers": ["x"], "labels": {"one": "1"}},
        "spec": {"containers": [{"name": "main", "image": "a"}, {"name": "side", "image": "s"}]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    })
}

fn strategic(patch: &Value) -> Value {
    let pods = resources::find("", "v1", "pods").unwrap();
    apply(pods, Verb::StrategicPatch, &pod(), patch).unwrap()
}

#[test]
fn strategic_merge_changes_items_by_their_key_and_keeps_the_rest() {
    let patched = strategic(&json!({
        "metadata": {"labels": {"two": "2", "one": null}, "finalizers": ["x", "y"]},
        "spec": {"containers": [{"name": "side", "image": "t"}]},
        "status": {"conditions": [{"type": "Other", "status": "False"}]},
    }));

    assert_eq!(patched["metadata"]["labels"], json!({"two": "2"}));
    assert_eq!(patched["metadata"]["finalizers"], json!(["x", "y"]));
    assert_eq!(patched["spec"]["containers"][0]["image"], "a");
    assert_eq!(patched["spec"]["containers"][1]["image"], "t");
    assert_eq!(patched["status"]["conditions"].as_array().unwrap().len(), 2);
}

#[test]
fn strategic_merge_takes_names_out_of_a_list() {
    let patched = strategic(&json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x"]}}));

    assert_eq!(patched["metadata"]["finalizers"], json!([]));
}

#[test]
fn failed_test_names_no_field() {
    let pods = resources::find("", "v1", "pods").unwrap();
    let test = json!([{"op": "test", "path": "/metadata/name", "value": "b"}]);

    let failure = apply(pods, Verb::JsonPatch, &pod(), &test).unwrap_err();

    assert_eq!((failure.code, failure.reason), (422, "Invalid"));
    assert!(!failure.details.contains_key("causes"));
}

#[test]
fn what_is_not_there_is_null() {
    let pods = resources::find("", "v1", "pods").unwrap();
    let test = |path: &str| json!([{"op": "test", "path": path, "value": null}]);

    assert!(apply(pods, Verb::JsonPatch, &pod(), &test("/metadata/labels/two")).is_ok());
    for path in ["/metadata/labels/one", "/metadata/annotations/a", "/spec/containers/7"] {
        assert_eq!(apply(pods, Verb::JsonPatch, &pod(), &test(path)).unwrap_err().code, 422, "{path}");
    }
}
