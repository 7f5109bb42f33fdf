//! Registers AdvancedCronJob: what it reads and writes, what wakes it, which planner it gets.

use std::sync::Arc;

use jiff::tz::TimeZone;
use kruise_api::names::{APPS_GROUP, component};
use kruise_core::advancedcronjob::{AdvancedCronJob, Job, View, plan};
use kruise_core::broadcastjob::BroadcastJob;
use kruise_core::imagelistpulljob::ImageListPullJob;
use kruise_core::plan::Plan;
use kruise_core::workload::base::{Head, Sources};
use kruise_runtime::cache::Slim;

use super::workload::{Planned, start, wake_owner};
use super::{Read, Registration, Wiring, Workers};
use crate::permissions::{CACHE, Use, blocks_owner, live, manager, seen};
use crate::webhooks::entry::Entry;

pub const REGISTRATION: Registration = Registration {
    name: "advancedcronjob",
    gate: None,
    workers: Workers::Flag("AdvancedCronJobs"),
    reads: &[
        Read::of::<AdvancedCronJob>(),
        Read::of::<Job>(),
        Read::of::<BroadcastJob>(),
        Read::of::<ImageListPullJob>(),
    ],
    writes: &[AdvancedCronJob::RESOURCE, Job::RESOURCE, BroadcastJob::RESOURCE, ImageListPullJob::RESOURCE],
    controller: |wiring| start(AdvancedCronJobs { local: TimeZone::system() }, wiring),
    entries: Entry::of_rules::<AdvancedCronJob>,
    pod_step: None,
    cares_for: None,
    permissions,
    blocks_uninstall: Some((AdvancedCronJob::RESOURCE, "advancedcronjobs")),
};

pub struct AdvancedCronJobs {
    /// For schedules that name no zone.
    local: TimeZone,
}

impl Planned for AdvancedCronJobs {
    type Object = AdvancedCronJob;
    const CONTROLLER: &'static str = component::ADVANCEDCRONJOB;

    fn head(object: &AdvancedCronJob) -> &Arc<Head> {
        &object.head
    }

    fn plan(&self, object: &AdvancedCronJob, from: Sources<'_>) -> Plan {
        plan(&View::assemble(object, self.local.clone(), from), from.turn.now)
    }

    /// ACJ-20, with Jobs (B4).
    fn wake_further(wiring: &Wiring<'_>) {
        wake_owner::<Self, Job>(wiring, |_, _, _| true);
        wake_owner::<Self, BroadcastJob>(wiring, |_, _, _| true);
        wake_owner::<Self, ImageListPullJob>(wiring, |_, _, _| true);
    }
}

fn permissions() -> Vec<Use> {
    const PART: &str = component::ADVANCEDCRONJOB;
    let children = || {
        let runs = [
            seen("create", "starts a run"),
            seen("delete", "deletes old runs, and the running one if it is to be replaced"),
        ];
        [CACHE.as_slice(), &runs].concat()
    };
    vec![
        manager(PART, APPS_GROUP, "advancedcronjobs", [CACHE.as_slice(), &[live()]].concat()),
        manager(
            PART,
            APPS_GROUP,
            "advancedcronjobs/status",
            vec![seen("patch", "reports runs and their times")],
        ),
        manager(PART, APPS_GROUP, "advancedcronjobs/finalizers", vec![blocks_owner()]),
        manager(PART, "batch", "jobs", children()),
        manager(PART, APPS_GROUP, "broadcastjobs", children()),
        manager(PART, APPS_GROUP, "imagelistpulljobs", children()),
    ]
}
