use super::*;
use crate::admission::Request;
use crate::admission::fixtures::Surroundings;
use crate::ephemeraljob::admission::{admit, validate};
use crate::golden;

fn container() -> Value {
    json!({"name": "dbg", "image": "busybox", "imagePullPolicy": "Always", "terminationMessagePolicy": "File", "targetContainerName": "main"})
}

fn spec(container: &Value) -> Value {
    json!({"selector": {"matchLabels": {"app": "web"}}, "template": {"ephemeralContainers": [container]}})
}

fn fields(spec: &Value, old: Option<&Value>) -> Vec<String> {
    let prefix = "spec.template.ephemeralContainers[0].";
    validate(spec, old).iter().map(|fault| fault.field.replace(prefix, "")).collect()
}

#[test]
fn ej_27_each_rule_of_a_container_names_its_field() {
    assert!(fields(&spec(&container()), None).is_empty());
    for (field, value, at) in [
        ("name", json!(""), "name"),
        ("name", json!("A_b"), "name"),
        ("name", json!("-a"), "name"),
        ("image", json!(""), "image"),
        ("image", json!(" busybox"), "image"),
        ("terminationMessagePolicy", Value::Null, "terminationMessagePolicy"),
        ("terminationMessagePolicy", json!("Log"), "terminationMessagePolicy"),
        ("imagePullPolicy", json!(""), "imagePullPolicy"),
        ("imagePullPolicy", json!("Sometimes"), "imagePullPolicy"),
        ("ports", json!([{"containerPort": 1}]), "ports"),
        ("resources", json!({"limits": {"cpu": "1"}}), "resources"),
        ("livenessProbe", json!({"exec": {"command": ["a"]}}), "livenessProbe"),
        ("lifecycle", json!({"preStop": {"exec": {"command": ["a"]}}}), "lifecycle"),
        ("restartPolicy", json!("Always"), "restartPolicy"),
        ("env", json!([{"name": ""}]), "env[0].name"),
        (
            "env",
            json!([{"name": "A", "value": "b", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]),
            "env[0].valueFrom",
        ),
        ("envFrom", json!([{}]), "envFrom[0]"),
        (
            "volumeMounts",
            json!([{"name": "v", "mountPath": "/v", "subPath": "x"}]),
            "volumeMounts[0].subPath",
        ),
        ("securityContext", json!({"runAsUser": -1}), "securityContext.runAsUser"),
    ] {
        let mut one = container();
        one[field] = value.clone();
        assert_eq!(fields(&spec(&one), None), [at], "{field} {value}");
    }
    let mut twice = spec(&container());
    twice["template"]["ephemeralContainers"] = json!([container(), container()]);
    assert_eq!(fields(&twice, None), ["spec.template.ephemeralContainers[1].name"]);
}

/// Scenario 20: what the original does not check at all (EJ-28).
#[test]
fn ej_28_e7_e11_new_jobs_select_pods_and_have_a_container() {
    for (field, value, at) in [
        ("selector", json!({}), "spec.selector"),
        ("selector", Value::Null, "spec.selector"),
        ("template", json!({"ephemeralContainers": []}), "spec.template.ephemeralContainers"),
        ("replicas", json!(-1), "spec.replicas"),
        ("parallelism", json!(-1), "spec.parallelism"),
        ("activeDeadlineSeconds", json!(-1), "spec.activeDeadlineSeconds"),
        ("ttlSecondsAfterFinished", json!(-1), "spec.ttlSecondsAfterFinished"),
    ] {
        let mut bad = spec(&container());
        bad[field] = value;
        assert_eq!(fields(&bad, None), [at]);
        let mut paused = bad.clone();
        paused["paused"] = json!(true);
        assert!(fields(&paused, Some(&bad)).is_empty(), "a stored job can still be paused");
        assert_eq!(fields(&bad, Some(&spec(&container()))), [at], "but not made worse");
    }
}

fn object(spec: &Value, status: &Value) -> Value {
    json!({"apiVersion": "apps.kruise.io/v1alpha1", "kind": "EphemeralJob", "metadata": {"name": "e", "namespace": "n"}, "spec": spec, "status": status})
}

#[test]
fn ephemeraljob_e15_changes_of_a_started_job_are_warned_about() {
    let known = Surroundings::default();
    let old = spec(&container());
    let mut new = old.clone();
    new["selector"] = json!({"matchLabels": {"app": "db"}});
    let warned = |status: Value| {
        let request = Request::update(object(&old, &status), object(&new, &status));
        let answer = admit(request, &known.known());
        assert_eq!(answer.code(), 200);
        answer.warnings.len()
    };
    assert_eq!((warned(json!({})), warned(json!({"startTime": "2026-06-01T12:00:00Z"}))), (0, 1));
}

/// EJ-26, EJ-27: the recorded refusals of the original, with its code.
#[test]
fn ej_26_recorded_objects_are_refused_as_bad_requests() {
    let known = Surroundings::default();
    let all = golden::folder("objects");
    for (file, recorded) in all.iter().filter(|(file, _)| file.starts_with("ephemeraljob-")) {
        let answer = admit(Request::create(recorded["input"].clone()), &known.known());
        assert_eq!(answer.code(), 400, "{file}");
        if let Some(refused) = recorded["refused"].as_str() {
            let message = answer.denial.unwrap().message;
            for field in ["terminationMessagePolicy", "imagePullPolicy"] {
                assert!(refused.contains(field) && message.contains(field), "{message}");
            }
        }
    }
}
