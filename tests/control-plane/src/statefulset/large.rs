//! A large set: every write counted.
//!
//! The specification asks for 5,000 replicas. An API server on this kind of machine makes about 150 writes a second, of which a pod
//! needs more than ten in this story: half an hour. Here it is 120 replicas; `make bench` measures more.

use k8s_openapi::api::core::v1::Pod;
use kruise_testbed::scratch;
use kube::api::DeleteParams;
use serde_json::json;

use super::{Kind, Sets, uids, web};
use crate::workload::Counted;
use crate::workload::web::image;

const PODS: u32 = 120;

/// Section 8.2: created, updated at ten percent and deleted: one write for each pod that is created, three for each that is updated in
/// place, and status writes that are gathered.
#[tokio::test]
async fn large_parallel_set_has_bounded_writes() {
    let scratch = scratch("large").await.unwrap();
    let counted = Counted::in_namespace(&scratch);
    let sets = Sets::of(Kind::StatefulSet, scratch);
    let (all, pods) = (PODS as usize, u64::from(PODS));

    let created = counted.mark();
    let set = sets.create(web(PODS).parallel().rolling(&json!({"maxUnavailable": "10%"}))).await;
    let before = set.until_available(all).await;
    let made = counted.since(created);
    assert!(made.of("create pods") == pods, "{made:?}");
    assert!(made.of("statefulsets/status") <= pods / 2, "status writes are gathered: {made:?}");

    let changed = counted.mark();
    set.change(image("nginx:1.26")).await;
    let (_, after) = set.until_updated(all).await;
    assert_eq!(uids(&after), uids(&before));
    let moved = counted.since(changed);
    assert!((3 * pods..=3 * pods + pods / 10).contains(&moved.of(" pods")), "{moved:?}");
    assert!(moved.of("statefulsets/status") <= pods, "{moved:?}");

    sets.api.delete("web", &DeleteParams::background()).await.unwrap();
    set.until_pods("no pods", <[Pod]>::is_empty).await;
}
