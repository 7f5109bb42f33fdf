use serde_json::{Value, json};

use super::with;
use crate::admission::fixtures::Surroundings;
use crate::admission::{Answer, Request};
use crate::gates::{Gate, Gates};
use crate::golden;
use crate::imagelistpulljob;
use crate::imagepulljob::admission::{mutate, validate};

fn around() -> Surroundings {
    Surroundings { gates: Gates::default().with(Gate::ImagePullJob), ..Surroundings::default() }
}

fn message(answer: &Answer) -> String {
    answer.denial.as_ref().map(|denial| denial.message.clone()).unwrap_or_default()
}

/// What is stored after admission.
fn admitted(object: &Value, judge: fn(Request, &crate::admission::Known<'_>) -> Answer) -> Value {
    let answer = judge(Request::create(object.clone()), &around().known());
    let patch = crate::chain::Patch::Json(answer.patch);
    crate::fixtures::world::patched(object, &patch).unwrap()
}

/// images/4 and what was recorded: every default, field by field, in both versions.
#[test]
fn images_4_recorded_objects_get_the_recorded_defaults() {
    let mut compared = 0;
    for (file, recorded) in golden::folder("objects") {
        let kind = recorded["input"]["kind"].as_str().unwrap_or_default();
        let judge: fn(Request, &crate::admission::Known<'_>) -> Answer = match kind {
            "ImagePullJob" => mutate,
            "ImageListPullJob" => imagelistpulljob::admission::mutate,
            _ => continue,
        };
        let version = recorded["input"]["apiVersion"].as_str().unwrap().rsplit('/').next().unwrap();
        let Some(stored) = recorded.get(format!("stored_{version}")) else { continue };
        let found = admitted(&recorded["input"], judge);
        assert_eq!(found["spec"], stored["spec"], "{file}");
        assert_eq!(found["metadata"]["finalizers"], stored["metadata"]["finalizers"], "{file}");
        compared += 1;
    }
    assert!(compared >= 5, "{compared}");
    let mut half = with(&json!({"pullPolicy": {"timeoutSeconds": 5}}));
    half["spec"].as_object_mut().unwrap().shift_remove("imagePullPolicy");
    let found = admitted(&half, mutate);
    assert_eq!(found["spec"]["pullPolicy"], json!({"timeoutSeconds": 5, "backoffLimit": 3}));
    assert_eq!(found["spec"]["imagePullPolicy"], "IfNotPresent");
}

/// Section 6 and scenario 14: each refusal names the field, and has the words of upstream.
#[test]
fn faults_name_the_field_and_what_is_allowed() {
    let around = around();
    assert_eq!(validate(Request::create(with(&json!({}))), &around.known()), Answer::allowed());
    for (spec, field, words) in [
        (json!({"image": ""}), "spec.image", "image can not be empty"),
        (json!({"image": "UPPER"}), "spec.image", "invalid image UPPER: "),
        (
            json!({"selector": {"names": ["a"], "matchLabels": {"a": "b"}}}),
            "spec.selector",
            "can not set both names and labelSelector in this spec.selector",
        ),
        (
            json!({"selector": {"names": ["a", "a"]}}),
            "spec.selector.names",
            "duplicated name in selector names",
        ),
        (
            json!({"selector": {}, "podSelector": {}}),
            "spec.podSelector",
            "can not set both selector and podSelector",
        ),
        (json!({"parallelism": "10%"}), "spec.parallelism", "parallelism does not support percentage value"),
        (json!({"parallelism": "x"}), "spec.parallelism", "parallelism must be a valid integer"),
        (json!({"parallelism": -1}), "spec.parallelism", "parallelism must be non-negative"),
        (
            json!({"completionPolicy": {"type": "Always", "activeDeadlineSeconds": 599}}),
            "spec.completionPolicy.activeDeadlineSeconds",
            "must be greater than pullPolicy.timeoutSeconds(default 600)",
        ),
        (
            json!({"completionPolicy": {"type": "Never", "ttlSecondsAfterFinished": 1}}),
            "spec.completionPolicy",
            "can only work with Always CompletionPolicyType",
        ),
        (
            json!({"completionPolicy": {"type": "Sometimes"}}),
            "spec.completionPolicy.type",
            "unknown type of completionPolicy: Sometimes",
        ),
        (json!({"imagePullPolicy": "Never"}), "spec.imagePullPolicy", "use Always, IfNotPresent"),
    ] {
        let text = message(&validate(Request::create(with(&spec)), &around.known()));
        assert!(text.contains(field) && text.contains(words), "{spec}: {text}");
    }
    for fine in [
        json!({"parallelism": "3"}),
        json!({"parallelism": 0}),
        json!({"completionPolicy": {"type": "Always", "activeDeadlineSeconds": 600}}),
    ] {
        assert_eq!(validate(Request::create(with(&fine)), &around.known()), Answer::allowed(), "{fine}");
    }
    let (old, new) = (with(&json!({"pullSecrets": ["a"]})), with(&json!({"pullSecrets": ["b"]})));
    let text = message(&validate(Request::update(new, old.clone()), &around.known()));
    assert!(text.contains("spec.pullSecrets is immutable"), "{text}");
    assert_eq!(validate(Request::update(old.clone(), old), &around.known()), Answer::allowed());
}

/// Without the gate nothing new is taken, and what is there can be let go of.
#[test]
fn without_the_gate_nothing_new_is_taken() {
    let around = Surroundings::default();
    let answer = mutate(Request::create(with(&json!({}))), &around.known());
    assert_eq!(answer.code(), 403);
    assert!(message(&answer).contains("feature-gate ImagePullJobGate is not enabled"), "{answer:?}");
    let old = with(&json!({}));
    let mut new = old.clone();
    new["metadata"]["finalizers"] = json!([]);
    assert_eq!(validate(Request::update(new, old), &around.known()), Answer::allowed());
}

/// What was recorded to be refused is refused.
#[test]
fn recorded_refusals_are_refused() {
    let mut compared = 0;
    for (file, recorded) in golden::folder("objects") {
        let Some(words) = recorded["refused"].as_str() else { continue };
        let answer = match recorded["input"]["kind"].as_str().unwrap_or_default() {
            "ImagePullJob" => validate(Request::create(recorded["input"].clone()), &around().known()),
            "ImageListPullJob" => imagelistpulljob::admission::validate(
                Request::create(recorded["input"].clone()),
                &around().known(),
            ),
            _ => continue,
        };
        let words = words.rsplit("request: ").next().unwrap();
        assert!(message(&answer).contains(words), "{file}: {answer:?}");
        compared += 1;
    }
    assert_eq!(compared, 4);
}
