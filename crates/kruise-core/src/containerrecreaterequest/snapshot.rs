//! What the pod says about containers that have been started since the request was made (CR-7): the agent declares success by it.

use serde_json::{Value, json};

use super::spec::{Named, Spec};
use super::view::View;
use crate::chain::{Part, Patch, Write};
use crate::plan::Plan;
use crate::pod::{ContainerStatus, PodView};

/// Patches the snapshot if it changed; none never replaces some.
pub fn settle(view: &View, spec: &Spec, pod: &PodView, plan: &mut Plan) {
    let wanted: Vec<Value> = spec.containers.iter().filter_map(|one| of(one, pod)).collect();
    let wanted = Value::Array(wanted);
    let is_empty = wanted.as_array().is_none_or(Vec::is_empty);
    if is_empty || view.head.status.get("containerStatusSnapshot") == Some(&wanted) {
        return;
    }
    let status = json!({"containerStatusSnapshot": wanted});
    let body = json!({"metadata": {"uid": view.head.uid.as_str()}, "status": status});
    plan.status = Some(Write::patch(view.itself(), Part::Status, Patch::Merge(body)));
}

fn of(container: &Named, pod: &PodView) -> Option<Value> {
    let mut all = pod.statuses.iter().chain(&pod.sidecar_statuses);
    let status =
        all.find(|status| status.name == container.name).filter(|status| is_new(container, status))?;
    Some(json!({
        "name": *status.name, "ready": status.is_ready, "restartCount": status.restarts, "containerID": *status.container_id,
    }))
}

/// By identity, not by the node's clock, which may be behind (2).
fn is_new(container: &Named, status: &ContainerStatus) -> bool {
    let is_another = container.before.as_ref().is_some_and(|before| {
        *status.container_id != *before.id || before.restarts < i64::from(status.restarts)
    });
    status.is_running && is_another
}
