//! The worlds that are checked.

use serde_json::{Value, json};

use super::{Model, Start, image};
use crate::model::kind::Kind;

/// How many states a world may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Seconds: on every change.
    Small,
    /// Minutes: `make sim-model`.
    Large,
}

/// All worlds of a size, with their names.
pub fn worlds(size: Size) -> Vec<(String, Model)> {
    let kinds = [Kind::CloneSet, Kind::StatefulSet].into_iter();
    kinds
        .flat_map(|kind| of_kind(kind, size).map(|(name, model)| (format!("{kind:?} {name}"), model)))
        .collect()
}

fn of_kind(kind: Kind, size: Size) -> [(&'static str, Model); 5] {
    let (pods, crashes) = match size {
        Size::Small => (2, 1),
        Size::Large => (3, 1),
    };
    let rollout = |spec: Value| Model { crashes, ..Model::rollout(kind, pods, spec) };
    [
        (
            "create",
            Model { edits: Vec::new(), image: "nginx:1", start: Start::Empty, ..rollout(in_place(kind)) },
        ),
        ("in place", rollout(in_place(kind))),
        ("recreate", rollout(with(in_place(kind), &json!({"podUpdatePolicy": "ReCreate"})))),
        ("partition", Model { moved: pods - 1, ..rollout(with(in_place(kind), &json!({"partition": 1}))) }),
        (
            "rollback",
            Model {
                edits: vec![|spec| image(spec, "nginx:2"), |spec| image(spec, "nginx:1")],
                image: "nginx:1",
                crashes: 0,
                ..rollout(in_place(kind))
            },
        ),
    ]
}

/// One pod down at a time, in place where possible.
fn in_place(kind: Kind) -> Value {
    let rolling = json!({"podUpdatePolicy": "InPlaceIfPossible", "maxUnavailable": 1});
    let mut spec = json!({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling}});
    if kind == Kind::StatefulSet {
        json_patch::merge(&mut spec, &json!({"podManagementPolicy": "Parallel"}));
    }
    spec
}

fn with(mut spec: Value, rolling: &Value) -> Value {
    json_patch::merge(&mut spec, &json!({"updateStrategy": {"rollingUpdate": rolling}}));
    spec
}
