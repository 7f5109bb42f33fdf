//! Which pods the API server asks about: written by whoever is asked about an object that selects more of them, narrowed by the
//! manager that leads. What is written is decided by [`kruise_core::admission::selection`].

mod leading;
mod seen;
#[cfg(test)]
mod tests;
mod widening;
mod writer;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kruise_core::admission::pod::{Entry, PodSteps};
use kruise_core::admission::selection::{CONDITION, Concern, OWN_SELECTOR_KEYS};
use kruise_core::gates::Gates;
use kruise_runtime::certs::{Owned, Selection, Selections};
use tokio::sync::Notify;

use crate::stores::Stores;

pub use leading::keep_selected;
pub use widening::Widener;
pub use writer::Writer;

/// The pods that each entry has to be asked about.
pub type Wanted = BTreeMap<Entry, BTreeSet<Concern>>;

/// What the leader's selection depends on.
pub struct Selecting {
    pub stores: Arc<Stores>,
    pub gates: Gates,
    pub writer: Writer,
}

/// Whoever keeps the rest of a configuration leaves all selections as they are.
pub fn undecided() -> Selections {
    selections(|_| None)
}

/// Wakes the selection when an object changes that decides about it.
pub fn wake(steps: &PodSteps, stores: &Stores, changed: &Arc<Notify>) {
    for resource in steps.reads() {
        let changed = Arc::clone(changed);
        stores.caches.on_change(resource, Arc::new(move || changed.notify_one()));
    }
}

fn selections(mut of: impl FnMut(Entry) -> Option<Selection>) -> Selections {
    let owned = Owned { keys: &OWN_SELECTOR_KEYS, conditions: &[CONDITION] };
    Selections { entries: Entry::ALL.map(|entry| (entry.name(), of(entry))).into(), owned }
}

impl Selecting {
    /// What the objects of the caches need.
    fn needed(&self) -> Wanted {
        let steps = &self.writer.steps;
        let of = |entry: Entry| (entry, steps.concerns(entry, self.stores.lookup(), &self.gates));
        Entry::ALL.map(of).into()
    }
}
