//! Ephemeral containers for pods (EJ-19 … EJ-22).

use kruise_api::env::EPHEMERALJOB_ID;
use kruise_api::reasons::event;
use serde_json::{Value, json};

use super::census::{Census, Member, Stand};
use super::reason;
use super::spec::{Spec, Template};
use super::view::View;
use crate::chain::{Chain, Part, Patch, Purpose, Siblings, Write};
use crate::ids::Uid;
use crate::plan::{CREATIONS_MAX, Plan};

/// As many pods as `parallelism` has room for, and what is missing in pods that have a slot already.
pub fn inject(view: &View, spec: &Spec, census: &Census<'_>, plan: &mut Plan) {
    let busy = census.under_way();
    let room = spec.parallelism.saturating_sub(busy).min(CREATIONS_MAX);
    for member in census.targets.iter().filter(|member| member.is_partial()) {
        plan.act(chain(view, member));
    }
    let untouched = || census.targets.iter().filter(|member| member.stand == Stand::Untouched);
    for member in untouched().take(room) {
        plan.act(chain(view, member));
    }
    for member in untouched().skip(room) {
        plan.hold(member.pod, reason::parallelism(busy, spec.parallelism));
    }
}

/// One patch with all containers. It carries the uid, so that a successor of the same name is not touched; a container that is there
/// already is the same and stays.
fn chain(view: &View, member: &Member<'_>) -> Chain {
    let containers: Vec<Value> =
        member.missing.iter().map(|template| signed(template, &view.head.uid)).collect();
    let patch = json!({
        "metadata": {"uid": member.pod.uid.as_str()},
        "spec": {"ephemeralContainers": containers},
    });
    let write = Write::patch(member.pod.object(), Part::EphemeralContainers, Patch::Strategic(patch));
    Chain::about(Purpose::Create, member.pod, vec![write])
        .slowly(Siblings::Alike)
        .or_tell(event::CREATE_FAILED)
}

/// With the variable that says whose it is, in the last place; a user's own one of that name would hide it.
fn signed(template: &Template, job: &Uid) -> Value {
    let mut container = template.container.clone();
    let env = container.get("env").and_then(Value::as_array).into_iter().flatten();
    let is_other = |one: &&Value| one.get("name").and_then(Value::as_str) != Some(EPHEMERALJOB_ID);
    let mut env: Vec<Value> = env.filter(is_other).cloned().collect();
    env.push(json!({"name": EPHEMERALJOB_ID, "value": job.as_str()}));
    if let Some(fields) = container.as_object_mut() {
        fields.insert("env".to_owned(), Value::Array(env));
    }
    container
}
