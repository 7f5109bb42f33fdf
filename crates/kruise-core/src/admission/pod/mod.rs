//! What is done to pods, and whether they may be changed, deleted or evicted: steps that kinds register, in the order of PW-1 and
//! SS-18. A step that has nothing to do leaves the pod as it is. Steps never wait and never write.

mod readiness;
mod steps;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use kruise_api::Resource;
use serde_json::Value;

use super::selection::Concern;
use super::{Denial, Known, Operation, Request, Subresource};
use crate::gates::Gates;
use crate::lookup::Lookup;

pub use readiness::step as readiness_gate;
pub use steps::{Entry, PodSteps};

/// One thing that is done about pods.
#[derive(Clone, Copy)]
pub struct PodStep {
    /// For logs and tests.
    pub name: &'static str,
    pub order: Order,
    /// The requests that it is asked about.
    pub when: &'static [When],
    pub side_effects: SideEffects,
    /// The pods that it acts on. It may be asked about more of them.
    pub concerns: fn(Lookup<'_>, &Gates) -> BTreeSet<Concern>,
    /// The pods that it acts on because of the object that a request would store, if it is one of its objects: they are selected
    /// before the object is let in. `concerns` says the same about the object once it is stored, or less.
    pub adds: fn(&Request, &Gates) -> BTreeSet<Concern>,
    /// Types of objects that `concerns` reads: when one of them changes, so may the selection.
    pub reads: &'static [Resource],
    pub run: Run,
}

/// For steps that no object of their own asks for.
pub fn adds_nothing(_: &Request, _: &Gates) -> BTreeSet<Concern> {
    BTreeSet::new()
}

/// What a step does.
#[derive(Clone, Copy)]
pub enum Run {
    /// Changes the pod, which earlier steps have changed.
    Mutate(fn(&mut Value, &Request, &Known<'_>) -> Result<(), Denial>),
    /// Says whether the request may pass, after earlier steps have.
    Validate(fn(&Request, &Known<'_>) -> Result<(), Denial>),
}

/// Steps in the order in which each sees what the one before it did (PW-1, SS-18, SS-20; validation: WorkloadSpread, then
/// PodUnavailableBudget).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    ReadinessGate,
    /// Labels that it writes can make a SidecarSet match.
    WorkloadSpread,
    SidecarSet,
    /// Containers that a SidecarSet injects take part.
    LaunchPriority,
    PodUnavailableBudget,
    PersistentPodState,
    EnhancedLiveness,
    PodProbeMarker,
}

/// A sort of request about pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct When {
    pub operation: Operation,
    pub subresource: Subresource,
}

/// Whether a step does something beyond its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SideEffects {
    None,
    /// It spends something, such as a budget, unless the request is only tried.
    NoneOnDryRun,
}

impl When {
    pub const CREATE: Self = Self { operation: Operation::Create, subresource: Subresource::Whole };
    pub const UPDATE: Self = Self { operation: Operation::Update, subresource: Subresource::Whole };
    pub const DELETE: Self = Self { operation: Operation::Delete, subresource: Subresource::Whole };
    pub const EVICT: Self = Self { operation: Operation::Create, subresource: Subresource::Eviction };
    pub const RESIZE: Self = Self { operation: Operation::Update, subresource: Subresource::Resize };
    pub const ADD_EPHEMERAL: Self =
        Self { operation: Operation::Update, subresource: Subresource::EphemeralContainers };

    fn is(self, request: &Request) -> bool {
        self.operation == request.operation && self.subresource == request.subresource
    }
}

impl SideEffects {
    /// The word in a webhook configuration.
    pub fn text(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::NoneOnDryRun => "NoneOnDryRun",
        }
    }
}

impl PodStep {
    fn is_for(&self, request: &Request) -> bool {
        self.when.iter().any(|when| when.is(request))
    }
}
