//! Rollouts: in place, by recreation, partial, back again.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::json;

use super::{
    at_revision, hash, is_available, label, names, pods, restarts, runs, statefulsets,
    statefulsets_with_all_gates, text, uids, web,
};
use crate::workload::Live;
use crate::workload::watcher::{Pods, Watcher};
use crate::workload::web::{containers, image, rolling};

/// Fails as soon as more than so many of the wanted pods are not available at once.
async fn at_most_down(web: &Live, replicas: usize, limit: usize) -> Watcher {
    web.watching(move |all: &Pods| {
        let up = all.values().filter(|pod| is_available(pod)).count();
        if up + limit < replicas { Err(format!("only {up} of {replicas} were available")) } else { Ok(()) }
    })
    .await
}

/// The order in which pods reached another revision than this one.
async fn order_of_update(web: &Live, old: &str) -> (Watcher, Arc<Mutex<Vec<String>>>) {
    let order: Arc<Mutex<Vec<String>>> = Arc::default();
    let (seen, old) = (Arc::clone(&order), old.to_owned());
    let watcher = web
        .watching(move |all: &Pods| {
            let mut seen = seen.lock().unwrap();
            let fresh: Vec<String> = all
                .iter()
                .filter(|(name, pod)| hash(pod) != old && !seen.contains(name))
                .map(|(name, _)| name.clone())
                .collect();
            seen.extend(fresh);
            Ok(())
        })
        .await;
    (watcher, order)
}

/// Scenarios 4, 5, AS-12, AS-57: with and without claims, there and back; two revisions, never more than one pod down, highest first.
async fn there_and_back(name: &str, with: super::Web) {
    let sets = statefulsets(name).await;
    let web = sets.create(with.policy("ReCreate")).await;
    let before = web.until_available(3).await;
    let claims = web.claims_now().await.len();
    let first = web.status().await;
    let down = at_most_down(&web, 3, 1).await;
    let (watcher, order) = order_of_update(&web, hash(&before[0])).await;

    web.change(json!({"template": {"metadata": {"annotations": {"round": "2"}}}})).await;
    let (status, after) = web.until_updated(3).await;
    assert!(uids(&after).is_disjoint(&uids(&before)));
    assert_eq!(names(&after), pods(0..3));
    watcher.verdict().await;
    assert_eq!(*order.lock().unwrap(), ["web-2", "web-1", "web-0"], "AS-50");
    assert_ne!(status["updateRevision"], first["updateRevision"]);

    web.change(json!({"template": {"metadata": {"annotations": null}}})).await;
    let (back, _) = web.until_updated(3).await;
    assert_eq!(back["updateRevision"], first["updateRevision"], "the same revision is used again");
    assert_eq!(web.revisions_now().await.len(), 2);
    assert_eq!(web.claims_now().await.len(), claims);
    down.verdict().await;
}

#[tokio::test]
async fn scenario_4_rollout_and_rollback_with_claims() {
    there_and_back("ss-scenario-4", web(3).claims("1Gi")).await;
}

#[tokio::test]
async fn scenario_5_rollout_and_rollback_without_claims() {
    there_and_back("ss-scenario-5", web(3)).await;
}

/// Scenario 6, AS-49, AS-58, install/T30 (true for ordinals, not for CloneSets), install/F9: the partition keeps pods at the old revision, also when they are deleted; lowering it goes on.
#[tokio::test]
async fn scenario_6_partition_canary_and_phases() {
    let sets = statefulsets("ss-scenario-6").await;
    let web = sets.create(web(3).policy("ReCreate").rolling(&json!({"partition": 3}))).await;
    let before = web.until_available(3).await;

    web.change(image("nginx:1.26")).await;
    web.until("the new revision", |status| status["updateRevision"] != status["currentRevision"]).await;
    sets.quiet().await;
    assert_eq!(uids(&web.pods_now().await), uids(&before), "nothing changes");

    web.change(rolling(&json!({"partition": 2}))).await;
    let canary = |pods: &[Pod]| {
        pods.len() == 3 && pods.iter().all(is_available) && runs(&pods[2], "main", "nginx:1.26")
    };
    let pods_now = web.until_active("the canary", canary).await;
    assert!(pods_now[..2].iter().all(|pod| runs(pod, "main", "nginx:1.25")));
    web.delete_pod("web-0").await;
    web.delete_pod("web-2").await;
    let is_back = |pods: &[Pod]| {
        pods.len() == 3
            && pods.iter().all(is_available)
            && uids(pods).intersection(&uids(&pods_now)).count() == 1
    };
    let back = web.until_active("both to be back", is_back).await;
    assert!(runs(&back[0], "main", "nginx:1.25"), "AS-58: its own revision");
    assert!(runs(&back[2], "main", "nginx:1.26"));

    web.change(rolling(&json!({"partition": 0}))).await;
    let (status, after) = web.until_updated(3).await;
    assert_eq!(at_revision(&after, text(&status, "updateRevision")), 3);
}

/// Scenario 7: pods change only when somebody deletes them.
#[tokio::test]
async fn scenario_7_on_delete() {
    let sets = statefulsets("ss-scenario-7").await;
    let web = sets.create(web(2).on_delete()).await;
    let before = web.until_available(2).await;
    web.change(image("nginx:1.26")).await;
    web.until("the new revision", |status| status["updateRevision"] != status["currentRevision"]).await;
    sets.quiet().await;
    assert_eq!(uids(&web.pods_now().await), uids(&before));

    web.delete_pod("web-1").await;

    let is_back = |pods: &[Pod]| {
        pods.len() == 2 && pods.iter().all(is_available) && runs(&pods[1], "main", "nginx:1.26")
    };
    let after = web.until_active("the deleted one at the new revision", is_back).await;
    assert!(runs(&after[0], "main", "nginx:1.25"));
    let status = web.status().await;
    assert_ne!(status["currentRevision"], status["updateRevision"], "AS-15: it never advances");
}

