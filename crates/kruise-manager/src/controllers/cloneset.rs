//! Wires the CloneSet controller: what wakes it and what its view is made of. Decides nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kruise_core::chain::{Act, Chain, Purpose, Resource as Target};
use kruise_core::cloneset::{Failures, PreparingDelete, View, collided, plan};
use kruise_core::gates::Gates;
use kruise_core::ids::PodName;
use kruise_core::inplace::Resize;
use kruise_core::plan::Plan;
use kruise_runtime::apply::Resources;
use kruise_runtime::cache::{Cached, Index, Store};
use kruise_runtime::controller::{Planner, Turn};
use kruise_runtime::events::Subject;
use kruise_runtime::queue::Queue;
use kruise_runtime::{Key, Resource};

use crate::objects::{Claim, CloneSet, Pod, PullJob, Revision, index};
use crate::stores::Stores;
use kruise_api::names::component;

/// Everything a view of a CloneSet is made of.
pub struct CloneSets {
    stores: Arc<Stores>,
    gates: Gates,
    resize: Resize,
    excluded: PreparingDelete,
}

impl CloneSets {
    pub fn new(stores: Arc<Stores>, gates: Gates, resize: Resize, excluded: PreparingDelete) -> Self {
        Self { stores, gates, resize, excluded }
    }

    /// CS-83, without the delay: the barrier makes it needless.
    pub fn wake(stores: &Arc<Stores>, queue: &Arc<Queue>) {
        let waker = Arc::clone(queue);
        stores.clonesets.on_change(move |change| {
            if let Some(object) = change.new.or(change.old) {
                waker.add(object.key());
            }
        });
        wake_owner(stores, queue, &stores.pods);
        wake_owner(stores, queue, &stores.claims);
        wake_owner(stores, queue, &stores.revisions);
        if let Some(jobs) = &stores.pull_jobs {
            wake_owner(stores, queue, jobs);
        }
    }

    fn view(&self, object: &CloneSet, turn: &Turn) -> View {
        let mut view = View::of(&object.object, self.excluded);
        let uid = view.uid.clone();
        let stores = &self.stores;
        let pods = stores.pods.by(Index::Owner, uid.as_str()).iter().map(|pod| Arc::clone(&pod.0)).collect();
        let orphans = stores.revisions.by(index::ORPHAN, &view.namespace);
        let orphans = orphans.into_iter().filter(|revision| is_selected(&view, revision));
        let owned = stores.revisions.by(Index::Owner, uid.as_str()).into_iter();
        let revisions = owned.chain(orphans).filter_map(|revision| revision.view.clone()).collect();
        view = view.with(pods, revisions);
        self.add_claims(&mut view);
        if let Some(jobs) = &stores.pull_jobs {
            view.pull_jobs = jobs.by(Index::Owner, uid.as_str()).iter().map(|job| job.view()).collect();
        }
        self.add_nodes(&mut view);
        view.gates = self.gates.clone();
        view.resize = self.resize;
        view.failures = failures(&turn.failures);
        view.seed = turn.seed;
        view
    }

    /// SM-5: the name of the revision to be stored belongs to another object already.
    fn is_taken(&self, key: &Key, plan: &Plan) -> bool {
        plan.writes().any(|write| {
            let is_new = write.resource == Target::Revision && matches!(write.act, Act::Create(_));
            let stored =
                || self.stores.revisions.get(&Key::new(Arc::clone(&key.namespace), write.name.as_str()));
            is_new && stored().is_some()
        })
    }

    fn add_claims(&self, view: &mut View) {
        let mut claims: BTreeMap<Key, Arc<Claim>> = BTreeMap::new();
        let mut add =
            |found: Vec<Arc<Claim>>| claims.extend(found.into_iter().map(|claim| (claim.key(), claim)));
        add(self.stores.claims.by(Index::Owner, view.uid.as_str()));
        if view.spec.as_ref().is_ok_and(|spec| !spec.claim_templates.is_empty()) {
            let middle = format!("-{}-", view.name);
            let mut named = self.stores.claims.by(index::INSTANCE, &view.namespace);
            named.retain(|claim| claim.meta.meta.name.contains(&middle));
            add(named);
        }
        view.strangers = claims.values().filter_map(|claim| self.stranger(view, claim.instance()?)).collect();
        view.claims = claims.values().map(|claim| claim.view(&view.uid)).collect();
    }

    /// A pod of somebody else that has the name of one of our instances (B7).
    fn stranger(&self, view: &View, instance: &str) -> Option<PodName> {
        let key = Key::new(view.namespace.as_str(), format!("{}-{instance}", view.name));
        let pod = self.stores.pods.get(&key)?;
        let is_ours = pod.0.owners.iter().any(|owner| owner.uid == view.uid);
        (!is_ours).then(|| pod.0.name.clone())
    }

