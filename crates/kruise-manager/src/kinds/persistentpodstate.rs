//! Registers PersistentPodState: what it reads and writes, what wakes it, which planner it gets.
//!
//! One key is one name: the object of that name, and the workloads of that name whose annotations may ask for it.

use std::sync::{Arc, Weak};

use kruise_api::annotations::PPS_INJECTED;
use kruise_api::names::{self, APPS_GROUP, component};
use kruise_core::admission::{Operation, Question};
use kruise_core::cluster::node::Node;
use kruise_core::lookup::{Index, Lookup};
use kruise_core::persistentpodstate::{
    NativeStatefulSet, PersistentPodState, TARGET, Target, admission, plan_name, target_entry,
};
use kruise_core::plan::Plan;
use kruise_core::pod::PodView;
use kruise_core::statefulset::StatefulSet;
use kruise_core::turn::Turn;
use kruise_core::workload::base::Head;
use kruise_runtime::Key;
use kruise_runtime::cache::{Change, Slim};
use kruise_runtime::controller::{Planner, Start};
use kruise_runtime::events::Subject;
use kruise_runtime::queue::Queue;

use super::{Declared, Read, Registration, Wiring, Workers};
use crate::custom_kinds::News;
use crate::permissions::{CACHE, Names, Role, Use, blocks_owner, live, manager, seen};
use crate::stores::Stores;
use crate::webhooks::entry::{Entry, Sort};

pub const REGISTRATION: Registration = Registration {
    name: "persistentpodstate",
    gate: None,
    workers: Workers::Flag("PersistentPodStates"),
    reads: &[
        Read::of::<PersistentPodState>(),
        Read::of::<NativeStatefulSet>(),
        Read::of::<StatefulSet>(),
        Read::of::<PodView>(),
        Read::of::<Node>(),
    ],
    writes: &[PersistentPodState::RESOURCE],
    controller: start,
    entries,
    pod_step: Some(admission::pod_step),
    cares_for: None,
    permissions,
    blocks_uninstall: None,
};

/// PP-1, PP-2, PP-4, PP-5, PP-6.
fn start(wiring: &Wiring<'_>) -> Start {
    let waker = Waker { stores: Arc::downgrade(wiring.stores), queue: Arc::clone(wiring.queue()) };
    if let Some(states) = wiring.store::<PersistentPodState>() {
        let waker = waker.clone();
        states.on_change(move |change| {
            for object in [change.old, change.new].into_iter().flatten() {
                waker.queue.add(object.key());
                // The next object of the same target may come first now (D13).
                waker.wake_by(&object.meta.namespace, &object.target());
            }
        });
    }
    wake_with::<NativeStatefulSet>(wiring, &waker, |set| &set.head);
    wake_with::<StatefulSet>(wiring, &waker, |set| &set.head);
    wake_with_custom(wiring, &waker);
    if let Some(pods) = wiring.store::<PodView>() {
        pods.on_change(move |change| {
            let (old, new) = (change.old.map(AsRef::as_ref), change.new.map(AsRef::as_ref));
            if let Some(pod) = new.or(old).filter(|_| has_news(old, new)) {
                waker.wake_pod(pod);
            }
        });
    }
    wiring.start(PodStates { source: wiring.declared(), stores: Arc::clone(wiring.stores) })
}

struct PodStates {
    source: Declared,
    stores: Arc<Stores>,
}

impl Planner for PodStates {
    fn name(&self) -> &'static str {
        component::PERSISTENTPODSTATE
    }

    fn plan(&self, key: &Key, turn: &Turn) -> Option<Plan> {
        plan_name(key, Lookup::new(&self.source), self.stores.custom.as_ref(), turn.now)
    }

    fn subject(&self, key: &Key) -> Option<Subject> {
        let object = Lookup::new(&self.source).get::<PersistentPodState>(key)?;
        Some(Subject::new(PersistentPodState::RESOURCE, key.clone(), &object.meta.uid))
    }
}

