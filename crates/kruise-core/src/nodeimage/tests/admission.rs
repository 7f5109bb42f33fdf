use serde_json::{Value, json};

use crate::admission::fixtures::Surroundings;
use crate::admission::{Answer, Request};
use crate::gates::Gates;
use crate::nodeimage::admission::{mutate, validate};

#[expect(clippy::needless_pass_by_value, reason = "reads better where it is called")]
fn object(tags: Value) -> Value {
    json!({
        "apiVersion": "apps.kruise.io/v1beta1", "kind": "NodeImage", "metadata": {"name": "a"},
        "spec": {"images": {"nginx": {"tags": tags}}},
    })
}

fn message(answer: &Answer) -> String {
    answer.denial.as_ref().map(|denial| denial.message.clone()).unwrap_or_default()
}

/// images 6: createdAt, pull policy, order of tags.
#[test]
fn tags_get_their_defaults_and_are_sorted() {
    let around = Surroundings::default();
    let tags = json!([
        {"tag": "2", "pullPolicy": {"ttlSecondsAfterFinished": 1, "backoffLimit": 0}},
        {"tag": "1", "createdAt": "2026-01-01T00:00:00Z", "pullPolicy": {"ttlSecondsAfterFinished": 1}},
    ]);
    let stored = object(tags);
    let answer = mutate(Request::create(stored.clone()), &around.known());
    let patch = crate::chain::Patch::Json(answer.patch);
    let found = crate::fixtures::world::patched(&stored, &patch).unwrap();
    let policy =
        |backoff: u32| json!({"ttlSecondsAfterFinished": 1, "backoffLimit": backoff, "timeoutSeconds": 600});
    assert_eq!(
        found["spec"]["images"]["nginx"]["tags"],
        json!([
            {"tag": "1", "createdAt": "2026-01-01T00:00:00Z", "pullPolicy": policy(3)},
            {"tag": "2", "createdAt": "2026-06-01T12:00:00Z", "pullPolicy": policy(0)},
        ])
    );
}

#[test]
fn faults_name_the_field_and_what_is_allowed() {
    let around = Surroundings::default();
    let good = json!({"tag": "1", "createdAt": "2026-01-01T00:00:00Z", "pullPolicy": {"ttlSecondsAfterFinished": 1}});
    let with = |field: &str, value: Value| {
        let mut one = good.clone();
        one[field] = value;
        json!([one])
    };
    assert_eq!(validate(Request::create(object(json!([good]))), &around.known()), Answer::allowed());
    for (tags, field) in [
        (with("tag", json!("")), "spec.images[nginx].tags[0].tag"),
        (with("createdAt", Value::Null), "spec.images[nginx].tags[0].createdAt"),
        (with("pullPolicy", Value::Null), "spec.images[nginx].tags[0].pullPolicy"),
        (with("pullPolicy", json!({})), "spec.images[nginx].tags[0].pullPolicy.ttlSecondsAfterFinished"),
        (with("version", json!(-1)), "spec.images[nginx].tags[0].version"),
        (json!([good, good]), "spec.images[nginx].tags[1].tag"),
    ] {
        let text = message(&validate(Request::create(object(tags)), &around.known()));
        assert!(text.contains(field), "{field}: {text}");
    }
    let mut many = object(json!([]));
    many["spec"]["images"] = (0..257).map(|at| (format!("i{at}"), json!({"tags": []}))).collect();
    let text = message(&validate(Request::create(many), &around.known()));
    assert!(text.contains("spec images length 257"), "{text}");
}

#[test]
fn without_node_agents_nothing_new_is_taken() {
    let around = Surroundings { gates: Gates::read("KruiseDaemon=false").gates, ..Surroundings::default() };
    let answer = mutate(Request::create(object(json!([]))), &around.known());
    assert!(message(&answer).contains("feature-gate KruiseDaemon is not enabled"), "{answer:?}");
    assert_eq!(answer.code(), 403);
}
