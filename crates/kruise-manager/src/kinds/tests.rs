//! What wakes a workload, and what its view is made of.

use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use kruise_core::advancedcronjob::{AdvancedCronJob, Job};
use kruise_core::broadcastjob::BroadcastJob;
use kruise_core::cloneset::{CloneSet, PreparingDelete};
use kruise_core::cluster::claim::Claim;
use kruise_core::cluster::node::Node;
use kruise_core::cluster::storage_class::{Expansion, StorageClass};
use kruise_core::daemonset::DaemonSet;
use kruise_core::ephemeraljob::EphemeralJob;
use kruise_core::gates::Gates;
use kruise_core::ids::{ClaimName, PodName, RevisionName};
use kruise_core::imagelistpulljob::ImageListPullJob;
use kruise_core::imagepulljob::SecretCopy;
use kruise_core::inplace::Resize;
use kruise_core::nodeimage::NodeImage;
use kruise_core::nodepodprobe::NodePodProbe;
use kruise_core::plan::Plan;
use kruise_core::pod::PodView as Pod;
use kruise_core::podprobemarker::PodProbeMarker;
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
    let setup = Setup { gates: planned, resize: Resize::Endpoint, namespace: "kruise-system".into() };
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

fn daemonset(name: &str, zone: &str) -> Value {
    json!({"metadata": meta(name, name, 1, None), "spec": {
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": {"nodeSelector": {"zone": zone}, "containers": [{"name": "main", "image": "a"}]}},
    }})
}

fn node(version: u64, zone: &str, more: &Value) -> Value {
    json!({"metadata": {"name": "n1", "uid": "n1", "resourceVersion": version.to_string(), "labels": {"zone": zone}}, "spec": {}, "status": more})
}

/// DS-47, daemonset/B13, daemonset/B19: a node wakes those to whom it means something else than before, also when it goes; a heartbeat wakes nobody.
#[tokio::test]
async fn ds_47_daemonset_b19_a_node_wakes_only_those_that_it_concerns() {
    let world = world(&daemonset::REGISTRATION);
    for (name, zone) in [("here", "a"), ("there", "b")] {
        world.put(DaemonSet::RESOURCE, &daemonset(name, zone));
    }
    assert_eq!(world.woken().await, 2, "by themselves");

    world.put(Node::RESOURCE, &node(2, "a", &json!({})));
    assert_eq!(world.names().await, ["here"]);
    world.put(Node::RESOURCE, &node(3, "a", &json!({"conditions": [{"type": "Ready", "status": "True"}]})));
    assert_eq!(world.woken().await, 0, "a heartbeat");
    world.put(Node::RESOURCE, &node(4, "b", &json!({})));
    assert_eq!(world.names().await, ["here", "there"]);
    let object = ObjectRef::new(Node::RESOURCE, "", "n1");
    let (_, uid) = world.stores.caches.object(&object).unwrap();
    world.stores.caches.lose(&object, &uid);
    assert_eq!(world.names().await, ["there"], "it is gone");
}

/// DS-46, daemonset/B1: pods that it owns, whatever version their reference names, and orphans that it selects.
#[tokio::test]
async fn ds_46_pods_wake_their_owner_and_orphans_who_selects_them() {
    let world = world(&daemonset::REGISTRATION);
    for name in ["here", "there"] {
        world.put(DaemonSet::RESOURCE, &daemonset(name, "a"));
    }
    assert_eq!(world.woken().await, 2);
    let mut pod = json!({"metadata": meta("p", "p", 2, Some("there"))});
    pod["metadata"]["labels"] = json!({"app": "here"});
    world.put(Pod::RESOURCE, &pod);
    assert_eq!(world.names().await, ["there"]);
    let mut orphan = json!({"metadata": meta("o", "o", 3, None)});
    orphan["metadata"]["labels"] = json!({"app": "here"});
    world.put(Pod::RESOURCE, &orphan);
    assert_eq!(world.names().await, ["here"]);
    orphan["metadata"]["resourceVersion"] = json!("4");
    world.put(Pod::RESOURCE, &orphan);
    assert_eq!(world.woken().await, 0, "nothing that matters has changed");
}

