//! What a plan may depend on besides objects: the time, what became of the plan before, and how the manager is set up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use crate::chain::{Blame, Charge, Purpose};
use crate::gates::Gates;
use crate::inplace::Resize;
use crate::object::{Item, ObjectRef};

/// One look at one object.
#[derive(Debug, Clone)]
pub struct Turn {
    pub now: Timestamp,
    /// Messages of what failed in the last plan of this object.
    pub failures: BTreeMap<Charge, String>,
    /// What chains that are reported by item could not do when they were tried last.
    pub failed: BTreeMap<Item, Failed>,
    /// What was denied an allowance when it was asked for last; it comes after the others (B10).
    pub denied: BTreeSet<Item>,
    /// For names: another one each time.
    pub seed: u64,
    /// The objects that the planner wanted to be read live, as JSON; `None` for one that does not exist.
    pub live: BTreeMap<ObjectRef, Option<String>>,
    /// Those of them that could not be read, and why. Only of planners that go on without.
    pub unread: BTreeMap<ObjectRef, String>,
}

/// A chain that was tried in vain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    pub purpose: Purpose,
    pub message: String,
}

/// How the manager is set up, and what its API server can do.
#[derive(Debug, Clone)]
pub struct Setup {
    pub gates: Gates,
    pub resize: Resize,
    /// Of the installation, where revisions of cluster-scoped objects are.
    pub namespace: Arc<str>,
}

/// Messages of the chains that failed since the last plan that went through, by the condition that reports them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failures {
    pub scale: Option<String>,
    pub update: Option<String>,
}

impl Turn {
    /// Of an object that nothing is remembered of.
    pub fn first(now: Timestamp, seed: u64) -> Self {
        Self {
            now,
            failures: BTreeMap::new(),
            failed: BTreeMap::new(),
            denied: BTreeSet::new(),
            seed,
            live: BTreeMap::new(),
            unread: BTreeMap::new(),
        }
    }

    pub fn failures(&self) -> Failures {
        let first = |wanted: Blame| {
            self.failures.iter().find(|((blame, _), _)| *blame == wanted).map(|(_, message)| message.clone())
        };
        Failures { scale: first(Blame::Scale), update: first(Blame::Update) }
    }
}