    fn add_nodes(&self, view: &mut View) {
        let names: BTreeSet<Arc<str>> = view.pods.iter().filter_map(|pod| pod.node.clone()).collect();
        let keys: BTreeSet<String> = match &view.spec {
            Ok(spec) => spec.topology_keys().into_iter().map(str::to_owned).collect(),
            Err(_) => BTreeSet::new(),
        };
        for name in names {
            let Some(node) = self.stores.nodes.get(&Key::new("", Arc::clone(&name))) else { continue };
            if node.is_virtual() {
                view.virtual_nodes.insert(name.to_string());
            }
            if !keys.is_empty() {
                let labels = node.labels().iter().filter(|(key, _)| keys.contains(*key));
                let labels = labels.map(|(key, value)| (key.clone(), value.clone())).collect();
                view.node_labels.insert(name.to_string(), labels);
            }
        }
    }
}

impl Planner for CloneSets {
    fn name(&self) -> &'static str {
        component::CLONESET
    }

    fn plan(&self, key: &Key, turn: &Turn) -> Option<Plan> {
        let object = self.stores.clonesets.get(key)?;
        let view = self.view(&object, turn);
        let next = plan(&view, turn.now);
        if !self.is_taken(key, &next) {
            return Some(next);
        }
        let mut counted = Plan::default();
        counted.act(Chain::other(Purpose::Revision, vec![collided(&view)]));
        Some(counted)
    }

    fn subject(&self, key: &Key) -> Option<Subject> {
        let object = self.stores.clonesets.get(key)?;
        Some(Subject {
            api_version: CloneSet::RESOURCE.api_version(),
            kind: CloneSet::RESOURCE.kind,
            namespace: Arc::clone(&object.meta.namespace),
            name: Arc::clone(&object.meta.name),
            uid: object.meta.uid.clone(),
        })
    }
}

impl Resources for CloneSets {
    fn of(&self, target: Target) -> Resource {
        match target {
            Target::Pod => Pod::RESOURCE,
            Target::Claim => Claim::RESOURCE,
            Target::Revision => Revision::RESOURCE,
            Target::ImagePullJob => PullJob::RESOURCE,
            Target::Workload => CloneSet::RESOURCE,
        }
    }
}

/// Wakes the CloneSets that own the object now or owned it before.
fn wake_owner<T: Cached + Owned>(stores: &Arc<Stores>, queue: &Arc<Queue>, store: &Store<T>) {
    let (owners, queue) = (Arc::clone(stores), Arc::clone(queue));
    store.on_change(move |change| {
        for object in [change.old, change.new].into_iter().flatten() {
            object.owners(&mut |uid| {
                for owner in owners.clonesets.by(index::UID, uid) {
                    queue.add(owner.key());
                }
            });
        }
    });
}

/// The owners of an object, by uid.
trait Owned {
    fn owners(&self, tell: &mut dyn FnMut(&str));
}

impl<T: Cached> Owned for T {
    fn owners(&self, tell: &mut dyn FnMut(&str)) {
        self.index(&mut |index, value| {
            if index == Index::Owner {
                tell(value);
            }
        });
    }
}

/// SM-6: an orphan counts if the selector matches its labels.
fn is_selected(view: &View, revision: &Revision) -> bool {
    let (Ok(spec), Some(stored)) = (&view.spec, &revision.view) else { return false };
    spec.selector.matches_map(&stored.labels)
}

