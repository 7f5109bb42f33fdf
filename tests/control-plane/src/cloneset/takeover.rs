//! Taking over from the original: namespaces as it left them in the middle of work are loaded into a cluster, then our
//! manager starts. What it writes is read from the API server's audit log.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kruise_sim::kubelet::{Behaviour, Which};
use kruise_testbed::{Scratch, manager, scratch_without_manager};
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::web::{containers, rolling};
use super::{CloneSets, Live, at_revision, image_of, label, names, restarts, runs, state, text, uids};

const USER_AGENT: &str = "kruise-manager/cloneset-controller";
const HOOK: &str = "hook";

/// A recorded namespace in a cluster whose manager does not run yet.
struct Takeover {
    test: Scratch,
    sets: CloneSets,
    web: Live,
    before: Vec<Pod>,
    status: Value,
}

/// One write of our manager.
#[derive(Debug, PartialEq, Eq)]
struct Written {
    verb: String,
    /// `pods/web-a` or `clonesets/w/status`.
    object: String,
}

impl Takeover {
    /// Loads a recording; its clock is moved so that it was made a moment ago.
    async fn of(name: &str) -> Self {
        let test = scratch_without_manager(name).await.unwrap();
        test.shared.nodes.rule(pods_of(&test), Behaviour::Hangs);
        let sets = CloneSets::new(test.client.clone(), &test.namespace);
        let objects = recorded(name);
        let of_kind = |kind: &'static str| objects.iter().filter(move |one| one["kind"] == kind).cloned();
        let cloneset = of_kind("CloneSet").next().unwrap();
        let status = cloneset["status"].clone();
        let web = sets.live(&load_cloneset(&sets, &cloneset).await);
        for revision in of_kind("ControllerRevision") {
            load::<ControllerRevision>(&sets, &web, revision).await;
        }
        for claim in of_kind("PersistentVolumeClaim") {
            load::<PersistentVolumeClaim>(&sets, &web, unbound(claim)).await;
        }
        for pod in of_kind("Pod") {
            let patch = Patch::Merge(own_images(json!({"status": pod["status"]})));
            let created = load::<Pod>(&sets, &web, bound_here(pod)).await;
            web.pods.patch_status(&created, &PatchParams::default(), &patch).await.unwrap();
        }
        let before = web.pods_now().await;
        Self { test, sets, web, before, status }
    }

    /// Starts our manager and returns when it has looked at everything.
    async fn begin(&self) {
        self.manager().start().unwrap();
        self.sets.quiet().await;
    }

    fn manager(&self) -> manager::Own<'_> {
        manager::Own::of(&self.test.shared.cluster, &self.test.namespace, &[]).unwrap()
    }

    /// The nodes go on; images that are named so cannot be pulled.
    fn nodes_run(&self) {
        let pods = pods_of(&self.test);
        let missing = Which { image: Some("nginx:does-not-exist".to_owned()), ..pods.clone() };
        self.test.shared.nodes.rule(missing, Behaviour::PullFails);
        self.test.shared.nodes.forget(&pods);
    }

    /// All writes of our manager about the recorded workload, oldest first.
    fn writes(&self) -> Vec<Written> {
        let log = std::fs::read_to_string(self.test.shared.cluster.audit_log()).unwrap();
        let events = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let ours = events.filter(|event| {
            let agent = event["userAgent"].as_str().unwrap_or_default();
            let object = &event["objectRef"];
            agent.starts_with(USER_AGENT)
                && object["namespace"] == self.test.namespace.as_str()
                && !text(object, "name").starts_with("probe")
        });
        ours.map(|event| {
            let object = &event["objectRef"];
            let parts = ["resource", "name", "subresource"].map(|part| text(object, part));
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            Written { verb: text(&event, "verb").to_owned(), object: parts.join("/") }
        })
        .collect()
    }

    /// Writes about anything but the CloneSet's own status.
    fn writes_beyond_status(&self) -> Vec<Written> {
        let mut writes = self.writes();
        writes.retain(|write| write.object != "clonesets/w/status");
        writes
    }

    /// No pod was touched, no revision added, and the counts still say what the original said.
    async fn nothing_moved(&self) {
        assert_eq!(self.writes_beyond_status(), []);
        let pods = self.web.pods_now().await;
        assert_eq!(uids(&pods), uids(&self.before));
        let status = self.web.status().await;
        for field in ["replicas", "readyReplicas", "updatedReplicas", "currentRevision", "updateRevision"] {
            assert_eq!(status[field], self.status[field], "{field}");
        }
    }

    /// Ends our manager: the test is over.
    fn end(&self) {
        self.manager().kill().unwrap();
    }
}