/// ACJ-20, advancedcronjob/B4: every kind of child wakes its owner, Jobs included.
#[tokio::test]
async fn acj_20_advancedcronjob_b4_children_of_every_kind_wake_their_owner() {
    let world = world(&advancedcronjob::REGISTRATION);
    let cron = json!({"metadata": meta("c", "u", 1, None), "spec": {"schedule": "* * * * *", "template": {"jobTemplate": {"spec": {}}}}});
    world.put(AdvancedCronJob::RESOURCE, &cron);
    assert_eq!(world.woken().await, 1);
    for resource in [Job::RESOURCE, BroadcastJob::RESOURCE, ImageListPullJob::RESOURCE] {
        world.put(resource, &json!({"metadata": meta("child", "child", 2, Some("u")), "spec": {}}));
        assert_eq!(world.names().await, ["c"], "{resource:?}");
    }
    world.put(Job::RESOURCE, &json!({"metadata": meta("other", "other", 3, Some("x"))}));
    assert_eq!(world.woken().await, 0);
}

#[expect(clippy::needless_pass_by_value, reason = "reads better where it is called")]
fn node_image(name: &str, version: u64, zone: &str, spec: Value) -> Value {
    json!({
        "metadata": {"name": name, "uid": name, "resourceVersion": version.to_string(), "labels": {"zone": zone}}, "spec": spec,
    })
}

#[expect(clippy::needless_pass_by_value, reason = "reads better where it is called")]
fn pull_job(name: &str, image: &str, more: Value) -> Value {
    let mut spec = json!({"image": image, "completionPolicy": {"type": "Always"}});
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    json!({"metadata": meta(name, name, 1, None), "spec": spec})
}

fn tagged(image: &str, tag: &str, version: u64) -> Value {
    let owner = json!({"apiVersion": "apps.kruise.io/v1beta1", "kind": "ImagePullJob", "namespace": "n", "name": "one", "uid": "one"});
    json!({"images": {image: {"tags": [{"tag": tag, "version": version, "ownerReferences": [owner]}]}}})
}

/// NI-1, NI-12, images/18: by itself, by its node but not by its heartbeats, and when a job in its tags is gone, found by an index.
#[tokio::test]
async fn ni_1_ni_12_images_18_node_image_is_woken_by_its_node_and_by_lost_jobs() {
    let world = world(&nodeimage::REGISTRATION);
    let ready = |beat: &str, status: &str| json!({"conditions": [{"type": "Ready", "status": status, "lastHeartbeatTime": beat, "lastTransitionTime": "2026-01-01T00:00:00Z"}]});
    world.put(Node::RESOURCE, &node(1, "a", &ready("2026-01-01T00:00:00Z", "True")));
    assert_eq!(world.names().await, ["n1"]);
    world.put(Node::RESOURCE, &node(2, "a", &ready("2026-01-01T00:00:10Z", "True")));
    assert_eq!(world.woken().await, 0, "a heartbeat");
    world.put(Node::RESOURCE, &node(3, "a", &ready("2026-01-01T00:00:10Z", "False")));
    assert_eq!(world.names().await, ["n1"]);
    let mut virtual_node = node(4, "b", &json!({}));
    virtual_node["metadata"]["labels"]["type"] = json!("virtual-kubelet");
    world.put(Node::RESOURCE, &virtual_node);
    assert_eq!(world.woken().await, 0, "a virtual node");

    world.put(NodeImage::RESOURCE, &node_image("n1", 5, "a", tagged("nginx", "1", 0)));
    world.put(NodeImage::RESOURCE, &node_image("n2", 6, "a", json!({})));
    assert_eq!(world.names().await, ["n1", "n2"]);
    world.put(PullJob::RESOURCE, &pull_job("one", "nginx:1", json!({})));
    assert_eq!(world.woken().await, 0);
    world.remove(PullJob::RESOURCE, "one");
    assert_eq!(world.names().await, ["n1"]);
}

