//! Carrying out a plan: chains side by side, the writes of a chain in order, creations with a slow start.

mod call;
mod error;

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use kruise_core::chain::{Blame, Chain, Charge, Event, EventKind, Identity, Pace, Purpose, Siblings, Write};
use kruise_core::object::Item;
use kruise_core::plan::Plan;
use kruise_core::turn::Failed;
use tokio::time::Instant;

use call::is_alive;
pub use call::{ANSWER_WITHIN, Caller, Written, version_of};
pub use error::{ApplyError, Next};

use crate::barrier::Barrier;
use crate::cache::Version;
use crate::worker::Progress;
use crate::{Key, ObjectRef, Resource};

/// Writes of one plan in flight; more than the API server of a small cluster can use, fewer than would crowd out others.
const AT_ONCE: usize = 48;

/// Creations of one plan that may fail where each stands for itself: so many refusals are no coincidence any more.
const REFUSED_MAX: usize = 16;

/// So many writes in a row that the server is too busy for: it is left alone then. One alone may be a webhook's word about one object.
const BUSY_MAX: usize = 8;

/// When the creations that such a wall of refusals hides get their turn: all of them do, but slowly.
const BEHIND_THE_WALL: Duration = Duration::from_secs(1);

/// A plan that has failed and is older than this is not gone on with. Longer than anything takes that goes well.
const FRESH: Duration = Duration::from_secs(30);

/// What became of a plan.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The first failure of each sort.
    pub failures: BTreeMap<Charge, ApplyError>,
    /// Where failures of chains with a slow start are found.
    pub slow: Option<Charge>,
    pub events: Vec<Event>,
    pub writes: usize,
    /// What an allowance was asked for, and the answer.
    pub asked: BTreeMap<Item, Verdict>,
    /// What became of chains that are reported by item.
    pub items: BTreeMap<Item, Tried>,
    /// Chains of a slow start that were left for the next plan.
    pub untried: Option<Untried>,
    /// Chains were left for the next plan: it was the turn of other objects, or this plan had failed and become old.
    is_cut_short: bool,
    /// Chains of a slow start that failed.
    failed_slowly: usize,
    /// Writes that the server was too busy for since the last one that went well.
    busy: usize,
    /// Chains that went well.
    done: usize,
    begun: Option<Instant>,
}

/// What became of the last write of a chain.
#[derive(Debug)]
pub enum Tried {
    /// The object and the version that it has now; none if it is gone.
    Done(ObjectRef, Option<Version>),
    /// Not because somebody was faster or the server was busy: nothing was learnt then.
    Failed(Failed),
}

/// Creations that a wall of refusals hides from one plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untried {
    /// The next plan begins with it.
    pub first: Item,
    round: Round,
}

/// Creations are tried all around: where one plan stopped, the next one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    /// Some have not been tried since the first one was.
    Open,
    Closed,
}

/// What was said about a request for an allowance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Allowed,
    Denied,
}

#[cfg(test)]
impl Untried {
    pub fn at(first: Item) -> Self {
        Self { first, round: Round::Open }
    }
}

impl Outcome {
    /// What to do with the key: the most careful answer of all failures. Refusals count once all creations had their turn.
    pub fn next(&self) -> Next {
        let is_open = self.untried.as_ref().is_some_and(|untried| untried.round == Round::Open);
        let next = |(charge, error): (&Charge, &ApplyError)| {
            let is_refused = self.slow == Some(*charge) && matches!(error, ApplyError::Refused { .. });
            if is_refused && is_open { Next::After(BEHIND_THE_WALL) } else { error.next() }
        };
        let rest = if self.is_cut_short { Next::Replan } else { Next::Settle };
        self.failures.iter().map(next).fold(rest, Next::max)
    }

    /// Whether the next plan has anything new to begin with. One whose writes were all in vain may have looked at the newest state
    /// and be refused again: who answers a conflict is not always the one who knows of one.
    pub fn came_on(&self) -> bool {
        self.done > 0 || self.is_cut_short
    }

    /// How long a server wants to be left alone that was too busy for many writes.
    pub fn busy_for(&self) -> Option<Duration> {
        let asked = |error: &ApplyError| match error.next() {
            Next::After(delay) => Some(delay),
            Next::Settle | Next::Replan | Next::BackOff => None,
        };
        if self.busy < BUSY_MAX { None } else { self.failures.values().filter_map(asked).max() }
    }
}

/// Everything a plan needs to be carried out.
pub struct Applier<'a> {
    pub caller: &'a Caller,
    pub barrier: &'a Barrier,
    /// The types that plans of this kind may write: a new leader lists them anew, and no others.
    pub writes: &'a [Resource],
    pub key: &'a Key,
    pub progress: &'a Progress,
    /// The chain to begin a slow start with where each stands for itself.
    pub first: Option<&'a Item>,
}