/// The pods of the recorded workload, not those of a probe.
fn pods_of(test: &Scratch) -> Which {
    Which { namespace: Some(test.namespace.clone()), pod: Some("w-".to_owned()), ..Which::default() }
}

/// Objects of a recording, with all times moved by the same amount.
fn recorded(name: &str) -> Vec<Value> {
    let path = shared_folder().join(format!("golden/takeover/{name}.json"));
    let original = std::fs::read_to_string(path).unwrap();
    let newest = times(&original).max().unwrap();
    let moved = Timestamp::now().duration_since(newest) - SignedDuration::from_secs(1);
    let times: BTreeMap<String, String> = times(&original)
        .map(|time| (time.to_string(), (time + moved).round(jiff::Unit::Second).unwrap().to_string()))
        .collect();
    let mut shifted = original;
    for (old, new) in times.iter().rev() {
        shifted = shifted.replace(old, new);
    }
    let file: Value = serde_json::from_str(&shifted).unwrap();
    file["objects"].as_array().unwrap().clone()
}

/// All times in a text, whole seconds in UTC.
fn times(text: &str) -> impl Iterator<Item = Timestamp> {
    const LENGTH: usize = "2026-11-15T20:16:22Z".len();
    text.as_bytes().windows(LENGTH).filter_map(|window| {
        let word = std::str::from_utf8(window).ok()?;
        if word.ends_with('Z') && word.starts_with("20") { word.parse().ok() } else { None }
    })
}

/// `KRUISE_SHARED`, else `shared` beside the workspace or above it.
fn shared_folder() -> PathBuf {
    if let Some(path) = std::env::var_os("KRUISE_SHARED") {
        return path.into();
    }
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let found = here.ancestors().map(|dir| dir.join("shared")).find(|dir| dir.join("golden").is_dir());
    found.expect("the folder `shared` beside the workspace; KRUISE_SHARED names it if it is elsewhere")
}

/// The CloneSet at the generation that its status has observed.
async fn load_cloneset(sets: &CloneSets, recorded: &Value) -> DynamicObject {
    let generation = recorded["metadata"]["generation"].as_i64().unwrap();
    let seconds = recorded["spec"]["minReadySeconds"].as_i64().unwrap_or(0);
    let mut object = json!({
        "apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet",
        "metadata": {"name": "w"}, "spec": recorded["spec"],
    });
    object["spec"]["minReadySeconds"] = json!(seconds + generation - 1);
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    sets.api.create(&PostParams::default(), &object).await.unwrap();
    for left in (0..generation - 1).rev() {
        let value =
            if left == 0 { recorded["spec"]["minReadySeconds"].clone() } else { json!(seconds + left) };
        let patch = Patch::Merge(json!({"spec": {"minReadySeconds": value}}));
        sets.api.patch("w", &PatchParams::default(), &patch).await.unwrap();
    }
    let status = Patch::Merge(json!({"status": recorded["status"]}));
    let loaded = sets.api.patch_status("w", &PatchParams::default(), &status).await.unwrap();
    assert_eq!(loaded.metadata.generation, Some(generation));
    assert_eq!(loaded.data["spec"], recorded["spec"]);
    loaded
}

/// Creates a dependent of the CloneSet; what the server chooses is left to it.
async fn load<K>(sets: &CloneSets, owner: &Live, mut object: Value) -> String
where
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope> + Clone + std::fmt::Debug + Serialize,
    K: DeserializeOwned,
    K::DynamicType: Default,
{
    let metadata = object["metadata"].as_object_mut().unwrap();
    for field in ["uid", "resourceVersion", "creationTimestamp", "generation", "namespace", "managedFields"] {
        metadata.shift_remove(field);
    }
    for reference in object["metadata"]["ownerReferences"].as_array_mut().unwrap() {
        reference["uid"] = json!(owner.uid);
    }
    let object: K = serde_json::from_value(object).unwrap();
    let api: Api<K> = sets.all();
    api.create(&PostParams::default(), &object).await.unwrap().name_any()
}

