//! The loop of one controller: queue → barrier → plan → apply → barrier.

mod left_alone;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use kruise_core::chain::{Charge, Event};
use kruise_core::object::Item;
use kruise_core::plan::Plan;
use kruise_core::turn::Failed;
pub use kruise_core::turn::Turn;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::apply::{Applier, ApplyError, Caller, Next, Outcome, Tried, Verdict, version_of};
use crate::barrier::{Barrier, Found, Pass, Seen};
use crate::cache::{Caches, Version};
use crate::clock::Clock;
use crate::events::{Recorder, Subject};
use crate::metrics::{ControllerMetrics, ResultLabel};
use crate::queue::{BackOff, Done, Queue};
use crate::worker::{self, Progress};
use crate::{Key, ObjectRef, Resource};
use left_alone::LeftAlone;

/// How much longer than planning took a key waits before events make it plan again. A plan looks at all pods of its
/// object, so its cost grows with them; with rests that grow alike, what planning costs per pod stays the same.
const REST: u32 = 25;

/// No rest is longer, however large the object.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// Live reads of one key in flight. A watch that is late is a sign of a busy server: few at once.
const READS_AT_ONCE: usize = 8;

/// What is planned for one object. Implemented once per kind: assemble the view, call the planner.
pub trait Planner: Send + Sync + 'static {
    /// `cloneset-controller`: in logs, metrics, events and the user agent.
    fn name(&self) -> &'static str;

    /// The next plan; `None` when the object is gone.
    fn plan(&self, key: &Key, turn: &Turn) -> Option<Plan>;

    /// Objects that no cache holds and that the plan needs; they are read live before each plan.
    fn uncached(&self, _key: &Key) -> Vec<ObjectRef> {
        Vec::new()
    }

    /// Whether it plans although some of them could not be read; [`Turn::unread`] says which. The key is tried again then.
    fn goes_on_unread(&self) -> bool {
        false
    }

    /// A chain that is reported by item has left this version of an object behind.
    fn wrote(&self, _key: &Key, _object: &ObjectRef, _version: Version) {}

    /// Whom events are about; `None` when the object is gone.
    fn subject(&self, key: &Key) -> Option<Subject>;
}

/// What one plan leaves for the next one of its key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Memory {
    failures: BTreeMap<Charge, String>,
    /// Of chains that are reported by item; until one of them goes well.
    failed: BTreeMap<Item, Failed>,
    denied: BTreeSet<Item>,
    /// What the slow start of the next plan begins with: refusals of others kept it from being tried.
    untried: Option<Item>,
}

impl Memory {
    /// What the next plan must know. A conflict is no failure; a plan without one clears what was there. Of a server that was too
    /// busy nothing was learnt: a status that told of it would be one more write for it, and another when it has recovered.
    fn after(self, outcome: &Outcome) -> Self {
        let told = |(charge, error): (&Charge, &ApplyError)| match error {
            ApplyError::Conflict { .. } | ApplyError::Exists { .. } => None,
            ApplyError::Busy { .. } => Some((*charge, self.failures.get(charge)?.clone())),
            ApplyError::Refused { .. }
            | ApplyError::Denied { .. }
            | ApplyError::Unsure { .. }
            | ApplyError::Broken { .. } => Some((*charge, error.to_string())),
        };
        let mut failures: BTreeMap<Charge, String> = outcome.failures.iter().filter_map(told).collect();
        // Each plan begins with another creation then; one message for all of them, or each plan would change the status.
        if let (Some(charge), Some(_)) = (outcome.slow, &self.untried)
            && let Some(first) = self.failures.get(&charge)
        {
            failures.entry(charge).and_modify(|message| message.clone_from(first));
        }
        // Nobody was asked: the rollout is over or waits for something else, and the next one starts afresh.
        let mut denied = if outcome.asked.is_empty() { BTreeSet::new() } else { self.denied };
        for (item, verdict) in &outcome.asked {
            match verdict {
                Verdict::Denied => denied.insert(item.clone()),
                Verdict::Allowed => denied.remove(item),
            };
        }
        let mut failed = self.failed;
        for (item, tried) in &outcome.items {
            match tried {
                Tried::Done(..) => failed.remove(item),
                Tried::Failed(why) => failed.insert(item.clone(), why.clone()),
            };
        }
        Self {
            failures,
            failed,
            denied,
            untried: outcome.untried.as_ref().map(|untried| untried.first.clone()),
        }
    }
}

/// Parts that a controller shares with the others.
#[derive(Clone)]
pub struct Shared {
    pub client: kube::Client,
    pub caches: Arc<Caches>,
    pub recorder: Recorder,
    pub clock: Clock,
    pub metrics: Arc<crate::metrics::Metrics>,
    pub back_off: BackOff,
    pub seed: u64,
}

