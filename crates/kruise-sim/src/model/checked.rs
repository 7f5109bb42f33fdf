//! What is checked, in every state.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use kruise_api::resource::PODS;
use kruise_core::pod::PodView;
use serde_json::Value;
use stateright::{Checker, Expectation, Property};

use super::cluster::Cluster;
use super::kind::NAME;
use super::state::{Action, Flight, State};
use crate::json::put;
use crate::model::kind::Kind;

/// One world with its rules.
pub struct Model {
    pub kind: Kind,
    pub replicas: u32,
    /// Merged into the spec.
    pub spec: Value,
    /// What the user changes, one after the other, at any time.
    pub edits: Vec<fn(&mut Value)>,
    /// How often the manager may die.
    pub crashes: u8,
    /// Fewest pods that must be ready at any time; checked from a settled start on.
    pub ready: u32,
    /// Most pods that may be there at any time.
    pub most: u32,
    /// Most pods that may have left the first revision.
    pub moved: u32,
    /// Image of the pods that have moved in the end.
    pub image: &'static str,
    /// More writes of the manager than this go round in circles.
    pub writes: u16,
    pub start: Start,
    pub(super) plans: Plans,
}

/// Where the checker begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With the object alone.
    Empty,
    /// When all pods are ready and nothing moves.
    Settled,
}

/// What a checker found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    pub states: usize,
    pub depth: usize,
}

/// The same cache is planned from again and again.
pub(super) type Plans = Mutex<HashMap<(u64, u64), Arc<[Flight]>>>;

/// Visits all states, or says which rule broke and what led there.
pub fn check(model: Model) -> Result<Checked, String> {
    let checker = stateright::Model::checker(model).threads(2).spawn_bfs().join();
    for property in stateright::Model::properties(checker.model()) {
        match (property.expectation, checker.discovery(property.name)) {
            (Expectation::Always | Expectation::Eventually, Some(path)) => {
                return Err(format!("{}: {:?}", property.name, path.into_actions()));
            }
            (Expectation::Sometimes, None) => return Err(format!("{}: never", property.name)),
            (Expectation::Always | Expectation::Eventually, None) | (Expectation::Sometimes, Some(_)) => {}
        }
    }
    Ok(Checked { states: checker.unique_state_count(), depth: checker.max_depth() })
}

impl Model {
    /// A rollout from settled pods, without surge and partition.
    pub fn rollout(kind: Kind, replicas: u32, spec: Value) -> Self {
        Self {
            kind,
            replicas,
            spec,
            edits: vec![|edited| image(edited, "nginx:2")],
            crashes: 1,
            ready: replicas - 1,
            most: replicas,
            moved: replicas,
            image: "nginx:2",
            writes: 60,
            start: Start::Settled,
            plans: Plans::default(),
        }
    }

    fn plan(&self, state: &State) -> Arc<[Flight]> {
        let mut hasher = DefaultHasher::new();
        state.cache.hash(&mut hasher);
        let seed = state.cluster.births();
        let key = (hasher.finish(), seed);
        let known = |plans: &Plans| plans.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        known(&self.plans).unwrap_or_else(|| {
            let plan = self.kind.plan(&state.cache, seed);
            let flights: Arc<[Flight]> = Flight::all(&plan).into();
            let mut all = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
            all.insert(key, Arc::clone(&flights));
            flights
        })
    }

    /// Nobody has anything left to do.
    fn is_over(&self, state: &State) -> bool {
        let mut actions = Vec::new();
        state.happenings(&mut actions);
        actions.is_empty()
            && state.edits == self.edits.len()
            && state.is_calm()
            && self.plan(state).is_empty()
    }

    fn is_reached(&self, state: &State) -> bool {
        let pods = pods(&state.cluster);
        let moved = pods.iter().filter(|pod| is_at(pod, self.image)).count();
        let is_counted = |pod: &Arc<PodView>| pod.is_ready() && pod.deleted.is_none();
        pods.iter().all(is_counted) && pods.len() == self.replicas as usize && moved == self.moved as usize
    }

    /// From the object alone to the end, always doing the first thing that can be done.
    fn settled(&self, mut state: State) -> State {
        loop {
            let mut actions = Vec::new();
            state.happenings(&mut actions);
            match actions.first() {
                Some(action) => self.act(&mut state, action),
                None if self.plan(&state).is_empty() => break,
                None => self.act(&mut state, &Action::Plan),
            }
        }
        state.writes = 0;
        state
    }

    fn act(&self, state: &mut State, action: &Action) {
        match action {
            Action::Deliver(resource) => state.deliver(*resource),
            Action::Plan => {
                let plan = self.plan(state);
                state.begin(&plan);
            }
            Action::Write(place) => state.write(*place),
            Action::Crash => state.crash(),
            Action::Kubelet(name) => state.run_on_node(name),
            Action::Edit => {
                if let Some(edit) = self.edits.get(state.edits) {
                    state.edit(self.kind.resource(), *edit);
                }
            }
        }
    }
}

impl stateright::Model for Model {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let mut cluster = Cluster::default();
        let object = self.kind.object(self.replicas, &self.spec);
        let created = cluster.create((self.kind.resource(), NAME.to_owned()), object);
        debug_assert!(created.is_ok(), "the first object");
        let empty = State::of(cluster);
        match self.start {
            Start::Empty => vec![empty],
            Start::Settled => vec![self.settled(empty)],
        }
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.writes > self.writes {
            return; // Reported by the property; going on would never end.
        }
        state.happenings(actions);
        if state.may_plan() && !self.plan(state).is_empty() {
            actions.push(Action::Plan);
        }
        if state.edits < self.edits.len() {
            actions.push(Action::Edit);
        }
        if state.crashes < self.crashes && !state.is_calm() {
            actions.push(Action::Crash);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        self.act(&mut state, &action);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no more pods down than allowed", |model: &Self, state: &State| {
                let ready =
                    pods(&state.cluster).iter().filter(|pod| pod.is_ready() && pod.deleted.is_none()).count();
                model.start == Start::Empty || ready >= model.ready as usize
            }),
            Property::always("no more pods than allowed", |model: &Self, state: &State| {
                let alive = pods(&state.cluster).iter().filter(|pod| pod.deleted.is_none()).count();
                alive <= model.most as usize
            }),
            Property::always("no more pods moved than the partition lets", |model: &Self, state: &State| {
                let moved = pods(&state.cluster).iter().filter(|pod| !is_at(pod, FIRST)).count();
                moved <= model.moved as usize || model.image == FIRST
            }),
            Property::always("a bounded number of writes", |model: &Self, state: &State| {
                state.writes <= model.writes
            }),
            Property::always("where nothing moves, the spec is reached", |model: &Self, state: &State| {
                !model.is_over(state) || model.is_reached(state)
            }),
            Property::sometimes("the spec is reached", |model: &Self, state: &State| {
                model.is_over(state) && model.is_reached(state)
            }),
        ]
    }
}

/// What pods run before the first edit.
const FIRST: &str = "nginx:1";

/// Sets the image of the template.
pub fn image(spec: &mut Value, image: &str) {
    put(spec, "/template/spec/containers/0", "image", image);
}

fn pods(cluster: &Cluster) -> Vec<Arc<PodView>> {
    cluster.of(PODS).filter_map(super::object::Object::pod).collect()
}

fn is_at(pod: &PodView, image: &str) -> bool {
    pod.containers.iter().all(|container| &*container.image == image)
}
