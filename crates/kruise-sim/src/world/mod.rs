//! One simulated world: a server, everybody else of a cluster, one or two managers, a user with a scenario, and a plan of
//! what goes wrong. One thread, virtual time, one seed: the same run every time.

pub mod actors;
pub mod bare;
pub mod clock;
mod edits;
pub mod end;
mod fates;
pub mod faults;
pub mod manager;
mod revert;
pub mod rules;
pub mod scenario;
pub mod weather;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kruise_api::labels::SPECIFIED_DELETE;
use kruise_manager::Settings;
use kruise_runtime::apply::ANSWER_WITHIN;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::kubelet::{Behaviour, Knobs, Rule, Which};
use crate::planted::Bug;
use crate::rng::Rng;
use crate::server::{Call, Entry, GATES, Part, Server, Verb, resources};
use actors::ZONE;
use actors::{Actors, Kinds, SharedKnobs};
use clock::WorldClock;
use edits::Edits;
use faults::Plan;
use manager::{Abort, Slot};
use rules::Ledger;
use scenario::{Scenario, Step, Target};
use weather::Storm;

/// Nothing moved for so long: longer than a lease and every patience of the manager.
const QUIET: Duration = Duration::from_secs(30);
/// After faults a key may have backed off for longer.
const QUIET_AFTER_FAULTS: Duration = Duration::from_secs(150);
/// Longer than the manager waits for an answer.
const ANSWER: Duration = ANSWER_WITHIN.saturating_add(Duration::from_secs(5));
/// After the end nothing may be written for this long.
const STILL: Duration = Duration::from_mins(1);
/// A user tries an edit again after this long.
const RETRY: Duration = Duration::from_secs(1);
/// A run that has not settled by then never will.
const TOO_LONG: Duration = Duration::from_hours(2);

/// Everything that decides a run.
#[derive(Clone)]
pub struct Run {
    pub scenario: Scenario,
    pub seed: u64,
    pub plan: Plan,
    pub lease: Lease,
    pub log: Log,
    /// The manager has this defect.
    pub bug: Option<&'static Bug>,
}

/// Whether writes are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    Kept,
    Dropped,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// Rules that were broken, or why it did not end well; empty if all is fine.
    pub faults: Vec<String>,
    /// Writes of managers, without leases and events.
    pub writes: u64,
    pub requests: u64,
    pub end: Value,
    /// Simulated time.
    pub lasted: Duration,
    /// Faults that happened, by name.
    pub struck: BTreeMap<&'static str, u64>,
    /// Writes without a budget, as their senders had been gone for longer than a lease.
    pub late_ghosts: u64,
    /// One line per write, if kept.
    pub log: Vec<String>,
}

/// The flags of simulated managers, read once.
pub struct Flags {
    leading: Arc<Settings>,
    alone: Arc<Settings>,
}

/// Whether managers compete for a lease. Without it a run costs half as much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    Held,
    /// A second manager stands by from the beginning.
    Contended,
    Unused,
}

impl Default for Flags {
    fn default() -> Self {
        let on: Vec<String> = GATES.iter().map(|gate| format!("{}=true", gate.about().name)).collect();
        let gates = format!("--feature-gates={}", on.join(","));
        Self {
            // Looked at less often than usual: nothing else in a run is so frequent.
            leading: Arc::new(Settings::read(&["--leader-election-retry-period=5s", &gates])),
            alone: Arc::new(Settings::read(&["--enable-leader-election=false", &gates])),
        }
    }
}

impl Run {
    pub fn new(scenario: Scenario, seed: u64, plan: Plan) -> Self {
        Self { scenario, seed, plan, lease: Lease::Held, log: Log::Dropped, bug: None }
    }

    /// How long nothing moves when it is over.
    fn quiet(&self) -> Duration {
        // After two crashes in a row two leases have to run out before anything moves.
        match self.plan.faults.as_slice() {
            [] => QUIET,
            [crash] if crash.name().starts_with("crash") => QUIET,
            // Each write without a certain answer may be waited for, one after the other.
            [..] => QUIET_AFTER_FAULTS.max(QUIET + ANSWER * self.plan.uncertain()),
        }
    }

    /// Runs to the end on this thread.
    pub fn go(&self, flags: &Flags) -> Outcome {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        match runtime {
            Ok(runtime) => runtime.block_on(self.simulate(flags)),
            Err(error) => Outcome::failed(format!("no runtime: {error}")),
        }
    }

    async fn simulate(&self, flags: &Flags) -> Outcome {
        let settings = match self.lease {
            Lease::Held | Lease::Contended => &flags.leading,
            Lease::Unused => &flags.alone,
        };
        match World::new(self, settings) {
            Some(world) => world.run(self).await,
            None => Outcome::failed("the server lacks a kind".into()),
        }
    }
}

