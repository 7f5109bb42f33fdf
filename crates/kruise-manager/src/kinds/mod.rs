//! One registration per kind. Stores, the catch-up of a new leader, controllers, flags, webhooks, permissions and the uninstall check
//! are derived from the list of registrations. What a registration does not declare its kind cannot read or write, so its own tests
//! find what was forgotten.

mod advancedcronjob;
mod broadcastjob;
mod cloneset;
mod containerrecreaterequest;
mod daemonset;
mod ephemeraljob;
mod imagelistpulljob;
mod imagepulljob;
mod launch_priority;
mod nodeimage;
mod nodepodprobe;
mod persistentpodstate;
mod pod_readiness;
mod podprobemarker;
mod resourcedistribution;
mod sidecarset;
mod sidecarterminator;
mod statefulset;
#[cfg(test)]
mod tests;
mod workload;

use std::collections::BTreeSet;
use std::sync::Arc;

use kruise_api::resource::SECRETS;
use kruise_core::admission::pod::PodStep;
use kruise_core::gates::{Gate, Gates};
use kruise_core::lookup::{Found, Index, Lookup, Source};
use kruise_core::turn::Setup;
use kruise_runtime::cache::{Caches, Slim, Store};
use kruise_runtime::controller::{Planner, Shared, Start};
use kruise_runtime::queue::Queue;
use kruise_runtime::{Key, Resource};

use crate::flags::Flags;
use crate::permissions::Use;
use crate::stores::Stores;
use crate::webhooks::entry::Entry;

/// Everything that makes a kind part of the manager.
pub struct Registration {
    /// As flags and documents call it: `cloneset`.
    pub name: &'static str,
    /// Without this gate the kind has no controller; its objects can still be written.
    pub gate: Option<Gate>,
    /// How many objects are reconciled concurrently.
    pub workers: Workers,
    /// What its views are made of and what wakes it.
    pub reads: &'static [Read],
    /// The types that its plans write. A new leader lists them anew before it begins.
    pub writes: &'static [Resource],
    pub controller: fn(&Wiring<'_>) -> Start,
    /// The webhook entries of its own objects.
    pub entries: fn() -> Vec<Entry>,
    /// What it does about pods that are created, changed, deleted or evicted.
    pub pod_step: Option<fn() -> PodStep>,
    /// Whether an object of this kind opens the readiness gates of its pods itself; `None` for kinds without pods.
    pub cares_for: Option<fn(Lookup<'_>, &str) -> bool>,
    pub permissions: fn() -> Vec<Use>,
    /// What the message of the uninstall check calls objects that block it; `None` if they do not.
    pub blocks_uninstall: Option<(Resource, &'static str)>,
}

/// How many objects of a kind are reconciled concurrently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workers {
    /// The flag `--NAME-workers` says it. The text is what its help calls the objects.
    Flag(&'static str),
    /// The original has no flag for it.
    Fixed(usize),
}

/// A type that a kind reads.
#[derive(Clone, Copy)]
pub struct Read {
    resource: Resource,
    add: fn(&mut Caches),
    /// Only with this gate.
    when: Option<Gate>,
}

/// What a controller is built from.
pub struct Wiring<'a> {
    pub registration: &'a Registration,
    pub flags: &'a Flags,
    pub stores: &'a Arc<Stores>,
    pub setup: &'a Setup,
    pub shared: &'a Shared,
    queue: Arc<Queue>,
}

/// The part of the caches that a kind has declared.
#[derive(Clone)]
pub struct Declared {
    caches: Arc<Caches>,
    reads: Arc<BTreeSet<Resource>>,
}

/// All kinds, in the order of their controllers.
pub const ALL: [&Registration; 18] = [
    &cloneset::REGISTRATION,
    &statefulset::REGISTRATION,
    &daemonset::REGISTRATION,
    &broadcastjob::REGISTRATION,
    &ephemeraljob::REGISTRATION,
    &containerrecreaterequest::REGISTRATION,
    &nodeimage::REGISTRATION,
    &imagepulljob::REGISTRATION,
    &imagelistpulljob::REGISTRATION,
    &advancedcronjob::REGISTRATION,
    &sidecarset::REGISTRATION,
    &sidecarterminator::REGISTRATION,
    &persistentpodstate::REGISTRATION,
    &podprobemarker::REGISTRATION,
    &nodepodprobe::REGISTRATION,
    &resourcedistribution::REGISTRATION,
    &pod_readiness::REGISTRATION,
    &launch_priority::REGISTRATION,
];

/// Every type that some kind reads with these gates. What Secrets contain is never watched in more than one namespace.
pub fn caches(gates: &Gates, secrets: &str) -> Caches {
    let mut caches = Caches::default();
    for read in registered(gates).flat_map(|one| one.reads).filter(|read| read.is_on(gates)) {
        (read.add)(&mut caches);
    }
    caches.confine(SECRETS, secrets.into());
    caches
}

/// Every type that some kind writes.
pub fn written() -> Vec<Resource> {
    let all: BTreeSet<Resource> = ALL.iter().flat_map(|one| one.writes).copied().collect();
    all.into_iter().collect()
}

/// A controller of each kind. Its keys are woken from now on; it works once it is started.
pub fn controllers(flags: &Flags, stores: &Arc<Stores>, setup: &Setup, shared: &Shared) -> Vec<Start> {
    let start = |registration: &Registration| {
        let queue = Arc::new(Queue::new(shared.back_off));
        (registration.controller)(&Wiring { registration, flags, stores, setup, shared, queue })
    };
    registered(&setup.gates).map(start).collect()
}

/// Those whose gate is on.
fn registered(gates: &Gates) -> impl Iterator<Item = &'static Registration> {
    ALL.into_iter().filter(|one| one.gate.is_none_or(|gate| gates.on(gate)))
}

impl Read {
    pub const fn of<T: Slim>() -> Self {
        Self { resource: T::RESOURCE, add: Caches::add::<T>, when: None }
    }

