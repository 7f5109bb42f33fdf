//! Requests as the API server sends them, against the objects that the original stored.

use serde_json::{Value, json};

use super::{Answer, Operation, Request, Rules, template_to_try};
use crate::admission::fixtures::Surroundings;
use crate::cloneset::CloneSet;
use crate::statefulset::StatefulSet;

fn web(version: &str) -> Value {
    json!({
        "apiVersion": format!("apps.kruise.io/{version}"), "kind": "CloneSet",
        "metadata": {"name": "web", "namespace": "ns"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "nginx:1.25"}]},
            },
        },
    })
}

fn create(object: Value) -> Request {
    Request::create(object)
}

fn mutate<R: Rules>(request: Request) -> Answer {
    super::mutate::<R>(request, &Surroundings::default().known())
}

fn validate<R: Rules>(request: Request) -> Answer {
    super::validate::<R>(request, &Surroundings::default().known())
}

/// The patch as it goes over the wire.
fn operations(answer: &Answer) -> Vec<Value> {
    answer.patch.iter().map(|operation| json!(operation)).collect()
}

fn value(answer: &Answer, path: &str) -> Option<Value> {
    operations(answer).iter().find(|one| one["path"] == path).map(|one| one["value"].clone())
}

#[test]
fn cs_100_defaults_of_v1beta1() {
    let answer = mutate::<CloneSet>(create(web("v1beta1")));

    assert_eq!(answer.denial, None);
    assert_eq!(value(&answer, "/spec/replicas"), Some(json!(1)));
    let strategy = value(&answer, "/spec/updateStrategy").unwrap();
    assert_eq!(strategy["rollingUpdate"]["maxUnavailable"], "20%");
    assert!(operations(&answer).iter().all(|operation| operation["op"] == "add"), "{:?}", answer.patch);
}

#[test]
fn cs_100_defaults_of_v1alpha1_are_flat_and_add_no_annotation() {
    let answer = mutate::<CloneSet>(create(web("v1alpha1")));

    let strategy = value(&answer, "/spec/updateStrategy").unwrap();
    assert_eq!(strategy, json!({"partition": 0, "maxUnavailable": "20%", "maxSurge": 0, "type": "ReCreate"}));
    assert_eq!(value(&answer, "/spec/scaleStrategy"), Some(json!({})));
    assert!(operations(&answer).iter().all(|operation| operation["path"] != "/metadata/annotations"));
}

#[test]
fn second_pass_changes_nothing() {
    for version in ["v1alpha1", "v1beta1"] {
        let mut request = create(web(version));
        for operation in operations(&mutate::<CloneSet>(request.clone())) {
            let (parent, last) = operation["path"].as_str().unwrap().rsplit_once('/').unwrap();
            request.object.pointer_mut(parent).unwrap()[last] = operation["value"].clone();
        }

        assert_eq!(mutate::<CloneSet>(request).patch, Vec::new(), "{version}");
    }
}

#[test]
fn cs_102_refusal_names_the_field_in_the_version_of_the_user() {
    let mut object = web("v1alpha1");
    object["spec"]["updateStrategy"] = json!({"type": "ReCreate", "maxUnavailable": "5", "maxSurge": 0});
    let answer = validate::<CloneSet>(create(object));

    let denial = answer.denial.unwrap();
    assert_eq!(denial.code, 422);
    assert!(
        denial.causes.iter().any(|cause| cause.field == "spec.updateStrategy.maxUnavailable"),
        "{denial:?}"
    );
}

#[test]
fn cs_102_refusal_in_v1beta1_names_the_nested_field() {
    let mut object = web("v1beta1");
    object["spec"]["updateStrategy"] =
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "5"}});
    let denial = validate::<CloneSet>(create(object)).denial.unwrap();
    assert!(denial.message.contains("spec.updateStrategy.rollingUpdate.maxUnavailable"), "{denial:?}");
}

#[test]
fn cs_103_selector_cannot_be_changed() {
    let mut request = create(web("v1beta1"));
    request.operation = Operation::Update;
    request.old = request.object.clone();
    request.object["spec"]["selector"]["matchLabels"]["more"] = json!("x");
    request.object["spec"]["template"]["metadata"]["labels"]["more"] = json!("x");

    let denial = validate::<CloneSet>(request.clone()).denial.unwrap();

    assert_eq!(denial.causes[0].field, "spec.selector");
}

