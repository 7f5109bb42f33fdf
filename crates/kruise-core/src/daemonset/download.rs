//! Nodes pull new images before their pods are updated (DS-48, DS-49).

use std::collections::BTreeSet;

use kruise_api::Kind;
use kruise_api::apps::imagepulljob::ImagePullJob;
use kruise_api::labels;
use kruise_api::reasons::event;

use super::history;
use super::plan::Cx;
use super::status::Counts;
use crate::chain::{Chain, Purpose, Write};
use crate::gates::Gate;
use crate::plan::Plan;
use crate::predownload::{Download, PreDownload, Rollout, images, job, mark};
use crate::revision::{Revision, Revisions};
use crate::rollout::Mode;

pub fn download(cx: &Cx<'_>, plan: &mut Plan) {
    if !cx.view.gates.on(Gate::PreDownloadImageForDaemonSetUpdate) {
        return;
    }
    let counts = Counts::of(cx);
    if counts.updated == counts.desired {
        for job in cx.view.pull_jobs.iter().filter(|job| !job.is_deleted()) {
            let write = Write::delete(job.object(), &job.uid());
            plan.act(Chain::other(Purpose::PreDownload, vec![write]));
        }
        return;
    }
    let has = |label: &str| cx.revision.labels.contains_key(label);
    let settings = PreDownload::of_annotations(&cx.view.annotations, cx.desired);
    let old = old_images(cx);
    // Nothing to pull ahead of where nothing was there before (B10), nor twice.
    if old.is_empty() || has(labels::IMAGE_PREDOWNLOAD_CREATED) {
        return;
    }
    if is_pointless(cx) {
        if !has(labels::IMAGE_PREDOWNLOAD_IGNORED) {
            label(cx, labels::IMAGE_PREDOWNLOAD_IGNORED, plan);
        }
        return;
    }
    if counts.updated_ready < settings.min_updated_ready {
        return; // B9
    }
    for (container, image) in images(cx.revision) {
        let is_known = old.iter().all(|before| before.contains(&(container.clone(), image.clone())));
        if !is_known {
            pull(cx, &settings, (&container, &image), plan);
        }
    }
    label(cx, labels::IMAGE_PREDOWNLOAD_CREATED, plan);
}

/// Containers and images of each old revision.
fn old_images(cx: &Cx<'_>) -> Vec<BTreeSet<(String, String)>> {
    let same: BTreeSet<_> = history::duplicates(cx.view, cx.revision).map(|one| &one.name).collect();
    let is_old = |one: &&Revision| one.name != cx.revision.name && !same.contains(&one.name);
    let old = cx.view.revisions.iter().map(AsRef::as_ref).filter(is_old);
    old.map(|one| images(one).into_iter().collect()).collect()
}

/// All nodes are updated at once: nothing would be gained. Asked again by every plan, because the partition may change (B10).
fn is_pointless(cx: &Cx<'_>) -> bool {
    // Under OnDelete nobody knows when (B7).
    let at_once = cx.spec.mode == Mode::RollingUpdate && cx.desired <= cx.spec.limits(cx.desired).unavailable;
    at_once && cx.spec.partition(cx.desired) == 0
}

fn pull(cx: &Cx<'_>, settings: &PreDownload, (container, image): (&str, &str), plan: &mut Plan) {
    let name = format!("{}-{container}", cx.revision.name);
    if cx.view.pull_jobs.iter().any(|job| job.name() == name) {
        return;
    }
    let revisions = Revisions { current: cx.revision, update: cx.revision };
    let rollout = Rollout {
        replicas: cx.desired,
        partition: cx.spec.partition(cx.desired),
        max_unavailable: cx.spec.limits(cx.desired).unavailable,
        policy: cx.spec.rolling.policy,
    };
    let found = (&cx.view.base, &cx.spec.base);
    let body = job(&Download::of(cx.view.workload(), found, revisions, settings, rollout), &name, image);
    let write = Write::create(cx.view.workload().object(ImagePullJob::RESOURCE, name.as_str()), &body);
    let chain = Chain::other(Purpose::PreDownload, vec![write]).telling(
        event::CREATED_IMAGE_PULL_JOB,
        format!("created ImagePullJob {name}: nodes pull {image} before their pods are updated"),
        event::FAILED_CREATE_IMAGE_PULL_JOB,
    );
    plan.act(chain);
}

fn label(cx: &Cx<'_>, label: &str, plan: &mut Plan) {
    let write = mark(&cx.view.workload(), cx.revision, label);
    plan.act(Chain::other(Purpose::PreDownload, vec![write]));
}
