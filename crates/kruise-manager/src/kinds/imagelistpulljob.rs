//! Registers ImageListPullJob: what it reads and writes, what wakes it, which planner it gets.

use std::sync::Arc;

use kruise_api::names::{APPS_GROUP, component};
use kruise_core::admission::Operation;
use kruise_core::gates::Gate;
use kruise_core::imagelistpulljob::{ImageListPullJob, View, admission, plan};
use kruise_core::imagepulljob::ImagePullJob;
use kruise_core::plan::Plan;
use kruise_core::workload::base::{Head, Sources};
use kruise_runtime::cache::Slim;

use super::workload::{Planned, start};
use super::{Read, Registration, Workers};
use crate::permissions::{Use, When, blocks_owner, live, manager, seen};
use crate::webhooks::entry::{Entry, Sort};

/// LJ-7: as the original, which has no flag for it.
const WORKERS: usize = 3;

/// Woken by its jobs, as every kind is by jobs that it owns.
pub const REGISTRATION: Registration = Registration {
    name: "imagelistpulljob",
    gate: Some(Gate::ImagePullJob),
    workers: Workers::Fixed(WORKERS),
    reads: &[Read::of::<ImageListPullJob>(), Read::of::<ImagePullJob>()],
    writes: &[ImageListPullJob::RESOURCE, ImagePullJob::RESOURCE],
    controller: |wiring| start(ImageListPullJobs, wiring),
    entries,
    pod_step: None,
    cares_for: None,
    permissions,
    blocks_uninstall: None,
};

pub struct ImageListPullJobs;

impl Planned for ImageListPullJobs {
    type Object = ImageListPullJob;
    const CONTROLLER: &'static str = component::IMAGELISTPULLJOB;

    fn head(object: &ImageListPullJob) -> &Arc<Head> {
        &object.head
    }

    fn plan(&self, object: &ImageListPullJob, from: Sources<'_>) -> Plan {
        plan(&View::assemble(object, from), from.turn.now)
    }
}

fn entries() -> Vec<Entry> {
    let written = [Operation::Create, Operation::Update];
    vec![
        Entry::of_kind(ImageListPullJob::RESOURCE, Sort::Mutating, &written, Arc::new(admission::mutate)),
        Entry::of_kind(ImageListPullJob::RESOURCE, Sort::Validating, &written, Arc::new(admission::validate)),
    ]
}

/// Watching and deleting lists is in the table of AdvancedCronJob, what is done with jobs in that of CloneSet.
fn permissions() -> Vec<Use> {
    const PART: &str = component::IMAGELISTPULLJOB;
    let granted = |resource, verbs| Use {
        when: When::Gate(Gate::ImagePullJob),
        ..manager(PART, APPS_GROUP, resource, verbs)
    };
    vec![
        granted(
            "imagelistpulljobs",
            vec![live(), seen("patch", "labels a list with the hash of its template")],
        ),
        granted("imagelistpulljobs/status", vec![seen("patch", "reports how many images are pulled")]),
        granted("imagelistpulljobs/finalizers", vec![blocks_owner()]),
    ]
}
