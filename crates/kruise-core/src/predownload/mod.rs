//! Image pre-download: nodes pull the new images before the in-place update needs them. Specification: SM-80 … SM-83.
//!
//! Never: a second job for a revision that says it has one; a failure here stops nothing else.

use kruise_api::{
    Kind, apps::imagepulljob::ImagePullJob, kubernetes::operator, labels, names, parts::CompletionPolicyType,
};
use serde_json::{Value, json};

use crate::amount::Rounding;
use crate::chain::{Chain, Op, Part, Patch, Purpose, Resource, Write};
use crate::cloneset::Cx;
use crate::gates::Gate;
use crate::inplace::Change;
use crate::plan::Plan;
use crate::pod::string_map;
use crate::revision::Revision;
use crate::rollout::Policy;

/// Workloads up to this size are updated faster than images are pulled ahead.
const SMALL: u32 = 3;
const JOB_SECONDS_AFTER_FINISHED: u32 = 600;

/// Adds what a CloneSet's pre-download needs now.
pub fn cloneset(cx: &Cx<'_>, plan: &mut Plan) {
    if !cx.view.gates.on(Gate::PreDownloadImage) {
        return;
    }
    let update = cx.revisions.update;
    if cx.revisions.are_same() {
        let done = cx.view.pull_jobs.iter().filter(|job| job.deleted.is_none());
        for job in done {
            let write = Write::delete(Resource::ImagePullJob, &job.name, &job.uid);
            plan.act(Chain::other(Purpose::PreDownload, vec![write]));
        }
        return;
    }
    let is_settled = [labels::IMAGE_PREDOWNLOAD_CREATED, labels::IMAGE_PREDOWNLOAD_IGNORED]
        .iter()
        .any(|label| update.labels.contains_key(*label));
    if is_settled || updated_ready(cx) < u64::from(cx.spec.rolling.pre_download.min_updated_ready) {
        return;
    }
    let mut writes = Vec::new();
    let label = if is_pointless(cx) {
        labels::IMAGE_PREDOWNLOAD_IGNORED
    } else {
        writes.extend(jobs(cx));
        labels::IMAGE_PREDOWNLOAD_CREATED
    };
    // A label of its own chain: it is set even if a job could not be created.
    for job in writes {
        plan.act(Chain::other(Purpose::PreDownload, vec![job]));
    }
    plan.act(Chain::other(Purpose::PreDownload, vec![mark(update, label)]));
}

/// Counts of the status belong to this revision only once it names it (SM-81).
fn updated_ready(cx: &Cx<'_>) -> u64 {
    let status = &cx.view.status;
    let is_known =
        status.get("updateRevision").and_then(Value::as_str) == Some(cx.revisions.update.name.as_str());
    if is_known { status.get("updatedReadyReplicas").and_then(Value::as_u64).unwrap_or(0) } else { 0 }
}

/// SM-82: nothing would be gained.
fn is_pointless(cx: &Cx<'_>) -> bool {
    let (spec, rolling) = (cx.spec, &cx.spec.rolling);
    let all_at_once = rolling.partition.partition(spec.replicas) == 0
        && spec.replicas <= rolling.max_unavailable.of(spec.replicas, Rounding::Down);
    let (current, update) = (cx.revisions.current, cx.revisions.update);
    rolling.policy == Policy::ReCreate
        || spec.replicas <= SMALL
        || all_at_once
        || Change::between(&current.template, &update.template, &cx.view.gates).is_err()
}

/// One job per container whose image is new or changed (SM-83).
fn jobs(cx: &Cx<'_>) -> Vec<Write> {
    let (current, update) = (cx.revisions.current, cx.revisions.update);
    let before = images(current);
    let changed = images(update).into_iter().filter(|one| !before.contains(one));
    let named = changed.map(|(container, image)| (format!("{}-{container}", update.name), image));
    let missing = named.filter(|(name, _)| !cx.view.pull_jobs.iter().any(|job| job.name == *name));
    missing
        .map(|(name, image)| Write::create(Resource::ImagePullJob, &name, job(cx, &name, &image)))
        .collect()
}

fn images(revision: &Revision) -> Vec<(String, String)> {
    let list = revision.template.pointer("/spec/containers").and_then(Value::as_array).into_iter().flatten();
    let text = |one: &Value, key: &str| one.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    list.map(|one| (text(one, "name"), text(one, "image"))).collect()
}

fn job(cx: &Cx<'_>, name: &str, image: &str) -> Value {
    let update = cx.revisions.update;
    let settings = &cx.spec.rolling.pre_download;
    let hash = update.name.hash();
    let mut job_labels = string_map(update.template.pointer("/metadata/labels"));
    job_labels.insert(labels::REVISION_HASH.to_owned(), hash.to_string());
    let secrets =
        update.template.pointer("/spec/imagePullSecrets").and_then(Value::as_array).into_iter().flatten();
    let secrets: Vec<&Value> = secrets.filter_map(|one| one.get("name")).collect();
    let mut selector = cx.spec.selector_text.clone();
    let outdated = json!({"key": labels::REVISION, "operator": operator::NOT_IN, "values": [update.name.as_str(), hash.as_str()]});
    if let Some(object) = selector.as_object_mut() {
        let expressions = object.entry("matchExpressions").or_insert_with(|| json!([]));
        expressions.as_array_mut().into_iter().for_each(|list| list.push(outdated.clone()));
    }
    json!({
        "apiVersion": format!("{}/v1beta1", names::APPS_GROUP),
        "kind": ImagePullJob::KIND,
        "metadata": {
            "name": name, "namespace": cx.view.namespace, "labels": job_labels,
            "ownerReferences": [cx.view.workload().owner_reference()],
        },
        "spec": {
            "image": image,
            "pullSecrets": secrets,
            "podSelector": selector,
            "parallelism": settings.parallelism,
            "pullPolicy": {"backoffLimit": 1, "timeoutSeconds": settings.timeout_seconds},
            "completionPolicy": {"type": CompletionPolicyType::Always, "ttlSecondsAfterFinished": JOB_SECONDS_AFTER_FINISHED},
            "sandboxConfig": {
                "labels": job_labels,
                "annotations": string_map(update.template.pointer("/metadata/annotations")),
            },
        },
    })
}

fn mark(revision: &Revision, label: &str) -> Write {
    let ops = vec![
        Op::test("/metadata/uid", revision.uid.as_str()),
        Op::add(Op::path("/metadata/labels", label), labels::TRUE),
    ];
    Write::patch(Resource::Revision, revision.name.as_str(), Part::Object, Patch::Json(ops))
}
