//! What wakes a workload, and what its view is made of.

use std::sync::Arc;
use std::time::Duration;

use kruise_core::chain::Resource as Target;
use kruise_core::cloneset::PreparingDelete;
use kruise_core::gates::Gates;
use kruise_core::ids::{ClaimName, PodName, RevisionName};
use kruise_core::inplace::Resize;
use kruise_core::statefulset;
use kruise_runtime::barrier::Seen;
use kruise_runtime::cache::{Cached, Caches};
use kruise_runtime::controller::{Planner, Turn};
use kruise_runtime::queue::{BackOff, Done, Queue};
use kruise_runtime::{Key, Resource};
use serde_json::{Value, json};

use super::*;
use crate::objects::{Claim, CloneSet, Pod, PullJob, Revision, StatefulSet, StorageClass};
use crate::stores::{Optional, Stores, Use};

struct World {
    cx: Context,
    caches: Caches,
    queue: Arc<Queue>,
}

fn world<K: Planned>() -> World {
    let stores = Arc::new(Stores::new(Optional { pull_jobs: Use::Used, storage_classes: Use::Used }));
    let back_off = BackOff { first: Duration::from_millis(5), longest: Duration::from_secs(1) };
    let queue = Arc::new(Queue::new(back_off));
    Workloads::<K>::wake(&stores, &queue);
    let caches = stores.caches();
    World { cx: Context { stores, gates: Gates::default(), resize: Resize::Endpoint }, caches, queue }
}

/// A process ends with its stores, a simulated manager does not: no handler of a store may hold the stores.
#[test]
fn stores_are_freed_whoever_is_woken_by_them() {
    let World { cx, caches, queue } = world::<CloneSets>();
    Workloads::<StatefulSets>::wake(&cx.stores, &queue);
    PodStates::wake(&cx.stores, &queue);
    PodReadiness::wake(&cx.stores, &queue);
    LaunchPriority::wake(&cx.stores, &queue);
    let (stores, pods) = (Arc::downgrade(&cx.stores), Arc::downgrade(&cx.stores.pods));

    drop((cx, caches));

    assert!(stores.upgrade().is_none() && pods.upgrade().is_none());
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

    /// How many keys wait, after they were taken and settled.
    async fn woken(&self) -> usize {
        let woken = self.queue.depth();
        for _ in 0..woken {
            let key = self.queue.next().await.unwrap();
            self.queue.done(key, Done::Settled(None));
        }
        woken
    }

    fn statefulset(&self) -> statefulset::View {
        let object = self.cx.stores.statefulsets.get(&web()).unwrap();
        StatefulSets.view(&self.cx, &object, &turn())
    }
}

fn web() -> Key {
    Key::new("n", "web")
}

fn turn() -> Turn {
    Turn::first(jiff::Timestamp::UNIX_EPOCH, 1)
}

fn meta(name: &str, uid: &str, version: u64, owner: Option<&str>) -> Value {
    let reference = |of: &str| json!([{"apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "uid": of, "controller": true}]);
    let owners = owner.map_or(json!([]), reference);
    json!({"namespace": "n", "name": name, "uid": uid, "resourceVersion": version.to_string(), "ownerReferences": owners, "labels": {"app": "web"}})
}

fn workload(version: u64) -> Value {
    json!({
        "metadata": meta("web", "w", version, None),
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "a", "image": "x"}]}},
            "volumeClaimTemplates": [{"metadata": {"name": "my-data"}}],
        },
    })
}

/// Own status writes gather while a large object rests; whoever changes its spec does not wait.
#[tokio::test]
async fn changed_spec_does_not_wait_for_a_rest() {
    let world = world::<CloneSets>();
    let at = |generation: u64, version: u64| {
        let mut object = workload(version);
        object["metadata"]["generation"] = json!(generation);
        object
    };
    world.put(CloneSet::RESOURCE, &at(1, 1));
    let key = world.queue.next().await.unwrap();
    world.queue.rest(&key, tokio::time::Instant::now() + Duration::from_hours(1));
    world.queue.done(key, Done::Settled(None));

    world.put(CloneSet::RESOURCE, &at(1, 2));
    assert_eq!(world.queue.depth(), 0, "its status");
    world.put(CloneSet::RESOURCE, &at(2, 3));
    assert_eq!(world.queue.depth(), 1, "its spec");
}

fn cloneset_planner(world: &World) -> Workloads<CloneSets> {
    Workloads::new(world.cx.clone(), CloneSets(PreparingDelete::Counted))
}

