//! SM-20 … SM-38, one behaviour each.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::complete::extracted_env_hash;
use super::state::Recorded;
use super::*;
use crate::chain::{Act, Op, Part, Patch, Write};
use crate::fixtures::{Pod, at, pod, t0};
use crate::gates::{Gate, Gates};
use crate::pod::PodView;

mod change;
mod complete;
mod grace;
mod start;

const SINCE: &str = "2026-01-01T00:00:00Z";

fn template(containers: &Value) -> Value {
    json!({"metadata": {"labels": {"app": "x"}}, "spec": {"containers": containers}})
}

fn image(name: &str, image: &str) -> Value {
    json!({"name": name, "image": image})
}

fn scaling() -> Gates {
    Gates::default().with(Gate::InPlaceWorkloadVerticalScaling)
}

fn change(old: &Value, new: &Value) -> Change {
    Change::between(old, new, &scaling()).unwrap()
}

/// A ready pod with both gates and one container `main` running `nginx:1`.
fn running() -> Pod {
    pod("a")
        .annotation("note", "by somebody else")
        .running()
        .node("n")
        .label("controller-revision-hash", "w-old")
        .gate("InPlaceUpdateReady")
        .gate("KruisePodReady")
        .ready_since(SINCE)
        .condition("InPlaceUpdateReady", "True", SINCE)
        .condition("KruisePodReady", "True", SINCE)
        .container_status("main", "nginx:1", "id-1")
}

fn job(change: Change) -> Job<'static> {
    Job {
        change,
        revision: "w-new",
        revision_label: "new",
        template_hash: Some("new"),
        grace_seconds: 0,
        resize: Resize::Endpoint,
        hooks: None,
        states: States::Written,
    }
}

fn to_image_2() -> Change {
    change(&template(&json!([image("main", "nginx:1")])), &template(&json!([image("main", "nginx:2")])))
}

fn parts(writes: &[Write]) -> Vec<Part> {
    writes.iter().map(|write| write.part).collect()
}

fn ops(write: &Write) -> Vec<Op> {
    let Act::Patch(Patch::Json(ops)) = &write.act else { panic!("{write:?}") };
    ops.clone()
}

/// The value that a patch sets at a path.
fn set(write: &Write, path: &str) -> Option<Value> {
    ops(write).into_iter().find_map(|op| match op {
        Op::Add { path: at, value } | Op::Replace { path: at, value } if at == path => Some(value),
        Op::Test { .. } | Op::Add { .. } | Op::Replace { .. } | Op::Remove { .. } => None,
    })
}

fn state_written(write: &Write) -> InPlaceState {
    let text = set(write, "/metadata/annotations/apps.kruise.io~1inplace-update-state").unwrap();
    serde_json::from_str(text.as_str().unwrap()).unwrap()
}

/// The pod with the annotations of a start applied.
fn with_state(pod: Pod, state: &InPlaceState) -> Pod {
    pod.annotation("apps.kruise.io/inplace-update-state", &serde_json::to_string(state).unwrap())
        .label("controller-revision-hash", "w-new")
}

fn reads_annotation(name: &str, key: &str) -> Value {
    json!({"name": name, "image": "i", "env":
        [{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": format!("metadata.annotations['{key}']")}}}]})
}

fn prioritised(name: &str, priority: i64) -> Value {
    json!({"name": name, "image": "i:1", "env": [{"name": "KRUISE_CONTAINER_BARRIER",
        "valueFrom": {"configMapKeyRef": {"name": "a-barrier", "key": format!("p_{priority}")}}}]})
}

fn in_grace(seconds: i64) -> Pod {
    let state = json!({"revision": "w-new", "updateTimestamp": "2026-06-01T12:00:00Z", "lastContainerStatuses": null, "updateImages": true});
    let grace = json!({"revision": "w-new", "containerImages": {"main": "nginx:2"}, "graceSeconds": seconds});
    running()
        .label("controller-revision-hash", "new")
        .annotation("apps.kruise.io/inplace-update-state", &state.to_string())
        .annotation("apps.kruise.io/inplace-update-grace", &grace.to_string())
}

fn refreshed(pod: Pod, now: Timestamp) -> Refresh {
    refresh(&pod.view(), Resize::Endpoint, now)
}

fn stepped(refresh: Refresh) -> Vec<Write> {
    let Refresh::Step(writes) = refresh else { panic!("{refresh:?}") };
    writes
}
