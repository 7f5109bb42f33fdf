//! What wakes a workload, and what its view is made of.

use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use kruise_core::cloneset::{CloneSet, PreparingDelete};
use kruise_core::cluster::claim::Claim;
use kruise_core::cluster::storage_class::{Expansion, StorageClass};
use kruise_core::ephemeraljob::EphemeralJob;
use kruise_core::gates::Gates;
use kruise_core::ids::{ClaimName, PodName, RevisionName};
use kruise_core::inplace::Resize;
use kruise_core::plan::Plan;
use kruise_core::pod::PodView as Pod;
use kruise_core::predownload::PullJob;
use kruise_core::revision::Known as Revision;
use kruise_core::statefulset::StatefulSet;
use kruise_core::turn::Turn;
use kruise_runtime::ObjectRef;
use kruise_runtime::barrier::Seen;
use kruise_runtime::clock::Clock;
use kruise_runtime::events::Recorder;
use kruise_runtime::metrics::Metrics;
use kruise_runtime::queue::{BackOff, Done};
use serde_json::{Value, json};

use super::*;

/// The caches with everything that a kind reads, and its queue.
pub struct World {
    pub stores: Arc<Stores>,
    pub queue: Arc<Queue>,
    setup: Setup,
}

pub fn world(registration: &'static Registration) -> World {
    world_with(registration, Gates::default())
}

fn world_with(registration: &'static Registration, planned: Gates) -> World {
    let gates = Gates::default().with(Gate::ImagePullJob).with(Gate::StatefulSetAutoResizePvc);
    let stores = Arc::new(Stores::new(&gates));
    let setup = Setup { gates: planned, resize: Resize::Endpoint };
    let back_off = BackOff { first: Duration::from_millis(5), longest: Duration::from_secs(1) };
    let shared = Shared {
        client: crate::webhooks::nobody(),
        caches: Arc::clone(&stores.caches),
        recorder: Recorder::new("test", Clock::system()),
        clock: Clock::system(),
        metrics: Arc::new(Metrics::default()),
        back_off,
        seed: 1,
    };
    let flags = Flags::parse_from(["kruise-manager"]);
    let queue = Arc::new(Queue::new(back_off));
    let wiring = Wiring {
        registration,
        flags: &flags,
        stores: &stores,
        setup: &setup,
        shared: &shared,
        queue: Arc::clone(&queue),
    };
    drop((registration.controller)(&wiring));
    World { stores, queue, setup }
}

/// A process ends with its stores, a simulated manager does not: no handler of a store may hold the stores.
#[tokio::test]
async fn stores_are_freed_whoever_is_woken_by_them() {
    for registration in ALL {
        let world = world(registration);
        let stores = Arc::downgrade(&world.stores);
        let pods = Arc::downgrade(world.stores.caches.store::<Pod>().unwrap());

        drop(world);

        assert!(stores.upgrade().is_none() && pods.upgrade().is_none(), "{}", registration.name);
    }
}

/// What a kind writes it reads too, unless it is read live: else the barrier could not wait for its own writes.
#[test]
fn every_type_that_is_written_is_cached_or_read_live() {
    let live = ["configmaps", "podunavailablebudgets"];
    for registration in ALL {
        for resource in registration.writes.iter().filter(|one| !live.contains(&one.plural())) {
            let is_read = registration.reads.iter().any(|read| read.resource == *resource);
            assert!(is_read, "{} writes {resource:?}", registration.name);
        }
    }
}

/// A kind that forgets to declare a type does not find its objects, so that its tests fail wherever another kind reads it.
#[tokio::test]
async fn undeclared_type_is_not_found() {
    let world = world(&pod_readiness::REGISTRATION);
    world.put(CloneSet::RESOURCE, &workload(1));

    let declared = world.declared(&pod_readiness::REGISTRATION);

    assert!(declared.get(CloneSet::RESOURCE, &web()).is_none());
    assert!(world.stores.caches.get(CloneSet::RESOURCE, &web()).is_some());
}

impl World {
    pub fn put(&self, resource: Resource, object: &Value) {
        self.stores.caches.refresh(resource, &object.to_string()).unwrap();
    }

    pub fn remove(&self, resource: Resource, name: &str) {
        let object = ObjectRef::new(resource, "n", name);
        let (_, uid) = self.stores.caches.object(&object).unwrap();
        self.stores.caches.lose(&object, &uid);
    }

