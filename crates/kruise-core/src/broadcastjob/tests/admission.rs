use super::*;
use crate::admission::Request;
use crate::admission::fixtures::Surroundings;
use crate::admission::versions::{Case, Rules, Version};
use crate::gates::Gate;

fn spec() -> Value {
    json!({"template": {"metadata": {"labels": {"app": "b"}}, "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox:1"}]}}})
}

fn with(path: &str, value: Value) -> Value {
    let mut spec = spec();
    let mut at = &mut spec;
    for part in path.split('/') {
        at = &mut at[part];
    }
    *at = value;
    spec
}

fn case<'a>(name: &'a str, spec: &'a Value, gates: &'a Gates) -> Case<'a, ()> {
    Case { name, spec, old: None, facts: &(), template: &[], gates }
}

fn faults(name: &str, spec: &Value) -> Vec<String> {
    BroadcastJob::validate(&case(name, spec, &Gates::default()))
        .iter()
        .map(|fault| fault.field.clone())
        .collect()
}

#[test]
fn broadcastjob_d1_d2_defaults_are_those_of_the_original() {
    let mut defaulted = spec();
    BroadcastJob::default(Version::V1beta1, &mut defaulted, None, &Gates::default()).unwrap();
    assert_eq!(defaulted["parallelism"], 2_147_483_647);
    assert_eq!(
        (&defaulted["completionPolicy"]["type"], &defaulted["failurePolicy"]["type"]),
        (&json!("Always"), &json!("FailFast"))
    );
    let container = &defaulted["template"]["spec"]["containers"][0];
    assert_eq!(container["imagePullPolicy"], "Always", "whatever the tag");

    let mut plain = spec();
    let gates = Gates::default().with(Gate::TemplateNoDefaults);
    BroadcastJob::default(Version::V1beta1, &mut plain, None, &gates).unwrap();
    assert_eq!(plain["template"], spec()["template"]);
    let stored = spec();
    let mut unchanged = spec();
    BroadcastJob::default(Version::V1beta1, &mut unchanged, Some(&stored), &Gates::default()).unwrap();
    assert_eq!(unchanged["template"], spec()["template"], "only a new template is defaulted");
}

#[test]
fn broadcastjob_v1_names_become_parts_of_pod_names() {
    assert!(faults("warm-cache", &spec()).is_empty());
    assert_eq!(faults("a.b", &spec()), ["metadata.name"]);
    assert_eq!(faults(&"a".repeat(64), &spec()), ["metadata.name"]);
}

#[test]
fn broadcastjob_v2_v3_v4_b11_each_rule_names_its_field() {
    let never = |field: &str| with("completionPolicy", json!({"type": "Never", field: 1}));
    for (spec, field) in [
        (never("ttlSecondsAfterFinished"), "spec.completionPolicy.ttlSecondsAfterFinished"),
        (never("activeDeadlineSeconds"), "spec.completionPolicy.activeDeadlineSeconds"),
        (with("completionPolicy", json!({"type": "Sometimes"})), "spec.completionPolicy.type"),
        (
            with("completionPolicy", json!({"activeDeadlineSeconds": -1})),
            "spec.completionPolicy.activeDeadlineSeconds",
        ),
        (with("failurePolicy", json!({"type": "Retry"})), "spec.failurePolicy.type"),
        (with("failurePolicy", json!({"restartLimit": -1})), "spec.failurePolicy.restartLimit"),
        (with("parallelism", json!(-1)), "spec.parallelism"),
        (with("parallelism", json!("many")), "spec.parallelism"),
        (with("template/spec/restartPolicy", json!("Always")), "spec.template.spec.restartPolicy"),
        (with("template/spec/restartPolicy", Value::Null), "spec.template.spec.restartPolicy"),
        (
            with("template/metadata/labels", json!({"broadcastjob-name": "x"})),
            "spec.template.metadata.labels[broadcastjob-name]",
        ),
        (
            with("template/metadata/labels", json!({"broadcastjob-controller-uid": "x"})),
            "spec.template.metadata.labels[broadcastjob-controller-uid]",
        ),
    ] {
        assert_eq!(faults("b", &spec), [field], "{spec}");
    }
    assert!(faults("b", &with("parallelism", json!("50%"))).is_empty());
}

/// V5: what the API server says about the template is a refusal, with its own field.
#[test]
fn broadcastjob_v5_template_is_validated_by_the_api_server() {
    let fault = crate::admission::Fault {
        field: "spec.template.spec.containers[0].image".to_owned(),
        kind: crate::admission::FaultKind::Required,
        message: "say which image".to_owned(),
    };
    let (spec, gates) = (spec(), Gates::default());
    let judged = Case { template: std::slice::from_ref(&fault), ..case("b", &spec, &gates) };
    assert_eq!(BroadcastJob::validate(&judged).iter().count(), 1);
}

#[test]
fn broadcastjob_b12_text_without_a_percent_sign_is_warned_about() {
    let gates = Gates::default();
    let warn = |value: Value| BroadcastJob::warn(&case("b", &with("parallelism", value), &gates));
    assert!(warn(json!("5"))[0].contains("means 5% of the nodes"));
    assert!(warn(json!("5%")).is_empty() && warn(json!(5)).is_empty());
}

/// B19: refused with 422, as other kinds, in both versions.
#[test]
fn broadcastjob_b19_refusals_have_the_code_for_invalid_objects() {
    for version in ["v1alpha1", "v1beta1"] {
        let object = json!({
            "apiVersion": format!("apps.kruise.io/{version}"), "kind": "BroadcastJob", "metadata": {"name": "b", "namespace": "n"},
            "spec": with("parallelism", json!(-1)),
        });
        let known = Surroundings::default();
        let answer =
            crate::admission::versions::validate::<BroadcastJob>(Request::create(object), &known.known());
        assert_eq!(answer.code(), 422, "{version}");
    }
}
