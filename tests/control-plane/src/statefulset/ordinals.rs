//! Which ordinals have a pod: start and reserved ones (AS-16 … AS-19, AS-24, AS-25).

use serde_json::json;

use super::{names, pods, runs, statefulsets, statefulsets_with_all_gates, uids, web};
use crate::workload::web::image;

/// Scenarios 23 to 26, AS-25: the start is set together with the replicas, raised, lowered and removed.
#[tokio::test]
async fn scenario_23_to_26_start_ordinal() {
    let sets = statefulsets_with_all_gates("ss-scenario-23").await;
    let web = sets.create(web(2).parallel()).await;
    assert_eq!(names(&web.until_available(2).await), pods(0..2));

    web.change(json!({"ordinals": {"start": 2}, "replicas": 3})).await;
    assert_eq!(names(&web.until_available(3).await), pods(2..5));
    web.change(json!({"ordinals": {"start": 4}})).await;
    let raised = web.until_active("4 to 6", |all| names(all) == pods(4..7)).await;
    web.change(json!({"ordinals": {"start": 3}})).await;
    let lowered = web.until_active("3 to 5", |all| names(all) == pods(3..6)).await;
    assert_eq!(uids(&lowered).intersection(&uids(&raised)).count(), 2, "those that stay are not touched");
    web.change(json!({"ordinals": null})).await;
    web.until_active("0 to 2", |all| names(all) == pods(0..3)).await;
    web.until_available(3).await;
}

/// AS-16: without its gate the start means nothing.
#[tokio::test]
async fn start_ordinal_needs_its_gate() {
    let sets = statefulsets("ss-start-gate").await;
    let web = sets.create(web(1).spec(json!({"ordinals": {"start": 5}}))).await;
    assert_eq!(names(&web.until_available(1).await), pods(0..1));
}

/// AS-19, AS-24: a reserved ordinal moves its pod up, in order; it comes back when it is not reserved any more.
#[tokio::test]
async fn reserved_ordinals_move_pods_and_let_them_back() {
    let sets = statefulsets("ss-reserved").await;
    let web = sets.create(web(3)).await;
    let before = web.until_available(3).await;

    web.change(json!({"reserveOrdinals": [1]})).await;
    let moved = web.until_active("0, 2, 3", |all| names(all) == pods([0, 2, 3])).await;
    web.until_available(3).await;
    assert_eq!(uids(&moved).intersection(&uids(&before)).count(), 2);

    web.change(json!({"reserveOrdinals": ["0-1", 2], "replicas": 1})).await;
    web.until_active("3", |all| names(all) == pods([3])).await;

    web.change(json!({"reserveOrdinals": null, "replicas": 2})).await;
    web.until_active("0, 1", |all| names(all) == pods(0..2)).await;
    web.until_available(2).await;
}

/// statefulset/B16: a range without an end that a list could hold.
#[tokio::test]
async fn statefulset_b16_huge_ranges_work() {
    let sets = statefulsets("ss-huge").await;
    let web = sets.create(web(2).parallel().spec(json!({"reserveOrdinals": ["0-2000000000"]}))).await;
    assert_eq!(names(&web.until_available(2).await), pods(2_000_000_001..2_000_000_003));
}

/// Section 8.2, AS-16, AS-17, AS-49: start, reserved ordinals (overlapping ones too) and partition together: the partition counts pods,
/// not ordinals.
#[tokio::test]
async fn start_reserved_and_partition_together() {
    let sets = statefulsets_with_all_gates("ss-start-reserved").await;
    let spec = json!({"ordinals": {"start": 2}, "reserveOrdinals": [3, "3-3", "0-1"]});
    let web = sets.create(web(3).parallel().spec(spec).rolling(&json!({"partition": 1}))).await;
    assert_eq!(names(&web.until_available(3).await), pods([2, 4, 5]));

    web.change(image("nginx:1.26")).await;

    web.until("two updated", |status| status["updatedAvailableReplicas"] == 2).await;
    sets.quiet().await;
    let updated: Vec<_> =
        web.pods_now().await.into_iter().filter(|pod| runs(pod, "main", "nginx:1.26")).collect();
    assert_eq!(names(&updated), pods([4, 5]));
}
