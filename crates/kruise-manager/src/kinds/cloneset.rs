//! Registers CloneSet: what it reads and writes, what wakes it, which planner it gets.

use std::sync::Arc;

use kruise_api::Kind;
use kruise_api::names::{APPS_GROUP, POLICY_GROUP, component};
use kruise_api::policy::podunavailablebudget::PodUnavailableBudget;
use kruise_api::resource::{CLAIMS, PODS, REVISIONS};
use kruise_core::cloneset::{CloneSet, PreparingDelete, View, matters, plan};
use kruise_core::cluster::claim::Claim;
use kruise_core::cluster::node::Node;
use kruise_core::gates::Gate;
use kruise_core::lookup::Index;
use kruise_core::plan::Plan;
use kruise_core::pod::PodView;
use kruise_core::predownload::PullJob;
use kruise_core::revision::Known;
use kruise_core::workload::base::{Head, Sources};
use kruise_runtime::cache::Slim;

use super::workload::{Planned, start};
use super::{Read, Registration, Wiring, Workers};
use crate::permissions::{CACHE, Proof, Use, Verb, When, live, manager, seen};
use crate::webhooks::entry::Entry;

pub const REGISTRATION: Registration = Registration {
    name: "cloneset",
    gate: None,
    workers: Workers::Flag("CloneSets"),
    reads: &[
        Read::of::<CloneSet>(),
        Read::of::<PodView>(),
        Read::of::<Claim>(),
        Read::of::<Known>(),
        Read::of::<Node>(),
        Read::of::<PullJob>().when(Gate::ImagePullJob),
    ],
    writes: &[CloneSet::RESOURCE, PODS, CLAIMS, REVISIONS, PullJob::RESOURCE, PodUnavailableBudget::RESOURCE],
    controller: |wiring| start(CloneSets::new(wiring), wiring),
    entries: Entry::of_workload::<CloneSet>,
    pod_step: None,
    cares_for: Some(|lookup, uid| !lookup.by::<CloneSet>(Index::Uid, uid).is_empty()),
    permissions,
    blocks_uninstall: Some((CloneSet::RESOURCE, "clonesets")),
};

const PART: &str = component::CLONESET;

pub struct CloneSets {
    /// The manager's flag for CS-35.
    pub excluded: PreparingDelete,
    pub events: PodEvents,
}

/// Which changes of pods wake their CloneSet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodEvents {
    All,
    /// Those that some rule reads (CS-84).
    ThatMatter,
}

impl CloneSets {
    fn new(wiring: &Wiring<'_>) -> Self {
        let is_optimized = wiring.setup.gates.on(Gate::CloneSetEventHandlerOptimization);
        let events = if is_optimized { PodEvents::ThatMatter } else { PodEvents::All };
        Self { excluded: wiring.flags.kinds.preparing_delete(), events }
    }
}

impl Planned for CloneSets {
    type Object = CloneSet;
    const CONTROLLER: &'static str = component::CLONESET;

    fn head(object: &CloneSet) -> &Arc<Head> {
        &object.head
    }

    fn is_woken_by(&self, object: &CloneSet, old: &PodView, new: &PodView) -> bool {
        let hooks = object.spec.as_ref().ok().and_then(|spec| spec.hooks.as_ref());
        match self.events {
            PodEvents::All => true,
            PodEvents::ThatMatter => matters(old, new, hooks),
        }
    }

    fn plan(&self, object: &CloneSet, from: Sources<'_>) -> Plan {
        plan(&View::assemble(object, self.excluded, from), from.turn.now)
    }
}

/// Also what it shares with StatefulSet: pods, PVCs, revisions, image pull jobs and budgets.
fn permissions() -> Vec<Use> {
    [objects(), pods(), claims_and_revisions(), image_pulls(), budgets()].concat()
}

fn objects() -> Vec<Use> {
    vec![
        manager(
            PART,
            APPS_GROUP,
            "clonesets",
            [CACHE.as_slice(), &[live(), seen("patch", "removes deleted pods from podsToDelete")]].concat(),
        ),
        manager(
            PART,
            APPS_GROUP,
            "clonesets/status",
            vec![seen("patch", "reports replicas, revisions and conditions")],
        ),
        manager(
            PART,
            APPS_GROUP,
            "clonesets/finalizers",
            vec![Verb {
                name: "update",
                why: "lets pods, PVCs and revisions block the deletion of their owner, where the cluster enforces that",
                proof: Proof::Asked,
            }],
        ),
    ]
}

fn pods() -> Vec<Use> {
    let pods = [
        CACHE.as_slice(),
        &[
            live(),
            seen("create", "creates replicas"),
            seen("patch", "updates in place, labels, adopts and releases pods"),
            seen("delete", "scales in and recreates"),
        ],
    ];
    vec![
        manager(PART, "", "pods", pods.concat()),
        manager(PART, "", "pods/status", vec![seen("patch", "opens and closes readiness gates")]),
        manager(
            PART,
            "",
            "pods/finalizers",
            vec![Verb {
                name: "update",
                why: "lets a PVC block the deletion of the pod that takes it over, where the cluster enforces that",
                proof: Proof::Asked,
            }],
        ),
        Use {
            when: When::Gate(Gate::InPlaceWorkloadVerticalScaling),
            ..manager(PART, "", "pods/resize", vec![seen("patch", "resizes containers in place")])
        },
        manager(PART, "", "nodes", [CACHE.as_slice(), &[]].concat()),
    ]
}

fn claims_and_revisions() -> Vec<Use> {
    let claims = [
        CACHE.as_slice(),
        &[
            live(),
            seen("create", "creates PVCs from volumeClaimTemplates"),
            seen("patch", "adopts PVCs whose pod is gone, releases those of orphans"),
            seen("delete", "deletes PVCs of replicas that are gone for good"),
        ],
    ];
    let revisions = [
        CACHE.as_slice(),
        &[
            live(),
            seen("create", "stores a template"),
            seen("patch", "renumbers a revision that is used again"),
            seen("delete", "keeps the history within its limit"),
        ],
    ];
    vec![
        manager(PART, "", "persistentvolumeclaims", claims.concat()),
        manager(PART, "apps", "controllerrevisions", revisions.concat()),
    ]
}

fn image_pulls() -> Vec<Use> {
    let verbs = [
        CACHE.as_slice(),
        &[
            live(),
            seen("create", "pre-downloads images for an update"),
            seen("delete", "ends a pre-download"),
        ],
    ];
    vec![Use {
        when: When::Gate(Gate::ImagePullJob),
        ..manager(PART, APPS_GROUP, "imagepulljobs", verbs.concat())
    }]
}

fn budgets() -> Vec<Use> {
    let asked = When::Gate(Gate::PodUnavailableBudgetUpdate);
    let budgets = manager(
        PART,
        POLICY_GROUP,
        "podunavailablebudgets",
        vec![seen("get", "checks whether a pod may be disrupted")],
    );
    let status = manager(
        PART,
        POLICY_GROUP,
        "podunavailablebudgets/status",
        vec![seen("patch", "claims one disruption before a pod is disrupted")],
    );
    vec![Use { when: asked, ..budgets }, Use { when: asked, ..status }]
}
