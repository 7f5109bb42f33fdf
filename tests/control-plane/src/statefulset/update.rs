//! Rollouts: in place, by recreation, partial, back again.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use k8s_openapi::api::core::v1::Pod;
use kruise_core::revision::hash as hashing;
use kruise_sim::kubelet::{Behaviour, Which};
use kube::ResourceExt;
use serde_json::json;

use super::{
    Kind, Sets, at_revision, hash, is_available, is_ready, label, names, pods, restarts, runs, statefulsets,
    statefulsets_with_all_gates, text, uids, web,
};
use crate::workload::watcher::{Pods, Watcher};
use crate::workload::web::{containers, image, rolling};
use crate::workload::{Live, inplace};

/// Fails as soon as more than so many of the wanted pods are not available at once.
pub async fn at_most_down(web: &Live, replicas: usize, limit: usize) -> Watcher {
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

/// Scenarios 4, 5, AS-12, AS-50, AS-57: with and without claims, there and back, and one pod is not ready at the start of each:
/// it is replaced first, the others wait until it serves, then the highest comes first. Two revisions, never more than one down.
async fn there_and_back(name: &str, with: super::Web) {
    let sets = statefulsets(name).await;
    let web = sets.create(with.policy("ReCreate")).await;
    let before = web.until_available(3).await;
    let claims = web.claims_now().await.len();
    let first = web.status().await;
    let down = at_most_down(&web, 3, 1).await;

    let after = past_an_unready_pod(&sets, &web, json!({"round": "2"})).await;
    let status = web.status().await;
    assert!(uids(&after).is_disjoint(&uids(&before)));
    assert_eq!(names(&after), pods(0..3));
    assert_ne!(status["updateRevision"], first["updateRevision"]);

    past_an_unready_pod(&sets, &web, serde_json::Value::Null).await;
    let back = web.status().await;
    assert_eq!(back["updateRevision"], first["updateRevision"], "the same revision is used again");
    assert_eq!(web.revisions_now().await.len(), 2);
    assert_eq!(web.claims_now().await.len(), claims);
    down.verdict().await;
}

/// Rolls these annotations out while the pod in the middle is not ready.
async fn past_an_unready_pod(sets: &Sets, web: &Live, annotations: serde_json::Value) -> Vec<Pod> {
    let middle = Which { pod: Some("web-1".into()), ..Which::default() };
    sets.behave(middle.clone(), Behaviour::NeverReady);
    let broken = web.until_active("an unready pod", |all| all.len() == 3 && !is_ready(&all[1])).await;
    let (watcher, order) = order_of_update(web, hash(&broken[0])).await;

    web.change(json!({"template": {"metadata": {"annotations": annotations}}})).await;
    let is_replaced = |all: &[Pod]| all.len() == 3 && hash(&all[1]) != hash(&broken[1]);
    web.until_active("the unready pod replaced", is_replaced).await;
    sets.quiet().await;
    assert_eq!(*order.lock().unwrap(), ["web-1"], "those that serve wait for it");
    sets.recover(&middle);

    let (_, after) = web.until_updated(3).await;
    watcher.verdict().await;
    assert_eq!(*order.lock().unwrap(), ["web-1", "web-2", "web-0"]);
    after
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

/// Scenario 9, AS-61, AS-63: a label that the environment reads is changed in place. The test plays the node daemon, which restarts
/// the container and reports the environment it runs with.
#[tokio::test]
async fn scenario_9_environment_from_a_label_in_place() {
    let sets = statefulsets("ss-scenario-9").await;
    let source = json!({"fieldRef": {"fieldPath": "metadata.labels['version']"}});
    let main =
        json!([{"name": "main", "image": "nginx:1.25", "env": [{"name": "VERSION", "valueFrom": source}]}]);
    let labelled = |version: &str| json!({"template": {"metadata": {"labels": {"version": version}}}});
    let web = sets.create(web(2).spec(containers(&main)).spec(labelled("1"))).await;
    let before = web.until_available(2).await;

    web.change(labelled("2")).await;
    for name in ["web-1", "web-0"] {
        let is_changed =
            |all: &[Pod]| all.iter().any(|pod| pod.name_any() == name && label(pod, "version") == "2");
        let all = web.until_active("the new label", is_changed).await;
        let pod = all.iter().find(|pod| pod.name_any() == name).unwrap();
        assert!(!is_available(pod), "not before the daemon has reported");
        report_environment(&web, pod, "2").await;
    }

    let (_, after) = web.until_updated(2).await;
    assert_eq!(uids(&after), uids(&before));
}

/// What the node daemon writes about a container that runs with this value of VERSION.
async fn report_environment(web: &Live, pod: &Pod, version: &str) {
    let extracted = json!([{"name": "VERSION", "value": version}]).to_string();
    let container = super::status_of(pod, "main").unwrap().container_id.clone().unwrap();
    let hashes = json!({"plainHash": 0, "extractedEnvFromMetadataHash": hashing::deep(extracted.as_bytes())});
    let report = json!({"containers": [{"name": "main", "containerID": container, "hashes": hashes}]});
    let annotations = json!({"apps.kruise.io/runtime-containers-meta": report.to_string()});
    web.patch_pod(&pod.name_any(), json!({"metadata": {"annotations": annotations}})).await;
}

/// Section 8.2: a moved tag, a template that changes within the grace period, a size that no node has.
#[tokio::test]
async fn another_tag_of_the_same_image() {
    inplace::another_tag_of_the_same_image(Kind::StatefulSet, "ss-same-digest").await;
}

#[tokio::test]
async fn template_changes_during_the_grace_period() {
    inplace::template_changes_during_the_grace_period(Kind::StatefulSet, "ss-grace-changed").await;
}

#[tokio::test]
async fn infeasible_size_recovers() {
    inplace::infeasible_size_recovers(Kind::StatefulSet, "ss-infeasible", "FailedUpdatePod").await;
}

/// Section 8.2, statefulset/B14: InPlaceOnly and a change that needs new pods: refused at the door.
#[tokio::test]
async fn statefulset_b14_in_place_only_refuses_what_needs_new_pods() {
    let sets = statefulsets_with_all_gates("ss-in-place-only").await;
    let web = sets.create(web(1).policy("InPlaceOnly")).await;
    let before = web.until_available(1).await;
    let main = json!([{"name": "main", "image": "nginx:1.25", "command": ["sleep"]}]);

    let why = web.try_change(containers(&main)).await.unwrap_err();
    assert!(why.contains("InPlaceOnly cannot change this on a running pod"), "{why}");

    web.change(image("nginx:1.26")).await;
    assert_eq!(uids(&web.until_updated(1).await.1), uids(&before));
}

/// AS-52, section 8.2: by the number at the end of a label; pods without any of the keys come first, then higher numbers. A
/// partition that is raised in the middle takes nothing back, and one that is lowered goes on.
#[tokio::test]
async fn unordered_update_follows_a_label_and_a_moving_partition() {
    let sets = statefulsets("ss-unordered-label").await;
    let strategy = json!({"partition": 4, "unorderedUpdate": {"priorityStrategy": {"orderPriority": [{"orderedKey": "rank"}]}}});
    let web = sets.create(web(4).parallel().rolling(&strategy)).await;
    web.until_available(4).await;
    for (pod, rank) in [("web-0", "r-5"), ("web-2", "r-9")] {
        web.label_pod(pod, "rank", rank).await;
    }
    web.change(image("nginx:1.26")).await;
    for (partition, updated) in [(2, vec![1, 3]), (3, vec![1, 3]), (1, vec![1, 2, 3]), (0, vec![0, 1, 2, 3])]
    {
        web.change(rolling(&json!({"partition": partition}))).await;
        web.until("the partition", |status| status["updatedAvailableReplicas"] == updated.len()).await;
        sets.quiet().await;
        let now = web.until_available(4).await;
        let new: Vec<Pod> = now.into_iter().filter(|pod| runs(pod, "main", "nginx:1.26")).collect();
        assert_eq!(names(&new), pods(updated));
    }
}

/// statefulset/B27, section 8.2: with its gate a pod that prepares its update counts as updated: one that is lost meanwhile comes
/// back at the old revision, as the partition wants it.
#[tokio::test]
async fn statefulset_b27_preparing_pod_counts_as_updated_with_the_gate() {
    let sets = statefulsets_with_all_gates("ss-preparing").await;
    let hold = json!({"example.com/hold": "true"});
    let object = web(2).parallel().rolling(&json!({"partition": 1, "unorderedUpdate": {}})).spec(json!({
        "lifecycle": {"inPlaceUpdate": {"labelsHandler": hold}}, "template": {"metadata": {"labels": hold}},
    }));
    let web = sets.create(object).await;
    let before = web.until_available(2).await;
    web.change(image("nginx:1.26")).await;
    web.until_pods("a held pod", |all| super::state(&all[1]) == "PreparingUpdate").await;

    web.delete_pod("web-0").await;
    let is_back = |all: &[Pod]| all.len() == 2 && all[0].uid() != before[0].uid() && is_available(&all[0]);
    let back = web.until_active("web-0 again", is_back).await;
    assert!(runs(&back[0], "main", "nginx:1.25"));

    web.label_pod("web-1", "example.com/hold", None::<&str>).await;
    web.until_pods("its update", |all| super::state(&all[1]) == "Updated").await;
    web.label_pod("web-1", "example.com/hold", "true").await;
    web.until("one of two", |status| status["updatedAvailableReplicas"] == 1).await;
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
    super::evict(&web, "web-1").await;
    let is_back =
        |all: &[Pod]| all.len() == 3 && all.iter().all(is_available) && all[1].uid() != three[1].uid();
    web.until_active("a new web-1", is_back).await;

    web.change(rolling(&json!({"paused": false}))).await;

    let (_, after) = web.until_updated(3).await;
    assert!(after.iter().all(|pod| runs(pod, "main", "nginx:1.26")));
    assert!(label(&after[0], "apps.kruise.io/specified-delete").is_empty(), "it was replaced");
}
