//! Wires the PersistentPodState controller: what wakes it and what its view is made of. Decides nothing.
//!
//! One key is one name: the object of that name, and the workloads of that name whose annotations may ask for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kruise_api::annotations::PPS_INJECTED;
use kruise_api::names::component;
use kruise_core::chain::Resource as Target;
use kruise_core::persistentpodstate::generate::{Asker, generate};
use kruise_core::persistentpodstate::placement::chosen;
use kruise_core::persistentpodstate::{self as brain, View, Workload};
use kruise_core::plan::Plan;
use kruise_core::pod::PodView;
use kruise_runtime::apply::Resources;
use kruise_runtime::cache::{Cached, Change, Index, Store};
use kruise_runtime::controller::{Planner, Turn};
use kruise_runtime::events::Subject;
use kruise_runtime::queue::Queue;
use kruise_runtime::{Key, Resource};
use serde_json::Value;

use crate::custom_kinds::{Lookup, News};
use crate::objects::{
    self, Kind, NativeStatefulSet, PersistentPodState, Pod, StatefulSet, Stored, index, target_entry,
};
use crate::stores::Stores;

/// Everything a view of a PersistentPodState is made of.
pub struct PodStates {
    stores: Arc<Stores>,
}

impl PodStates {
    pub fn new(stores: Arc<Stores>) -> Self {
        Self { stores }
    }

    /// PP-1, PP-2, PP-4, PP-5, PP-6. What is woken holds the stores only for as long as it takes: they hold it.
    pub fn wake(stores: &Arc<Stores>, queue: &Arc<Queue>) {
        let (all, waker) = (Arc::downgrade(stores), Arc::clone(queue));
        stores.pod_states.on_change(move |change| {
            let Some(all) = all.upgrade() else { return };
            for object in [change.old, change.new].into_iter().flatten() {
                waker.add(object.key());
                // The next object of the same target may come first now (D13).
                wake_by(&all, &waker, &object.meta.namespace, &target_of(object));
            }
        });
        wake_with(stores, queue, &stores.native_statefulsets);
        wake_with(stores, queue, &stores.statefulsets);
        wake_with_custom(stores, queue);
        wake_with_pods(stores, queue);
    }

    /// `None` while it is not known whether the workload is there: then its records stay as they are.
    fn view(&self, object: &PersistentPodState) -> Option<View> {
        let mut view = View::of(&object.object);
        let namespace = &object.meta.namespace;
        let entry = target_entry(namespace, &view.spec.target);
        let rivals = self.stores.pod_states.by(index::TARGET, &entry);
        let first = chosen(rivals.iter().map(|rival| &rival.object));
        let first = first.and_then(|first| first.pointer("/metadata/name")?.as_str());
        view.superseded_by = first.filter(|first| *first != view.name).map(str::to_owned);
        match self.owner(namespace, &view.spec.target) {
            Owner::Unknown => return None,
            Owner::Absent => {}
            Owner::There { uid, workload } => {
                let pods = self.stores.pods.by(Index::Owner, &uid);
                let is_controlled =
                    |pod: &&Arc<Pod>| pod.0.controller().is_some_and(|owner| owner.uid.as_str() == uid);
                view.pods = pods.iter().filter(is_controlled).map(|pod| Arc::clone(&pod.0)).collect();
                view.workload = workload;
            }
        }
        view.nodes = self.nodes(&view);
        Some(view)
    }

    fn owner(&self, namespace: &Arc<str>, target: &brain::Target) -> Owner {
        let key = Key::new(Arc::clone(namespace), target.name.as_str());
        if is_of(&NativeStatefulSet::RESOURCE, target) {
            return statefulset(&self.stores.native_statefulsets, &key);
        }
        if is_of(&StatefulSet::RESOURCE, target) {
            return statefulset(&self.stores.statefulsets, &key);
        }
        match self.stores.custom.look_up(target, namespace) {
            Lookup::Unknown => Owner::Unknown,
            Lookup::Absent => Owner::Absent,
            Lookup::Found(found) => {
                Owner::There { uid: found.meta.uid.clone(), workload: Workload::of_custom(&found.object) }
            }
        }
    }