    /// Only with this gate.
    pub const fn when(self, gate: Gate) -> Self {
        Self { when: Some(gate), ..self }
    }

    fn is_on(&self, gates: &Gates) -> bool {
        self.when.is_none_or(|gate| gates.on(gate))
    }
}

impl Wiring<'_> {
    /// The queue of the kind's keys.
    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// A store that the kind has declared; `None` while its gate is off.
    pub fn store<T: Slim>(&self) -> Option<&Arc<Store<T>>> {
        let is_declared = self.registration.reads.iter().any(|read| read.resource == T::RESOURCE);
        self.stores.caches.store::<T>().filter(|_| is_declared)
    }

    /// What the kind's views are assembled from.
    pub fn declared(&self) -> Declared {
        let reads = self.registration.reads.iter().map(|read| read.resource).collect();
        Declared { caches: Arc::clone(&self.stores.caches), reads: Arc::new(reads) }
    }

    pub fn start(&self, planner: impl Planner) -> Start {
        let workers = match self.registration.workers {
            Workers::Flag(_) => self.flags.workers.of(self.registration.name),
            Workers::Fixed(count) => count,
        };
        Start::new(planner, workers, self.registration.writes, (&self.queue, self.shared))
    }
}

impl Source for Declared {
    fn get(&self, resource: Resource, key: &Key) -> Option<Found> {
        self.reads.contains(&resource).then(|| self.caches.get(resource, key))?
    }

    fn by(&self, resource: Resource, index: Index, value: &str) -> Vec<Found> {
        if self.reads.contains(&resource) { self.caches.by(resource, index, value) } else { Vec::new() }
    }

    fn all(&self, resource: Resource) -> Vec<Found> {
        if self.reads.contains(&resource) { self.caches.all(resource) } else { Vec::new() }
    }

    fn is_complete(&self, resource: Resource) -> bool {
        self.reads.contains(&resource) && self.caches.is_complete(resource)
    }

    fn is_settled(&self, resource: Resource) -> bool {
        self.reads.contains(&resource) && self.caches.is_settled(resource)
    }
}
