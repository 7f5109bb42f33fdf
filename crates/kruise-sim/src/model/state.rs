//! One state of the tiny world, and what can happen in it.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use kruise_api::Resource;
use kruise_api::resource::PODS;
use kruise_core::chain::{Chain, Pace, Write};
use kruise_core::plan::Plan;

use super::cluster::{Cluster, Event, Id};
use super::kind::{NAME, now};
use crate::kubelet::{Knobs, Step, next};

/// Everything that decides what can happen next.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    pub cluster: Cluster,
    /// What the manager's watches have shown it.
    pub cache: Cluster,
    /// What they have not shown yet, per type in order.
    pending: BTreeMap<Resource, VecDeque<Event>>,
    /// The barrier: as many pending events must come before the next plan.
    awaited: BTreeMap<Resource, usize>,
    /// What is left of the plan that is being carried out.
    flights: Vec<Flight>,
    /// Edits of the user that were made.
    pub edits: usize,
    pub crashes: u8,
    /// Writes of the manager that changed something.
    pub writes: u16,
}

/// The rest of a chain.
#[derive(Clone)]
pub struct Flight {
    text: Arc<str>,
    step: Order,
    writes: Arc<[Write]>,
    done: usize,
}

/// Creations come after everything else, the status last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Order {
    First,
    Creation,
    Status,
}

/// One thing that happens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Action {
    /// The watch of this type shows its next event.
    Deliver(Resource),
    /// The manager plans, from what it has seen.
    Plan,
    /// It makes the next write of one chain.
    Write(usize),
    /// It dies and comes back: its plan is forgotten, its cache is filled anew.
    Crash,
    /// The node moves this pod on.
    Kubelet(String),
    /// The user makes the next edit.
    Edit,
}

impl State {
    pub fn of(cluster: Cluster) -> Self {
        let cache = cluster.clone();
        Self {
            cluster,
            cache,
            pending: BTreeMap::new(),
            awaited: BTreeMap::new(),
            flights: Vec::new(),
            edits: 0,
            crashes: 0,
            writes: 0,
        }
    }

    /// Nothing is under way between manager and server, and the manager has seen everything.
    pub fn is_calm(&self) -> bool {
        self.flights.is_empty() && self.pending.values().all(VecDeque::is_empty)
    }

    /// The barrier is open and no plan is being carried out.
    pub fn may_plan(&self) -> bool {
        self.flights.is_empty() && self.awaited.values().all(|count| *count == 0)
    }

    /// Everything but planning, which depends on the planner.
    pub fn happenings(&self, actions: &mut Vec<Action>) {
        let waiting = self.pending.iter().filter(|(_, events)| !events.is_empty());
        actions.extend(waiting.map(|(resource, _)| Action::Deliver(*resource)));
        let first = self.flights.iter().map(|flight| flight.step).min();
        let flying = self.flights.iter().enumerate().filter(|(_, flight)| Some(flight.step) == first);
        actions.extend(flying.map(|(place, _)| Action::Write(place)));
        let moving = self.cluster.objects.keys().filter(|id| self.step(id).is_some());
        actions.extend(moving.map(|(_, name)| Action::Kubelet(name.clone())));
    }

    pub fn deliver(&mut self, resource: Resource) {
        let Some(event) = self.pending.get_mut(&resource).and_then(VecDeque::pop_front) else { return };
        self.cache.take(&event);
        if let Some(count) = self.awaited.get_mut(&resource) {
            *count = count.saturating_sub(1);
        }
    }

    pub fn begin(&mut self, plan: &[Flight]) {
        self.flights = plan.to_vec();
    }

    /// The next write of a chain; a refused one ends the chain.
    pub fn write(&mut self, place: usize) {
        let Some(flight) = self.flights.get_mut(place) else { return };
        let Some(write) = flight.writes.get(flight.done).cloned() else { return };
        flight.done += 1;
        let is_last = flight.done == flight.writes.len();
        let result = self.cluster.write(&write);
        if is_last || result.is_err() {
            self.flights.remove(place);
        }
        if let Ok(Some(event)) = result {
            self.writes += 1;
            let resource = event.id.0;
            self.tell(event);
            let count = self.pending.get(&resource).map_or(0, VecDeque::len);
            self.awaited.insert(resource, count);
        }
    }

    pub fn crash(&mut self) {
        self.crashes += 1;
        self.flights.clear();
        self.pending.clear();
        self.awaited.clear();
        self.cache = self.cluster.clone();
    }

    pub fn run_on_node(&mut self, name: &str) {
        let id = (PODS, name.to_owned());
        let event = match self.step(&id) {
            Some(Step::Patch(operations)) => self.cluster.patch_status(id, &operations).ok().flatten(),
            Some(Step::Remove) => Some(self.cluster.remove(id)),
            Some(Step::Wait(_)) | None => None,
        };
        if let Some(event) = event {
            self.tell(event);
        }
    }

    pub fn edit(&mut self, workload: Resource, edit: fn(&mut serde_json::Value)) {
        self.edits += 1;
        if let Some(event) = self.cluster.edit((workload, NAME.to_owned()), edit) {
            self.tell(event);
        }
    }

    /// What the node would do with this pod; `None` for what is no pod, or waits.
    fn step(&self, id: &Id) -> Option<Step> {
        let pod = self.cluster.objects.get(id).filter(|_| id.0 == PODS)?.on_node()?;
        match next(pod, &Knobs::default(), now()) {
            Step::Wait(_) => None,
            step @ (Step::Patch(_) | Step::Remove) => Some(step),
        }
    }

    fn tell(&mut self, event: Event) {
        self.pending.entry(event.id.0).or_default().push_back(event);
    }
}

impl Flight {
    /// The writes of a plan, in the order that the runtime keeps.
    pub fn all(plan: &Plan) -> Vec<Self> {
        let order = |chain: &Chain| match chain.pace {
            Pace::Free => Order::First,
            Pace::SlowStart(_) => Order::Creation,
        };
        let chains = plan.chains.iter().map(|chain| Self::new(order(chain), chain.writes.clone()));
        let status = plan.status.iter().map(|write| Self::new(Order::Status, vec![write.clone()]));
        chains.chain(status).collect()
    }

    fn new(step: Order, writes: Vec<Write>) -> Self {
        Self { text: format!("{writes:?}").into(), step, writes: writes.into(), done: 0 }
    }
}

impl PartialEq for Flight {
    fn eq(&self, other: &Self) -> bool {
        self.done == other.done && self.step == other.step && self.text == other.text
    }
}

impl Eq for Flight {}

impl Hash for Flight {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.text, self.step, self.done).hash(state);
    }
}

impl fmt::Debug for Flight {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = self.writes.get(self.done..).unwrap_or_default();
        out.debug_list().entries(left.iter().map(|write| &write.object)).finish()
    }
}
