//! What the controllers of all workloads share: what wakes them, how revisions are found, what a plan's writes are about.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use kruise_core::base::Base;
use kruise_core::chain::{Act, Chain, Purpose, Resource as Target};
use kruise_core::gates::Gates;
use kruise_core::ids::Uid;
use kruise_core::inplace::Resize;
use kruise_core::order::Selector;
use kruise_core::plan::Plan;
use kruise_core::pod::PodView;
use kruise_core::revision::Revision as StoredRevision;
use kruise_core::workload::{Failures, PullJob as Job, Workload};
use kruise_runtime::apply::Resources;
use kruise_runtime::cache::{Cached, Index, Store};
use kruise_runtime::controller::{Planner, Turn};
use kruise_runtime::events::Subject;
use kruise_runtime::queue::Queue;
use kruise_runtime::{Key, Resource};

use crate::objects::{self, Kind, Revision, Stored, index};
use crate::stores::Stores;

/// A kind of workload: how its view is assembled and which planner gets it.
pub trait Planned: Send + Sync + 'static {
    type Kind: Kind;
    type View;
    /// In logs, metrics, events and the user agent.
    const CONTROLLER: &'static str;

    fn store(stores: &Stores) -> &Arc<Store<Stored<Self::Kind>>>;

    /// One indexed look-up per field.
    fn view(&self, cx: &Context, object: &Stored<Self::Kind>, turn: &Turn) -> Self::View;

    fn plan(view: &Self::View, now: Timestamp) -> Plan;

    fn workload(view: &Self::View) -> Workload<'_>;

    /// What wakes it besides itself and what it owns.
    fn wake_further(_stores: &Arc<Stores>, _queue: &Arc<Queue>) {}
}

/// What every view is made of.
#[derive(Clone)]
pub struct Context {
    pub stores: Arc<Stores>,
    pub gates: Gates,
    pub resize: Resize,
}

pub struct Workloads<K> {
    cx: Context,
    kind: K,
}

impl<K: Planned> Workloads<K> {
    pub fn new(cx: Context, kind: K) -> Self {
        Self { cx, kind }
    }

    /// CS-83, AS-1, without the delay of the original: the barrier makes it needless.
    pub fn wake(stores: &Arc<Stores>, queue: &Arc<Queue>) {
        let waker = Arc::clone(queue);
        K::store(stores).on_change(move |change| {
            let Some(object) = change.new.or(change.old) else { return };
            // Whoever changes the spec does not wait for a rest. Most other changes are our own status.
            if change.new.map(generation) == change.old.map(generation) {
                waker.add(object.key());
            } else {
                waker.hurry(object.key());
            }
        });
        wake_owner::<K, _>(stores, queue, &stores.pods);
        wake_owner::<K, _>(stores, queue, &stores.claims);
        wake_owner::<K, _>(stores, queue, &stores.revisions);
        if let Some(jobs) = &stores.pull_jobs {
            wake_owner::<K, _>(stores, queue, jobs);
        }
        K::wake_further(stores, queue);
    }

    /// SM-5: the name of the revision to be stored belongs to another object already.
    fn is_taken(&self, key: &Key, plan: &Plan) -> bool {
        let is_stored =
            |name: &str| self.cx.stores.revisions.get(&Key::new(Arc::clone(&key.namespace), name)).is_some();
        plan.writes().any(|write| {
            let is_new = write.resource == Target::Revision && matches!(write.act, Act::Create(_));
            is_new && is_stored(&write.name)
        })
    }
}

impl<K: Planned> Planner for Workloads<K> {
    fn name(&self) -> &'static str {
        K::CONTROLLER
    }

    fn plan(&self, key: &Key, turn: &Turn) -> Option<Plan> {
        let object = K::store(&self.cx.stores).get(key)?;
        let view = self.kind.view(&self.cx, &object, turn);
        let next = K::plan(&view, turn.now);
        if !self.is_taken(key, &next) {
            return Some(next);
        }
        let mut counted = Plan::default();
        counted.act(Chain::other(Purpose::Revision, vec![K::workload(&view).collided()]));
        Some(counted)
    }

    fn subject(&self, key: &Key) -> Option<Subject> {
        let object = K::store(&self.cx.stores).get(key)?;
        Some(Subject {
            api_version: K::Kind::RESOURCE.api_version(),
            kind: K::Kind::RESOURCE.kind,
            namespace: Arc::clone(&object.meta.namespace),
            name: Arc::clone(&object.meta.name),
            uid: object.meta.uid.clone(),
        })
    }
}

