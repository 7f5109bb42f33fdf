//! Taking over from the original: namespaces as it left them in the middle of work are loaded into a cluster, then our
//! manager starts. What it writes is read from the API server's audit log.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kruise_sim::kubelet::{Behaviour, Which};
use kruise_testbed::{Scratch, checkout, manager, scratch_without_manager, wait};
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::web::rolling;
use super::{Kind, Live, Sets, hash, restarts, runs, state, text, uids};

/// A recorded namespace in a cluster whose manager does not run yet.
pub struct Takeover {
    test: Scratch,
    pub sets: Sets,
    pub web: Live,
    pub before: Vec<Pod>,
    pub status: Value,
}

/// A partition that is reached sees no write; lowering it goes on in place with the pods as they are.
pub async fn reached_partition_goes_on(kind: Kind, name: &str) {
    let over = Takeover::of(kind, name).await;
    over.begin().await;
    assert_eq!(over.writes(), []);
    over.nothing_moved().await;

    over.nodes_run();
    over.web.change(rolling(&json!({"partition": 0}))).await;

    let (status, after) = over.web.until_updated(over.before.len()).await;
    assert_eq!(status["updateRevision"], over.status["updateRevision"]);
    assert_eq!(uids(&after), uids(&over.before));
    let done = text(&over.status, "updateRevision").rsplit('-').next().unwrap().to_owned();
    for pod in &after {
        let earlier = over.before.iter().find(|one| one.uid() == pod.uid()).unwrap();
        let restarted = i32::from(hash(earlier) != done);
        assert_eq!(restarts(pod, "main") - restarts(earlier, "main"), restarted, "{}", pod.name_any());
        assert!(runs(pod, "main", "nginx:1.22"));
    }
    assert_eq!(over.web.revisions_now().await.len(), 2);
    over.end();
}

/// A grace period that runs is neither cut short nor begun again; what it waits for is applied at its end.
pub async fn running_grace_goes_on(kind: Kind, name: &str) {
    let over = Takeover::of(kind, name).await;
    over.begin().await;
    over.nothing_moved().await;
    over.manager().kill().unwrap();

    over.ten_minutes_pass().await;
    over.nodes_run();
    over.manager().start().unwrap();
    over.web.change(rolling(&json!({"inPlaceUpdateStrategy": {"gracePeriodSeconds": 0}}))).await;

    let (_, after) = over.web.until_updated(over.before.len()).await;
    assert_eq!(uids(&after), uids(&over.before));
    assert!(after.iter().all(|pod| runs(pod, "main", "nginx:1.22") && restarts(pod, "main") == 1));
    assert_eq!(over.web.revisions_now().await.len(), 2);
    over.end();
}

/// One write of our manager.
#[derive(Debug, PartialEq, Eq)]
pub struct Written {
    verb: String,
    /// `pods/web-a` or `clonesets/w/status`.
    object: String,
}

