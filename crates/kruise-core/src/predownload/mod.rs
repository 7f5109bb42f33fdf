//! Image pre-download: nodes pull the new images before the in-place update needs them. Specification: SM-80 … SM-83.
//!
//! Never: a second job for a revision that says it has one; a failure here stops nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use kruise_api::{
    Kind, annotations, apps::imagepulljob::ImagePullJob, kubernetes::operator, labels, names,
    parts::CompletionPolicyType, resource::REVISIONS,
};
use serde_json::{Value, json};

pub use crate::imagepulljob::ImagePullJob as PullJob;

use crate::amount::{Amount, Bare, Rounding};
use crate::chain::{Chain, Op, Part, Patch, Purpose, Write};
use crate::gates::Gate;
use crate::inplace::Change;
use crate::plan::Plan;
use crate::pod::string_map;
use crate::revision::{Revision, Revisions};
use crate::rollout::Policy;
use crate::workload::Workload;
use crate::workload::base::{Base, BaseSpec};

/// Workloads up to this size are updated faster than images are pulled ahead.
const SMALL: u32 = 3;
const JOB_SECONDS_AFTER_FINISHED: u32 = 600;
const TIMEOUT_SECONDS: u32 = 300;

/// What a user says about it (SM-81, SM-83, AS-92).
#[derive(Debug, Clone, PartialEq)]
pub struct PreDownload {
    /// As a job has it: pods, or a percentage.
    pub parallelism: Value,
    pub timeout_seconds: u32,
    pub min_updated_ready: u32,
}

/// One workload whose images may be pulled ahead.
#[derive(Debug)]
pub struct Download<'a> {
    pub workload: Workload<'a>,
    pub revisions: Revisions<'a>,
    /// Those that it controls.
    pub jobs: &'a [Arc<PullJob>],
    /// As the user wrote it.
    pub selector: &'a Value,
    pub settings: &'a PreDownload,
    pub rollout: Rollout,
}

/// How the update goes: whether pulling ahead gains anything (SM-82, AS-91).
#[derive(Debug, Clone, Copy)]
pub struct Rollout {
    pub replicas: u32,
    /// Pods that stay as they are.
    pub partition: u32,
    pub max_unavailable: u32,
    pub policy: Policy,
}

impl<'a> Download<'a> {
    pub fn of(
        workload: Workload<'a>,
        (base, spec): (&'a Base, &'a BaseSpec),
        revisions: Revisions<'a>,
        settings: &'a PreDownload,
        rollout: Rollout,
    ) -> Self {
        Self { workload, revisions, jobs: &base.pull_jobs, selector: &spec.selector_text, settings, rollout }
    }
}

impl Default for PreDownload {
    fn default() -> Self {
        Self { parallelism: json!(1), timeout_seconds: TIMEOUT_SECONDS, min_updated_ready: 0 }
    }
}

impl PreDownload {
    /// Out of the annotations of a workload (AS-91, AS-92); what cannot be read has its default.
    pub fn of_annotations(all: &BTreeMap<String, String>, replicas: u32) -> Self {
        let default = Self::default();
        let number = |text: &String| text.parse::<u32>().ok();
        let amount = |text: &String| match number(text) {
            Some(count) => Some((Amount::Pods(count), json!(count))),
            None => Amount::read(&json!(text), Bare::Refused).ok().map(|amount| (amount, json!(text))),
        };
        let parallelism = all.get(annotations::IMAGE_PREDOWNLOAD_PARALLELISM).and_then(amount);
        let timeout = all.get(annotations::IMAGE_PREDOWNLOAD_TIMEOUT_SECONDS).and_then(number);
        let min_ready = all.get(annotations::IMAGE_PREDOWNLOAD_MIN_UPDATED_READY_PODS).and_then(amount);
        Self {
            parallelism: parallelism.map_or(default.parallelism, |(_, wire)| wire),
            timeout_seconds: timeout.unwrap_or(default.timeout_seconds),
            min_updated_ready: min_ready.map_or(0, |(pods, _)| pods.of(replicas, Rounding::Up)),
        }
    }
}

