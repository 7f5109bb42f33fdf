//! A large set: every write counted.
//!
//! The specification asks for 5,000 replicas. An API server on this kind of machine makes about 150 writes a second, of which a pod
//! needs more than ten in this story: half an hour. Here it is 120 replicas; `make bench` measures more.

use k8s_openapi::api::core::v1::Pod;
use kruise_testbed::bench::audit::Log;
use kruise_testbed::simnodes::{self, SimNodes};
use kruise_testbed::{Cluster, Options, crds, manager};
use kube::api::DeleteParams;
use serde_json::json;

use super::{Kind, Sets, uids, web};
use crate::workload::web::image;

const PODS: u32 = 120;

/// Section 8.2: created, updated at ten percent and deleted: one write for each pod that is created, three for each that is updated in
/// place, and status writes that are gathered.
#[tokio::test]
async fn large_parallel_set_has_bounded_writes() {
    let cluster = Cluster::start(Options { audit: true, ..Options::default() }).await.unwrap();
    let client = cluster.client_named(simnodes::USER_AGENT).await.unwrap();
    let _nodes = SimNodes::start(client, 20).await.unwrap();
    crds::install(&cluster.client()).await.unwrap();
    manager::start(&cluster, &manager::program().unwrap(), &[]).await.unwrap();
    let sets = Sets::new(Kind::StatefulSet, cluster.client(), "default");
    let log = Log::at(Some(cluster.audit_log()));
    let writes = |mark| {
        let mut all = log.since(mark).unwrap();
        all.remove("kruise-manager").unwrap_or_default()
    };
    let (all, pods) = (PODS as usize, u64::from(PODS));

    let mark = log.mark().unwrap();
    let set = sets.create(web(PODS).parallel().rolling(&json!({"maxUnavailable": "10%"}))).await;
    let before = set.until_available(all).await;
    let made = writes(mark);
    let count = |of: &std::collections::BTreeMap<String, u64>, what: &str| -> u64 {
        of.iter().filter(|(name, _)| name.contains(what)).map(|(_, count)| count).sum()
    };
    assert!(count(&made, "create pods") == pods, "{made:?}");
    assert!(count(&made, "statefulsets/status") <= pods / 2, "status writes are gathered: {made:?}");

    let begun = log.mark().unwrap();
    set.change(image("nginx:1.26")).await;
    let (_, after) = set.until_updated(all).await;
    assert_eq!(uids(&after), uids(&before));
    let moved = writes(begun);
    assert!((3 * pods..=3 * pods + pods / 10).contains(&count(&moved, " pods")), "{moved:?}");
    assert!(count(&moved, "statefulsets/status") <= pods, "{moved:?}");

    sets.api.delete("web", &DeleteParams::background()).await.unwrap();
    set.until_pods("no pods", <[Pod]>::is_empty).await;
}
