use serde_json::json;

use super::*;
use crate::admission::fixtures::Surroundings;
use crate::admission::{Answer, Fault, FaultKind, Request};
use crate::gates::Gate;
use crate::golden;
use crate::resourcedistribution::admission::{to_try, validate};

fn around() -> Surroundings {
    Surroundings { gates: Gates::default().with(Gate::ResourceDistribution), ..Surroundings::default() }
}

fn message(answer: &Answer) -> String {
    answer.denial.as_ref().map(|denial| denial.message.clone()).unwrap_or_default()
}

fn good() -> Value {
    distribution(&secret(), &included(&["a"]))
}

/// Section 6, in both versions.
#[test]
fn faults_name_the_field_and_what_is_allowed() {
    let around = around();
    assert_eq!(validate(Request::create(good()), &around.known()), Answer::allowed());
    let (mut unnamed, mut pod) = (secret(), secret());
    unnamed["metadata"] = json!({"generateName": "x-"});
    pod["kind"] = json!("Pod");
    let both = json!({"includedNamespaces": {"list": [{"name": "a"}]}, "excludedNamespaces": {"list": [{"name": "a"}]}});
    let selector = json!({"matchExpressions": [{"key": "a", "operator": "Like"}]});
    for (resource, targets, field, words) in [
        (json!({}), json!({}), "spec.resource", "empty resource is not allowed"),
        (pod, json!({}), "spec.resource", "unknown or unsupported resource GroupKind"),
        (unnamed, json!({}), "spec.resource.metadata.name", "generateName gives none"),
        (
            secret(),
            included(&["A"]),
            "spec.targets.includedNamespaces.list",
            "cannot be the name of a namespace",
        ),
        (secret(), both, "spec.targets", "ambiguous targets"),
        (secret(), json!({"namespaceSelector": selector}), "spec.targets.namespaceSelector", "Like"),
    ] {
        let denied = message(&validate(Request::create(distribution(&resource, &targets)), &around.known()));
        assert!(denied.contains(field) && denied.contains(words), "{denied}");
        let mut older = distribution(&resource, &targets);
        older["apiVersion"] = json!("apps.kruise.io/v1alpha1");
        if let Some(same) =
            older["spec"]["targets"].as_object_mut().unwrap().shift_remove("namespaceSelector")
        {
            older["spec"]["targets"]["namespaceLabelSelector"] = same;
        }
        let refused = message(&validate(Request::create(older), &around.known()));
        assert!(refused.contains(&field.replace("namespaceSelector", "namespaceLabelSelector")), "{refused}");
    }
}

#[test]
fn identity_of_the_resource_cannot_change() {
    let around = around();
    for (field, value) in [("kind", json!("ConfigMap")), ("metadata", json!({"name": "t"}))] {
        let mut new = good();
        new["spec"]["resource"][field] = value;
        let denied = message(&validate(Request::update(good(), new), &around.known()));
        assert!(denied.contains("resource apiVersion, kind, and name are immutable"), "{denied}");
    }
}

/// Rule 5: only what is new and passes the other rules is tried, in the namespace of the manager; what the server says is a fault.
#[test]
fn rd_b12_resource_is_tried_by_a_dry_run() {
    let (sort, trial) = to_try(&Request::create(good()), "kruise-system").unwrap();
    assert_eq!(
        (sort.resource().kind(), &trial["metadata"]["namespace"]),
        ("Secret", &json!("kruise-system"))
    );
    assert!(to_try(&Request::update(good(), good()), "n").is_none(), "stored already");
    let mut renamed = good();
    renamed["spec"]["resource"]["metadata"]["name"] = json!("t");
    assert!(to_try(&Request::update(good(), renamed), "n").is_none(), "refused anyway");
    let mut around = around();
    let fault =
        Fault { field: "spec.resource".to_owned(), kind: FaultKind::Invalid, message: "too long".to_owned() };
    around.live.template = vec![fault];
    assert!(message(&validate(Request::create(good()), &around.known())).contains("too long"));
}

#[test]
fn rd_b14_gate_off_refuses_what_is_new_and_lets_go_of_what_is_there() {
    let around = Surroundings::default();
    let denied = validate(Request::create(good()), &around.known()).denial.unwrap();
    assert!(
        denied.code == 403 && denied.message.contains("feature-gate ResourceDistributionGate is not enabled")
    );
    let mut new = good();
    new["metadata"]["finalizers"] = json!([]);
    assert_eq!(validate(Request::update(good(), new.clone()), &around.known()), Answer::allowed());
    new["spec"]["targets"] = json!({});
    assert!(validate(Request::update(good(), new), &around.known()).denial.is_some());
}

/// Two distributions of one name are possible, since their namespaces may differ; whoever makes the second is told.
#[test]
fn second_distribution_of_a_name_is_let_in_with_a_warning() {
    let around = around().with::<ResourceDistribution>(&good());
    let mut second = good();
    second["metadata"]["name"] = json!("e");
    let request = Request::create(second).at("", "e");
    let answer = validate(request, &around.known());
    assert!(answer.denial.is_none() && answer.warnings[0].starts_with("d distributes"), "{answer:?}");
    assert!(validate(Request::create(good()).at("", "d"), &around.known()).warnings.is_empty());
}

/// What was recorded: the same objects are taken and refused.
#[test]
fn recorded_objects_are_judged_alike() {
    let mut compared = 0;
    for (file, recorded) in golden::folder("objects") {
        // A field that the schema does not know is refused before any webhook.
        let is_of_schema = recorded["refused"].as_str().is_some_and(|text| text.contains("strict decoding"));
        if recorded["input"]["kind"] != "ResourceDistribution" || is_of_schema {
            continue;
        }
        let is_taken = recorded.as_object().unwrap().keys().any(|key| key.starts_with("stored"));
        let answer = validate(Request::create(recorded["input"].clone()), &around().known());
        assert_eq!(answer.denial.is_none(), is_taken, "{file}: {}", message(&answer));
        compared += 1;
    }
    assert!(compared >= 5, "{compared}");
}