async fn is_woken_by_itself_and_by_what_it_owns(world: &World, resource: Resource) {
    world.put(resource, &workload(1));
    assert_eq!(world.woken().await, 1);

    for (version, dependent) in
        [Pod::RESOURCE, Claim::RESOURCE, Revision::RESOURCE, PullJob::RESOURCE].into_iter().enumerate()
    {
        let version = u64::try_from(version).unwrap() + 2;
        world.put(dependent, &json!({"metadata": meta("web-a", "a", version, Some("w"))}));
        assert_eq!(world.woken().await, 1, "{}", dependent.plural);
        world.put(dependent, &json!({"metadata": meta("other", "o", version, Some("somebody"))}));
        assert_eq!(world.woken().await, 0, "{}", dependent.plural);
    }
}

/// CS-83, B19: dependents are found by their owner's uid, of whatever type; other people's objects wake nobody.
#[tokio::test]
async fn cs_83_cloneset_b19_it_is_woken_by_itself_and_by_what_it_owns() {
    is_woken_by_itself_and_by_what_it_owns(&world::<CloneSets>(), CloneSet::RESOURCE).await;
}

/// AS-1, statefulset/B19: the same for StatefulSets, and nothing scans a namespace.
#[tokio::test]
async fn as_1_statefulset_b19_it_is_woken_by_itself_and_by_what_it_owns() {
    is_woken_by_itself_and_by_what_it_owns(&world::<StatefulSets>(), StatefulSet::RESOURCE).await;
}

/// A pod that changes hands wakes the old owner, too: it has to replace it.
#[tokio::test]
async fn cs_5_released_pod_wakes_its_former_owner() {
    let world = world::<CloneSets>();
    world.put(CloneSet::RESOURCE, &workload(1));
    world.put(Pod::RESOURCE, &json!({"metadata": meta("web-a", "a", 2, Some("w"))}));
    world.woken().await;

    world.put(Pod::RESOURCE, &json!({"metadata": meta("web-a", "a", 3, None)}));

    assert_eq!(world.woken().await, 1);
}

/// AS-1, AS-4: orphans, pods that stand in the way, and claims belong to a set by their name.
#[tokio::test]
async fn as_1_as_4_pods_and_claims_wake_a_statefulset_by_name() {
    let world = world::<StatefulSets>();
    world.put(StatefulSet::RESOURCE, &workload(1));
    world.woken().await;

    for (version, name, woken) in [(2, "web-7", 1), (3, "web-x", 0), (4, "other-1", 0)] {
        world.put(Pod::RESOURCE, &json!({"metadata": meta(name, name, version, None)}));
        assert_eq!(world.woken().await, woken, "{name}");
    }
    world.remove(Pod::RESOURCE, "web-7");
    assert_eq!(world.woken().await, 1, "the name is free again");
    for (version, name, woken) in [(5, "my-data-web-0", 1), (6, "my-data-other-0", 0), (7, "web-0", 0)] {
        world.put(Claim::RESOURCE, &json!({"metadata": meta(name, name, version, None)}));
        assert_eq!(world.woken().await, woken, "{name}");
    }
    let mut grown = meta("odd", "odd", 8, None);
    grown["annotations"] = json!({"apps.kruise.io/owned-by-asts": "web"});
    world.put(Claim::RESOURCE, &json!({"metadata": grown}));
    assert_eq!(world.woken().await, 1, "it expands that claim");
}

/// AS-1, AS-87: a class that begins to let volumes grow wakes the sets whose claims are of it; anything else about it wakes nobody.
#[tokio::test]
async fn as_1_as_87_storage_class_wakes_the_sets_that_wait_for_it() {
    let world = world::<StatefulSets>();
    let class = |version: u64, grows: Value| json!({"metadata": {"name": "fast", "uid": "c", "resourceVersion": version.to_string()}, "allowVolumeExpansion": grows});
    world.put(StatefulSet::RESOURCE, &workload(1));
    for (version, name, of) in [(2, "my-data-web-0", "fast"), (3, "my-data-web-1", "slow")] {
        let claim = json!({"metadata": meta(name, name, version, None), "spec": {"storageClassName": of}});
        world.put(Claim::RESOURCE, &claim);
    }
    world.woken().await;

    for (version, grows, woken) in
        [(4, Value::Null, 1), (5, json!(false), 0), (6, json!(true), 1), (7, json!(true), 0)]
    {
        world.put(StorageClass::RESOURCE, &class(version, grows.clone()));
        assert_eq!(world.woken().await, woken, "{version}: {grows}");
    }
    let mut other = class(8, json!(true));
    other["metadata"]["name"] = json!("unused");
    world.put(StorageClass::RESOURCE, &other);
    assert_eq!(world.woken().await, 0);
}

