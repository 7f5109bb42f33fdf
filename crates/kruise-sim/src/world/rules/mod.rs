//! The safety rules, checked at every single write, against the true state of that moment.
//!
//! A manager acts on what it knows. Where somebody else disturbed the workload so recently that the manager cannot know
//! yet, or its user changed what is wanted, the rule is checked against what it could know.

mod acts;
mod facts;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::actors::Kinds;
use super::manager;
use super::scenario::Kind;
use super::weather::counts;
use crate::server::{Call, Change, GHOST, LATE_GHOST, Object, Observer, Verb, What, resources};
use facts::{PodFacts, SpecFacts, Stage};

/// In calm weather the manager knows everything that is older than this.
const KNOWS_AFTER: Duration = Duration::from_secs(2);
/// Writes that one pod may cost over its whole life, many times what a rollout needs.
const WRITES_PER_POD: u64 = 40;
/// Writes that the server refuses in one run, many times what others can be in the way.
const IN_VAIN: u64 = 10;

/// The book that the rules are checked against; clones are the same one.
#[derive(Clone)]
pub struct Ledger(Arc<Mutex<Book>>);

pub struct Book {
    pods: BTreeMap<String, PodFacts>,
    /// By uid of the workload: what it asked for, the newest last.
    specs: BTreeMap<String, Vec<SpecFacts>>,
    /// The last time that somebody else disturbed a pod.
    disturbed: Option<Instant>,
    /// Writes that took a pod out of service when the manager that sent them had been gone for longer than its lease lasts.
    late_ghosts: u64,
    lag: Duration,
    writes: BTreeMap<String, u64>,
    in_vain: u64,
    broken: Vec<String>,
    moved: Instant,
    kinds: Kinds,
    sets: [(Kind, &'static resources::Kind); 2],
}

impl Ledger {
    /// `lag` is how much later than usual the manager may learn of things in this run.
    pub fn new(lag: Duration) -> Option<Self> {
        let group = kruise_api::names::APPS_GROUP;
        let set = |kind: Kind| Some((kind, resources::find(group, "v1beta1", kind.plural())?));
        Some(Self(Arc::new(Mutex::new(Book {
            pods: BTreeMap::new(),
            specs: BTreeMap::new(),
            disturbed: None,
            late_ghosts: 0,
            lag: KNOWS_AFTER + lag,
            writes: BTreeMap::new(),
            in_vain: 0,
            broken: Vec::new(),
            moved: Instant::now(),
            kinds: Kinds::find()?,
            sets: [set(Kind::CloneSet)?, set(Kind::StatefulSet)?],
        }))))
    }

    /// Rules that were broken, in order.
    pub fn broken(&self) -> Vec<String> {
        self.lock().broken.clone()
    }

    /// Writes that no budget was charged for, because nothing could have kept them from landing.
    pub fn late_ghosts(&self) -> u64 {
        self.lock().late_ghosts
    }

    /// When anything but leases and events was last written.
    pub fn moved(&self) -> Instant {
        self.lock().moved
    }

    /// Something is wrong that only another one can see.
    pub fn report(&self, what: String) {
        self.lock().broken.push(what);
    }

    /// Somebody made pods misbehave.
    pub fn disturb(&self) {
        self.lock().disturbed = Some(Instant::now());
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Ledger {
    fn changed(&mut self, change: &Change<'_>) {
        self.lock().changed(change);
    }

    fn refused(&mut self, who: &'static str, call: &Call) {
        if is_ours(who) && counts(call) {
            self.lock().refused(call);
        }
    }
}

impl Book {
    fn changed(&mut self, change: &Change<'_>) {
        let (event, kind) = (change.event, change.event.kind);
        if matches!(change.call.kind.plural.as_str(), "leases" | "events") {
            self.check_event(change);
            return;
        }
        self.moved = event.at;
        if kind == self.kinds.pods.id {
            self.pod_changed(change);
        } else if kind == self.kinds.claims.id {
            self.claim_changed(change);
        }
        for (which, set) in self.sets {
            if set.id == kind {
                self.set_changed(which, change);
            }
        }
    }

    /// Who is refused because somebody else was faster looks at what there is now, rather than trying the same again and again.
    fn refused(&mut self, call: &Call) {
        self.in_vain += 1;
        if self.in_vain == IN_VAIN {
            self.broken.push(format!("{IN_VAIN} writes were refused, the last was: {}", call.story()));
        }
    }

    /// A planner that panics says so in an event.
    fn check_event(&mut self, change: &Change<'_>) {
        if change.event.object.str("/reason") == kruise_api::reasons::event::PLANNER_PANIC {
            self.broken.push(format!("a planner panicked: {}", change.event.object.str("/message")));
        }
    }

    fn set_changed(&mut self, kind: Kind, change: &Change<'_>) {
        let event = change.event;
        let uid = event.object.uid().to_owned();
        let facts = SpecFacts::read(kind, &event.object, event.at);
        let all = self.specs.entry(uid).or_default();
        if !all.last().is_some_and(|last| last.is_same(&facts)) {
            all.push(facts);
        }
    }

    fn pod_changed(&mut self, change: &Change<'_>) {
        let event = change.event;
        let uid = event.object.uid().to_owned();
        let new = PodFacts::read(&event.object);
        let old = self.pods.get(&uid).cloned();
        if is_ours(change.who) {
            let writes = self.writes.entry(uid.clone()).or_default();
            *writes += 1;
            if *writes == WRITES_PER_POD {
                self.broken.push(format!("pod {} was written more than {WRITES_PER_POD} times", new.name));
            }
            self.check_act(change, old.as_ref(), &new);
        } else if let Some(before) = &old {
            // Ends of pods that are going anyway and steps of updates that we began disturb nobody.
            let went = before.is_active() && (event.what == What::Deleted || !new.is_active());
            if went || (before.is_available() && !new.is_available()) {
                self.disturbed = Some(event.at);
            }
        }
        if event.what == What::Deleted {
            self.pods.remove(&uid);
        } else {
            self.pods.insert(uid, new);
        }
    }

    fn check_act(&mut self, change: &Change<'_>, old: Option<&PodFacts>, new: &PodFacts) {
        match (change.event.what, change.call.verb, old) {
            // A creation that arrives after its manager stopped waiting is one too many, and is taken back.
            (What::Added, _, _) if matches!(change.who, GHOST | LATE_GHOST) => {}
            (What::Added, _, _) => self.check_creation(new),
            (_, Verb::Delete, Some(old)) if old.stage != Stage::Leaves => {
                self.check_deletion(old);
                self.charge(change, old, "deleting");
            }
            (What::Modified, _, Some(old)) => {
                if old.runs != new.runs {
                    self.check_drained(old);
                    self.check_update(change.event.object.uid(), old, new);
                }
                if old.is_available() && (!new.is_available() || old.runs != new.runs) {
                    self.charge(change, old, "changing");
                }
            }
            (What::Modified | What::Deleted, _, _) => {}
        }
    }

    /// A write carries no token of the leader that sent it, so one that is older than the lease can still land beside the writes
    /// of a successor. No precondition on its own pod could refuse it; to the successor it is somebody else's doing.
    fn charge(&mut self, change: &Change<'_>, old: &PodFacts, what: &str) {
        if change.who == LATE_GHOST {
            if old.is_available() {
                self.late_ghosts += 1;
                self.disturbed = Some(change.event.at);
            }
            return;
        }
        self.check_budget(change.event.object.uid(), old, what);
    }

    fn claim_changed(&mut self, change: &Change<'_>) {
        if is_ours(change.who) && change.call.verb == Verb::Delete {
            self.check_claim(change);
        }
    }

    /// What the workload asks for or asked for so recently that the manager may not know better.
    fn asked(&self, owner: &str) -> Vec<SpecFacts> {
        let Some(all) = self.specs.get(owner) else { return Vec::new() };
        let now = Instant::now();
        let mut recent = Vec::new();
        for (position, spec) in all.iter().enumerate() {
            let replaced = all.get(position + 1).map(|next| next.since);
            if replaced.is_none_or(|at| now.saturating_duration_since(at) <= self.lag) {
                recent.push(spec.clone());
            }
        }
        recent
    }

    /// Somebody else did something that the manager may not know yet.
    fn is_disturbed(&self) -> bool {
        self.disturbed.is_some_and(|at| Instant::now().saturating_duration_since(at) <= self.lag)
    }

    fn active<'a>(&'a self, owner: &'a str) -> impl Iterator<Item = (&'a String, &'a PodFacts)> {
        self.pods.iter().filter(move |(_, pod)| pod.owner == owner && pod.is_active())
    }
}

/// A manager, or what is left of one.
fn is_ours(who: &str) -> bool {
    matches!(who, manager::WHO | GHOST | LATE_GHOST)
}

/// Whether a pod serves.
pub fn is_available(pod: &Object) -> bool {
    PodFacts::read(pod).is_available()
}

/// Whether a pod has failed or finished.
pub fn is_over(pod: &Object) -> bool {
    PodFacts::read(pod).stage == Stage::Ended
}

/// Whether a pod runs what its workload's template says.
pub fn is_updated(pod: &Object, set: &Object) -> bool {
    PodFacts::read(pod).version == SpecFacts::read(Kind::CloneSet, set, Instant::now()).version
}

/// Whether a workload of this kind has a pod of that name.
pub fn is_wanted(pod: &Object, kind: Kind, set: &Object) -> bool {
    let spec = SpecFacts::read(kind, set, Instant::now());
    match kind {
        Kind::CloneSet => true,
        Kind::StatefulSet => PodFacts::read(pod).ordinal().is_some_and(|ordinal| spec.wants(ordinal)),
    }
}

/// Text of a member, for messages.
fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
