//! The status, from the jobs as they were before this plan (LJ-6), written only where it differs.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::children::Sorted;
use super::object::Spec;
use super::view::View;
use crate::chain::{Part, Patch, Write};
use crate::imagepulljob::ImagePullJob;
use crate::plan::Plan;
use crate::time;

pub fn settle(view: &View, spec: &Spec, sorted: &Sorted<'_>, now: Timestamp, plan: &mut Plan) {
    let children = || sorted.current.values();
    let started = |child: &ImagePullJob| child.head.status.get("startTime").is_some_and(Value::is_string);
    let count = |counts: &dyn Fn(&ImagePullJob) -> bool| children().filter(|child| counts(child)).count();
    let over = |child: &ImagePullJob| child.count("succeeded").saturating_add(child.count("failed"));
    let completed = count(&|child| started(child) && child.count("desired") == over(child));
    let failed: Vec<Value> =
        children().filter(|child| child.count("failed") > 0).map(|child| failure(child)).collect();
    let is_over = !spec.is_endless && completed == spec.images.len();
    let wanted = json!({
        "startTime": time::seconds(view.time("startTime").unwrap_or(now)),
        "completionTime": is_over.then(|| time::seconds(now)),
        "desired": spec.images.len(),
        "active": count(&|child| child.count("active") > 0),
        "completed": completed,
        "succeeded": count(&|child| started(child) && child.count("desired") == child.count("succeeded")),
        "failedImageStatuses": (!failed.is_empty()).then_some(failed),
    });
    let Value::Object(wanted) = wanted else { return };
    let stored = |field: &str| view.head.status.get(field).unwrap_or(&Value::Null);
    let changed: Map<String, Value> =
        wanted.into_iter().filter(|(field, value)| stored(field) != value).collect();
    if !changed.is_empty() {
        let body = json!({"metadata": {"uid": view.head.uid.as_str()}, "status": changed});
        plan.status = Some(Write::patch(view.itself(), Part::Status, Patch::Merge(body)));
    }
}

fn failure(child: &ImagePullJob) -> Value {
    let name = child.name();
    let message =
        format!("Please check for details which nodes failed by 'kubectl get ImagePullJob {name}'.");
    json!({"imagePullJob": name, "name": child.image, "message": message})
}
