//! The safety rules of workloads: budgets, surge, partition, nothing deleted without a request.

use std::collections::BTreeMap;

use kruise_api::resource::{CLAIMS, PODS};
use tokio::time::Instant;

use super::Workload;
use super::facts::{History, PodFacts, SpecFacts, Stage};
use crate::server::{Change, GHOST, KindId, LATE_GHOST, Store, Verb, What, resources};
use crate::world::rules::{Notes, SafetyRules, is_manager};

pub struct Rules {
    pub(super) pods: BTreeMap<String, PodFacts>,
    /// By uid of the workload.
    pub(super) specs: History,
    workloads: Vec<(KindId, &'static Workload)>,
}

impl Rules {
    pub fn new(workloads: &[&'static Workload]) -> Self {
        let id = |workload: &&'static Workload| Some((resources::of(workload.resource)?.id, *workload));
        Self {
            pods: BTreeMap::new(),
            specs: History::default(),
            workloads: workloads.iter().filter_map(id).collect(),
        }
    }

    fn pod_changed(&mut self, change: &Change<'_>, notes: &mut Notes) {
        let event = change.event;
        let uid = event.object.uid().to_owned();
        let new = PodFacts::read(&event.object);
        let old = self.pods.get(&uid).cloned();
        if is_manager(change.who) {
            self.check_act(change, notes, old.as_ref(), &new);
        } else if let Some(before) = &old {
            // Ends of pods that are going anyway and steps of updates that a manager began disturb nobody.
            let went = before.is_active() && (event.what == What::Deleted || !new.is_active());
            if went || (before.is_available() && !new.is_available()) {
                notes.disturbed = Some(event.at);
            }
        }
        if event.what == What::Deleted {
            self.pods.remove(&uid);
        } else {
            self.pods.insert(uid, new);
        }
    }

    fn check_act(&self, change: &Change<'_>, notes: &mut Notes, old: Option<&PodFacts>, new: &PodFacts) {
        match (change.event.what, change.call.verb, old) {
            // A creation that arrives after its manager stopped waiting is one too many, and is taken back.
            (What::Added, _, _) if matches!(change.who, GHOST | LATE_GHOST) => {}
            (What::Added, _, _) => self.check_creation(notes, new),
            (_, Verb::Delete, Some(old)) if old.stage != Stage::Leaves => {
                self.check_deletion(notes, old);
                self.charge(change, notes, old, "deleting");
            }
            (What::Modified, _, Some(old)) => {
                if old.runs != new.runs {
                    Self::check_drained(notes, old);
                    self.check_update(notes, change.event.object.uid(), old, new);
                }
                if old.is_available() && (!new.is_available() || old.runs != new.runs) {
                    self.charge(change, notes, old, "changing");
                }
            }
            (What::Modified | What::Deleted, _, _) => {}
        }
    }

    /// A write carries no token of the leader that sent it, so one that is older than the lease can still land beside the writes
    /// of a successor. No precondition on its own pod could refuse it; to the successor it is an external change.
    fn charge(&self, change: &Change<'_>, notes: &mut Notes, old: &PodFacts, what: &str) {
        if change.who == LATE_GHOST {
            if old.is_available() {
                notes.late_ghosts += 1;
                notes.disturbed = Some(change.event.at);
            }
            return;
        }
        self.check_budget(notes, change.event.object.uid(), old, what);
    }

    pub(super) fn active<'a>(&'a self, owner: &'a str) -> impl Iterator<Item = (&'a String, &'a PodFacts)> {
        self.pods.iter().filter(move |(_, pod)| pod.owner == owner && pod.is_active())
    }
}

impl SafetyRules for Rules {
    fn restored(&mut self, store: &Store) {
        let pods = resources::of(PODS).into_iter().flat_map(|pods| store.list(pods.id, ""));
        self.pods = pods.map(|(_, pod)| (pod.uid().to_owned(), PodFacts::read(pod))).collect();
        for (id, workload) in &self.workloads {
            for (_, object) in store.list(*id, "") {
                self.specs.take(object.uid(), SpecFacts::read(workload, object, Instant::now()));
            }
        }
    }

    fn changed(&mut self, change: &Change<'_>, notes: &mut Notes) {
        let event = change.event;
        if change.is_of(PODS) {
            self.pod_changed(change, notes);
        } else if change.is_of(CLAIMS) {
            if is_manager(change.who) && change.call.verb == Verb::Delete {
                self.check_claim(notes, change);
            }
        } else if let Some((_, workload)) = self.workloads.iter().find(|(id, _)| *id == event.kind) {
            self.specs.take(event.object.uid(), SpecFacts::read(workload, &event.object, event.at));
        }
    }
}