/// PJ-16, images/6, images/13: a change of a tag wakes the jobs of that tag, a change of an image those of the image, a node that comes, goes or is labelled those that
/// select it.
#[tokio::test]
async fn pj_16_images_6_images_13_jobs_are_woken_by_what_concerns_them() {
    let world = world(&imagepulljob::REGISTRATION);
    let labels = |value: &str| json!({"selector": {"matchLabels": {"zone": value}}});
    for (name, image, more) in [
        ("one", "nginx:1", json!({})),
        ("two", "nginx:2", json!({"selector": {}})),
        ("zoned", "redis:1", labels("a")),
        ("named", "redis:2", json!({"selector": {"names": ["n1"]}})),
        ("podded", "redis:3", json!({"podSelector": {"matchLabels": {"app": "web"}}})),
    ] {
        world.put(PullJob::RESOURCE, &pull_job(name, image, more));
    }
    let mut over = pull_job("over", "nginx:1", json!({}));
    over["status"] = json!({"completionTime": "2026-01-01T00:00:00Z"});
    world.put(PullJob::RESOURCE, &over);
    world.names().await;

    let put = |version: u64, zone: &str, spec: Value| {
        world.put(NodeImage::RESOURCE, &node_image("n1", version, zone, spec));
    };
    put(2, "a", json!({}));
    assert_eq!(world.names().await, ["named", "one", "podded", "two", "zoned"], "it comes");
    put(3, "a", tagged("nginx", "1", 0));
    assert_eq!(world.names().await, ["one", "two"], "an image comes");
    put(4, "a", tagged("nginx", "1", 1));
    assert_eq!(world.names().await, ["one"], "a tag changes");
    put(5, "b", tagged("nginx", "1", 1));
    assert_eq!(world.names().await, ["zoned"], "a label changes");
    let mut said = node_image("n1", 6, "b", tagged("nginx", "1", 1));
    said["status"] =
        json!({"imageStatuses": {"nginx": {"tags": [{"tag": "1", "version": 1, "phase": "Pulling"}]}}});
    world.put(NodeImage::RESOURCE, &said);
    assert_eq!(world.names().await, ["one"], "an agent speaks");

    let pod = |version: u64, node: Value| {
        let mut pod = json!({"metadata": meta("p", "p", version, None)});
        pod["spec"] = json!({"nodeName": node});
        pod
    };
    world.put(Pod::RESOURCE, &pod(7, Value::Null));
    assert_eq!(world.woken().await, 0, "no node yet");
    world.put(Pod::RESOURCE, &pod(8, json!("n1")));
    assert_eq!(world.names().await, ["podded"]);
    world.put(Pod::RESOURCE, &pod(9, json!("n1")));
    assert_eq!(world.woken().await, 0, "nothing that matters");
    let copy = json!({"metadata": {"name": "c", "namespace": "kruise-daemon-config", "uid": "c", "resourceVersion": "10", "annotations": {"imagepulljobs.kruise.io/references": "n/one,n/two"}}});
    world.put(SecretCopy::RESOURCE, &copy);
    assert_eq!(world.names().await, ["one", "two"], "somebody touched a copy");
}

/// LJ-7: by its jobs; three at a time, without a flag.
#[tokio::test]
async fn lj_7_list_is_woken_by_its_jobs() {
    let world = world(&imagelistpulljob::REGISTRATION);
    let list =
        json!({"metadata": meta("l", "l", 1, None), "spec": {"images": ["a:1"], "completionPolicy": {}}});
    world.put(ImageListPullJob::RESOURCE, &list);
    assert_eq!(world.names().await, ["l"]);
    let mut child = pull_job("child", "a:1", json!({}));
    child["metadata"] = meta("child", "child", 2, Some("l"));
    world.put(PullJob::RESOURCE, &child);
    assert_eq!(world.names().await, ["l"]);
    assert_eq!(imagelistpulljob::REGISTRATION.workers, Workers::Fixed(3));
}

/// images/14: whoever declares secrets, they are watched in the namespace of copies.
#[test]
fn images_14_without_the_gate_no_secret_is_watched() {
    let is_watched =
        |gates: &Gates| caches(gates, "copies").counts().any(|(resource, _)| resource == SECRETS);
    assert!(!is_watched(&Gates::default()));
    assert!(is_watched(&Gates::default().with(Gate::ImagePullJob)));
}