impl Takeover {
    /// Loads a recording; its clock is moved so that it was made a moment ago.
    pub async fn of(kind: Kind, name: &str) -> Self {
        let test = scratch_without_manager(name).await.unwrap();
        test.shared.nodes.rule(pods_of(&test), Behaviour::Hangs);
        let sets = Sets::new(kind, test.client.clone(), &test.namespace);
        let objects = recorded(name);
        let of_kind = |wanted: &'static str| objects.iter().filter(move |one| one["kind"] == wanted).cloned();
        let workload = of_kind(kind.name()).next().unwrap();
        let status = workload["status"].clone();
        let web = sets.live(&load_workload(&sets, &workload).await);
        for revision in of_kind("ControllerRevision") {
            load::<ControllerRevision>(&sets, &web, revision).await;
        }
        for claim in of_kind("PersistentVolumeClaim") {
            let bound = claim["status"].clone();
            let created = load::<PersistentVolumeClaim>(&sets, &web, unbound(claim)).await;
            until_bound(&web, &created, &bound).await;
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
    pub async fn begin(&self) {
        self.manager().start().unwrap();
        self.sets.quiet().await;
    }

    pub fn manager(&self) -> manager::Own<'_> {
        manager::Own::of(&self.test.shared.cluster, &self.test.namespace, &[]).unwrap()
    }

    /// The nodes go on; images that are named so cannot be pulled.
    pub fn nodes_run(&self) {
        let pods = pods_of(&self.test);
        let missing = Which { image: Some("nginx:does-not-exist".to_owned()), ..pods.clone() };
        self.test.shared.nodes.rule(missing, Behaviour::PullFails);
        self.test.shared.nodes.forget(&pods);
    }

    /// All writes of our manager about the recorded workload, oldest first.
    pub fn writes(&self) -> Vec<Written> {
        let controller = format!("kruise-manager/{}-controller", self.sets.kind.name().to_lowercase());
        let log = std::fs::read_to_string(self.test.shared.cluster.audit_log()).unwrap();
        let events = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let ours = events.filter(|event| {
            let agent = event["userAgent"].as_str().unwrap_or_default();
            let object = &event["objectRef"];
            agent.starts_with(&controller)
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

    /// Writes about anything but the workload's own status.
    pub fn writes_beyond_status(&self) -> Vec<Written> {
        let mut writes = self.writes();
        let status = format!("{}s/w/status", self.sets.kind.name().to_lowercase());
        writes.retain(|write| write.object != status);
        writes
    }

    /// No pod was touched, no revision added, and the counts still say what the original said.
    pub async fn nothing_moved(&self) {
        assert_eq!(self.writes_beyond_status(), []);
        let pods = self.web.pods_now().await;
        assert_eq!(uids(&pods), uids(&self.before));
        let status = self.web.status().await;
        for field in ["replicas", "readyReplicas", "updatedReplicas", "currentRevision", "updateRevision"] {
            assert_eq!(status[field], self.status[field], "{field}");
        }
    }

    /// Ten minutes pass for pods that wait in a grace period: the record says that their update began so much earlier.
    pub async fn ten_minutes_pass(&self) {
        for pod in self.before.iter().filter(|pod| state(pod) == "Updating") {
            let key = "apps.kruise.io/inplace-update-state";
            let mut record: Value = serde_json::from_str(&pod.annotations()[key]).unwrap();
            let began: Timestamp = record["updateTimestamp"].as_str().unwrap().parse().unwrap();
            record["updateTimestamp"] = json!((began - SignedDuration::from_secs(600)).to_string());
            let annotations = json!({(key): record.to_string()});
            self.web.patch_pod(&pod.name_any(), json!({"metadata": {"annotations": annotations}})).await;
        }
    }

    /// Ends our manager: the test is over.
    pub fn end(&self) {
        self.manager().kill().unwrap();
    }
}

/// The pods of the recorded workload, not those of a probe.
fn pods_of(test: &Scratch) -> Which {
    Which { namespace: Some(test.namespace.clone()), pod: Some("w-".to_owned()), ..Which::default() }
}

/// Objects of a recording, with all times moved by the same amount.
fn recorded(name: &str) -> Vec<Value> {
    let path = checkout::golden("takeover").join(format!("{name}.json"));
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

/// The workload at the generation that its status has observed: it is created with another history limit, which means nothing
/// here, and that is changed as often as it takes.
async fn load_workload(sets: &Sets, recorded: &Value) -> DynamicObject {
    let generation = recorded["metadata"]["generation"].as_i64().unwrap();
    let limit = recorded["spec"]["revisionHistoryLimit"].as_i64().unwrap();
    let mut object = json!({
        "apiVersion": "apps.kruise.io/v1beta1", "kind": sets.kind.name(),
        "metadata": {"name": "w"}, "spec": recorded["spec"],
    });
    object["spec"]["revisionHistoryLimit"] = json!(limit + generation - 1);
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    sets.api.create(&PostParams::default(), &object).await.unwrap();
    for left in (0..generation - 1).rev() {
        let patch = Patch::Merge(json!({"spec": {"revisionHistoryLimit": limit + left}}));
        sets.api.patch("w", &PatchParams::default(), &patch).await.unwrap();
    }
    let status = Patch::Merge(json!({"status": recorded["status"]}));
    let loaded = sets.api.patch_status("w", &PatchParams::default(), &status).await.unwrap();
    assert_eq!(loaded.metadata.generation, Some(generation));
    assert_eq!(loaded.data["spec"], recorded["spec"]);
    loaded
}

/// Creates a dependent of the workload; what the server chooses is left to it.
async fn load<K>(sets: &Sets, owner: &Live, mut object: Value) -> String
where
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope> + Clone + std::fmt::Debug + Serialize,
    K: DeserializeOwned,
    K::DynamicType: Default,
{
    let metadata = object["metadata"].as_object_mut().unwrap();
    for field in ["uid", "resourceVersion", "creationTimestamp", "generation", "namespace", "managedFields"] {
        metadata.shift_remove(field);
    }
    for reference in object["metadata"]["ownerReferences"].as_array_mut().into_iter().flatten() {
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

/// Waits until the claim has what it was recorded with: a manager that sees it before is right to say so in a status.
async fn until_bound(web: &Live, name: &str, recorded: &Value) {
    let has_it = |claim: &PersistentVolumeClaim| {
        let status = json!(claim.status);
        status["phase"] == recorded["phase"] && status["capacity"] == recorded["capacity"]
    };
    wait::until(&web.claims, name, "a claim as it was recorded", has_it).await.unwrap();
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
