//! What a stored selection was made of, noted beside it, and how it may change. All writers write it with the version that they
//! read, so each of these changes is made to exactly the record that it was computed from.
//!
//! Why no pod is missed: a replica lets an object in only after it has read a record whose `needed` or whose `pending`, stamped
//! anew, has the object's pods ([`Recorded::widened`]). The leader never drops what is needed: it first makes it pending
//! ([`Recorded::led`]), and drops what is pending only when its stamp has stayed the same for longer than any request of the API
//! server lasts, and no object that its caches have listed since needs it. Until then the object was stored, or never will be.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Concern, Namespaces, Place, Selection, Sight, Width, select};
use crate::order::Selector;

/// The record of one webhook configuration, by the name of the entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Record(pub BTreeMap<String, Recorded>);

/// What one entry selects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// The version of the configuration that was changed last: a probe asks for it.
    pub stamp: String,
    /// What the leader's objects need.
    pub needed: BTreeSet<Concern>,
    /// What objects need that the leader has not seen yet, or that are gone.
    pub pending: BTreeSet<Pending>,
}

/// Selected for an object that may be about to be stored.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Pending {
    pub concern: Concern,
    /// The version of the configuration when it was last asked for.
    pub stamp: String,
}

impl Record {
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Recorded {
    /// What the entry selects by this record.
    pub fn selection(&self, sight: Sight, place: &Place) -> Selection {
        select(&self.all(), sight, place).stamped(sight, place.conditions, &self.stamp)
    }

    /// Whether both select the same; when it was last changed does not matter.
    pub fn is_same(&self, other: &Self) -> bool {
        self.needed == other.needed && self.pending == other.pending
    }

    pub fn all(&self) -> BTreeSet<Concern> {
        self.needed.iter().chain(self.pending.iter().map(|one| &one.concern)).cloned().collect()
    }

    /// Whether the leader knows that these pods are needed: then they stay selected for long enough.
    pub fn is_needed(&self, concern: &Concern) -> bool {
        is_covered(&self.needed, concern)
    }

    /// With all of these selected for longer than an object takes to be stored. Never selects less.
    #[must_use]
    pub fn widened(&self, by: &BTreeSet<Concern>, stamp: &str) -> Self {
        let mut wider = Self { stamp: stamp.to_owned(), ..self.clone() };
        for concern in by.iter().filter(|concern| !self.is_needed(concern)) {
            wider.set_pending(concern, stamp);
        }
        wider
    }

    /// As the leader writes it: what it needs now; what it needed before stays for a while; what has expired goes.
    #[must_use]
    pub fn led(&self, needed: &BTreeSet<Concern>, expired: &BTreeSet<Pending>, stamp: &str) -> Self {
        let pending = &self.pending - expired;
        let mut next = Self { stamp: stamp.to_owned(), needed: needed.clone(), pending };
        for concern in &self.needed {
            if !is_covered(needed, concern) {
                next.set_pending(concern, stamp);
            }
        }
        next
    }

    /// Noted no finer than it can be selected, so that the record stays as short as the condition.
    #[must_use]
    pub fn bounded(self, sight: Sight, place: &Place) -> (Self, Width) {
        let width = select(&self.all(), sight, place).width;
        let coarse = |concern: &Concern| match width {
            Width::Exact => concern.clone(),
            Width::Namespaces => by_namespace(concern),
            Width::Everything => Concern::Everybody,
        };
        let needed: BTreeSet<Concern> = self.needed.iter().map(coarse).collect();
        let mut pending: BTreeMap<Concern, String> = BTreeMap::new();
        for one in &self.pending {
            let since = pending.entry(coarse(&one.concern)).or_insert_with(|| one.stamp.clone());
            if *since != one.stamp {
                // Several that became the same: which is the youngest nobody can tell from stamps, so they all begin anew.
                self.stamp.clone_into(since);
            }
        }
        pending.retain(|concern, _| !is_covered(&needed, concern));
        let pending = pending.into_iter().map(|(concern, stamp)| Pending { concern, stamp }).collect();
        (Self { stamp: self.stamp, needed, pending }, width)
    }

    fn set_pending(&mut self, concern: &Concern, stamp: &str) {
        self.pending.retain(|one| one.concern != *concern);
        self.pending.insert(Pending { concern: concern.clone(), stamp: stamp.to_owned() });
    }
}

/// Whether one of them has all pods of the other. It may say no where several together have.
fn is_covered(all: &BTreeSet<Concern>, other: &Concern) -> bool {
    all.contains(other) || all.iter().any(|one| one.has_all_of(other))
}

fn by_namespace(concern: &Concern) -> Concern {
    match concern.namespaces() {
        Some(names) => {
            Concern::Labelled { namespaces: Namespaces::Named(names), selector: Selector::default() }
        }
        None => concern.clone(),
    }
}

impl Concern {
    fn has_all_of(&self, other: &Self) -> bool {
        match self {
            Self::Everybody => true,
            Self::Labelled { namespaces: Namespaces::All, selector } => selector.is_empty(),
            Self::Labelled { namespaces: Namespaces::Named(here), selector } => {
                selector.is_empty() && other.namespaces().is_some_and(|names| names.is_subset(here))
            }
            Self::Launching | Self::OwnedBy { .. } | Self::Annotated { .. } => false,
        }
    }

    /// Where its pods are; absent for everywhere.
    fn namespaces(&self) -> Option<BTreeSet<String>> {
        match self {
            Self::OwnedBy { namespace, .. } => Some(BTreeSet::from([namespace.clone()])),
            Self::Annotated { namespaces: Namespaces::Named(names), .. }
            | Self::Labelled { namespaces: Namespaces::Named(names), .. } => Some(names.clone()),
            Self::Everybody
            | Self::Launching
            | Self::Annotated { namespaces: Namespaces::All, .. }
            | Self::Labelled { namespaces: Namespaces::All, .. } => None,
        }
    }
}