/// A controller whose keys are woken already; it works once it is started.
pub struct Start {
    pub queue: Arc<Queue>,
    start: Box<dyn FnOnce() -> Vec<JoinHandle<()>> + Send + Sync>,
}

impl Start {
    /// `writes` are the types that its plans may write.
    pub fn new(
        planner: impl Planner,
        workers: usize,
        writes: &'static [Resource],
        (queue, shared): (&Arc<Queue>, &Shared),
    ) -> Self {
        let controller = Controller::new(planner, writes, Arc::clone(queue), shared.clone());
        Self { queue: Arc::clone(queue), start: Box::new(move || controller.start(workers)) }
    }

    /// Starts the workers. They end when the queue is closed.
    pub fn start(self) -> Vec<JoinHandle<()>> {
        (self.start)()
    }
}

pub struct Controller<P> {
    planner: P,
    writes: &'static [Resource],
    queue: Arc<Queue>,
    shared: Shared,
    caller: Caller,
    recorder: Recorder,
    barrier: Barrier,
    memory: Mutex<HashMap<Key, Memory>>,
    left_alone: LeftAlone,
    metrics: ControllerMetrics,
    turns: Mutex<u64>,
}

impl<P: Planner> Controller<P> {
    pub fn new(planner: P, writes: &'static [Resource], queue: Arc<Queue>, shared: Shared) -> Arc<Self> {
        let name = planner.name();
        let agent = format!("kruise-manager/{name}");
        let caller = Caller::new(shared.client.clone(), agent, shared.clock.clone());
        let recorder = shared.recorder.named(name);
        let metrics = shared.metrics.controller(name, &queue);
        let turns = Mutex::new(shared.seed);
        let (barrier, memory, left_alone) = (Barrier::default(), Mutex::default(), LeftAlone::default());
        Arc::new(Self {
            planner,
            writes,
            queue,
            shared,
            caller,
            recorder,
            barrier,
            memory,
            left_alone,
            metrics,
            turns,
        })
    }

    /// Starts the workers. They end when the queue is closed.
    pub fn start(self: &Arc<Self>, workers: usize) -> Vec<JoinHandle<()>> {
        self.metrics.workers(workers);
        (0..workers.max(1)).map(|_| tokio::spawn(Arc::clone(self).work())).collect()
    }

    async fn work(self: Arc<Self>) {
        worker::work(&self.queue, |key, progress| self.take_turn(key, progress)).await;
    }

    /// A panic ends this turn and nothing else.
    async fn take_turn(&self, key: Key, progress: Progress) {
        let started = Instant::now();
        self.metrics.busy();
        let turn = AssertUnwindSafe(self.reconcile(&key, &progress)).catch_unwind().await;
        let (done, label) = turn.unwrap_or_else(|_| self.panicked(&key));
        self.metrics.idle(started.elapsed(), label);
        self.queue.done(key, done);
    }

    fn panicked(&self, key: &Key) -> (Done, ResultLabel) {
        self.metrics.panicked();
        let message =
            "a bug in the manager: it failed while working on this object and will retry".to_owned();
        tracing::error!(%key, controller = self.planner.name(), message);
        self.tell(key, &[Event::of_a_defect(message)]);
        (Done::Failed, ResultLabel::Error)
    }

    async fn reconcile(&self, key: &Key, progress: &Progress) -> (Done, ResultLabel) {
        match self.barrier.pass(key, self.shared.caches.as_ref()) {
            Pass::Open => {}
            Pass::Wait { until } => return (Done::Settled(Some(until)), ResultLabel::RequeueAfter),
            Pass::Ask(objects) => {
                let reads = objects.into_iter().map(|object| self.read_live(key, object));
                let read = stream::iter(reads).buffer_unordered(READS_AT_ONCE).try_collect::<()>().await;
                if let Err(error) = read {
                    tracing::warn!(%key, %error, "live read failed; retrying");
                    return (Done::Failed, ResultLabel::Error);
                }
                return (Done::Again, ResultLabel::Requeue);
            }
        }
        let mut turn = self.turn(key);
        if !self.read_uncached(key, &mut turn).await {
            return (Done::Failed, ResultLabel::Error);
        }
        let started = Instant::now();
        let Some(plan) = self.planner.plan(key, &turn) else {
            self.barrier.forget(key);
            self.remembered().remove(key);
            self.left_alone.forget(key);
            return (Done::Settled(None), ResultLabel::Success);
        };
        self.queue.rest(key, started + started.elapsed().saturating_mul(REST).min(LONGEST_REST));
        let carried_out = self.carry_out(key, &plan, turn.now, progress).await;
        match carried_out {
            (Done::Settled(_), _) if !turn.unread.is_empty() => (Done::Failed, ResultLabel::Error),
            other => other,
        }
    }