/// RD-B10: distributions watch metadata of Secrets, never what they contain.
#[test]
fn rd_b10_distributions_watch_metadata_only() {
    let watched = |gates: &Gates| -> Vec<Resource> {
        let all = caches(gates, "copies").counts().map(|(resource, _)| resource).collect::<Vec<_>>();
        all.into_iter().filter(|one| one.plural() == "secrets").collect()
    };
    assert_eq!(watched(&Gates::default()), []);
    let found = watched(&Gates::default().with(Gate::ResourceDistribution));
    assert_eq!(found, [kruise_api::resource::SECRET_METADATA]);
}

/// RD-B4, RD-B5: what wakes a distribution, and what does not.
#[tokio::test]
async fn rd_1_rd_2_rd_3_distribution_is_woken_by_namespaces_it_wants_and_by_objects_of_its_name() {
    use kruise_api::resource::{CONFIG_MAP_METADATA, NAMESPACES, SECRET_METADATA};
    let gates = Gates::default().with(Gate::ResourceDistribution);
    let world = world_with(&resourcedistribution::REGISTRATION, gates);
    let resource = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
    let targets = json!({"namespaceSelector": {"matchLabels": {"a": "1"}}, "includedNamespaces": {"list": [{"name": "listed"}]}});
    let object = json!({
        "metadata": {"name": "d", "uid": "d", "resourceVersion": "1"}, "spec": {"resource": resource, "targets": targets},
    });
    world.put(kruise_core::resourcedistribution::ResourceDistribution::RESOURCE, &object);
    assert_eq!(world.names().await, ["d"]);
    let namespace = |name: &str, labels: Value, version: u64, phase: &str| {
        let meta =
            json!({"name": name, "uid": name, "resourceVersion": version.to_string(), "labels": labels});
        world.put(NAMESPACES, &json!({"metadata": meta, "status": {"phase": phase}}));
    };
    for (name, labels, version, phase, is_woken) in [
        ("x", json!({}), 1, "Active", false),
        ("listed", json!({}), 2, "Active", true),
        ("x", json!({"a": "1"}), 3, "Active", true),
        ("x", json!({"a": "1", "b": "1"}), 4, "Active", false),
        ("x", json!({"a": "1", "b": "1"}), 5, "Terminating", true),
        ("x", json!({"a": "2"}), 6, "Terminating", true),
        ("x", json!({"a": "3"}), 7, "Terminating", false),
    ] {
        namespace(name, labels, version, phase);
        assert_eq!(world.names().await.is_empty(), !is_woken, "{name} {version}");
    }
    for (of, name, is_woken) in
        [(SECRET_METADATA, "s", true), (SECRET_METADATA, "t", false), (CONFIG_MAP_METADATA, "s", false)]
    {
        world.put(of, &json!({"metadata": meta(name, name, 9, None)}));
        assert_eq!(world.names().await.is_empty(), !is_woken, "{name}");
    }
    world.remove(SECRET_METADATA, "s");
    assert_eq!(world.names().await, ["d"], "a foreign object makes room");
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

fn probe_marker(version: u64, generation: i64, app: &str) -> Value {
    let probe = json!({"name": "p", "containerName": "main", "probe": {"exec": {"command": ["true"]}}});
    let metadata = json!({"name": "m", "namespace": "n", "uid": "m", "resourceVersion": version.to_string(), "generation": generation});
    json!({"metadata": metadata, "spec": {"selector": {"matchLabels": {"app": app}}, "probes": [probe]}})
}

fn probed_pod(version: u64, namespace: &str, app: &str) -> Value {
    let metadata = json!({"name": "a", "namespace": namespace, "uid": "a", "resourceVersion": version.to_string(), "labels": {"app": app}});
    let initialized = json!([{"type": "Initialized", "status": "True"}]);
    json!({"metadata": metadata, "spec": {"nodeName": "n1"}, "status": {"phase": "Running", "conditions": initialized}})
}

fn probe_list(version: u64, names: &[&str]) -> Value {
    let probes: Vec<Value> =
        names.iter().map(|name| json!({"name": name, "containerName": "main", "probe": {}})).collect();
    let pod = json!({"name": "a", "namespace": "n", "uid": "a", "IP": "", "probes": probes});
    json!({"metadata": {"name": "n1", "uid": "l", "resourceVersion": version.to_string()}, "spec": {"podProbes": [pod]}})
}

/// PM-1, PM-4, podprobemarker/20: pods that it selects, their node, and lists that its probes have left while it is being deleted.
#[tokio::test]
async fn pm_1_pm_4_marker_is_woken_by_its_pods_and_by_lists_that_it_has_left() {
    let world = world(&podprobemarker::REGISTRATION);
    world.put(PodProbeMarker::RESOURCE, &probe_marker(1, 1, "web"));
    assert_eq!(world.woken().await, 1, "by itself");
    for (version, namespace, app, woken) in [
        (2, "elsewhere", "web", 0),
        (3, "n", "db", 0),
        (4, "n", "web", 1),
        (5, "n", "web", 0),
        (6, "n", "db", 1),
    ] {
        world.put(Pod::RESOURCE, &probed_pod(version, namespace, app));
        assert_eq!(world.woken().await, woken, "{namespace} {app}");
    }
    world.put(Pod::RESOURCE, &probed_pod(7, "n", "web"));
    assert_eq!(world.woken().await, 1);
    world.put(Node::RESOURCE, &node(8, "a", &json!({})));
    assert_eq!(world.woken().await, 1, "PM-3: its node is there now");

    world.put(NodePodProbe::RESOURCE, &probe_list(9, &["m#p", "mm#p"]));
    world.put(NodePodProbe::RESOURCE, &probe_list(10, &["mm#p"]));
    assert_eq!(world.woken().await, 0, "it is not being deleted");
    let mut going = probe_marker(11, 1, "web");
    going["metadata"]["deletionTimestamp"] = json!("2026-06-01T12:00:00Z");
    world.put(PodProbeMarker::RESOURCE, &going);
    assert_eq!(world.woken().await, 1);
    world.put(NodePodProbe::RESOURCE, &probe_list(12, &["m#p", "mm#p"]));
    assert_eq!(world.woken().await, 0, "its probes are still there");
    world.put(NodePodProbe::RESOURCE, &probe_list(13, &["mm#p"]));
    assert_eq!(world.woken().await, 1);
}

/// NC-1, podprobemarker/3, podprobemarker/4: the node itself, its list, pods that a marker selects, and edited markers.
#[tokio::test]
async fn nc_1_podprobemarker_3_4_node_is_woken_by_what_it_probes() {
    let world = world(&nodepodprobe::REGISTRATION);
    world.put(Node::RESOURCE, &node(1, "a", &json!({})));
    assert_eq!(world.names().await, ["n1"]);
    world.put(Node::RESOURCE, &node(2, "b", &json!({})));
    assert_eq!(world.woken().await, 0, "labels of a node say nothing");
    let ready = json!({"conditions": [{"type": "Ready", "status": "True"}]});
    world.put(Node::RESOURCE, &node(3, "b", &ready));
    assert_eq!(world.names().await, ["n1"]);

    world.put(Pod::RESOURCE, &probed_pod(4, "n", "web"));
    assert_eq!(world.woken().await, 0, "no marker, no probe");
    world.put(PodProbeMarker::RESOURCE, &probe_marker(5, 1, "web"));
    assert_eq!(world.names().await, ["n1"]);
    world.put(PodProbeMarker::RESOURCE, &probe_marker(6, 1, "web"));
    assert_eq!(world.woken().await, 0, "only its status changed");
    world.put(PodProbeMarker::RESOURCE, &probe_marker(7, 2, "web"));
    assert_eq!(world.names().await, ["n1"]);
    world.put(Pod::RESOURCE, &probed_pod(8, "n", "db"));
    assert_eq!(world.names().await, ["n1"], "it left the selector");

    world.put(NodePodProbe::RESOURCE, &probe_list(9, &["m#p"]));
    assert_eq!(world.names().await, ["n1"], "4: its list is there now");
    world.remove(PodProbeMarker::RESOURCE, "m");
    assert_eq!(world.names().await, ["n1"], "3: no pod matches, but the node has its probes");
}