    /// The names of the keys that wait, after they were taken and settled.
    pub async fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for _ in 0..self.queue.depth() {
            let key = self.queue.next().await.unwrap();
            names.push(key.name.to_string());
            self.queue.done(key, Done::Settled(None));
        }
        names.sort();
        names
    }

    async fn woken(&self) -> usize {
        self.names().await.len()
    }

    fn declared(&self, registration: &Registration) -> Declared {
        let reads = registration.reads.iter().map(|read| read.resource).collect();
        Declared { caches: Arc::clone(&self.stores.caches), reads: Arc::new(reads) }
    }

    fn plan<K: workload::Planned>(&self, kind: &K, registration: &Registration) -> Option<Plan> {
        let (source, turn) = (self.declared(registration), turn());
        let object = Lookup::new(&source).get::<K::Object>(&web())?;
        let from = kruise_core::workload::base::Sources {
            lookup: Lookup::new(&source),
            setup: &self.setup,
            turn: &turn,
        };
        Some(kind.plan(&object, from))
    }

    fn cloneset_plan(&self) -> Option<Plan> {
        self.plan(
            &cloneset::CloneSets { excluded: PreparingDelete::Counted, events: cloneset::PodEvents::All },
            &cloneset::REGISTRATION,
        )
    }

    fn statefulset(&self) -> kruise_core::statefulset::View {
        let (source, turn) = (self.declared(&statefulset::REGISTRATION), turn());
        let lookup = Lookup::new(&source);
        let from = kruise_core::workload::base::Sources { lookup, setup: &self.setup, turn: &turn };
        kruise_core::statefulset::View::assemble(&lookup.get::<StatefulSet>(&web()).unwrap(), from)
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

/// cloneset/B19: own status writes gather while a large object rests; whoever changes its spec does not wait.
#[tokio::test]
async fn changed_spec_does_not_wait_for_a_rest() {
    let world = world(&cloneset::REGISTRATION);
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

async fn is_woken_by_itself_and_by_what_it_owns(world: &World, resource: Resource) {
    world.put(resource, &workload(1));
    assert_eq!(world.woken().await, 1);

    for (version, dependent) in
        [Pod::RESOURCE, Claim::RESOURCE, Revision::RESOURCE, PullJob::RESOURCE].into_iter().enumerate()
    {
        let version = u64::try_from(version).unwrap() + 2;
        world.put(dependent, &json!({"metadata": meta("web-a", "a", version, Some("w"))}));
        assert_eq!(world.woken().await, 1, "{}", dependent.plural());
        world.put(dependent, &json!({"metadata": meta("other", "o", version, Some("somebody"))}));
        assert_eq!(world.woken().await, 0, "{}", dependent.plural());
    }
}

/// CS-83, B19: dependents are found by their owner's uid, of whatever type; other people's objects wake nobody.
#[tokio::test]
async fn cs_83_cloneset_b19_it_is_woken_by_itself_and_by_what_it_owns() {
    is_woken_by_itself_and_by_what_it_owns(&world(&cloneset::REGISTRATION), CloneSet::RESOURCE).await;
}

/// AS-1, statefulset/B19: the same for StatefulSets, and nothing scans a namespace.
#[tokio::test]
async fn as_1_statefulset_b19_it_is_woken_by_itself_and_by_what_it_owns() {
    is_woken_by_itself_and_by_what_it_owns(&world(&statefulset::REGISTRATION), StatefulSet::RESOURCE).await;
}

/// EJ-1, EJ-2, E4, E14: by itself, also when it is first seen while it is being deleted, and by pods of its namespace that it selects.
#[tokio::test]
async fn ej_1_ej_2_ephemeraljob_e4_it_is_woken_by_itself_and_by_pods_that_it_selects() {
    let world = world(&ephemeraljob::REGISTRATION);
    let mut job = json!({"metadata": meta("e", "j", 1, None), "spec": {
        "selector": {"matchLabels": {"look": "yes"}}, "template": {"ephemeralContainers": [{"name": "dbg"}]},
    }});
    job["metadata"]["deletionTimestamp"] = json!("2026-06-01T12:00:00Z");
    world.put(EphemeralJob::RESOURCE, &job);
    assert_eq!(world.woken().await, 1);
    for (name, namespace, label, woken) in
        [("a", "n", "yes", 1), ("b", "n", "no", 0), ("c", "elsewhere", "yes", 0)]
    {
        let pod = json!({"metadata": {"name": name, "namespace": namespace, "uid": name, "resourceVersion": "2", "labels": {"look": label}}});
        world.put(Pod::RESOURCE, &pod);
        assert_eq!(world.woken().await, woken, "{name}");
    }
}

/// CS-84: with the gate, a change of a pod that no rule reads wakes nobody.
#[tokio::test]
async fn cs_84_optimized_event_handler_ignores_changes_that_no_rule_reads() {
    let gate = Gate::CloneSetEventHandlerOptimization;
    for (gates, woken) in [(Gates::default(), 1), (Gates::default().with(gate), 0)] {
        let world = world_with(&cloneset::REGISTRATION, gates);
        world.put(CloneSet::RESOURCE, &workload(1));
        world.put(Pod::RESOURCE, &json!({"metadata": meta("web-a", "a", 2, Some("w"))}));
        world.woken().await;

        world.put(Pod::RESOURCE, &json!({"metadata": meta("web-a", "a", 3, Some("w"))}));
        assert_eq!(world.woken().await, woken);
        let mut labelled = meta("web-a", "a", 4, Some("w"));
        labelled["labels"]["version"] = json!("2");
        world.put(Pod::RESOURCE, &json!({"metadata": labelled}));
        assert_eq!(world.woken().await, 1);
    }
}

/// A pod that changes hands wakes the old owner, too: it has to replace it.
#[tokio::test]
async fn cs_5_released_pod_wakes_its_former_owner() {
    let world = world(&cloneset::REGISTRATION);
    world.put(CloneSet::RESOURCE, &workload(1));
    world.put(Pod::RESOURCE, &json!({"metadata": meta("web-a", "a", 2, Some("w"))}));
    world.woken().await;

    world.put(Pod::RESOURCE, &json!({"metadata": meta("web-a", "a", 3, None)}));

    assert_eq!(world.woken().await, 1);
}

/// AS-1, AS-4: orphans, pods that stand in the way, and claims belong to a set by their name.
#[tokio::test]
async fn as_1_as_4_pods_and_claims_wake_a_statefulset_by_name() {
    let world = world(&statefulset::REGISTRATION);
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
    let world = world(&statefulset::REGISTRATION);
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
    let world = world(&cloneset::REGISTRATION);
    world.put(CloneSet::RESOURCE, &workload(1));
    world.put(Pod::RESOURCE, &json!({"metadata": meta("web-a", "a", 2, Some("w"))}));
    world.put(Claim::RESOURCE, &json!({"metadata": meta("data-web-a", "c", 3, Some("w"))}));
    for (version, name, owner) in [(4, "web-job", "w"), (5, "other-job", "somebody")] {
        world.put(PullJob::RESOURCE, &json!({"metadata": meta(name, name, version, Some(owner))}));
    }
    let lookup = world.stores.lookup();
    let object = lookup.get::<CloneSet>(&web()).unwrap();
    let turn = turn();
    let from = kruise_core::workload::base::Sources { lookup, setup: &world.setup, turn: &turn };

    let view = kruise_core::cloneset::View::assemble(&object, PreparingDelete::Counted, from);

    let cached = lookup.get::<Pod>(&Key::new("n", "web-a")).unwrap();
    assert!(Arc::ptr_eq(&view.pods[0], &cached));
    let claim = lookup.get::<Claim>(&Key::new("n", "data-web-a")).unwrap();
    assert!(Arc::ptr_eq(&view.claims[&claim.name], &claim));
    let jobs: Vec<&str> = view.pull_jobs.iter().map(|job| job.name()).collect();
    assert_eq!(jobs, ["web-job"], "cloneset/B19: found by their owner, not by going through the namespace");
}

/// AS-3, AS-4, statefulset/B19: everything in a view is found by uid or name.
#[tokio::test]
async fn sm_76_as_3_as_4_statefulset_b19_a_view_has_orphans_strangers_claims_and_classes() {
    let world = world(&statefulset::REGISTRATION);
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
    assert_eq!(view.classes.get("fast"), Some(&Expansion::Allowed));
}

/// SM-5, AS-12: another object has the name of the revision to be stored: count, and take the next name.
#[tokio::test]
async fn sm_5_taken_revision_name_is_counted() {
    let world = world(&cloneset::REGISTRATION);
    world.put(CloneSet::RESOURCE, &workload(1));
    let first = world.cloneset_plan().unwrap();
    let wanted = first.writes().next().unwrap().object.clone();
    assert_eq!(wanted.resource, Revision::RESOURCE);

    world.put(Revision::RESOURCE, &json!({"metadata": meta(wanted.name(), "r", 2, Some("somebody"))}));

    let second = world.cloneset_plan().unwrap();
    let write = second.writes().next().unwrap();
    assert_eq!((write.object.resource, write.object.name()), (CloneSet::RESOURCE, "web"));
}

/// AS-2: a set that is gone has no plan, and one whose selector cannot be read is left alone.
#[tokio::test]
async fn as_2_what_is_gone_or_unreadable_is_not_touched() {
    let world = world(&statefulset::REGISTRATION);
    let plan = || world.plan(&statefulset::StatefulSets, &statefulset::REGISTRATION);
    assert!(plan().is_none());

    let mut broken = workload(1);
    broken["spec"]["selector"] = json!({"matchExpressions": [{"key": "a", "operator": "Nonsense"}]});
    world.put(StatefulSet::RESOURCE, &broken);

    let plan = plan().unwrap();
    assert!(plan.chains.is_empty());
    assert_eq!(plan.revisit_at, None, "no retry: only a correction helps");
}
