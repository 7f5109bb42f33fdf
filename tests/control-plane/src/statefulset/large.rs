//! A large set: every write counted.
//!
//! The specification asks for 5,000 replicas, and for 3,000 whose places are remembered. An API server on this kind of machine makes
//! about 150 writes a second, of which a pod needs more than twenty in this story: half an hour. Here it is 120 replicas;
//! `KRUISE_LARGE_PODS=5000` asks for more and `--nocapture` shows the numbers. `make bench` measures time and CPU.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use kruise_testbed::{Scratch, scratch, wait};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::{Kind, Live, Sets, uids, web};
use crate::persistentpodstate::{nodes, records};
use crate::workload::web::{image, rolling};
use crate::workload::{Counted, Writes};

const PODS: u32 = 120;

/// Below the 1.5 MiB that etcd stores in one object.
const RECORDS_MAX: usize = 1_400_000;

/// A set whose pods are remembered.
struct Story {
    set: Live,
    counted: Counted,
    pods: u32,
    memory: Api<DynamicObject>,
}

impl Story {
    /// Creates the set, waits for all pods, and tells what that took.
    async fn begin(scratch: Scratch, pods: u32) -> (Self, Writes, Vec<Pod>) {
        let (counted, memory) =
            (Counted::in_namespace(&scratch), memory(&scratch.client, &scratch.namespace));
        let sets = Sets::of(Kind::StatefulSet, scratch).patient(patience(pods));
        let mut object = web(pods).parallel().rolling(&json!({"maxUnavailable": "10%"}));
        object.0["metadata"]["annotations"] = json!({
            "kruise.io/auto-generate-persistent-pod-state": "true",
            "kruise.io/required-persistent-topology": "kubernetes.io/os",
        });
        let (mark, started) = (counted.mark(), Instant::now());
        let story = Self { set: sets.create(object).await, counted, pods, memory };
        let there = story.set.until_available(pods as usize).await;
        let writes = story.counted.since(mark);
        println!("created: {:.1} s, {writes:?}", started.elapsed().as_secs_f64());
        (story, writes, there)
    }

    /// The same for a change.
    async fn change(&self, name: &str, change: Value) -> (Writes, Vec<Pod>) {
        let (mark, started) = (self.counted.mark(), Instant::now());
        self.set.change(change).await;
        let (_, pods) = self.set.until_updated(self.pods as usize).await;
        let writes = self.counted.since(mark);
        println!("{name}: {:.1} s, {writes:?}", started.elapsed().as_secs_f64());
        (writes, pods)
    }

    /// Until the object of the set remembers where all these pods are; how large its status is.
    async fn remembered(&self, pods: &[Pod]) -> usize {
        let expected = nodes(pods);
        let is_right = |object: &DynamicObject| {
            let records = records(object);
            records.len() == expected.len()
                && records.iter().all(|(pod, record)| record["nodeName"].as_str() == Some(&expected[pod]))
        };
        let object = wait::until(&self.memory, "web", "records of all pods", is_right).await.unwrap();
        object.data["status"].to_string().len()
    }

    /// Until no pod is left. A watch would look through all of them for each that goes.
    async fn until_empty(&self) {
        let one = ListParams::default().limit(1);
        while !self.set.pods.list_metadata(&one).await.unwrap().items.is_empty() {
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    }
}

/// A second for each pod is a lot; a test that is right never waits this long.
fn patience(pods: u32) -> Duration {
    Duration::from_secs(u64::from(pods))
}

fn memory(client: &Client, namespace: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("apps.kruise.io", "v1beta1", "PersistentPodState");
    Api::namespaced_with(client.clone(), namespace, &ApiResource::from_gvk(&kind))
}

/// Section 8.2: created, updated at ten percent, in place and by recreation, and deleted: one write for each pod that is created, three
/// for each that is updated in either way, and status writes that are gathered.
/// Section 8.2 of PersistentPodState, persistentpodstate/D12: every pod may change its node, and the records follow with writes that are
/// gathered, too, in one object that stays small enough; what changes in place changes no record.
#[tokio::test]
async fn large_parallel_set_has_bounded_writes() {
    let asked = std::env::var("KRUISE_LARGE_PODS").ok().map(|text| text.parse().unwrap());
    let (story, made, before) = Story::begin(scratch("large").await.unwrap(), asked.unwrap_or(PODS)).await;
    let pods = u64::from(story.pods);
    assert!(made.of("create pods") == pods, "{made:?}");
    assert!(made.of(" statefulsets/status") <= pods / 2, "status writes are gathered: {made:?}");
    story.remembered(&before).await;

    let (moved, after) = story.change("in place", image("nginx:1.26")).await;
    assert_eq!(uids(&after), uids(&before));
    assert!((3 * pods..=3 * pods + pods / 10).contains(&moved.of(" pods")), "{moved:?}");
    assert!(moved.of(" statefulsets/status") <= pods, "{moved:?}");
    assert_eq!(moved.of("persistentpodstates"), 0, "{moved:?}");

    story.set.change(rolling(&json!({"podUpdatePolicy": "ReCreate"}))).await;
    let (replaced, new) = story.change("recreated", image("nginx:1.27")).await;
    let bytes = story.remembered(&new).await;
    println!("{bytes} bytes of records");
    assert!(bytes < RECORDS_MAX, "{bytes}");
    assert!((3 * pods..=3 * pods + pods / 10).contains(&replaced.of(" pods")), "{replaced:?}");
    assert!(replaced.of("persistentpodstates/status") <= pods / 2, "{replaced:?}");

    story.set.api.delete("web", &DeleteParams::background()).await.unwrap();
    tokio::time::timeout(patience(story.pods), story.until_empty()).await.unwrap();
}
