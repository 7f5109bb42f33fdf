//! The list of steps: run for a request, and divided among the entries of the webhook configurations.

use std::collections::BTreeSet;

use kruise_api::Resource;

use super::{PodStep, Run, SideEffects, When};
use crate::admission::selection::{Concern, Sight, probed};
use crate::admission::{Answer, Known, Operation, Request, Subresource, patch};
use crate::gates::{Gate, Gates};
use crate::lookup::Lookup;

/// All steps, sorted by their order.
#[derive(Clone)]
pub struct PodSteps(Vec<PodStep>);

/// One of the entries about pods in the webhook configurations of the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entry {
    /// `mpod.kb.io`.
    Mutating,
    /// `vpod.kb.io`.
    Validating,
    /// `vpodeviction.kb.io`: apart from the other, because it can be selected by namespace only.
    Evictions,
}

impl PodSteps {
    pub fn new(steps: impl IntoIterator<Item = PodStep>) -> Self {
        let mut steps: Vec<PodStep> = steps.into_iter().collect();
        steps.sort_by_key(|step| step.order);
        Self(steps)
    }

    /// What each step does to the pod, one after the other.
    pub fn mutate(&self, request: &Request, known: &Known<'_>) -> Answer {
        let runs = self.0.iter().filter(|step| step.is_for(request)).filter_map(|step| match step.run {
            Run::Mutate(run) => Some(run),
            Run::Validate(_) => None,
        });
        let mut runs = runs.peekable();
        if runs.peek().is_none() {
            return Answer::allowed();
        }
        if let Some(answer) = probed(request) {
            return answer;
        }
        let mut pod = request.object.clone();
        for run in runs {
            if let Err(denial) = run(&mut pod, request, known) {
                return denial.into();
            }
        }
        Answer::patched(patch(&request.object, pod))
    }

    /// The first step that does not let it pass decides.
    pub fn validate(&self, request: &Request, known: &Known<'_>) -> Answer {
        let runs = self.0.iter().filter(|step| step.is_for(request)).filter_map(|step| match step.run {
            Run::Validate(run) => Some(run),
            Run::Mutate(_) => None,
        });
        let mut denials = runs.filter_map(|run| run(request, known).err());
        denials.next().map_or_else(Answer::allowed, Answer::from)
    }

    /// What the steps of an entry are asked about; empty if it has no step.
    pub fn when(&self, entry: Entry) -> BTreeSet<When> {
        self.of(entry).flat_map(|step| step.when).copied().filter(|when| entry.has(*when)).collect()
    }

    pub fn side_effects(&self, entry: Entry) -> SideEffects {
        self.of(entry).map(|step| step.side_effects).max().unwrap_or(SideEffects::None)
    }

    /// The pods that an entry has to be asked about.
    pub fn concerns(&self, entry: Entry, lookup: Lookup<'_>, gates: &Gates) -> BTreeSet<Concern> {
        if !gates.on(Gate::PodWebhook) {
            return BTreeSet::new();
        }
        self.of(entry).flat_map(|step| (step.concerns)(lookup, gates)).collect()
    }

    /// The pods that an entry has to be asked about as soon as the object of this request is stored.
    pub fn adds(&self, entry: Entry, request: &Request, gates: &Gates) -> BTreeSet<Concern> {
        let stores = match request.operation {
            Operation::Create | Operation::Update => request.subresource == Subresource::Whole,
            Operation::Delete | Operation::Connect => false,
        };
        if !stores || !gates.on(Gate::PodWebhook) {
            return BTreeSet::new();
        }
        self.of(entry).flat_map(|step| (step.adds)(request, gates)).collect()
    }

    /// Types of objects that selections depend on.
    pub fn reads(&self) -> BTreeSet<Resource> {
        self.0.iter().flat_map(|step| step.reads).copied().collect()
    }

    fn of(&self, entry: Entry) -> impl Iterator<Item = &PodStep> {
        self.0.iter().filter(move |step| {
            let is_its_sort = match step.run {
                Run::Mutate(_) => entry == Entry::Mutating,
                Run::Validate(_) => entry != Entry::Mutating,
            };
            is_its_sort && step.when.iter().any(|when| entry.has(*when))
        })
    }

    /// What the API server sees of the pods that it asks about.
    pub fn sight(&self, entry: Entry) -> Sight {
        let asked = self.when(entry);
        // An entry without steps may be one of the original's, which is about stored pods, too.
        let is_new = !asked.is_empty() && asked.iter().all(|when| when.operation == Operation::Create);
        match entry {
            Entry::Evictions => Sight::Namespace,
            Entry::Mutating | Entry::Validating if is_new => Sight::New,
            Entry::Mutating | Entry::Validating => Sight::Stored,
        }
    }
}

impl Entry {
    pub const ALL: [Self; 3] = [Self::Mutating, Self::Validating, Self::Evictions];

    pub fn name(self) -> &'static str {
        match self {
            Self::Mutating => "mpod.kb.io",
            Self::Validating => "vpod.kb.io",
            Self::Evictions => "vpodeviction.kb.io",
        }
    }

    fn has(self, when: When) -> bool {
        (when.subresource == Subresource::Eviction) == (self == Self::Evictions)
    }
}