    fn nodes(&self, view: &View) -> BTreeMap<String, BTreeMap<String, String>> {
        let labels = |name: &str| {
            let node = self.stores.nodes.get(&Key::new("", name))?;
            Some((name.to_owned(), node.labels().clone()))
        };
        let names: BTreeSet<&str> = view.nodes_to_look_up().collect();
        names.into_iter().filter_map(labels).collect()
    }
}

impl Planner for PodStates {
    fn name(&self) -> &'static str {
        component::PERSISTENTPODSTATE
    }

    fn plan(&self, key: &Key, turn: &Turn) -> Option<Plan> {
        let object = self.stores.pod_states.get(key);
        let sets = [asker(&self.stores.native_statefulsets, key), asker(&self.stores.statefulsets, key)];
        let custom = self.stores.custom.named(key).into_iter();
        let custom = custom.map(|(of, one)| Asker::of(&of.api_version(), &of.kind, &one.object));
        let askers: Vec<Asker> = sets.into_iter().flatten().chain(custom).collect();
        if let Some(chain) = generate(object.as_ref().map(|object| &object.object), &askers) {
            let mut plan = Plan::default();
            plan.act(chain);
            return Some(plan);
        }
        Some(self.view(object.as_ref()?).map_or_else(Plan::default, |view| brain::plan(&view, turn.now)))
    }

    fn subject(&self, key: &Key) -> Option<Subject> {
        let object = self.stores.pod_states.get(key)?;
        Some(Subject {
            api_version: PersistentPodState::RESOURCE.api_version(),
            kind: PersistentPodState::RESOURCE.kind,
            namespace: Arc::clone(&object.meta.namespace),
            name: Arc::clone(&object.meta.name),
            uid: object.meta.uid.clone(),
        })
    }
}

impl Resources for PodStates {
    fn of(&self, target: Target) -> Resource {
        objects::resource(target, PersistentPodState::RESOURCE)
    }
}

fn wake_with_pods(stores: &Arc<Stores>, queue: &Arc<Queue>) {
    let (all, waker) = (Arc::downgrade(stores), Arc::clone(queue));
    stores.pods.on_change(move |change| {
        let Some(all) = all.upgrade() else { return };
        let old = change.old.map(|pod| pod.0.as_ref());
        let new = change.new.map(|pod| pod.0.as_ref());
        if let Some(pod) = new.or(old).filter(|_| is_told(old, new)) {
            wake_pod(&all, &waker, pod);
        }
    });
}

/// PP-2: gone, going, or ready for the first time. One that is seen for the first time when it is ready was missed before.
fn is_told(old: Option<&PodView>, new: Option<&PodView>) -> bool {
    let Some(new) = new else { return true };
    let was = |test: fn(&PodView) -> bool| old.is_some_and(test);
    let is_going = |pod: &PodView| pod.deleted.is_some();
    (is_going(new) && !was(is_going)) || (new.is_ready() && !was(PodView::is_ready))
}

/// The object that steered it, and the one that points to its workload: a stale annotation hides nothing (PP-3, D10).
fn wake_pod(stores: &Stores, queue: &Queue, pod: &PodView) {
    if let Some(name) = pod.annotations.get(PPS_INJECTED) {
        let key = Key::new(Arc::clone(&pod.namespace), name);
        if stores.pod_states.get(&key).is_some() {
            queue.add(key);
        }
    }
    let Some(owner) = pod.controller() else { return };
    let natives = stores.native_statefulsets.by(index::UID, owner.uid.as_str());
    let ours = stores.statefulsets.by(index::UID, owner.uid.as_str());
    let natives = natives.iter().map(|set| (&NativeStatefulSet::RESOURCE, &set.meta));
    for (resource, meta) in natives.chain(ours.iter().map(|set| (&StatefulSet::RESOURCE, &set.meta))) {
        let target = brain::Target::new(&resource.api_version(), resource.kind, &meta.name);
        wake_by(stores, queue, &pod.namespace, &target);
    }
    for (kind, workload) in stores.custom.by_uid(owner.uid.as_str()) {
        let target = brain::Target::new(&kind.api_version(), &kind.kind, &workload.meta.name);
        wake_by(stores, queue, &pod.namespace, &target);
    }
}

