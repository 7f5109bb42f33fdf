//! Kind, active children and the last planned time (ACJ-3). Written only when something changed (B7, B8).

use serde_json::{Map, Value, json};

use super::children::{Child, State};
use super::spec::Spec;
use super::view::View;
use crate::chain::Purpose;
use crate::plan::Plan;
use crate::time;

pub fn settle(view: &View, spec: &Spec, plan: &mut Plan) {
    // The chain that creates a child writes its time; an older one must not come after it (B1).
    if plan.chains.iter().any(|chain| chain.purpose == Purpose::Create) {
        return;
    }
    let stored = &view.head.status;
    let mut wanted = Map::new();
    let kind = json!(spec.template.resource().kind());
    if stored.get("type") != Some(&kind) {
        wanted.insert("type".to_owned(), kind);
    }
    if let Some(last) = view.last_planned().map(|at| json!(time::seconds(at)))
        && stored.get("lastScheduleTime") != Some(&last)
    {
        wanted.insert("lastScheduleTime".to_owned(), last);
    }
    let active: Vec<&Child> = view.children.iter().filter(|child| child.state == State::Active).collect();
    let known = stored.get("active").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let uids = |one: &Value| one.get("uid").and_then(Value::as_str).map(str::to_owned);
    let is_same = known.len() == active.len()
        && known.iter().zip(&active).all(|(one, child)| uids(one).as_deref() == Some(child.uid.as_str()));
    if !is_same {
        wanted.insert("active".to_owned(), references(&active));
    }
    if !wanted.is_empty() {
        plan.status = Some(view.workload().status_write(&Value::Object(wanted)));
    }
}

/// By planned time; the version is the one that was seen first.
fn references(active: &[&Child]) -> Value {
    let reference = |child: &&Child| {
        json!({
            "apiVersion": child.object.resource.api_version(),
            "kind": child.object.resource.kind(),
            "name": child.object.name(),
            "namespace": child.object.namespace(),
            "uid": child.uid.as_str(),
            "resourceVersion": child.version.as_str(),
        })
    };
    if active.is_empty() { Value::Null } else { active.iter().map(reference).collect() }
}
