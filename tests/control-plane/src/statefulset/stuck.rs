//! Pods that are stuck never block more than the rules demand, and a broken revision never blocks the one that repairs it.

use k8s_openapi::api::core::v1::Pod;
use kruise_sim::kubelet::{Behaviour, Which};
use serde_json::json;

use super::{has_condition, is_available, names, pods, reason, runs, statefulsets, uids, web};
use crate::workload::web::image;

fn pod(name: &str) -> Which {
    Which { pod: Some(name.into()), ..Which::default() }
}

/// statefulset/B24 as the issue demands it: in order, a revision whose image cannot be pulled is replaced by the next one
/// without anybody's help, and pods that never had it are not touched out of order.
#[tokio::test]
async fn statefulset_b24_broken_revision_is_repaired_by_the_next() {
    for policy in ["ReCreate", "InPlaceIfPossible"] {
        let sets = statefulsets(&format!("ss-broken-{}", policy.to_lowercase())).await;
        sets.behave(Which { image: Some("nginx:broken".into()), ..Which::default() }, Behaviour::PullFails);
        let web = sets.create(web(3).policy(policy)).await;
        let before = web.until_available(3).await;
        web.change(image("nginx:broken")).await;
        web.until_active("a broken pod", |pods| pods.len() == 3 && !is_available(&pods[2])).await;
        sets.quiet().await;
        let now = web.pods_now().await;
        assert_eq!(uids(&now[..2]), uids(&before[..2]), "the others are kept from it");

        web.change(image("nginx:1.26")).await;

        let (_, after) = web.until_updated(3).await;
        assert!(after.iter().all(|pod| runs(pod, "main", "nginx:1.26")));
    }
}

/// The very first revision is broken, in order: only one pod was ever made, and the next revision repairs it.
#[tokio::test]
async fn broken_first_revision_is_repaired_by_the_next() {
    let sets = statefulsets("ss-broken-first").await;
    sets.behave(Which { image: Some("nginx:broken".into()), ..Which::default() }, Behaviour::PullFails);
    let web = sets.create(web(3).spec(image("nginx:broken"))).await;
    web.until_pods("one pod", |pods| pods.len() == 1).await;

    web.change(image("nginx:1.26")).await;

    web.until_updated(3).await;
}

/// Scenario 3: losing pod 0 while pod 1 is stuck does not end in a deadlock.
#[tokio::test]
async fn scenario_3_lost_pod_while_another_is_stuck() {
    let sets = statefulsets("ss-scenario-3").await;
    sets.behave(pod("web-1"), Behaviour::NeverReady);
    let web = sets.create(web(3)).await;
    web.until_pods("two pods", |pods| pods.len() == 2).await;
    let first = web.pods.get("web-0").await.unwrap().metadata.uid;

    web.delete_pod("web-0").await;

    let is_back = |pods: &[Pod]| pods.len() == 2 && is_available(&pods[0]) && pods[0].metadata.uid != first;
    web.until_active("a new web-0", is_back).await;
    sets.recover(&pod("web-1"));
    web.until_available(3).await;
}

/// Section 8.2: a pod that hangs while it ends. In parallel all others are updated and scaled.
#[tokio::test]
async fn terminating_pod_on_a_lost_node() {
    let sets = statefulsets("ss-terminating-parallel").await;
    let web_parallel = sets.create(web(3).parallel().rolling(&json!({"maxUnavailable": 2}))).await;
    web_parallel.until_available(3).await;
    sets.behave(pod("web-1"), Behaviour::NeverStops);
    web_parallel.delete_pod("web-1").await;
    web_parallel.change(image("nginx:1.26")).await;
    web_parallel.scale(4).await;
    let three = |pods: &[Pod]| {
        pods.len() == 3 && pods.iter().all(|pod| is_available(pod) && runs(pod, "main", "nginx:1.26"))
    };
    let up = web_parallel.until_active("all others updated, one more made", three).await;
    assert_eq!(names(&up), pods([0, 2, 3]));
    sets.recover(&pod("web-1"));
    web_parallel.until_updated(4).await;
}

/// Section 8.2: the same in order: all wait, and it is said what for.
#[tokio::test]
async fn terminating_pod_on_a_lost_node_in_order() {
    let sets = statefulsets("ss-terminating-ordered").await;
    let ordered = sets.create(web(3)).await;
    let before = ordered.until_available(3).await;
    sets.behave(pod("web-1"), Behaviour::NeverStops);
    ordered.delete_pod("web-1").await;
    ordered.until("the deletion to be seen", |status| status["updatedReplicas"] == 2).await;
    ordered.change(image("nginx:1.26")).await;
    let status = ordered.until("what it waits for", |status| has_condition(status, "Waiting")).await;
    assert_eq!(reason(&status, "Waiting"), "Terminating");
    let told = status["conditions"].as_array().unwrap().iter().find(|one| one["type"] == "Waiting");
    assert_eq!(told.unwrap()["message"], "1 of 3 pods (web-1): its deletion is under way");
    sets.quiet().await;
    assert!(
        ordered.pods_now().await.iter().all(|pod| runs(pod, "main", "nginx:1.25")
            && uids(&before).contains(&pod.metadata.uid.clone().unwrap()))
    );
    sets.recover(&pod("web-1"));
    ordered.until_updated(3).await;
}

/// AS-39, AS-41: in order, two broken condemned pods halt scale-in until one of them recovers.
#[tokio::test]
async fn as_39_broken_condemned_pods_halt_scale_in() {
    let sets = statefulsets("ss-broken-condemned").await;
    let web = sets.create(web(4)).await;
    web.until_available(4).await;
    for name in ["web-2", "web-3"] {
        sets.behave(pod(name), Behaviour::NeverReady);
    }
    web.until_active("two broken pods", |all| all.iter().filter(|one| is_available(one)).count() == 2).await;

    web.scale(1).await;

    let status = web.until("the halt", |status| reason(status, "Waiting") == "RemovalHalted").await;
    let told = status["conditions"].as_array().unwrap().iter().find(|one| one["type"] == "Waiting").unwrap();
    assert!(told["message"].as_str().unwrap().contains("while it and web-2 are unhealthy"), "{told}");
    sets.quiet().await;
    assert_eq!(web.pods_now().await.len(), 4);
    sets.recover(&pod("web-2"));
    let one = web.until_pods("one pod", |all| all.len() == 1).await;
    assert_eq!(names(&one), pods(0..1));
}