/// Adds what a workload's pre-download needs now.
pub fn pre_download(it: &Download<'_>, plan: &mut Plan) {
    if !it.workload.gates.on(Gate::PreDownloadImageForInPlaceUpdate) {
        return;
    }
    let update = it.revisions.update;
    if it.revisions.are_same() {
        let done = it.jobs.iter().filter(|job| !job.is_deleted());
        for job in done {
            let write = Write::delete(job.object(), &job.uid());
            plan.act(Chain::other(Purpose::PreDownload, vec![write]));
        }
        return;
    }
    let is_settled = [labels::IMAGE_PREDOWNLOAD_CREATED, labels::IMAGE_PREDOWNLOAD_IGNORED]
        .iter()
        .any(|label| update.labels.contains_key(*label));
    if is_settled || updated_ready(it) < u64::from(it.settings.min_updated_ready) {
        return;
    }
    let mut writes = Vec::new();
    let label = if is_pointless(it) {
        labels::IMAGE_PREDOWNLOAD_IGNORED
    } else {
        writes.extend(jobs(it));
        labels::IMAGE_PREDOWNLOAD_CREATED
    };
    // A label of its own chain: it is set even if a job could not be created.
    for job in writes {
        plan.act(Chain::other(Purpose::PreDownload, vec![job]));
    }
    plan.act(Chain::other(Purpose::PreDownload, vec![mark(&it.workload, update, label)]));
}

/// Counts of the status belong to this revision only once it names it (SM-81).
fn updated_ready(it: &Download<'_>) -> u64 {
    let status = &it.workload.status;
    let is_known =
        status.get("updateRevision").and_then(Value::as_str) == Some(it.revisions.update.name.as_str());
    if is_known { status.get("updatedReadyReplicas").and_then(Value::as_u64).unwrap_or(0) } else { 0 }
}

/// SM-82, AS-91: nothing would be gained.
fn is_pointless(it: &Download<'_>) -> bool {
    let Rollout { replicas, partition, max_unavailable, policy } = it.rollout;
    let all_at_once = partition == 0 && replicas <= max_unavailable;
    let (current, update) = (it.revisions.current, it.revisions.update);
    policy == Policy::ReCreate
        || replicas <= SMALL
        || all_at_once
        || Change::between(&current.template, &update.template, it.workload.gates).is_err()
}

/// One job per container whose image is new or changed (SM-83, AS-92).
fn jobs(it: &Download<'_>) -> Vec<Write> {
    let (current, update) = (it.revisions.current, it.revisions.update);
    let before = images(current);
    let changed = images(update).into_iter().filter(|one| !before.contains(one));
    let named = changed.map(|(container, image)| (format!("{}-{container}", update.name), image));
    let missing = named.filter(|(name, _)| !it.jobs.iter().any(|job| job.name() == name));
    missing
        .map(|(name, image)| {
            Write::create(it.workload.object(ImagePullJob::RESOURCE, name.as_str()), &job(it, &name, &image))
        })
        .collect()
}

pub(crate) fn images(revision: &Revision) -> Vec<(String, String)> {
    let list = revision.template.pointer("/spec/containers").and_then(Value::as_array).into_iter().flatten();
    let text = |one: &Value, key: &str| one.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    list.map(|one| (text(one, "name"), text(one, "image"))).collect()
}

pub(crate) fn job(it: &Download<'_>, name: &str, image: &str) -> Value {
    let (update, settings) = (it.revisions.update, it.settings);
    let hash = update.name.hash();
    let mut job_labels = string_map(update.template.pointer("/metadata/labels"));
    job_labels.insert(labels::REVISION_HASH.to_owned(), hash.to_string());
    let secrets =
        update.template.pointer("/spec/imagePullSecrets").and_then(Value::as_array).into_iter().flatten();
    let secrets: Vec<&Value> = secrets.filter_map(|one| one.get("name")).collect();
    let mut selector = it.selector.clone();
    let outdated = json!({"key": labels::REVISION, "operator": operator::NOT_IN, "values": [update.name.as_str(), hash.as_str()]});
    if let Some(object) = selector.as_object_mut() {
        let expressions = object.entry("matchExpressions").or_insert_with(|| json!([]));
        expressions.as_array_mut().into_iter().for_each(|list| list.push(outdated.clone()));
    }
    json!({
        "apiVersion": format!("{}/v1beta1", names::APPS_GROUP),
        "kind": ImagePullJob::RESOURCE.kind(),
        "metadata": {
            "name": name, "namespace": it.workload.namespace, "labels": job_labels,
            "ownerReferences": [it.workload.owner_reference()],
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

pub(crate) fn mark(workload: &Workload<'_>, revision: &Revision, label: &str) -> Write {
    let ops = vec![
        Op::test("/metadata/uid", revision.uid.as_str()),
        Op::add(Op::path("/metadata/labels", label), labels::TRUE),
    ];
    Write::patch(workload.object(REVISIONS, revision.name.shared()), Part::Object, Patch::Json(ops))
}