    /// Reads what no cache holds. Returns whether there is a plan without what could not be read.
    async fn read_uncached(&self, key: &Key, turn: &mut Turn) -> bool {
        let reads = self.planner.uncached(key).into_iter().map(async |object| {
            let live = self.caller.read(&object).await;
            (object, live)
        });
        let all: Vec<_> = stream::iter(reads).buffered(READS_AT_ONCE).collect().await;
        for (object, live) in all {
            match live {
                Ok(live) => drop(turn.live.insert(object, live)),
                Err(error) => {
                    tracing::warn!(%key, %error, "live read failed; retrying");
                    turn.unread.insert(object, error.to_string());
                }
            }
        }
        turn.unread.is_empty() || self.planner.goes_on_unread()
    }

    async fn carry_out(
        &self,
        key: &Key,
        plan: &Plan,
        now: Timestamp,
        progress: &Progress,
    ) -> (Done, ResultLabel) {
        let reasons = plan.reasons.iter().map(|(pod, reason)| (pod.name(), reason.name()));
        self.left_alone.tell(key, reasons);
        let first = self.remembered().get(key).and_then(|memory| memory.untried.clone());
        let applier = Applier {
            caller: &self.caller,
            barrier: &self.barrier,
            writes: self.writes,
            key,
            progress,
            first: first.as_ref(),
        };
        let outcome = applier.apply(plan).await;
        self.barrier.sweep(self.shared.caches.as_ref());
        if outcome.writes > 0 {
            let (writes, failures) = (outcome.writes, outcome.failures.len());
            let uid = self.planner.subject(key).map(|subject| subject.uid).unwrap_or_default();
            tracing::info!(%key, uid, controller = self.planner.name(), writes, failures, "plan applied");
        }
        for tried in outcome.items.values() {
            if let Tried::Done(object, Some(version)) = tried {
                self.planner.wrote(key, object, *version);
            }
        }
        self.tell(key, &outcome.events);
        self.remember(key, &outcome);
        if let Some(delay) = outcome.busy_for() {
            tracing::warn!(%key, seconds = delay.as_secs(), "the API server is too busy to accept writes for this object");
            self.queue.rest(key, Instant::now() + delay);
        }
        match outcome.next() {
            Next::Settle => {
                let revisit = plan.revisit_at.map(|at| Instant::now() + wait(now, at));
                let label = if revisit.is_some() { ResultLabel::RequeueAfter } else { ResultLabel::Success };
                (Done::Settled(revisit), label)
            }
            Next::Replan if outcome.came_on() => (Done::Again, ResultLabel::Requeue),
            Next::Replan => (Done::Failed, ResultLabel::Requeue),
            Next::After(delay) => (Done::After(delay), ResultLabel::RequeueAfter),
            Next::BackOff => {
                for error in outcome.failures.values() {
                    tracing::warn!(%key, %error, "write failed; retrying later");
                }
                (Done::Failed, ResultLabel::Error)
            }
        }
    }

    async fn read_live(&self, key: &Key, object: ObjectRef) -> Result<(), String> {
        if !self.barrier.lacks(key, &object, self.shared.caches.as_ref()) {
            return Ok(());
        }
        let caches = &self.shared.caches;
        let known = caches.object(&object);
        let live = self.caller.read(&object).await.map_err(|error| error.to_string())?;
        let found = match (live, known) {
            (Some(text), _) => {
                caches.refresh(object.resource, &text).map_err(|error| error.to_string())?;
                Found::At(version_of(&text))
            }
            (None, Some((_, uid))) => {
                caches.lose(&object, &uid);
                Found::Nothing
            }
            (None, None) => Found::Nothing,
        };
        self.barrier.found(key, &object, found);
        Ok(())
    }

    fn turn(&self, key: &Key) -> Turn {
        let Memory { failures, failed, denied, untried: _ } =
            self.remembered().get(key).cloned().unwrap_or_default();
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        *turns = turns.wrapping_add(1);
        Turn { failures, failed, denied, ..Turn::first(self.shared.clock.now(), *turns) }
    }

    fn remember(&self, key: &Key, outcome: &Outcome) {
        let mut all = self.remembered();
        let memory = all.remove(key).unwrap_or_default().after(outcome);
        if memory != Memory::default() {
            all.insert(key.clone(), memory);
        }
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Memory>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, key: &Key, events: &[Event]) {
        if events.is_empty() {
            return;
        }
        if let Some(subject) = self.planner.subject(key) {
            for event in events {
                self.recorder.tell(&subject, event);
            }
        }
    }
}

/// From the instant that the plan was made for.
fn wait(now: Timestamp, at: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests;