/// Scenario 8, AS-59, AS-60: same pods, new image, one restart each, one at a time.
#[tokio::test]
async fn scenario_8_in_place() {
    let sets = statefulsets("ss-scenario-8").await;
    let web = sets.create(web(3)).await;
    let before = web.until_available(3).await;
    let down = at_most_down(&web, 3, 1).await;

    web.change(image("nginx:1.26")).await;

    let (_, after) = web.until_updated(3).await;
    assert_eq!(uids(&after), uids(&before));
    assert!(after.iter().all(|pod| runs(pod, "main", "nginx:1.26") && restarts(pod, "main") == 1));
    down.verdict().await;
}

/// Scenario 10, AS-55, AS-59: another quality-of-service class needs new pods.
#[tokio::test]
async fn scenario_10_another_qos_class_recreates() {
    let sets = statefulsets_with_all_gates("ss-scenario-10").await;
    let main = |limit: &str| {
        containers(
            &json!([{"name": "main", "image": "nginx:1.25", "resources": {"limits": {"cpu": limit, "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}}]),
        )
    };
    let web = sets.create(web(2).spec(main("2"))).await;
    let before = web.until_available(2).await;

    web.change(main("1")).await;

    let (_, after) = web.until_updated(2).await;
    assert!(uids(&after).is_disjoint(&uids(&before)));
}

/// Scenarios 60, 61, AS-59, AS-60: image, CPU and memory in place, there and back.
#[tokio::test]
async fn scenario_60_61_image_and_resources_in_place() {
    let sets = statefulsets_with_all_gates("ss-scenario-60").await;
    let main = |image: &str, cpu: &str| {
        containers(
            &json!([{"name": "main", "image": image, "resources": {"limits": {"cpu": cpu, "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "512Mi"}}}]),
        )
    };
    let web = sets.create(web(2).claims("1Gi").spec(main("nginx:1.25", "1"))).await;
    let before = web.until_available(2).await;

    for (image, cpu) in [("nginx:1.26", "2"), ("nginx:1.25", "1")] {
        web.change(main(image, cpu)).await;
        let (_, after) = web.until_updated(2).await;
        assert_eq!(uids(&after), uids(&before));
        for pod in &after {
            assert!(runs(pod, "main", image));
            let limits =
                pod.spec.as_ref().unwrap().containers[0].resources.as_ref().unwrap().limits.as_ref().unwrap();
            assert_eq!(limits["cpu"].0, cpu);
        }
    }
}

/// AS-46, AS-53, section 8.2: several at once, and never more than the limit.
#[tokio::test]
async fn parallel_updates_as_many_as_may_be_down() {
    let sets = statefulsets("ss-max-unavailable").await;
    let web =
        sets.create(web(6).parallel().policy("ReCreate").rolling(&json!({"maxUnavailable": "50%"}))).await;
    let before = web.until_available(6).await;
    let down = at_most_down(&web, 6, 3).await;

    web.change(image("nginx:1.26")).await;

    let (_, after) = web.until_updated(6).await;
    assert!(uids(&after).is_disjoint(&uids(&before)));
    down.verdict().await;
}

/// AS-51, AS-52, section 8.2: by weight, not by ordinal; the partition counts pods.
#[tokio::test]
async fn unordered_update_follows_the_priority() {
    let sets = statefulsets("ss-unordered").await;
    let first = json!([{"weight": 10, "matchSelector": {"matchLabels": {"statefulset.kubernetes.io/pod-name": "web-1"}}}]);
    let strategy =
        json!({"partition": 3, "unorderedUpdate": {"priorityStrategy": {"weightPriority": first}}});
    let web = sets.create(web(4).parallel().rolling(&strategy)).await;
    let before = web.until_available(4).await;

    web.change(image("nginx:1.26")).await;
    web.until("one updated pod", |status| status["updatedAvailableReplicas"] == 1).await;
    let one = web.until_available(4).await;
    let updated: BTreeSet<String> =
        one.iter().filter(|pod| runs(pod, "main", "nginx:1.26")).map(ResourceExt::name_any).collect();
    assert_eq!(updated, pods([1]));

    web.change(rolling(&json!({"partition": 2}))).await;
    web.until("two updated pods", |status| status["updatedAvailableReplicas"] == 2).await;
    let two = web.until_available(4).await;
    assert!(runs(&two[3], "main", "nginx:1.26"), "then the highest ordinal");
    assert_eq!(uids(&two), uids(&before));
}

/// AS-45, section 8.2: paused stops the update and nothing else; it goes on when it is let.
#[tokio::test]
async fn paused_update_still_scales_and_replaces() {
    let sets = statefulsets("ss-paused").await;
    let web = sets.create(web(2).parallel().rolling(&json!({"paused": true}))).await;
    let before = web.until_available(2).await;
    web.change(image("nginx:1.26")).await;
    web.scale(3).await;
    let three = web.until_available(3).await;
    assert!(uids(&before).is_subset(&uids(&three)));
    assert!(runs(&three[0], "main", "nginx:1.25"));
    web.label_pod("web-0", "apps.kruise.io/specified-delete", "true").await;
    sets.quiet().await;
    assert_eq!(uids(&web.pods_now().await), uids(&three), "B9: a marked pod waits");

    web.change(rolling(&json!({"paused": false}))).await;

    let (_, after) = web.until_updated(3).await;
    assert!(after.iter().all(|pod| runs(pod, "main", "nginx:1.26")));
    assert!(label(&after[0], "apps.kruise.io/specified-delete").is_empty(), "it was replaced");
}