#[test]
fn unknown_version_and_missing_object_are_bad_requests() {
    let mut request = create(web("v1beta1"));
    request.kind.version = "v9".into();
    assert_eq!(mutate::<CloneSet>(request.clone()).denial.unwrap().code, 400);

    for version in ["v1alpha1", "v1beta1"] {
        let empty = Request { object: Value::Null, ..create(web(version)) };
        let answer = validate::<CloneSet>(empty);
        assert_eq!(answer.denial.unwrap().code, 400);
    }
}

#[test]
fn b20_long_name_is_warned_of() {
    let request = Request { name: "x".repeat(53), ..create(web("v1beta1")) };
    let answer = validate::<CloneSet>(request.clone());
    assert_eq!((answer.denial, answer.warnings.len()), (None, 1));
}

#[test]
fn template_is_tried_with_its_claims_and_only_when_it_changed() {
    let mut request = create(web("v1beta1"));
    request.object["spec"]["volumeClaimTemplates"] = json!([{"metadata": {"name": "data"}}]);
    let template = template_to_try(&request).unwrap();
    assert_eq!(template["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"], "data");

    request.old = request.object.clone();
    assert_eq!(template_to_try(&request), None);
}

/// The StatefulSet that is the same object in another kind.
fn statefulset(version: &str) -> Request {
    let mut request = create(web(version));
    request.object["kind"] = json!("StatefulSet");
    create(request.object)
}

#[test]
fn statefulset_defaults_in_both_versions_and_only_where_the_version_has_the_field() {
    let beta = mutate::<StatefulSet>(statefulset("v1beta1"));
    assert_eq!(value(&beta, "/spec/podManagementPolicy"), Some(json!("OrderedReady")));
    assert_eq!(
        value(&beta, "/spec/persistentVolumeClaimRetentionPolicy"),
        Some(json!({"whenDeleted": "Retain", "whenScaled": "Retain"}))
    );
    let alpha = mutate::<StatefulSet>(statefulset("v1alpha1"));
    assert_eq!(value(&alpha, "/spec/replicas"), Some(json!(1)));
    assert!(
        operations(&alpha).iter().all(|operation| operation["path"] != "/metadata/annotations"),
        "{:?}",
        alpha.patch
    );
}

#[test]
fn as_99_an_update_that_leaves_the_template_alone_gets_no_change_at_all() {
    let mut request = statefulset("v1beta1");
    for operation in operations(&mutate::<StatefulSet>(request.clone())) {
        let (parent, last) = operation["path"].as_str().unwrap().rsplit_once('/').unwrap();
        request.object.pointer_mut(parent).unwrap()[last] = operation["value"].clone();
    }
    // As an older release stored it, with fewer defaults.
    request.object["spec"]["template"] = web("v1beta1")["spec"]["template"].clone();
    request.operation = Operation::Update;
    request.old = request.object.clone();
    request.object["spec"]["replicas"] = json!(5);

    assert_eq!(mutate::<StatefulSet>(request).patch, Vec::new());
}

#[test]
fn statefulset_refusal_has_kind_field_and_name_rule_only_for_new_objects() {
    let mut request = statefulset("v1beta1");
    request.name = "web.site".into();
    let judge = |judged: &Request| validate::<StatefulSet>(judged.clone());

    let denial = judge(&request).denial.unwrap();
    assert_eq!((denial.code, denial.causes[0].field.as_str()), (422, "metadata.name"));
    assert!(denial.message.starts_with("StatefulSet \"web.site\" is invalid"), "{}", denial.message);
    request.operation = Operation::Update;
    request.old = request.object.clone();
    assert_eq!(judge(&request).denial, None, "statefulset/B25");
    request.object["spec"]["serviceName"] = json!("other");
    assert_eq!(judge(&request).denial.unwrap().causes[0].field, "spec.serviceName");
}

/// Warnings name the field as the user wrote it.
#[test]
fn cs_30_warning_speaks_the_version_of_the_user() {
    let mut object = web("v1alpha1");
    object["spec"]["replicas"] = json!(7);
    object["spec"]["updateStrategy"] = json!({"type": "ReCreate", "maxUnavailable": "10%", "maxSurge": 1});
    let answer = validate::<CloneSet>(create(object));

    assert_eq!(answer.denial, None);
    assert!(
        answer.warnings[0].starts_with("spec.updateStrategy.maxUnavailable: 10%"),
        "{:?}",
        answer.warnings
    );
}