impl Applier<'_> {
    /// Runs all chains, then the status. One failing chain stops at most others of a slow start (CS-42). A plan of which
    /// nothing failed makes room for other objects when it had its time; one with failures does not, because its next plan could
    /// begin with the same ones.
    pub async fn apply(&self, plan: &Plan) -> Outcome {
        let mut outcome =
            Outcome { events: plan.events.clone(), begun: Some(Instant::now()), ..Outcome::default() };
        let chains = self.without_unconfirmed(plan, &mut outcome).await;
        let at = |pace: Pace| -> Vec<&Chain> {
            chains.iter().filter(|chain| chain.pace == pace).copied().collect()
        };
        // Revisions and claims come first where creations refer to them: they are chains of their own only if not.
        self.side_by_side(&at(Pace::Free), &mut outcome).await;
        for siblings in [Siblings::Alike, Siblings::Independent] {
            self.slowly(&at(Pace::SlowStart(siblings)), siblings, &mut outcome).await;
        }
        if let Some(status) = &plan.status {
            match self.write(status, &mut outcome.writes).await {
                Ok(_) => {}
                Err(error) => outcome.fail((Blame::Update, Purpose::Refresh), error),
            }
        }
        outcome
    }

    /// Nothing is adopted for an object that is being deleted or has been replaced by a namesake: one live read tells.
    async fn without_unconfirmed<'c>(&self, plan: &'c Plan, outcome: &mut Outcome) -> Vec<&'c Chain> {
        let mut asked: Vec<(&Identity, bool)> = Vec::new();
        let mut confirmed = Vec::with_capacity(plan.chains.len());
        for chain in &plan.chains {
            let Some(identity) = &chain.confirm else {
                confirmed.push(chain);
                continue;
            };
            let known = asked.iter().find(|(one, _)| *one == identity).map(|(_, is_there)| *is_there);
            let is_confirmed = if let Some(is_there) = known {
                is_there
            } else {
                let answer = self.confirm(identity).await;
                asked.push((identity, answer.is_ok()));
                answer.map_err(|error| outcome.fail((chain.blame, chain.purpose), error)).is_ok()
            };
            if is_confirmed {
                confirmed.push(chain);
            }
        }
        confirmed
    }

    async fn confirm(&self, identity: &Identity) -> Result<(), ApplyError> {
        let object = &identity.object;
        let live = self.caller.read(object).await?;
        if live.as_deref().is_some_and(|text| is_alive(text, &identity.uid)) {
            return Ok(());
        }
        // The cache is behind: it is brought up to date before the next plan.
        self.barrier.unsure(self.key, object, Instant::now());
        Err(ApplyError::Conflict { object: object.clone() })
    }

    async fn side_by_side(&self, chains: &[&Chain], outcome: &mut Outcome) {
        let mut waiting = chains.iter();
        let mut running = FuturesUnordered::new();
        loop {
            while running.len() < AT_ONCE
                && self.goes_on(outcome)
                && let Some(chain) = waiting.next()
            {
                running.push(self.run(chain));
            }
            match running.next().await {
                Some((chain, writes, result)) => {
                    self.progress.step();
                    outcome.take(chain, writes, result);
                }
                None => break,
            }
        }
        outcome.is_cut_short |= waiting.len() > 0;
    }

    /// Whether one more chain may be begun.
    fn goes_on(&self, outcome: &Outcome) -> bool {
        if BUSY_MAX <= outcome.busy {
            return false;
        }
        if outcome.failures.is_empty() {
            return !self.progress.makes_room();
        }
        // If a write was waited for in vain for so long that something else may be wanted by now, nothing new is begun: since there is
        // a failure the key is planned again.
        outcome.begun.is_none_or(|begun| begun.elapsed() <= FRESH)
    }

    /// One, two, four, … at once. After a failure its batch is finished and the rest is left for the next plan; where each stands
    /// for itself, the rest is tried one by one instead, and what a wall of refusals hides comes first next time.
    async fn slowly(&self, chains: &[&Chain], siblings: Siblings, outcome: &mut Outcome) {
        if chains.is_empty() {
            return;
        }
        let (most, begin) = match siblings {
            Siblings::Alike => (1, 0),
            Siblings::Independent => (REFUSED_MAX, self.beginning(chains)),
        };
        let (before, after) = chains.split_at(begin);
        let around = [after, before].concat();
        let (mut rest, mut size) = (around.as_slice(), 1);
        while !rest.is_empty() && outcome.failed_slowly < most && self.goes_on(outcome) {
            let (batch, later) = rest.split_at(size.min(rest.len()));
            self.side_by_side(batch, outcome).await;
            (rest, size) = (later, if outcome.failed_slowly == 0 { size * 2 } else { 1 });
        }
        if outcome.failures.is_empty() {
            outcome.is_cut_short |= !rest.is_empty();
            return;
        }
        let round = if before.len() < rest.len() { Round::Open } else { Round::Closed };
        outcome.untried = match siblings {
            Siblings::Alike => None,
            Siblings::Independent => {
                rest.first().and_then(|chain| chain.item.clone()).map(|first| Untried { first, round })
            }
        };
    }

    /// Where to begin; at the start if what should come first is not wanted any more.
    fn beginning(&self, chains: &[&Chain]) -> usize {
        let place = |first: &Item| chains.iter().position(|chain| chain.item.as_ref() == Some(first));
        self.first.and_then(place).unwrap_or(0)
    }

    async fn run<'c>(&self, chain: &'c Chain) -> (&'c Chain, usize, Result<Option<Version>, ApplyError>) {
        let (mut writes, mut version) = (0, None);
        if let Some(allowance) = &chain.allowance {
            let spent = match self.declared(&allowance.from) {
                Ok(()) => self.caller.spend(allowance).await,
                Err(error) => Err(error),
            };
            if let Err(error) = spent {
                return (chain, writes, Err(error));
            }
        }
        for write in &chain.writes {
            match self.write(write, &mut writes).await {
                Ok(now) => version = now,
                Err(error) => return (chain, writes, Err(error)),
            }
        }
        (chain, writes, Ok(version))
    }

    /// A write that the registration does not declare would not be listed anew by the next leader, which could make it twice.
    fn declared(&self, object: &ObjectRef) -> Result<(), ApplyError> {
        if self.writes.contains(&object.resource) {
            return Ok(());
        }
        let message = "a bug in the manager: this kind is not registered to write this type".to_owned();
        Err(ApplyError::Refused { object: object.clone(), message })
    }

    /// The version that the object has now, if there is one.
    async fn write(&self, write: &Write, writes: &mut usize) -> Result<Option<Version>, ApplyError> {
        let object = &write.object;
        self.declared(object)?;
        if let Some(other) = &write.unless
            && self.caller.read(other).await?.is_some()
        {
            return Ok(None);
        }
        *writes += 1;
        match self.caller.write(write).await {
            Ok(Written::At(version)) => {
                self.barrier.wrote(self.key, object, version);
                Ok(Some(version))
            }
            Ok(Written::Removed { uid }) => {
                self.barrier.removed(self.key, object, &uid);
                Ok(None)
            }
            Ok(Written::Nothing) => Ok(None),
            Err(error) => {
                if let Some(doubt) = error.doubt() {
                    self.barrier.unsure(self.key, object, Instant::now() + doubt);
                }
                Err(error)
            }
        }
    }
}

