//! The safety rules, checked at every single write, against the true state of that moment.
//!
//! A manager acts on what it knows. Where somebody else disturbed the workload so recently that the manager cannot know
//! yet, or its user changed what is wanted, the rule is checked against what it could know.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kruise_api::resource::PODS;
use tokio::time::Instant;

use super::manager;
use super::weather::counts;
use crate::kinds;
use crate::server::{Call, Change, GHOST, LATE_GHOST, Observer, Store};

/// In calm weather the manager knows everything that is older than this.
const KNOWS_AFTER: Duration = Duration::from_secs(2);
/// Writes that one pod may cost over its whole life, many times what a rollout needs.
const WRITES_PER_POD: u64 = 40;
/// Writes that the server refuses in one run, many times what others can be in the way.
const IN_VAIN: u64 = 10;

/// The rules of one kind.
pub trait SafetyRules: Send {
    /// One write took effect. What is broken goes into the notes.
    fn changed(&mut self, change: &Change<'_>, notes: &mut Notes);

    /// The server went back to an earlier state: what was noted since is void.
    fn restored(&mut self, store: &Store);
}

/// The book that the rules are checked against; clones are the same one.
#[derive(Clone)]
pub struct Ledger(Arc<Mutex<Book>>);

struct Book {
    notes: Notes,
    rules: Vec<Box<dyn SafetyRules>>,
    /// Of managers, by uid of the pod.
    writes: BTreeMap<String, u64>,
    in_vain: u64,
    moved: Instant,
}

/// What the rules of all kinds share.
pub struct Notes {
    /// How long ago something may be that the manager does not know yet.
    pub lag: Duration,
    /// The last time that somebody else disturbed a pod.
    pub disturbed: Option<Instant>,
    /// Writes that took a pod out of service when the manager that sent them had been gone for longer than its lease lasts.
    pub late_ghosts: u64,
    /// Rules that were broken, in order.
    pub broken: Vec<String>,
}

impl Notes {
    /// Somebody else did something that the manager may not know yet.
    pub fn is_disturbed(&self) -> bool {
        self.disturbed.is_some_and(|at| Instant::now().saturating_duration_since(at) <= self.lag)
    }
}

impl Ledger {
    /// `lag` is how much later than usual the manager may learn of things in this run.
    pub fn new(lag: Duration) -> Self {
        let lag = KNOWS_AFTER + lag;
        Self(Arc::new(Mutex::new(Book {
            notes: Notes { lag, disturbed: None, late_ghosts: 0, broken: Vec::new() },
            rules: kinds::rules(),
            writes: BTreeMap::new(),
            in_vain: 0,
            moved: Instant::now(),
        })))
    }

    /// Rules that were broken, in order.
    pub fn broken(&self) -> Vec<String> {
        self.lock().notes.broken.clone()
    }

    /// Writes that no budget was charged for, because nothing could have kept them from landing.
    pub fn late_ghosts(&self) -> u64 {
        self.lock().notes.late_ghosts
    }

    /// When anything but leases and events was last written.
    pub fn moved(&self) -> Instant {
        self.lock().moved
    }

    /// Something is wrong that only another one can see.
    pub fn report(&self, what: String) {
        self.lock().notes.broken.push(what);
    }

    /// Somebody made pods misbehave.
    pub fn disturb(&self) {
        self.lock().notes.disturbed = Some(Instant::now());
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Ledger {
    fn changed(&mut self, change: &Change<'_>) {
        self.lock().changed(change);
    }

    fn restored(&mut self, store: &Store) {
        let mut book = self.lock();
        book.notes.disturbed = Some(Instant::now());
        book.moved = Instant::now();
        book.rules.iter_mut().for_each(|rules| rules.restored(store));
    }

    fn refused(&mut self, who: &'static str, call: &Call) {
        if is_manager(who) && counts(call) {
            self.lock().refused(call);
        }
    }
}

impl Book {
    fn changed(&mut self, change: &Change<'_>) {
        if matches!(change.call.kind.resource.plural(), "leases" | "events") {
            self.check_event(change);
            return;
        }
        self.moved = change.event.at;
        if change.is_of(PODS) && is_manager(change.who) {
            self.count_write(change);
        }
        for rules in &mut self.rules {
            rules.changed(change, &mut self.notes);
        }
    }

    fn count_write(&mut self, change: &Change<'_>) {
        let object = &change.event.object;
        let writes = self.writes.entry(object.uid().to_owned()).or_default();
        *writes += 1;
        if *writes == WRITES_PER_POD {
            let name = object.str("/metadata/name");
            self.notes.broken.push(format!("pod {name} was written more than {WRITES_PER_POD} times"));
        }
    }

    /// Who is refused because somebody else was faster looks at what there is now, rather than trying the same again and again.
    fn refused(&mut self, call: &Call) {
        self.in_vain += 1;
        if self.in_vain == IN_VAIN {
            self.notes.broken.push(format!("{IN_VAIN} writes were refused, the last was: {}", call.story()));
        }
    }

    /// A planner that panics says so in an event.
    fn check_event(&mut self, change: &Change<'_>) {
        if change.event.object.str("/reason") == kruise_api::reasons::event::PLANNER_PANIC {
            let message = change.event.object.str("/message");
            self.notes.broken.push(format!("a planner panicked: {message}"));
        }
    }
}

/// A manager, or what is left of one.
pub fn is_manager(who: &str) -> bool {
    matches!(who, manager::WHO | GHOST | LATE_GHOST)
}

#[cfg(test)]
mod tests;
