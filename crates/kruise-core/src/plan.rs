//! What a planner returns: everything that should happen, and for each pod left alone why.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::chain::{Chain, Event, Purpose, Write};
use crate::ids::{PodName, Uid};
use crate::reason::Reason;

/// The next writes for one workload. Plain data; the runtime carries it out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// Independent of each other.
    pub chains: Vec<Chain>,
    /// Status of the workload, if it changed; written after the chains have been tried.
    pub status: Option<Write>,
    /// Told at once, whatever becomes of the chains.
    pub events: Vec<Event>,
    /// Every pod that no chain is about.
    pub reasons: BTreeMap<PodName, Reason>,
    /// The instant at which time alone changes the plan.
    pub revisit_at: Option<Timestamp>,
    /// Whose uid a live read must confirm before anything is adopted (AS-3, AS-4).
    pub adopter: Option<Uid>,
    /// What the failure of one creation says about the others.
    pub creations: Creations,
    acted: BTreeSet<PodName>,
}

/// How pods to be created are related.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Creations {
    /// All of one sort: where one cannot be created, the others cannot either (CS-42).
    #[default]
    Alike,
    /// Each has a name and claims of its own: one that cannot be created says nothing about the next (B18).
    EachItsOwn,
}

impl Plan {
    /// Adds a chain; the pod it is about needs no reason any more.
    pub fn act(&mut self, chain: Chain) {
        if chain.writes.is_empty() {
            return;
        }
        if let Some(pod) = &chain.pod {
            self.reasons.remove(pod);
            self.acted.insert(pod.clone());
        }
        self.chains.push(chain);
    }

    /// Adds a chain, if there is one.
    pub fn act_if(&mut self, chain: Option<Chain>) {
        if let Some(chain) = chain {
            self.act(chain);
        }
    }

    /// Records why a pod is left alone; the first reason given is the one that counts.
    pub fn hold(&mut self, pod: &PodName, reason: Reason) {
        if !self.acted.contains(pod) {
            self.reasons.entry(pod.clone()).or_insert(reason);
        }
    }

    /// Whether a chain is about this pod.
    pub fn acts_on(&self, pod: &PodName) -> bool {
        self.acted.contains(pod)
    }

    /// Whether pods are created, deleted or marked for it: then updates wait (CS-3).
    pub fn scales(&self) -> bool {
        self.chains.iter().any(|chain| matches!(chain.purpose, Purpose::Create | Purpose::Delete))
    }

    pub fn revisit(&mut self, at: Timestamp) {
        self.revisit_at = Some(self.revisit_at.map_or(at, |there| there.min(at)));
    }

    /// All writes, chain by chain, the status last.
    pub fn writes(&self) -> impl Iterator<Item = &Write> {
        self.chains.iter().flat_map(|chain| &chain.writes).chain(&self.status)
    }
}