impl Outcome {
    fn take(&mut self, chain: &Chain, writes: usize, result: Result<Option<Version>, ApplyError>) {
        self.writes += writes;
        let reported = chain.item.as_ref().zip(chain.writes.last()).filter(|_| chain.blame == Blame::Item);
        if let (Some(item), Some(_)) = (&chain.item, &chain.allowance) {
            let is_denied = matches!(result, Err(ApplyError::Denied { .. }));
            self.asked.insert(item.clone(), if is_denied { Verdict::Denied } else { Verdict::Allowed });
        }
        match result {
            Ok(version) => {
                if let Some((item, write)) = reported {
                    self.items.insert(item.clone(), Tried::Done(write.object.clone(), version));
                }
                self.busy = 0;
                self.done += 1;
                self.events.extend(chain.done.clone());
            }
            Err(error) => {
                self.busy += usize::from(matches!(error, ApplyError::Busy { .. }));
                // A conflict is normal and no news for a user.
                if let (Some(reason), false) = (chain.failed, matches!(error.next(), Next::Replan)) {
                    self.events.push(Event { kind: EventKind::Warning, reason, message: error.to_string() });
                }
                let charge = (chain.blame, chain.purpose);
                if chain.pace != Pace::Free {
                    self.failed_slowly += 1;
                    self.slow = Some(charge);
                }
                if let Some((item, _)) = reported.filter(|_| error.is_lasting()) {
                    let failed = Failed { purpose: chain.purpose, message: error.to_string() };
                    self.items.insert(item.clone(), Tried::Failed(failed));
                }
                self.fail(charge, error);
            }
        }
    }

    fn fail(&mut self, charge: Charge, error: ApplyError) {
        self.failures.entry(charge).or_insert(error);
    }
}

#[cfg(test)]
mod tests;
