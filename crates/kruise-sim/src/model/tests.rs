use super::{Model, check};
use crate::model::kind::Kind;

/// One pod: enough to see that the checker reaches the end and counts.
#[test]
fn one_pod_is_updated_in_every_order() {
    let spec =
        serde_json::json!({"updateStrategy": {"rollingUpdate": {"podUpdatePolicy": "InPlaceIfPossible"}}});

    let checked = check(Model { ready: 0, crashes: 0, ..Model::rollout(Kind::CloneSet, 1, spec) }).unwrap();

    assert!(checked.states > 50, "{checked:?}");
}

/// A rule that cannot hold is reported with the way to where it breaks.
#[test]
fn broken_rule_is_found() {
    let spec =
        serde_json::json!({"updateStrategy": {"rollingUpdate": {"podUpdatePolicy": "InPlaceIfPossible"}}});

    let broken =
        check(Model { ready: 1, crashes: 0, ..Model::rollout(Kind::CloneSet, 1, spec) }).unwrap_err();

    assert!(broken.contains("no more pods down than allowed") && broken.contains("Write"), "{broken}");
}
