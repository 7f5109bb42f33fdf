//! Registers EphemeralJob: what it reads and writes, what wakes it, which planner it gets.

use std::sync::Arc;

use kruise_api::names::{APPS_GROUP, component};
use kruise_api::resource::PODS;
use kruise_core::admission::Operation;
use kruise_core::ephemeraljob::{EphemeralJob, View, admission, plan};
use kruise_core::plan::Plan;
use kruise_core::pod::{NAMESPACE, PodView};
use kruise_core::workload::base::{Head, Sources};
use kruise_runtime::cache::{Change, Slim, Store};
use kruise_runtime::queue::Queue;

use super::workload::{Planned, start};
use super::{Read, Registration, Wiring, Workers};
use crate::permissions::{CACHE, Use, live, manager, seen};
use crate::webhooks::entry::{Entry, Rule, Sort};

/// EJ-3: as the original, which has no flag for it.
const WORKERS: usize = 10;

pub const REGISTRATION: Registration = Registration {
    name: "ephemeraljob",
    gate: None,
    workers: Workers::Fixed(WORKERS),
    reads: &[Read::of::<EphemeralJob>(), Read::of::<PodView>()],
    writes: &[EphemeralJob::RESOURCE, PODS],
    controller: |wiring| start(EphemeralJobs, wiring),
    entries,
    pod_step: None,
    cares_for: None,
    permissions,
    blocks_uninstall: None,
};

pub struct EphemeralJobs;

impl Planned for EphemeralJobs {
    type Object = EphemeralJob;
    const CONTROLLER: &'static str = component::EPHEMERALJOB;

    fn head(object: &EphemeralJob) -> &Arc<Head> {
        &object.head
    }

    fn plan(&self, object: &EphemeralJob, from: Sources<'_>) -> Plan {
        plan(&View::assemble(object, from), from.turn.now)
    }

    /// EJ-2: pods of its namespace that it selects.
    fn wake_further(wiring: &Wiring<'_>) {
        let (Some(jobs), Some(pods)) = (wiring.store::<EphemeralJob>(), wiring.store::<PodView>()) else {
            return;
        };
        let (jobs, queue) = (Arc::clone(jobs), Arc::clone(wiring.queue()));
        pods.on_change(move |change| wake_by_pod(change, &jobs, &queue));
    }
}

/// E14: only the jobs of its namespace are looked at, with selectors that are ready.
fn wake_by_pod(change: &Change<'_, PodView>, jobs: &Store<EphemeralJob>, queue: &Queue) {
    let Some(pod) = change.new.or(change.old) else { return };
    let (old, new) = (change.old.map(AsRef::as_ref), change.new.map(AsRef::as_ref));
    for job in jobs.by(NAMESPACE, &pod.namespace).iter().filter(|job| job.is_woken_by(old, new)) {
        queue.add(job.key());
    }
}

/// There are no defaults (EJ-26), and one version. The entry has the plural in its name and the older form of the path (EJ-27).
fn entries() -> Vec<Entry> {
    let written = [Operation::Create, Operation::Update];
    let judge = Arc::new(admission::admit);
    let entry = Entry::of_kind(EphemeralJob::RESOURCE, Sort::Validating, &written, judge);
    vec![Entry {
        name: "vephemeraljobs.kb.io".to_owned(),
        paths: entry.paths.iter().rev().cloned().collect(),
        rule: Rule { versions: &["v1alpha1"], ..entry.rule },
        ..entry
    }]
}

/// Reading pods is in the table of CloneSet.
fn permissions() -> Vec<Use> {
    const PART: &str = component::EPHEMERALJOB;
    let verbs = [
        CACHE.as_slice(),
        &[
            live(),
            seen("patch", "adds its finalizer, and removes it from a job that is being deleted"),
            seen("delete", "deletes a finished job when ttlSecondsAfterFinished is over"),
        ],
    ];
    vec![
        manager(PART, APPS_GROUP, "ephemeraljobs", verbs.concat()),
        manager(
            PART,
            APPS_GROUP,
            "ephemeraljobs/status",
            vec![seen("patch", "reports counts, phase and result")],
        ),
        manager(
            PART,
            "",
            "pods/ephemeralcontainers",
            vec![seen("patch", "puts the containers of a job into pods")],
        ),
    ]
}