/// Wakes objects by the workload they point to. It holds the stores only for as long as that takes, because they hold it.
#[derive(Clone)]
struct Waker {
    stores: Weak<Stores>,
    queue: Arc<Queue>,
}

impl Waker {
    fn wake_by(&self, namespace: &str, target: &Target) {
        let Some(stores) = self.stores.upgrade() else { return };
        for object in stores.lookup().by::<PersistentPodState>(TARGET, &target_entry(namespace, target)) {
            self.queue.add(object.key());
        }
    }

    /// The object that steered it, and the one that points to its workload: a stale annotation hides nothing (PP-3, D10).
    fn wake_pod(&self, pod: &PodView) {
        let Some(stores) = self.stores.upgrade() else { return };
        let lookup = stores.lookup();
        if let Some(name) = pod.annotations.get(PPS_INJECTED) {
            let key = Key::new(Arc::clone(&pod.namespace), name);
            if lookup.get::<PersistentPodState>(&key).is_some() {
                self.queue.add(key);
            }
        }
        let Some(owner) = pod.controller() else { return };
        let uid = owner.uid.as_str();
        let native = lookup.by::<NativeStatefulSet>(Index::Uid, uid).into_iter();
        let native = native.map(|set| (NativeStatefulSet::RESOURCE, set.key().name));
        let advanced = lookup.by::<StatefulSet>(Index::Uid, uid).into_iter();
        let advanced = advanced.map(|set| (StatefulSet::RESOURCE, set.key().name));
        for (resource, name) in native.chain(advanced) {
            let target = Target::new(&resource.api_version(), resource.kind(), &name);
            self.wake_by(&pod.namespace, &target);
        }
        for (kind, workload) in stores.custom.by_uid(uid) {
            let target = Target::new(&kind.api_version(), &kind.kind, &workload.head.name);
            self.wake_by(&pod.namespace, &target);
        }
    }
}

/// PP-2: gone, going, or ready for the first time. One that is seen for the first time when it is ready was missed before.
fn has_news(old: Option<&PodView>, new: Option<&PodView>) -> bool {
    let Some(new) = new else { return true };
    let was = |test: fn(&PodView) -> bool| old.is_some_and(test);
    let is_going = |pod: &PodView| pod.deleted.is_some();
    (is_going(new) && !was(is_going)) || (new.is_ready() && !was(PodView::is_ready))
}

/// PP-4, with all annotations and the right group (D8, D9): the object that points to it, and the one that it asks for.
fn wake_with<T: Slim>(wiring: &Wiring<'_>, waker: &Waker, head: fn(&T) -> &Arc<Head>) {
    let Some(store) = wiring.store::<T>() else { return };
    let waker = waker.clone();
    store.on_change(move |change: &Change<'_, T>| {
        let Some(set) = change.new.or(change.old) else { return };
        let said = |one: Option<&Arc<T>>| {
            one.map(|one| {
                let head = head(one);
                (head.generation, head.annotations.clone(), head.deleted)
            })
        };
        // A status that counts pods says nothing new.
        if said(change.old) != said(change.new) {
            let Key { namespace, name } = set.key();
            waker.queue.add(Key::new(Arc::clone(&namespace), Arc::clone(&name)));
            waker.wake_by(&namespace, &Target::new(&T::RESOURCE.api_version(), T::RESOURCE.kind(), &name));
        }
    });
}

/// PP-5: as [`wake_with`] for listed kinds. Once all objects of one are known, so is which of them are gone.
fn wake_with_custom(wiring: &Wiring<'_>, waker: &Waker) {
    let waker = waker.clone();
    wiring.stores.custom.on_news(move |kind, news| match news {
        News::Changed(workload) => {
            waker.queue.add(workload.key());
            let target = Target::new(&kind.api_version(), &kind.kind, &workload.head.name);
            waker.wake_by(&workload.head.namespace, &target);
        }
        News::Listed => {
            let Some(stores) = waker.stores.upgrade() else { return };
            let pointing = stores.lookup().all::<PersistentPodState>();
            for object in pointing.iter().filter(|object| kind.is_of(&object.target())) {
                waker.queue.add(object.key());
            }
        }
    });
}

