//! What the controllers of all workloads that own pods share: what wakes them, and how an object gets to its planner.

use std::sync::Arc;

use kruise_core::cluster::claim::Claim;
use kruise_core::lookup::{Index, Lookup};
use kruise_core::plan::Plan;
use kruise_core::pod::PodView;
use kruise_core::predownload::PullJob;
use kruise_core::revision::Known;
use kruise_core::turn::{Setup, Turn};
use kruise_core::workload::base::{Head, Sources};
use kruise_runtime::cache::{Slim, Version};
use kruise_runtime::controller::{Planner, Start};
use kruise_runtime::events::Subject;
use kruise_runtime::{Key, ObjectRef};

use super::{Declared, Wiring};

/// A kind of workload and its planner.
pub trait Planned: Send + Sync + 'static {
    type Object: Slim;
    /// In logs, metrics, events and the user agent.
    const CONTROLLER: &'static str;

    fn head(object: &Self::Object) -> &Arc<Head>;

    /// Assembles the view and plans.
    fn plan(&self, object: &Self::Object, from: Sources<'_>) -> Plan;

    /// Whether a change of an owned pod can change a plan.
    fn is_woken_by(&self, _object: &Self::Object, _old: &PodView, _new: &PodView) -> bool {
        true
    }

    /// Objects that no cache holds and that the next plan needs.
    fn uncached(&self, _object: &Self::Object, _lookup: Lookup<'_>) -> Vec<ObjectRef> {
        Vec::new()
    }

    /// Whether it plans although some of them could not be read.
    fn goes_on_unread(&self) -> bool {
        false
    }

    /// A chain that is reported by item has left this version of an object behind.
    fn wrote(&self, _key: &Key, _object: &ObjectRef, _version: Version) {}

    /// What wakes it besides itself and what it owns.
    fn wake_further(_wiring: &Wiring<'_>) {}
}

/// A controller of this kind, woken by itself and by what it owns (CS-83, AS-1), without the delay of the original: the barrier
/// makes it needless.
pub fn start<K: Planned>(kind: K, wiring: &Wiring<'_>) -> Start {
    let kind = Arc::new(kind);
    if let Some(objects) = wiring.store::<K::Object>() {
        let queue = Arc::clone(wiring.queue());
        objects.on_change(move |change| {
            let Some(object) = change.new.or(change.old) else { return };
            // Whoever changes the spec does not wait for a rest. Most other changes are our own status.
            let generation = |one: &Arc<K::Object>| K::head(one).generation;
            if change.new.map(generation) == change.old.map(generation) {
                queue.add(object.key());
            } else {
                queue.hurry(object.key());
            }
        });
    }
    let pods = Arc::clone(&kind);
    wake_owner::<K, PodView>(wiring, move |owner, old, new| pods.is_woken_by(owner, old, new));
    wake_owner::<K, Claim>(wiring, |_, _, _| true);
    wake_owner::<K, Known>(wiring, |_, _, _| true);
    wake_owner::<K, PullJob>(wiring, |_, _, _| true);
    K::wake_further(wiring);
    wiring.start(Workloads { kind, source: wiring.declared(), setup: wiring.setup.clone() })
}

/// The planner of all objects of one kind.
pub struct Workloads<K> {
    kind: Arc<K>,
    source: Declared,
    setup: Setup,
}

impl<K: Planned> Workloads<K> {
    fn object(&self, key: &Key) -> Option<Arc<K::Object>> {
        Lookup::new(&self.source).get(key)
    }
}

impl<K: Planned> Planner for Workloads<K> {
    fn name(&self) -> &'static str {
        K::CONTROLLER
    }

    fn plan(&self, key: &Key, turn: &Turn) -> Option<Plan> {
        let object = self.object(key)?;
        let from = Sources { lookup: Lookup::new(&self.source), setup: &self.setup, turn };
        Some(self.kind.plan(&object, from))
    }

    fn uncached(&self, key: &Key) -> Vec<ObjectRef> {
        let object = self.object(key);
        object.map(|object| self.kind.uncached(&object, Lookup::new(&self.source))).unwrap_or_default()
    }

    fn goes_on_unread(&self) -> bool {
        self.kind.goes_on_unread()
    }

    fn wrote(&self, key: &Key, object: &ObjectRef, version: Version) {
        self.kind.wrote(key, object, version);
    }

    fn subject(&self, key: &Key) -> Option<Subject> {
        let object = self.object(key)?;
        Some(Subject::new(K::Object::RESOURCE, object.key(), object.uid()))
    }
}

/// Wakes the workloads that own the object now or owned it before.
pub fn wake_owner<K: Planned, T: Slim>(
    wiring: &Wiring<'_>,
    matters: impl Fn(&K::Object, &T, &T) -> bool + Send + Sync + 'static,
) {
    let (Some(owners), Some(dependents)) = (wiring.store::<K::Object>(), wiring.store::<T>()) else { return };
    // Only the owners' store: one that held all of them would hold itself, and a manager in a simulated world would never be freed.
    let (owners, queue) = (Arc::clone(owners), Arc::clone(wiring.queue()));
    dependents.on_change(move |change| {
        let is_news = |owner: &K::Object| match (change.old, change.new) {
            (Some(old), Some(new)) => matters(owner, old, new),
            (_, _) => true,
        };
        for object in [change.old, change.new].into_iter().flatten() {
            object.index(&mut |index, uid| {
                if index == Index::Owner {
                    let found = owners.by(Index::Uid, uid);
                    found.iter().filter(|owner| is_news(owner)).for_each(|owner| queue.add(owner.key()));
                }
            });
        }
    });
}