/// Its volume is in another cluster; here it gets one of ours.
fn unbound(mut claim: Value) -> Value {
    claim["spec"].as_object_mut().unwrap().shift_remove("volumeName");
    claim["metadata"].as_object_mut().unwrap().shift_remove("annotations");
    claim
}

/// `node-1` of the recording is a node of ours.
fn bound_here(mut pod: Value) -> Value {
    let node = pod["spec"]["nodeName"].as_str().unwrap();
    pod["spec"]["nodeName"] = json!(node.replace("node-", "sim-000"));
    pod
}

/// A container runtime says in full where an image is from; simulated nodes repeat what the pod says.
fn own_images(mut status: Value) -> Value {
    for container in status["status"]["containerStatuses"].as_array_mut().unwrap() {
        let image = container["image"].as_str().unwrap();
        container["image"] = json!(image.rsplit('/').next().unwrap());
    }
    status
}

/// SM-10, SM-10a, CS-93: what is finished sees no write at all.
#[tokio::test]
async fn settled_state_sees_no_write() {
    let over = Takeover::of("cs-settled").await;

    over.begin().await;

    assert_eq!(over.writes(), []);
    over.nothing_moved().await;
    over.end();
}

/// A partition that is reached is finished too; lowering it goes on with the pods as they are.
async fn reached_partition_goes_on(name: &str) {
    let over = Takeover::of(name).await;
    over.begin().await;
    assert_eq!(over.writes(), []);

    over.nodes_run();
    over.web.change(rolling(&json!({"partition": 0}))).await;

    let replicas = over.before.len();
    let (status, after) = over.web.until_updated(replicas).await;
    assert_eq!(status["updateRevision"], over.status["updateRevision"]);
    assert_eq!(uids(&after), uids(&over.before));
    let done = text(&over.status, "updateRevision").rsplit('-').next().unwrap().to_owned();
    for pod in &after {
        let earlier = over.before.iter().find(|one| one.uid() == pod.uid()).unwrap();
        let restarted = i32::from(super::hash(earlier) != done);
        assert_eq!(restarts(pod, "main") - restarts(earlier, "main"), restarted, "{}", pod.name_any());
        assert!(runs(pod, "main", "nginx:1.22"));
    }
    assert_eq!(over.web.revisions_now().await.len(), 2);
    over.end();
}

/// CS-31, SM-8, SM-10.
#[tokio::test]
async fn partition_that_is_reached() {
    reached_partition_goes_on("cs-partition-half").await;
}

/// CS-4, §2.2: written through v1alpha1.
#[tokio::test]
async fn partition_that_is_reached_written_as_v1alpha1() {
    reached_partition_goes_on("cs-alpha-partition-half").await;
}

/// CS-60, SM-12: claims stay with their pods.
#[tokio::test]
async fn claims_stay_with_their_pods() {
    reached_partition_goes_on("cs-claims").await;
}

/// CS-71: paused stays paused, and goes on when it is let.
#[tokio::test]
async fn paused_in_the_middle() {
    let over = Takeover::of("cs-paused-middle").await;
    over.begin().await;
    assert_eq!(over.writes(), []);

    over.nodes_run();
    over.web
        .change(json!({"minReadySeconds": 0, "updateStrategy": {"rollingUpdate": {"paused": false}}}))
        .await;

    let (_, after) = over.web.until_updated(4).await;
    assert_eq!(uids(&after), uids(&over.before));
    assert_eq!(over.web.revisions_now().await.len(), 2);
    over.end();
}