/// They have no defaults, and deletions pass unseen. The list of kinds is asked for at each object, so that a change counts at
/// once (D14).
fn entries() -> Vec<Entry> {
    let operations = [Operation::Create, Operation::Update];
    let validating = Entry::of_kind(
        PersistentPodState::RESOURCE,
        Sort::Validating,
        &operations,
        Arc::new(admission::admit),
    );
    vec![validating.asking(&[Question::Configuration]).widening()]
}

fn permissions() -> Vec<Use> {
    const PART: &str = component::PERSISTENTPODSTATE;
    let verbs = [
        CACHE.as_slice(),
        &[
            live(),
            seen("create", "creates the object that the annotations of a workload ask for"),
            seen("patch", "updates the object that the annotations of a workload ask for"),
            seen("delete", "deletes it when the annotations are gone"),
        ],
    ];
    vec![
        manager(PART, APPS_GROUP, "persistentpodstates", verbs.concat()),
        manager(
            PART,
            APPS_GROUP,
            "persistentpodstates/status",
            vec![seen("patch", "records where pods were ready")],
        ),
        manager(PART, "apps", "statefulsets", CACHE.to_vec()),
        manager(PART, "apps", "statefulsets/finalizers", vec![blocks_owner()]),
        Use {
            role: Role::Webhook,
            names: Names::Only(&[names::CONFIGURATION]),
            ..manager(
                PART,
                "",
                "configmaps",
                [CACHE.as_slice(), &[seen("get", "reads which custom kinds are supported")]].concat(),
            )
        },
    ]
}

#[cfg(test)]
mod tests {
    use kruise_core::persistentpodstate as brain;
    use serde_json::{Value, json};

    use super::*;
    use crate::kinds::tests::{World, world as world_of};

    /// One object `web` for the built-in StatefulSet `web`, both known and settled.
    async fn world() -> World {
        let world = world_of(&REGISTRATION);
        world.put(NativeStatefulSet::RESOURCE, &set(1, &json!({})));
        world.put(PersistentPodState::RESOURCE, &object("web", 1));
        world.names().await;
        world
    }

    impl World {
        fn plan_of(&self, name: &str) -> Option<Plan> {
            let now = jiff::Timestamp::UNIX_EPOCH;
            plan_name(&Key::new("n", name), self.stores.lookup(), self.stores.custom.as_ref(), now)
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
        assert_eq!(world.names().await, ["web"]);
        world.put(PersistentPodState::RESOURCE, &object("second", 3));
        assert_eq!(world.names().await, ["second", "web"]);
        world.remove(PersistentPodState::RESOURCE, "second");
        assert_eq!(world.names().await, ["second", "web"]);
    }