/// SM-77, B12: objects of the cache are shared with every view and can be changed by nobody.
#[tokio::test]
async fn sm_77_cloneset_b12_views_share_pods_with_the_cache() {
    let world = world::<CloneSets>();
    world.put(CloneSet::RESOURCE, &workload(1));
    world.put(Pod::RESOURCE, &json!({"metadata": meta("web-a", "a", 2, Some("w"))}));
    let object = world.cx.stores.clonesets.get(&web()).unwrap();

    let view = CloneSets(PreparingDelete::Counted).view(&world.cx, &object, &turn());

    let cached = world.cx.stores.pods.get(&Key::new("n", "web-a")).unwrap();
    assert!(Arc::ptr_eq(&view.pods[0], &cached.0));
}

/// AS-3, AS-4, statefulset/B19: everything in a view is found by uid or name.
#[tokio::test]
async fn sm_76_as_3_as_4_statefulset_b19_a_view_has_orphans_strangers_claims_and_classes() {
    let world = world::<StatefulSets>();
    world.put(StatefulSet::RESOURCE, &workload(1));
    let mut leaving = meta("web-9", "p9", 2, None);
    leaving["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let pods = [
        meta("web-5", "p5", 3, Some("w")),
        meta("web-0", "p0", 4, None),
        meta("web-1", "p1", 5, Some("somebody")),
        leaving,
    ];
    for pod in pods {
        world.put(Pod::RESOURCE, &json!({"metadata": pod}));
    }
    for (version, name) in [(6, "my-data-web-0"), (7, "my-data-web-5"), (8, "my-data-web-8")] {
        world.put(Claim::RESOURCE, &json!({"metadata": meta(name, name, version, None)}));
    }
    for (version, name, owner) in [(9, "web-own", Some("w")), (10, "web-orphan", None)] {
        let data =
            json!({"spec": {"template": {"$patch": "replace", "metadata": {}, "spec": {"containers": []}}}});
        world.put(
            Revision::RESOURCE,
            &json!({"metadata": meta(name, name, version, owner), "revision": 1, "data": data}),
        );
    }
    world.put(StorageClass::RESOURCE, &json!({"metadata": {"name": "fast", "uid": "c", "resourceVersion": "1"}, "allowVolumeExpansion": true}));

    let view = world.statefulset();

    let names: Vec<&str> = view.pods.iter().map(|pod| pod.name.as_str()).collect();
    assert_eq!(names, ["web-0", "web-5"], "its own and the orphan that is not leaving");
    assert_eq!(view.strangers.iter().map(PodName::as_str).collect::<Vec<_>>(), ["web-1"]);
    assert_eq!(
        view.claims.keys().map(ClaimName::as_str).collect::<Vec<_>>(),
        ["my-data-web-0", "my-data-web-5"]
    );
    assert_eq!(view.revisions.len(), 2);
    assert_eq!(view.orphan_revisions.iter().map(RevisionName::as_str).collect::<Vec<_>>(), ["web-orphan"]);
    assert_eq!(view.classes.get("fast"), Some(&statefulset::Expansion::Allowed));
}

/// SM-5, AS-12: another object has the name of the revision to be stored: count, and take the next name.
#[tokio::test]
async fn sm_5_taken_revision_name_is_counted() {
    let world = world::<CloneSets>();
    world.put(CloneSet::RESOURCE, &workload(1));
    let sets = cloneset_planner(&world);
    let first = sets.plan(&web(), &turn()).unwrap();
    let wanted = first.writes().next().unwrap().clone();
    assert_eq!(wanted.resource, Target::Revision);

    world.put(Revision::RESOURCE, &json!({"metadata": meta(&wanted.name, "r", 2, Some("somebody"))}));

    let second = sets.plan(&web(), &turn()).unwrap();
    let write = second.writes().next().unwrap();
    assert_eq!((write.resource, write.name.as_str()), (Target::Workload, "web"));
}

/// AS-2: a set that is gone has no plan, and one whose selector cannot be read is left alone.
#[tokio::test]
async fn as_2_what_is_gone_or_unreadable_is_not_touched() {
    let world = world::<StatefulSets>();
    let sets = Workloads::new(world.cx.clone(), StatefulSets);
    assert!(sets.plan(&web(), &turn()).is_none());

    let mut broken = workload(1);
    broken["spec"]["selector"] = json!({"matchExpressions": [{"key": "a", "operator": "Nonsense"}]});
    world.put(StatefulSet::RESOURCE, &broken);

    let plan = sets.plan(&web(), &turn()).unwrap();
    assert!(plan.chains.is_empty());
    assert_eq!(plan.revisit_at, None, "no retry: only a correction helps");
}