/// SM-29: a grace period that runs is neither cut short nor begun again; what it waits for is applied at its end.
#[tokio::test]
async fn grace_period_that_runs() {
    let over = Takeover::of("cs-grace").await;
    over.begin().await;
    over.nothing_moved().await;
    over.manager().kill().unwrap();

    // Ten minutes pass: the record says that the update began so much earlier.
    for pod in over.before.iter().filter(|pod| state(pod) == "Updating") {
        let key = "apps.kruise.io/inplace-update-state";
        let mut record: Value = serde_json::from_str(&pod.annotations()[key]).unwrap();
        let began: Timestamp = record["updateTimestamp"].as_str().unwrap().parse().unwrap();
        record["updateTimestamp"] = json!((began - SignedDuration::from_secs(600)).to_string());
        let annotations = json!({(key): record.to_string()});
        over.web.patch_pod(&pod.name_any(), json!({"metadata": {"annotations": annotations}})).await;
    }
    over.nodes_run();
    over.manager().start().unwrap();
    over.web.change(rolling(&json!({"inPlaceUpdateStrategy": {"gracePeriodSeconds": 0}}))).await;

    let (_, after) = over.web.until_updated(4).await;
    assert_eq!(uids(&after), uids(&over.before));
    assert!(after.iter().all(|pod| runs(pod, "main", "nginx:1.22") && restarts(pod, "main") == 1));
    assert_eq!(over.web.revisions_now().await.len(), 2);
    over.end();
}

/// SM-42, CS-79: pods that wait for a hook go on waiting for it; those that are let go are updated.
#[tokio::test]
async fn update_hook_that_holds() {
    let over = Takeover::of("cs-hook-preparing-update").await;
    over.begin().await;
    over.nothing_moved().await;

    over.nodes_run();
    let released = over.before.iter().find(|pod| state(pod) == "PreparingUpdate").unwrap().name_any();
    over.web.label_pod(&released, HOOK, None::<&str>).await;
    over.web.until_pods("its update", |pods| pods.iter().any(|pod| state(pod) == "Updated")).await;
    let pod = over.web.label_pod(&released, HOOK, "held").await;

    over.web.until("one updated pod", |status| status["updatedAvailableReplicas"] == 1).await;
    assert_eq!(image_of(&pod, "main"), "nginx:1.22");
    let pods = over.web.pods_now().await;
    assert_eq!(uids(&pods), uids(&over.before));
    assert_eq!(at_revision(&pods, text(&over.status, "updateRevision")), 1, "the others are still held");
    over.end();
}

/// SM-42, CS-43, CS-45: pods on their way out stay there until their hook lets go, and no other takes their place.
#[tokio::test]
async fn delete_hook_that_holds() {
    let over = Takeover::of("cs-hook-preparing-delete").await;
    over.begin().await;
    over.nothing_moved().await;

    over.nodes_run();
    let leaving: Vec<Pod> =
        over.before.iter().filter(|pod| state(pod) == "PreparingDelete").cloned().collect();
    for pod in &leaving {
        assert_eq!(label(pod, HOOK), "held");
        over.web.label_pod(&pod.name_any(), HOOK, None::<&str>).await;
    }

    let after = over.web.until_available(2).await;
    assert!(names(&after).is_disjoint(&names(&leaving)));
    assert!(uids(&after).is_subset(&uids(&over.before)));
    over.end();
}

/// CS-75, SM-31: an image that cannot be pulled stops its own rollout only; the next template repairs it.
#[tokio::test]
async fn image_that_cannot_be_pulled() {
    let over = Takeover::of("cs-stuck-image").await;
    over.begin().await;
    over.nothing_moved().await;

    over.nodes_run();
    let mut all = over.web.api.get("w").await.unwrap().data["spec"]["template"]["spec"]["containers"].clone();
    all[0]["image"] = json!("nginx:1.22");
    over.web.change(containers(&all)).await;

    let (_, after) = over.web.until_updated(4).await;
    assert_eq!(uids(&after), uids(&over.before));
    assert!(after.iter().all(|pod| runs(pod, "main", "nginx:1.22")));
    over.end();
}

/// CS-34, CS-38: the surge that is there is used, not repeated; every pod that is not available yet holds the rest.
#[tokio::test]
async fn surge_in_the_middle_of_recreation() {
    let over = Takeover::of("cs-surge-recreate").await;
    over.begin().await;
    over.nothing_moved().await;

    over.nodes_run();
    over.web.change(json!({"minReadySeconds": 0})).await;

    let (status, after) = over.web.until_updated(4).await;
    assert_eq!(status["updateRevision"], over.status["updateRevision"]);
    let new = at_revision(&over.before, text(&over.status, "updateRevision"));
    let kept = uids(&after).intersection(&uids(&over.before)).count();
    assert_eq!((kept, new), (1, 1), "the pod that was new already stays");
    assert_eq!(over.web.revisions_now().await.len(), 2);
    over.end();
}