    /// PP-2: creation and idle changes of a pod wake nobody; becoming ready, being deleted and going do.
    #[tokio::test]
    async fn pp_2_pods_wake_their_object_when_they_have_something_to_tell() {
        const NOBODY: [&str; 0] = [];
        let world = world().await;
        world.put(PodView::RESOURCE, &pod(2, &json!({})));
        assert_eq!(world.names().await, NOBODY);
        world.put(PodView::RESOURCE, &ready(pod(3, &json!({}))));
        assert_eq!(world.names().await, ["web"]);
        world.put(PodView::RESOURCE, &ready(pod(4, &json!({"labels": {"a": "b"}}))));
        assert_eq!(world.names().await, NOBODY);
        world.put(PodView::RESOURCE, &ready(pod(5, &json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}))));
        assert_eq!(world.names().await, ["web"]);
        world.remove(PodView::RESOURCE, "web-0");
        assert_eq!(world.names().await, ["web"]);
    }

    /// PP-3, persistentpodstate/D10: an annotation that names an object which is gone hides nothing.
    #[tokio::test]
    async fn pp_3_persistentpodstate_d10_stale_annotation_is_no_obstacle() {
        let world = world().await;
        world.put(PodView::RESOURCE, &ready(pod(2, &json!({"annotations": {PPS_INJECTED: "gone"}}))));
        assert_eq!(world.names().await, ["web"]);
    }

    /// PP-4, persistentpodstate/D8, persistentpodstate/D9: any annotation counts, and deletion is noticed for the built-in kind, too.
    #[tokio::test]
    async fn pp_4_persistentpodstate_d8_d9_workloads_wake_their_object() {
        let world = world().await;
        world.put(
            NativeStatefulSet::RESOURCE,
            &set(2, &json!({"kruise.io/persistent-pod-annotations": "ip"})),
        );
        assert_eq!(world.names().await, ["web"]);
        let mut counted = set(3, &json!({"kruise.io/persistent-pod-annotations": "ip"}));
        counted["status"] = json!({"readyReplicas": 1});
        world.put(NativeStatefulSet::RESOURCE, &counted);
        assert!(world.names().await.is_empty(), "a count of pods says nothing new");
        world.remove(NativeStatefulSet::RESOURCE, "web");
        assert_eq!(world.names().await, ["web"]);
    }

    /// PP-6: nodes wake nobody; PP-9: their labels are read when a pod has something to tell.
    #[tokio::test]
    async fn pp_6_nodes_wake_nobody_and_are_read() {
        let world = world().await;
        world.put(PodView::RESOURCE, &ready(pod(2, &json!({}))));
        world.names().await;
        let node = json!({"metadata": {"name": "node-1", "uid": "n1", "resourceVersion": "3", "labels": {"zone": "z"}}});
        world.put(Node::RESOURCE, &node);
        assert!(world.names().await.is_empty());

        let written = format!("{:?}", world.plan_of("web").unwrap().status.unwrap());
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
        world.put(PodView::RESOURCE, &theirs);
        world.names().await;
        assert_eq!(world.plan_of("custom").unwrap().writes().count(), 0, "nobody knows whether it is there");

        let kind =
            brain::CustomKind { group: "game.io".into(), version: "v1".into(), kind: "GameSet".into() };
        let asks = json!({"kruise.io/auto-generate-persistent-pod-state": "true", "kruise.io/required-persistent-topology": "zone"});
        let workload = json!({"metadata": {"namespace": "n", "name": "web", "uid": "g", "resourceVersion": "5", "annotations": asks}, "spec": {"replicas": 1}});
        world.stores.custom.with(&kind, &[workload]);

        let mut going = theirs.clone();
        going["metadata"]["resourceVersion"] = json!("6");
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        world.put(PodView::RESOURCE, &going);
        assert_eq!(world.names().await, ["custom"], "found by its owner");
        theirs["metadata"]["resourceVersion"] = json!("7");
        world.put(PodView::RESOURCE, &theirs);
        let written = format!("{:?}", world.plan_of("custom").unwrap().status.unwrap());
        assert!(written.contains("node-1") && written.contains("\"z\""), "{written}");
        world.remove(PersistentPodState::RESOURCE, "web");
        assert_eq!(world.plan_of("web").unwrap().writes().count(), 1, "its annotations ask for one");
    }

    /// PP-7, PP-26: a name without object is planned for its workload's annotations; without any of them there is nothing.
    #[tokio::test]
    async fn pp_26_object_is_made_for_a_workload_that_asks() {
        let world = world().await;
        world.remove(PersistentPodState::RESOURCE, "web");
        assert!(world.plan_of("web").is_none());
        let asks = json!({"kruise.io/auto-generate-persistent-pod-state": "true", "kruise.io/required-persistent-topology": "zone"});
        world.put(NativeStatefulSet::RESOURCE, &set(2, &asks));
        assert_eq!(world.plan_of("web").unwrap().writes().count(), 1);
    }
}