fn failures(all: &BTreeMap<Purpose, String>) -> Failures {
    let first = |purposes: &[Purpose]| purposes.iter().find_map(|purpose| all.get(purpose).cloned());
    Failures {
        scale: first(&[Purpose::Create, Purpose::Delete, Purpose::Claims]),
        update: first(&[Purpose::UpdateInPlace, Purpose::Recreate, Purpose::Refresh, Purpose::Revision]),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kruise_runtime::cache::Caches;
    use kruise_runtime::queue::{BackOff, Done};
    use serde_json::{Value, json};

    use super::*;
    use crate::stores::PullJobs;

    struct World {
        stores: Arc<Stores>,
        caches: Caches,
        queue: Arc<Queue>,
    }

    fn world() -> World {
        let stores = Arc::new(Stores::new(PullJobs::Used));
        let back_off = BackOff { first: Duration::from_millis(5), longest: Duration::from_secs(1) };
        let queue = Arc::new(Queue::new(back_off));
        CloneSets::wake(&stores, &queue);
        let caches = stores.caches();
        World { stores, caches, queue }
    }

    impl World {
        fn put(&self, resource: Resource, object: &Value) {
            self.caches.refresh(resource, &Key::new("", ""), Some(&object.to_string())).unwrap();
        }

        /// How many keys wait, after they were taken and settled.
        async fn woken(&self) -> usize {
            let woken = self.queue.depth();
            for _ in 0..woken {
                let key = self.queue.next().await.unwrap();
                self.queue.done(key, Done::Settled(None));
            }
            woken
        }
    }

    fn meta(name: &str, uid: &str, version: u64, owner: Option<&str>) -> Value {
        let reference = |of: &str| json!([{"apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "uid": of, "controller": true}]);
        let owners = owner.map_or(json!([]), reference);
        json!({"namespace": "n", "name": name, "uid": uid, "resourceVersion": version.to_string(), "ownerReferences": owners})
    }

    fn cloneset(version: u64) -> Value {
        json!({
            "metadata": meta("web", "w", version, None),
            "spec": {
                "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "a", "image": "x"}]}},
            },
        })
    }

    /// CS-83, B19: dependents are found by their owner's uid, of whatever type; other people's objects wake nobody.
    #[tokio::test]
    async fn cs_83_cloneset_b19_it_is_woken_by_itself_and_by_what_it_owns() {
        let world = world();
        world.put(CloneSet::RESOURCE, &cloneset(1));
        assert_eq!(world.woken().await, 1);

        for (version, resource) in
            [Pod::RESOURCE, Claim::RESOURCE, Revision::RESOURCE, PullJob::RESOURCE].into_iter().enumerate()
        {
            let version = u64::try_from(version).unwrap() + 2;
            world.put(resource, &json!({"metadata": meta("web-a", "a", version, Some("w"))}));
            assert_eq!(world.woken().await, 1, "{}", resource.plural);
            world.put(resource, &json!({"metadata": meta("other", "o", version, Some("somebody"))}));
            assert_eq!(world.woken().await, 0, "{}", resource.plural);
        }
    }

    /// A pod that changes hands wakes the old owner, too: it has to replace it.
    #[tokio::test]
    async fn cs_5_released_pod_wakes_its_former_owner() {
        let world = world();
        world.put(CloneSet::RESOURCE, &cloneset(1));
        world.put(Pod::RESOURCE, &json!({"metadata": meta("web-a", "a", 2, Some("w"))}));
        world.woken().await;

        world.put(Pod::RESOURCE, &json!({"metadata": meta("web-a", "a", 3, None)}));

        assert_eq!(world.woken().await, 1);
    }

    /// SM-77, B12: objects of the cache are shared with every view and can be changed by nobody.
    #[tokio::test]
    async fn sm_77_cloneset_b12_views_share_pods_with_the_cache() {
        let world = world();
        world.put(CloneSet::RESOURCE, &cloneset(1));
        world.put(Pod::RESOURCE, &json!({"metadata": meta("web-a", "a", 2, Some("w"))}));
        let sets = CloneSets::new(
            Arc::clone(&world.stores),
            Gates::default(),
            Resize::Endpoint,
            PreparingDelete::Counted,
        );
        let object = world.stores.clonesets.get(&Key::new("n", "web")).unwrap();
        let turn = Turn { now: jiff::Timestamp::UNIX_EPOCH, failures: BTreeMap::new(), seed: 1 };

        let view = sets.view(&object, &turn);

        let cached = world.stores.pods.get(&Key::new("n", "web-a")).unwrap();
        assert!(Arc::ptr_eq(&view.pods[0], &cached.0));
    }

    /// SM-5: another object has the name of the revision to be stored: count, and take the next name.
    #[tokio::test]
    async fn sm_5_taken_revision_name_is_counted() {
        let world = world();
        world.put(CloneSet::RESOURCE, &cloneset(1));
        let sets = CloneSets::new(
            Arc::clone(&world.stores),
            Gates::default(),
            Resize::Endpoint,
            PreparingDelete::Counted,
        );
        let (key, turn) = (
            Key::new("n", "web"),
            Turn { now: jiff::Timestamp::UNIX_EPOCH, failures: BTreeMap::new(), seed: 1 },
        );
        let first = sets.plan(&key, &turn).unwrap();
        let wanted = first.writes().next().unwrap().clone();
        assert_eq!(wanted.resource, Target::Revision);

        world.put(Revision::RESOURCE, &json!({"metadata": meta(&wanted.name, "r", 2, Some("somebody"))}));

        let second = sets.plan(&key, &turn).unwrap();
        let write = second.writes().next().unwrap();
        assert_eq!((write.resource, write.name.as_str()), (Target::Workload, "web"));
    }
}
