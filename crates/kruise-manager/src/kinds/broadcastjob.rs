//! Registers BroadcastJob: what it reads and writes, what wakes it, which planner it gets.

use std::sync::Arc;

use kruise_api::names::{APPS_GROUP, component};
use kruise_api::resource::PODS;
use kruise_core::broadcastjob::{BroadcastJob, View, plan};
use kruise_core::cluster::node::Node;
use kruise_core::plan::Plan;
use kruise_core::pod::{Assign, PodView};
use kruise_core::workload::base::{Head, Sources};
use kruise_runtime::cache::{Change, Slim, Store};
use kruise_runtime::queue::Queue;

use super::workload::{Planned, start};
use super::{Read, Registration, Wiring, Workers};
use crate::permissions::{CACHE, Use, blocks_owner, live, manager, seen};
use crate::webhooks::entry::Entry;

pub const REGISTRATION: Registration = Registration {
    name: "broadcastjob",
    gate: None,
    workers: Workers::Flag("BroadcastJobs"),
    reads: &[Read::of::<BroadcastJob>(), Read::of::<PodView>(), Read::of::<Node>()],
    writes: &[BroadcastJob::RESOURCE, PODS],
    controller: |wiring| start(BroadcastJobs { assign: wiring.flags.kinds.broadcast_assign() }, wiring),
    entries: Entry::of_template::<BroadcastJob>,
    pod_step: None,
    cares_for: None,
    permissions,
    blocks_uninstall: Some((BroadcastJob::RESOURCE, "broadcastjobs")),
};

pub struct BroadcastJobs {
    assign: Assign,
}

impl Planned for BroadcastJobs {
    type Object = BroadcastJob;
    const CONTROLLER: &'static str = component::BROADCASTJOB;

    fn head(object: &BroadcastJob) -> &Arc<Head> {
        &object.head
    }

    fn plan(&self, object: &BroadcastJob, from: Sources<'_>) -> Plan {
        plan(&View::assemble(object, self.assign, from), from.turn.now)
    }

    /// BJ-26: nodes that begin or cease to take pods of a job, or are gone.
    fn wake_further(wiring: &Wiring<'_>) {
        let (Some(jobs), Some(nodes)) = (wiring.store::<BroadcastJob>(), wiring.store::<Node>()) else {
            return;
        };
        let (jobs, queue) = (Arc::clone(jobs), Arc::clone(wiring.queue()));
        nodes.on_change(move |change| wake_by_node(change, &jobs, &queue));
    }
}

/// Heartbeats wake no job, and a finished job is woken by no node (B15).
fn wake_by_node(change: &Change<'_, Node>, jobs: &Store<BroadcastJob>, queue: &Queue) {
    let is_same = |(old, new): (&Arc<Node>, &Arc<Node>)| old.takes_the_same_pods_as(new);
    if change.old.zip(change.new).is_some_and(is_same) {
        return;
    }
    for job in jobs.all().iter().filter(|job| !job.is_finished()) {
        let fits = |node: Option<&Arc<Node>>| {
            let spec = job.spec.as_ref().ok();
            spec.zip(node).is_some_and(|(spec, node)| spec.needs.fits(node).is_ok())
        };
        if fits(change.old) != fits(change.new) {
            queue.add(job.key());
        }
    }
}

/// Pods, which it creates, patches and deletes as CloneSet does, are in the table of CloneSet.
fn permissions() -> Vec<Use> {
    const PART: &str = component::BROADCASTJOB;
    let verbs = [
        CACHE.as_slice(),
        &[
            live(),
            seen("patch", "pauses a job whose pod failed, if its failure policy is Pause"),
            seen("delete", "deletes a finished job when ttlSecondsAfterFinished is over"),
        ],
    ];
    vec![
        manager(PART, APPS_GROUP, "broadcastjobs", verbs.concat()),
        manager(
            PART,
            APPS_GROUP,
            "broadcastjobs/status",
            vec![seen("patch", "reports counts, phase and result")],
        ),
        manager(PART, APPS_GROUP, "broadcastjobs/finalizers", vec![blocks_owner()]),
    ]
}