/// PP-4, with all annotations and the right group (D8, D9): the object that points to it, and the one that it asks for.
fn wake_with<K: Kind>(stores: &Arc<Stores>, queue: &Arc<Queue>, store: &Store<Stored<K>>) {
    let (all, queue) = (Arc::downgrade(stores), Arc::clone(queue));
    store.on_change(move |change: &Change<'_, Stored<K>>| {
        let (Some(known), Some(set)) = (all.upgrade(), change.new.or(change.old)) else { return };
        let is_same = |path: &str| {
            let of = |one: Option<&Arc<Stored<K>>>| one.and_then(|one| one.object.pointer(path)).cloned();
            of(change.old) == of(change.new)
        };
        let is_quiet = change.old.is_some()
            && change.new.is_some()
            && ["/metadata/generation", "/metadata/annotations", "/metadata/deletionTimestamp", "/spec"]
                .into_iter()
                .all(is_same);
        if !is_quiet {
            queue.add(set.key());
            let target = brain::Target::new(&K::RESOURCE.api_version(), K::RESOURCE.kind, &set.meta.name);
            wake_by(&known, &queue, &set.meta.namespace, &target);
        }
    });
}

/// PP-5: as [`wake_with`] for listed kinds. Once all objects of one are known, so is which of them are gone.
fn wake_with_custom(stores: &Arc<Stores>, queue: &Arc<Queue>) {
    let (all, waker) = (Arc::downgrade(stores), Arc::clone(queue));
    stores.custom.on_news(move |kind, news| {
        let Some(known) = all.upgrade() else { return };
        match news {
            News::Changed(workload) => {
                waker.add(workload.meta.key());
                let target = brain::Target::new(&kind.api_version(), &kind.kind, &workload.meta.name);
                wake_by(&known, &waker, &workload.meta.namespace, &target);
            }
            News::Listed => {
                let pointing = known.pod_states.all();
                for object in pointing.iter().filter(|object| kind.is_of(&target_of(object))) {
                    waker.add(object.key());
                }
            }
        }
    });
}

fn wake_by(stores: &Stores, queue: &Queue, namespace: &str, target: &brain::Target) {
    for object in stores.pod_states.by(index::TARGET, &target_entry(namespace, target)) {
        queue.add(object.key());
    }
}

fn target_of(object: &PersistentPodState) -> brain::Target {
    brain::Target::read(object.object.pointer("/spec/targetRef").unwrap_or(&Value::Null))
}

/// The workload that an object points to, as far as it is known.
enum Owner {
    Unknown,
    Absent,
    /// With what the plan reads of it; nothing while it is being deleted.
    There {
        uid: String,
        workload: Option<Workload>,
    },
}

fn statefulset<K: Kind>(store: &Store<Stored<K>>, key: &Key) -> Owner {
    match store.get(key) {
        Some(set) => {
            Owner::There { uid: set.meta.uid.clone(), workload: Workload::of_statefulset(&set.object) }
        }
        None if store.is_synced() => Owner::Absent,
        None => Owner::Unknown,
    }
}

fn is_of(resource: &Resource, target: &brain::Target) -> bool {
    resource.group == target.group && resource.kind == target.kind
}

