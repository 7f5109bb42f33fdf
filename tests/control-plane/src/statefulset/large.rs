//! A large set: every write counted.
//!
//! The specification asks for 5,000 replicas, and for 3,000 whose places are remembered. An API server on this kind of machine makes
//! about 150 writes a second, of which a pod needs more than twenty in this story: half an hour. Here it is 120 replicas;
//! `KRUISE_LARGE_PODS=5000` asks for more and `--nocapture` shows the numbers.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use kruise_testbed::bench::audit::{Log, Mark};
use kruise_testbed::simnodes::{self, SimNodes};
use kruise_testbed::{Cluster, Options, crds, manager, wait};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::{Kind, Live, Sets, uids, web};
use crate::persistentpodstate::{nodes, records};
use crate::workload::web::{image, rolling};

const PODS: u32 = 120;

/// Below the 1.5 MiB that etcd stores in one object.
const RECORDS_MAX: usize = 1_400_000;

/// What the manager wrote in one phase of the story.
struct Writes(BTreeMap<String, u64>);

impl Writes {
    fn since(log: &Log, mark: Mark) -> Self {
        Self(log.since(mark).unwrap().remove("kruise-manager").unwrap_or_default())
    }

    fn count(&self, what: &str) -> u64 {
        self.0.iter().filter(|(name, _)| name.contains(what)).map(|(_, count)| count).sum()
    }
}

/// A set whose pods are remembered, all by itself in a cluster.
struct Story {
    set: Live,
    log: Log,
    /// Before it was created.
    begun: Mark,
    pods: u32,
    memory: Api<DynamicObject>,
}

impl Story {
    async fn begin(cluster: &Cluster, pods: u32) -> Self {
        crds::install(&cluster.client()).await.unwrap();
        manager::start(cluster, &manager::program().unwrap(), &[]).await.unwrap();
        let sets = Sets::new(Kind::StatefulSet, cluster.client(), "default").patient(patience(pods));
        let log = Log::at(Some(cluster.audit_log()));
        let mut object = web(pods).parallel().rolling(&json!({"maxUnavailable": "10%"}));
        object.0["metadata"]["annotations"] = json!({
            "kruise.io/auto-generate-persistent-pod-state": "true",
            "kruise.io/required-persistent-topology": "kubernetes.io/os",
        });
        let begun = log.mark().unwrap();
        Self { set: sets.create(object).await, log, begun, pods, memory: memory(cluster.client()) }
    }

    /// Changes the set, waits for all pods, and tells what that took; first of all, it is being created.
    async fn phase(&self, name: &str, change: Option<Value>) -> (Writes, Vec<Pod>) {
        let (started, all) = (Instant::now(), self.pods as usize);
        let (mark, pods) = match change {
            None => (self.begun, self.set.until_available(all).await),
            Some(change) => {
                let mark = self.log.mark().unwrap();
                self.set.change(change).await;
                (mark, self.set.until_updated(all).await.1)
            }
        };
        let writes = Writes::since(&self.log, mark);
        println!("{name}: {:.1} s, {:?}", started.elapsed().as_secs_f64(), writes.0);
        (writes, pods)
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

fn memory(client: Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("apps.kruise.io", "v1beta1", "PersistentPodState");
    Api::namespaced_with(client, "default", &ApiResource::from_gvk(&kind))
}

/// What the object of the set remembers: nodes by pod, once all of them are the right ones, and how large it is.
async fn remembered(memory: &Api<DynamicObject>, pods: &[Pod]) -> usize {
    let expected = nodes(pods);
    let is_right = |object: &DynamicObject| {
        let records = records(object);
        records.len() == expected.len()
            && records.iter().all(|(pod, record)| record["nodeName"].as_str() == Some(&expected[pod]))
    };
    let object = wait::until(memory, "web", "records of all pods", is_right).await.unwrap();
    object.data["status"].to_string().len()
}

/// Section 8.2: created, updated at ten percent, in place and by recreation, and deleted: one write for each pod that is created, three
/// for each that is updated in either way, and status writes that are gathered.
/// Section 8.2 of PersistentPodState, persistentpodstate/D12: every pod may change its node, and the records follow with writes that are
/// gathered, too, in one object that stays small enough; what changes in place changes no record.
#[tokio::test]
async fn large_parallel_set_has_bounded_writes() {
    let asked = std::env::var("KRUISE_LARGE_PODS").ok().map(|text| text.parse::<u32>().unwrap());
    let cluster = Cluster::start(Options { audit: true, ..Options::default() }).await.unwrap();
    let client = cluster.client_named(simnodes::USER_AGENT).await.unwrap();
    let _nodes = SimNodes::start(client, 20).await.unwrap();
    let story = Story::begin(&cluster, asked.unwrap_or(PODS)).await;
    let pods = u64::from(story.pods);

    let (made, before) = story.phase("created", None).await;
    assert!(made.count("create pods") == pods, "{:?}", made.0);
    assert!(made.count(" statefulsets/status") <= pods / 2, "status writes are gathered: {:?}", made.0);
    remembered(&story.memory, &before).await;

    let (moved, after) = story.phase("in place", Some(image("nginx:1.26"))).await;
    assert_eq!(uids(&after), uids(&before));
    assert!((3 * pods..=3 * pods + pods / 10).contains(&moved.count(" pods")), "{:?}", moved.0);
    assert!(moved.count(" statefulsets/status") <= pods, "{:?}", moved.0);
    assert_eq!(moved.count("persistentpodstates"), 0, "{:?}", moved.0);

    story.set.change(rolling(&json!({"podUpdatePolicy": "ReCreate"}))).await;
    let (replaced, new) = story.phase("recreated", Some(image("nginx:1.27"))).await;
    let bytes = remembered(&story.memory, &new).await;
    println!("{bytes} bytes of records");
    assert!(bytes < RECORDS_MAX, "{bytes}");
    assert!((3 * pods..=3 * pods + pods / 10).contains(&replaced.count(" pods")), "{:?}", replaced.0);
    assert!(replaced.count("persistentpodstates/status") <= pods / 2, "{:?}", replaced.0);

    story.set.api.delete("web", &DeleteParams::background()).await.unwrap();
    tokio::time::timeout(patience(story.pods), story.until_empty()).await.unwrap();
}