impl<K: Planned> Resources for Workloads<K> {
    fn of(&self, target: Target) -> Resource {
        objects::resource(target, K::Kind::RESOURCE)
    }
}

/// Counts the changes of its spec.
fn generation<K>(object: &Arc<Stored<K>>) -> Option<i64> {
    object.object.pointer("/metadata/generation")?.as_i64()
}

/// The revisions of a workload.
pub struct Revisions {
    pub owned: Vec<Arc<StoredRevision>>,
    /// Owned by nobody, with labels that the selector matches (SM-6, AS-3).
    pub orphans: Vec<Arc<StoredRevision>>,
}

impl Context {
    pub fn revisions(&self, namespace: &str, uid: &Uid, selector: Option<&Selector>) -> Revisions {
        let views = |found: Vec<Arc<Revision>>| found.into_iter().filter_map(|one| one.view.clone());
        let store = &self.stores.revisions;
        let is_selected =
            |one: &Arc<StoredRevision>| selector.is_some_and(|selector| selector.matches_map(&one.labels));
        Revisions {
            owned: views(store.by(Index::Owner, uid.as_str())).collect(),
            orphans: views(store.by(index::ORPHAN, namespace)).filter(is_selected).collect(),
        }
    }

    /// What every view gets besides pods and revisions, which decide about some of it.
    pub fn complete(&self, base: &mut Base, turn: &Turn) {
        base.virtual_nodes = self.virtual_nodes(&base.pods);
        base.pull_jobs = self.pull_jobs(&base.uid);
        base.gates = self.gates.clone();
        base.resize = self.resize;
        base.failures = failures(&turn.failures);
    }

    pub fn owned_pods(&self, uid: &Uid) -> Vec<Arc<PodView>> {
        self.stores.pods.by(Index::Owner, uid.as_str()).iter().map(|pod| Arc::clone(&pod.0)).collect()
    }

    fn pull_jobs(&self, uid: &Uid) -> Vec<Job> {
        let jobs = self.stores.pull_jobs.iter().flat_map(|jobs| jobs.by(Index::Owner, uid.as_str()));
        jobs.map(|job| job.view()).collect()
    }

    /// Nodes of these pods that our daemon cannot run on.
    fn virtual_nodes(&self, pods: &[Arc<PodView>]) -> BTreeSet<String> {
        let names: BTreeSet<&Arc<str>> = pods.iter().filter_map(|pod| pod.node.as_ref()).collect();
        let is_virtual = |name: &&Arc<str>| {
            let node = self.stores.nodes.get(&Key::new("", Arc::clone(name)));
            node.is_some_and(|node| node.is_virtual())
        };
        names.into_iter().filter(is_virtual).map(ToString::to_string).collect()
    }
}

/// Which condition a failure belongs to.
fn failures(all: &BTreeMap<Purpose, String>) -> Failures {
    let first = |purposes: &[Purpose]| purposes.iter().find_map(|purpose| all.get(purpose).cloned());
    Failures {
        scale: first(&[Purpose::Create, Purpose::Delete, Purpose::Claims]),
        update: first(&[
            Purpose::UpdateInPlace,
            Purpose::Recreate,
            Purpose::GrowClaim,
            Purpose::Refresh,
            Purpose::Revision,
        ]),
    }
}

/// Wakes the workloads that own the object now or owned it before.
fn wake_owner<K: Planned, T: Cached>(stores: &Arc<Stores>, queue: &Arc<Queue>, store: &Store<T>) {
    // Only the owners' store: one that held all of them would hold itself, and a manager in a simulated world would never be freed.
    let (owners, queue) = (Arc::clone(K::store(stores)), Arc::clone(queue));
    store.on_change(move |change| {
        for object in [change.old, change.new].into_iter().flatten() {
            object.index(&mut |index, uid| {
                if index == Index::Owner {
                    for owner in owners.by(index::UID, uid) {
                        queue.add(owner.key());
                    }
                }
            });
        }
    });
}