fn asker<K: Kind>(store: &Store<Stored<K>>, key: &Key) -> Option<Asker> {
    let set = store.get(key)?;
    Some(Asker::of(&K::RESOURCE.api_version(), K::RESOURCE.kind, &set.object))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kruise_runtime::barrier::Seen;
    use kruise_runtime::cache::Caches;
    use kruise_runtime::queue::{BackOff, Done};
    use serde_json::json;

    use super::*;
    use crate::objects::Node;
    use crate::stores::Optional;

    struct World {
        stores: Arc<Stores>,
        caches: Caches,
        queue: Arc<Queue>,
    }

    /// One object `web` for the built-in StatefulSet `web`, both known and settled.
    async fn world() -> World {
        let stores = Arc::new(Stores::new(Optional::default()));
        let back_off = BackOff { first: Duration::from_millis(5), longest: Duration::from_secs(1) };
        let queue = Arc::new(Queue::new(back_off));
        PodStates::wake(&stores, &queue);
        let caches = stores.caches();
        let world = World { stores, caches, queue };
        world.put(NativeStatefulSet::RESOURCE, &set(1, &json!({})));
        world.put(PersistentPodState::RESOURCE, &object("web", 1));
        world.woken().await;
        world
    }

    impl World {
        fn put(&self, resource: Resource, object: &Value) {
            self.caches.refresh(resource, &object.to_string()).unwrap();
        }

        fn remove(&self, resource: Resource, name: &str) {
            let key = Key::new("n", name);
            let (_, uid) = self.caches.object(resource, &key).unwrap();
            self.caches.lose(resource, &key, &uid);
        }

        /// The keys that wait, after they were taken and settled.
        async fn woken(&self) -> Vec<String> {
            let mut woken = Vec::new();
            for _ in 0..self.queue.depth() {
                let key = self.queue.next().await.unwrap();
                woken.push(key.name.to_string());
                self.queue.done(key, Done::Settled(None));
            }
            woken.sort();
            woken
        }

        fn plan(&self, name: &str) -> Option<Plan> {
            let turn = Turn::first(jiff::Timestamp::UNIX_EPOCH, 1);
            PodStates::new(Arc::clone(&self.stores)).plan(&Key::new("n", name), &turn)
        }
    }

    fn set(version: u64, annotations: &Value) -> Value {
        json!({
            "metadata": {"namespace": "n", "name": "web", "uid": "w", "resourceVersion": version.to_string(), "generation": 1, "annotations": annotations},
            "spec": {"replicas": 2},
        })
    }

    fn object(name: &str, version: u64) -> Value {
        json!({
            "metadata": {"namespace": "n", "name": name, "uid": name, "resourceVersion": version.to_string(), "generation": 1},
            "spec": {
                "targetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"},
                "requiredPersistentTopology": {"keys": ["zone"]},
            },
            "status": {"observedGeneration": 1},
        })
    }

    fn pod(version: u64, more: &Value) -> Value {
        let owner = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "w", "controller": true});
        let mut pod = json!({
            "metadata": {"namespace": "n", "name": "web-0", "uid": "a", "resourceVersion": version.to_string(), "ownerReferences": [owner]},
            "spec": {"nodeName": "node-1"},
            "status": {"phase": "Running"},
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            pod["metadata"][key] = value.clone();
        }
        pod
    }

    fn ready(mut pod: Value) -> Value {
        pod["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
        pod
    }

    /// PP-1, persistentpodstate/D13: an object wakes itself and the others of its target.
    #[tokio::test]
    async fn pp_1_every_event_of_an_object_wakes_it() {
        let world = world().await;
        world.put(PersistentPodState::RESOURCE, &object("web", 2));
        assert_eq!(world.woken().await, ["web"]);
        world.put(PersistentPodState::RESOURCE, &object("second", 3));
        assert_eq!(world.woken().await, ["second", "web"]);
        world.remove(PersistentPodState::RESOURCE, "second");
        assert_eq!(world.woken().await, ["second", "web"]);
    }

    /// PP-2: creation and idle changes of a pod wake nobody; becoming ready, being deleted and going do.
    #[tokio::test]
    async fn pp_2_pods_wake_their_object_when_they_have_something_to_tell() {
        const NOBODY: [&str; 0] = [];
        let world = world().await;
        world.put(Pod::RESOURCE, &pod(2, &json!({})));
        assert_eq!(world.woken().await, NOBODY);
        world.put(Pod::RESOURCE, &ready(pod(3, &json!({}))));
        assert_eq!(world.woken().await, ["web"]);
        world.put(Pod::RESOURCE, &ready(pod(4, &json!({"labels": {"a": "b"}}))));
        assert_eq!(world.woken().await, NOBODY);
        world.put(Pod::RESOURCE, &ready(pod(5, &json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}))));
        assert_eq!(world.woken().await, ["web"]);
        world.remove(Pod::RESOURCE, "web-0");
        assert_eq!(world.woken().await, ["web"]);
    }

    /// PP-3, persistentpodstate/D10: an annotation that names an object which is gone hides nothing.
    #[tokio::test]
    async fn pp_3_persistentpodstate_d10_stale_annotation_is_no_obstacle() {
        let world = world().await;
        world.put(Pod::RESOURCE, &ready(pod(2, &json!({"annotations": {PPS_INJECTED: "gone"}}))));
        assert_eq!(world.woken().await, ["web"]);
    }

    /// PP-4, persistentpodstate/D8, persistentpodstate/D9: any annotation counts, and deletion is noticed for the built-in kind, too.
    #[tokio::test]
    async fn pp_4_persistentpodstate_d8_d9_workloads_wake_their_object() {
        let world = world().await;
        world.put(
            NativeStatefulSet::RESOURCE,
            &set(2, &json!({"kruise.io/persistent-pod-annotations": "ip"})),
        );
        assert_eq!(world.woken().await, ["web"]);
        let mut counted = set(3, &json!({"kruise.io/persistent-pod-annotations": "ip"}));
        counted["status"] = json!({"readyReplicas": 1});
        world.put(NativeStatefulSet::RESOURCE, &counted);
        assert!(world.woken().await.is_empty(), "a count of pods says nothing new");
        world.remove(NativeStatefulSet::RESOURCE, "web");
        assert_eq!(world.woken().await, ["web"]);
    }

    /// PP-6: nodes wake nobody; PP-9: their labels are read when a pod has something to tell.
    #[tokio::test]
    async fn pp_6_nodes_wake_nobody_and_are_read() {
        let world = world().await;
        world.put(Pod::RESOURCE, &ready(pod(2, &json!({}))));
        world.woken().await;
        let node = json!({"metadata": {"name": "node-1", "uid": "n1", "resourceVersion": "3", "labels": {"zone": "z"}}});
        world.put(Node::RESOURCE, &node);
        assert!(world.woken().await.is_empty());

        let written = format!("{:?}", world.plan("web").unwrap().status.unwrap());
        assert!(written.contains("node-1") && written.contains("\"z\""), "{written}");
    }

    /// PP-5, PP-7, PP-30, persistentpodstate/D14: a kind that is not listed, or not known to the end yet, leaves records alone; a listed
    /// one is recorded, its annotations ask for an object, and its pods wake it.
    #[tokio::test]
    async fn pp_5_persistentpodstate_d14_listed_kinds_are_recorded() {
        let world = world().await;
        let reference = json!({"apiVersion": "game.io/v2", "kind": "GameSet", "name": "web"});
        let mut state = object("custom", 2);
        state["spec"]["targetRef"] = reference.clone();
        state["status"] = json!({"observedGeneration": 1, "podStates": {"web-0": {"nodeName": "old"}}});
        world.put(PersistentPodState::RESOURCE, &state);
        world.put(Node::RESOURCE, &json!({"metadata": {"name": "node-1", "uid": "n1", "resourceVersion": "3", "labels": {"zone": "z"}}}));
        let mut theirs = ready(pod(4, &json!({})));
        theirs["metadata"]["ownerReferences"] = json!([{"apiVersion": "game.io/v1", "kind": "GameSet", "name": "web", "uid": "g", "controller": true}]);
        world.put(Pod::RESOURCE, &theirs);
        world.woken().await;
        assert_eq!(world.plan("custom").unwrap().writes().count(), 0, "nobody knows whether it is there");

        let kind =
            brain::CustomKind { group: "game.io".into(), version: "v1".into(), kind: "GameSet".into() };
        let asks = json!({"kruise.io/auto-generate-persistent-pod-state": "true", "kruise.io/required-persistent-topology": "zone"});
        let workload = json!({"metadata": {"namespace": "n", "name": "web", "uid": "g", "resourceVersion": "5", "annotations": asks}, "spec": {"replicas": 1}});
        world.stores.custom.with(&kind, &[workload]);

        let mut going = theirs.clone();
        going["metadata"]["resourceVersion"] = json!("6");
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        world.put(Pod::RESOURCE, &going);
        assert_eq!(world.woken().await, ["custom"], "found by its owner");
        theirs["metadata"]["resourceVersion"] = json!("7");
        world.put(Pod::RESOURCE, &theirs);
        let written = format!("{:?}", world.plan("custom").unwrap().status.unwrap());
        assert!(written.contains("node-1") && written.contains("\"z\""), "{written}");
        world.remove(PersistentPodState::RESOURCE, "web");
        assert_eq!(world.plan("web").unwrap().writes().count(), 1, "its annotations ask for one");
    }

    /// PP-7, PP-26: a name without object is planned for its workload's annotations; without any of them there is nothing.
    #[tokio::test]
    async fn pp_26_object_is_made_for_a_workload_that_asks() {
        let world = world().await;
        world.remove(PersistentPodState::RESOURCE, "web");
        assert!(world.plan("web").is_none());
        let asks = json!({"kruise.io/auto-generate-persistent-pod-state": "true", "kruise.io/required-persistent-topology": "zone"});
        world.put(NativeStatefulSet::RESOURCE, &set(2, &asks));
        assert_eq!(world.plan("web").unwrap().writes().count(), 1);
    }
}