impl Outcome {
    fn failed(why: String) -> Self {
        Self {
            faults: vec![why],
            writes: 0,
            requests: 0,
            end: Value::Null,
            lasted: Duration::ZERO,
            struck: BTreeMap::new(),
            late_ghosts: 0,
            log: Vec::new(),
        }
    }
}

/// The parts of a running world; clones are the same one, but draw their own lots.
#[derive(Clone)]
pub(crate) struct World {
    server: Server,
    clock: WorldClock,
    storm: Storm,
    ledger: Ledger,
    knobs: SharedKnobs,
    kinds: Kinds,
    scenario: Arc<Scenario>,
    slot: Slot,
    edits: Arc<Mutex<Edits>>,
    rng: Rng,
    start: Instant,
}

impl World {
    fn new(run: &Run, settings: &Arc<Settings>) -> Option<Self> {
        let mut rng = Rng::new(run.seed);
        let clock = WorldClock::start();
        let wall = clock.clone();
        let server = Server::new(rng.draw(), Arc::new(move || wall.now()));
        let ledger = Ledger::new(run.plan.lag());
        server.lock().observe(Box::new(ledger.clone()));
        server.lock().admit_by_ours();
        if run.log == Log::Kept {
            server.lock().keep_log();
        }
        let storm = Storm::new(rng.fork(), &run.plan);
        let of_image = |image: &str, behaviour: Behaviour| Rule {
            which: Which { image: Some(image.to_owned()), ..Which::default() },
            behaviour,
        };
        let ends = |exit_code: i32| Behaviour::Exits { exit_code, after: Duration::from_secs(3) };
        let images = vec![
            of_image(scenario::BAD_IMAGE, Behaviour::PullFails),
            of_image(scenario::ENDING_IMAGE, ends(0)),
            of_image(scenario::FAILING_IMAGE, ends(1)),
        ];
        let slot = Slot {
            server: server.clone(),
            clock: clock.clone(),
            storm: storm.clone(),
            settings: Arc::clone(settings),
            bug: run.bug,
            number: 0,
        };
        Some(Self {
            clock,
            storm,
            ledger,
            knobs: Arc::new(Mutex::new(Knobs(images))),
            kinds: Kinds::find()?,
            scenario: Arc::new(run.scenario.clone()),
            slot,
            edits: Arc::default(),
            server,
            rng,
            start: Instant::now(),
        })
    }

    async fn run(mut self, run: &Run) -> Outcome {
        furnish(&self.server);
        let Some(actors) = Actors::new(&self.server, &self.clock, self.rng.fork(), Arc::clone(&self.knobs))
        else {
            return Outcome::failed("the server lacks a kind".into());
        };
        let _actors = Abort(tokio::spawn(actors.run()));
        let _manager = Abort(tokio::spawn(self.slot.clone().run(self.rng.fork())));
        let _fates = Abort(tokio::spawn(self.fates(&run.plan, run.lease)));
        let mut faults = Vec::new();
        if let Err(why) = self.play(run).await {
            faults.push(why);
        }
        let state = self.server.lock();
        let log = state.log().iter().map(|entry| self.line(entry)).collect();
        drop(state);
        Outcome {
            faults: self.ledger.broken().into_iter().chain(faults).collect(),
            writes: self.storm.writes(),
            requests: self.storm.requests(),
            end: end::state(&self.server, &run.scenario),
            lasted: self.start.elapsed(),
            struck: self.storm.struck(),
            late_ghosts: self.ledger.late_ghosts(),
            log,
        }
    }

    async fn play(&mut self, run: &Run) -> Result<(), String> {
        for (target, object) in &run.scenario.objects {
            self.user(Verb::Create, *target, object)?;
        }
        let last = run.scenario.steps.len().saturating_sub(1);
        for (position, step) in run.scenario.steps.iter().enumerate() {
            match step {
                Step::Settle if position < last => self.settle(Instant::now(), QUIET).await?,
                Step::Settle => self.settle(self.start + run.plan.ends(), run.quiet()).await?,
                Step::Wait(time) => tokio::time::sleep(*time).await,
                Step::Edit(patch) => self.edit(patch, self.start + run.plan.ends()).await?,
                Step::SpecifyDelete => self.specify(),
                Step::Create(target, object) => {
                    self.add(*target, object, self.start + run.plan.ends()).await?;
                }
                Step::Patch(target, patch) => self.user(Verb::MergePatch, *target, patch)?,
                // What it speaks of may be gone.
                Step::Status(target, status) => drop(self.agent(*target, status)),
                // Somebody else may have been faster.
                Step::Delete(target) => drop(self.user(Verb::Delete, *target, &Value::Null)),
            }
        }
        (run.scenario.kind.goal)(&self.server.lock().store, &run.scenario)?;
        let before = self.storm.writes();
        tokio::time::sleep(STILL).await;
        if self.storm.writes() != before {
            return Err("writes go on after everything is done".into());
        }
        Ok(())
    }

