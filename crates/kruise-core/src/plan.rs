//! What a planner returns: everything that should happen, and for each object left alone why.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::chain::{Chain, Event, Purpose, Write};
use crate::object::Item;
use crate::reason::Reason;

/// Creations of one plan; the rest follows in the next ones, which the created objects wake. A user may ask for any number of
/// replicas, and the bodies of a plan are all in memory at once. More than half a second's worth of writes, so that planning again
/// costs next to nothing beside them.
pub const CREATIONS_MAX: usize = 500;

/// What their bodies may take: a template may have more than a mebibyte.
const CREATION_BYTES_MAX: usize = 16 << 20;

/// Room for creations in one plan; always for one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Room {
    count: usize,
    bytes: usize,
}

impl Room {
    pub fn is_full(self) -> bool {
        CREATIONS_MAX <= self.count || CREATION_BYTES_MAX <= self.bytes
    }

    pub fn take(&mut self, chain: &Chain) {
        self.count += 1;
        self.bytes += chain.writes.iter().map(Write::created_bytes).sum::<usize>();
    }
}

/// The next writes for one object. Plain data; the runtime carries it out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// Independent of each other.
    pub chains: Vec<Chain>,
    /// Status of the planned object, if it changed; written after the chains have been tried.
    pub status: Option<Write>,
    /// Told at once, whatever becomes of the chains.
    pub events: Vec<Event>,
    /// Everything that no chain is about: pods, nodes, namespaces, subsets.
    pub reasons: BTreeMap<Item, Reason>,
    /// The instant at which time alone changes the plan.
    pub revisit_at: Option<Timestamp>,
    acted: BTreeSet<Item>,
}

impl Plan {
    /// Adds a chain; what it is about needs no reason any more.
    pub fn act(&mut self, chain: Chain) {
        if chain.writes.is_empty() {
            return;
        }
        if let Some(item) = &chain.item {
            self.reasons.remove(item);
            self.acted.insert(item.clone());
        }
        self.chains.push(chain);
    }

    /// Adds a chain, if there is one.
    pub fn act_if(&mut self, chain: Option<Chain>) {
        if let Some(chain) = chain {
            self.act(chain);
        }
    }

    /// Records why something is left alone; the first reason given is the one that counts.
    pub fn hold(&mut self, item: impl Into<Item>, reason: Reason) {
        let item = item.into();
        if !self.acted.contains(&item) {
            self.reasons.entry(item).or_insert(reason);
        }
    }

    /// Whether a chain is about this.
    pub fn acts_on(&self, item: impl Into<Item>) -> bool {
        !self.acted.is_empty() && self.acted.contains(&item.into())
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

    /// The reason of the object or subset of that name.
    pub fn reason_of(&self, name: &str) -> Option<&Reason> {
        self.reasons.iter().find(|(item, _)| item.name() == name).map(|(_, reason)| reason)
    }
}
