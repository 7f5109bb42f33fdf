//! A world without faults and rules, for runs that look at numbers: how much memory there is after so many lives of pods, how often
//! a server has to refuse. The books of the rules would grow with every pod.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kruise_api::Resource;
use kruise_api::resource::PODS;
use serde_json::Value;

use super::Flags;
use super::actors::Actors;
use super::clock::WorldClock;
use super::faults::Plan;
use super::manager::{Abort, Slot, WHO};
use super::weather::{Storm, counts};
use crate::rng::Rng;
use crate::server::{Call, Change, Name, Object, Observer, Server, Store, Verb, What, resources};

/// Events that the server remembers: enough for watches in calm weather, and few, so that they are all there soon.
const HISTORY: usize = 500;

/// A server, everybody else of a cluster, and one manager. They end with it. Needs a runtime whose time is virtual.
pub struct Bare {
    server: Server,
    tally: Tally,
    _tasks: [Abort; 2],
}

/// What has happened so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pods that were created, by anybody.
    pub pods: u64,
    /// Writes of the manager that were refused.
    pub refused: u64,
}

#[derive(Clone, Default)]
struct Tally(Arc<Mutex<Counts>>);

impl Bare {
    /// `None` only if the table of the server lost a kind.
    pub fn begin(seed: u64, flags: &Flags) -> Option<Self> {
        let mut rng = Rng::new(seed);
        let clock = WorldClock::start();
        let wall = clock.clone();
        let server = Server::new(rng.draw(), Arc::new(move || wall.now()));
        let tally = Tally::default();
        {
            let mut state = server.lock();
            state.observe(Box::new(tally.clone()));
            state.admit_by_ours();
            state.store.keep(HISTORY);
        }
        let actors = Actors::new(&server, &clock, rng.fork(), Arc::default())?;
        let slot = Slot {
            storm: Storm::new(rng.fork(), &Plan::default()),
            settings: Arc::clone(&flags.alone),
            server: server.clone(),
            clock,
            bug: None,
            number: 0,
        };
        super::furnish(&server);
        let tasks = [Abort(tokio::spawn(actors.run())), Abort(tokio::spawn(slot.run(rng.fork())))];
        Some(Self { server, tally, _tasks: tasks })
    }

    pub fn counts(&self) -> Counts {
        *self.tally.lock()
    }

    /// Creations beyond so many pods are refused.
    pub fn limit_pods(&self, most: usize) {
        self.server.lock().limit_pods(most);
    }

    /// What a user creates; in the namespace `default` if it has one.
    pub fn create(&self, resource: Resource, object: Value) -> Result<(), String> {
        self.ask(Verb::Create, resource, "", object)
    }

    /// At once, whatever grace period it has.
    pub fn delete(&self, resource: Resource, name: &str) -> Result<(), String> {
        self.ask(Verb::Delete, resource, name, serde_json::json!({"gracePeriodSeconds": 0}))
    }

    /// All objects of a type.
    pub fn all(&self, resource: Resource) -> Vec<(Name, Arc<Object>)> {
        let state = self.server.lock();
        let kind = resources::of(resource);
        let listed = kind.into_iter().flat_map(|kind| state.store.list(kind.id, ""));
        listed.map(|(name, object)| (name.clone(), Arc::clone(object))).collect()
    }

    fn ask(&self, verb: Verb, resource: Resource, name: &str, body: Value) -> Result<(), String> {
        let Some(kind) = resources::of(resource) else { return Err(format!("{resource:?} is not served")) };
        let call = Call::object(verb, kind, ("default", name), body);
        self.server.ask("user", &call).map(drop).map_err(|failure| failure.message)
    }
}

impl Tally {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Tally {
    fn changed(&mut self, change: &Change<'_>) {
        self.lock().pods += u64::from(change.is_of(PODS) && change.event.what == What::Added);
    }

    fn restored(&mut self, _: &Store) {}

    fn refused(&mut self, who: &'static str, call: &Call) {
        self.lock().refused += u64::from(who == WHO && counts(call));
    }
}
