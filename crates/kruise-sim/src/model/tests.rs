//! Every interleaving of small worlds. The numbers of states are printed (`--nocapture`), and kept within what a test may take.

use serde_json::json;

use super::{Kind, Model, Start, check, image};

fn told(name: &str, model: Model) {
    let started = std::time::Instant::now();
    let checked = check(model);
    println!("{name}: {} states, {} steps deep, {:.1?}", checked.states, checked.depth, started.elapsed());
}

fn in_place(kind: Kind) -> serde_json::Value {
    let rolling = json!({"podUpdatePolicy": "InPlaceIfPossible", "maxUnavailable": 1});
    let mut spec = json!({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling}});
    if kind == Kind::StatefulSet {
        spec["podManagementPolicy"] = json!("Parallel");
    }
    spec
}

#[test]
fn two_pods_are_created() {
    for kind in [Kind::CloneSet, Kind::StatefulSet] {
        let model = Model {
            edits: Vec::new(),
            image: "nginx:1",
            start: Start::Empty,
            ..Model::rollout(kind, 2, json!({}))
        };
        told(&format!("{kind:?} create"), model);
    }
}

#[test]
fn two_pods_are_updated_in_place() {
    for kind in [Kind::CloneSet, Kind::StatefulSet] {
        told(&format!("{kind:?} in place"), Model::rollout(kind, 2, in_place(kind)));
    }
}

#[test]
fn two_pods_are_replaced() {
    for kind in [Kind::CloneSet, Kind::StatefulSet] {
        let mut spec = in_place(kind);
        spec["updateStrategy"]["rollingUpdate"]["podUpdatePolicy"] = json!("ReCreate");
        told(&format!("{kind:?} recreate"), Model::rollout(kind, 2, spec));
    }
}

#[test]
fn rollback_in_the_middle() {
    for kind in [Kind::CloneSet, Kind::StatefulSet] {
        let edits: Vec<fn(&mut serde_json::Value)> =
            vec![|spec| image(spec, "nginx:2"), |spec| image(spec, "nginx:1")];
        let model = Model { edits, image: "nginx:1", crashes: 0, ..Model::rollout(kind, 2, in_place(kind)) };
        told(&format!("{kind:?} rollback"), model);
    }
}