    /// What the user of the scenario does with some object.
    fn user(&self, verb: Verb, target: Target, body: &Value) -> Result<(), String> {
        let Some(kind) = resources::of(target.resource) else {
            return Err(format!("the server does not serve {:?}", target.resource));
        };
        let name = if verb == Verb::Create { "" } else { target.name };
        let call = Call::object(verb, kind, (target.namespace(), name), body.clone());
        let answer = self.server.ask("user", &call);
        answer.map(drop).map_err(|failure| format!("the scenario is refused: {}", failure.message))
    }

    /// What a node agent says in the status of some object.
    fn agent(&self, target: Target, status: &Value) -> Result<(), String> {
        let Some(kind) = resources::of(target.resource) else {
            return Err(format!("the server does not serve {:?}", target.resource));
        };
        let body = serde_json::json!({"status": status});
        let call = Call::object(Verb::MergePatch, kind, (target.namespace(), target.name), body);
        let call = Call { part: Part::Status, ..call };
        self.server.ask("kruise-daemon", &call).map(drop).map_err(|failure| failure.message)
    }

    /// A namesake may be in the way for as long as there are faults. One that a restored server has brought back will do.
    async fn add(&self, target: Target, object: &Value, others_until: Instant) -> Result<(), String> {
        loop {
            let Err(why) = self.user(Verb::Create, target, object) else { return Ok(()) };
            if others_until <= Instant::now() {
                return if target.find(&self.server.lock().store).is_some() { Ok(()) } else { Err(why) };
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// The workload that is edited, if there is one.
    fn subject(&self) -> Option<(&'static resources::Kind, Target)> {
        let target = self.scenario.subject?;
        Some((resources::of(target.resource)?, target))
    }

    /// Edits of others can be in the way of this one, for as long as there are some.
    async fn edit(&self, patch: &Value, others_until: Instant) -> Result<(), String> {
        let Some((kind, target)) = self.subject() else { return Err("there is nothing to edit".into()) };
        let at = (target.namespace(), target.name);
        let edit = Call::object(Verb::MergePatch, kind, at, patch.clone());
        loop {
            match self.server.ask("user", &edit) {
                Ok(_) => {
                    self.decide(patch);
                    return Ok(());
                }
                Err(_) if Instant::now() < others_until => tokio::time::sleep(RETRY).await,
                Err(failure) => return Err(format!("an edit is refused: {}", failure.message)),
            }
        }
    }

    /// Waits until nothing has moved for long enough, not before `calm`.
    async fn settle(&self, calm: Instant, quiet: Duration) -> Result<(), String> {
        loop {
            let now = Instant::now();
            let until = self.ledger.moved().max(calm.min(now)) + quiet;
            if until <= now && calm <= now {
                return Ok(());
            }
            if TOO_LONG < now.saturating_duration_since(self.start) {
                return Err("it does not come to rest".into());
            }
            tokio::time::sleep_until(until.max(calm)).await;
        }
    }

    fn specify(&self) {
        let first =
            self.server.lock().store.list(self.kinds.pods.id, "default").map(|(name, _)| name.clone()).next();
        if let Some(name) = first {
            let label = json!({"metadata": {"labels": {SPECIFIED_DELETE: "true"}}});
            let call = Call::object(Verb::MergePatch, self.kinds.pods, (&name.0, &name.1), label);
            drop(self.server.ask("user", &call));
        }
    }

    fn line(&self, entry: &Entry) -> String {
        let at = self.clock.since_start(entry.at);
        let body = if entry.call.body.is_null() { String::new() } else { entry.call.body.to_string() };
        format!("{:9.3} {:9} {} → {} {body}", at.as_secs_f64(), entry.who, entry.call.story(), entry.code)
    }
}

/// What every cluster has.
fn furnish(server: &Server) {
    let create = |plural: &str, name: &str, body: Value| {
        if let Some(kind) = resources::find("", "v1", plural) {
            let mut body = body;
            scenario::merge(&mut body, &json!({"metadata": {"name": name}}));
            drop(server.ask("cluster", &Call::object(Verb::Create, kind, ("", ""), body)));
        }
    };
    create("namespaces", "default", json!({}));
    create("namespaces", kruise_api::names::NAMESPACE, json!({}));
    for (node, zone) in actors::NODES {
        create("nodes", node, json!({"metadata": {"labels": {ZONE: zone}}}));
    }
}

#[cfg(test)]
mod tests;
