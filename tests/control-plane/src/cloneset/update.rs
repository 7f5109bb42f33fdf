//! Rollouts: in place, by recreation, partial, back again.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::{
    Budget, Kind, at_revision, clonesets, clonesets_with_all_gates, hash, image_of, is_ready, names, reason,
    restarts, runs, status_of, text, uids, web,
};
use crate::workload::inplace::another_tag_of_the_same_image;
use crate::workload::web::{containers, image, rolling};

/// CS-79, SM-27, SM-30, install/T33, install/F7, install/F10, install/F11: same pods, new image, one restart each.
#[tokio::test]
async fn image_is_updated_in_place() {
    let sets = clonesets("in-place").await;
    let web = sets.create(web(5)).await;
    let before = web.until_available(5).await;
    let watcher = Budget { replicas: 5, max_unavailable: 1, ..Budget::default() }.watch(&web).await;

    web.change(image("nginx:1.26")).await;

    let (_, after) = web.until_updated(5).await;
    assert_eq!(uids(&after), uids(&before));
    assert!(after.iter().all(|pod| runs(pod, "main", "nginx:1.26") && restarts(pod, "main") == 1));
    watcher.verdict().await;
}

/// SM-31(d), M8: a moved tag restarts the container although its image stays the same.
#[tokio::test]
async fn scenario_11_another_tag_of_the_same_image() {
    another_tag_of_the_same_image(Kind::CloneSet, "scenario-11").await;
}

/// CS-31, CS-73, CS-90(c), SM-70, install/T29: a percentage below 100 leaves one pod to update.
#[tokio::test]
async fn scenario_16_partition_of_99_percent_updates_one_pod() {
    let sets = clonesets("scenario-16").await;
    let web = sets
        .create(web(4).rolling(&json!({"partition": "99%"})).spec(json!({"progressDeadlineSeconds": 60})))
        .await;
    web.until_available(4).await;
    let watcher =
        Budget { replicas: 4, max_unavailable: 1, partition: 3, ..Budget::default() }.watch(&web).await;

    web.change(image("nginx:1.26")).await;

    let status = web
        .until("the partition", |status| {
            reason(status, "Progressing") == "ProgressPartitionAvailable"
                && status["updatedAvailableReplicas"] == 1
        })
        .await;
    assert_eq!((&status["expectedUpdatedReplicas"], &status["updatedReplicas"]), (&json!(1), &json!(1)));
    sets.quiet().await;
    let updated =
        web.pods_now().await.into_iter().filter(|pod| image_of(pod, "main") == "nginx:1.26").count();
    assert_eq!(updated, 1);
    watcher.verdict().await;
}

fn with_resources(cpu: &str, memory: &str) -> Value {
    let resources =
        json!({"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": "200m", "memory": "200Mi"}});
    containers(&json!([{"name": "main", "image": "nginx:1.25", "resources": resources}]))
}

/// SM-20, SM-21, SM-36, SM-38: resources are changed in place unless the pod would get another class of service.
#[tokio::test]
async fn scenario_20_resources_that_alter_the_class_of_service_recreate() {
    let sets = clonesets_with_all_gates("scenario-20").await;
    let web = sets.create(web(2).spec(with_resources("100m", "100Mi"))).await;
    let burstable = web.until_available(2).await;

    web.change(with_resources("150m", "100Mi")).await;
    let (_, resized) = web.until_updated(2).await;
    assert_eq!(uids(&resized), uids(&burstable), "still burstable: in place");
    for pod in &resized {
        let granted = status_of(pod, "main").unwrap().resources.as_ref().unwrap().requests.as_ref().unwrap();
        assert_eq!(granted["cpu"].0, "150m");
    }

    web.change(with_resources("200m", "200Mi")).await;
    let (_, guaranteed) = web.until_updated(2).await;
    assert!(uids(&guaranteed).is_disjoint(&uids(&burstable)), "guaranteed now: recreated");
    let class = |pod: &Pod| pod.status.as_ref().unwrap().qos_class.clone().unwrap();
    assert!(guaranteed.iter().all(|pod| class(pod) == "Guaranteed"));
}

/// CS-41, CS-45, CS-71: nothing is updated but by deletion; scaling in takes old pods, scaling out adds new ones.
#[tokio::test]
async fn scenario_22_on_delete() {
    let sets = clonesets("scenario-22").await;
    let web = sets.create(web(5).on_delete().spec(json!({"progressDeadlineSeconds": 60}))).await;
    let before = web.until_available(5).await;
    let old = hash(&before[0]).to_owned();

    web.change(image("nginx:1.26")).await;
    web.until("a new revision", |status| !text(status, "updateRevision").ends_with(&old)).await;
    sets.quiet().await;
    assert_eq!(at_revision(&web.pods_now().await, &old), 5);

    for name in names(&before).iter().take(2) {
        web.delete_pod(name).await;
    }
    web.until("2 new pods", |status| status["updatedAvailableReplicas"] == 2).await;
    assert_eq!(at_revision(&web.until_available(5).await, &old), 3);

    web.scale(3).await;
    assert_eq!(at_revision(&web.until_available(3).await, &old), 1);
    web.scale(5).await;
    let pods = web.until_available(5).await;
    assert_eq!(at_revision(&pods, &old), 1);

    let last = pods.iter().find(|pod| hash(pod) == old).unwrap();
    web.delete_pod(&last.name_any()).await;
    let (status, _) = web.until_updated(5).await;
    assert_eq!(reason(&status, "Progressing"), "CloneSetAvailable");
}

/// CS-11, SM-7: a rollback finds its old revision again.
#[tokio::test]
async fn scenario_25_rollback_reuses_the_old_revision() {
    let sets = clonesets("scenario-25").await;
    let web = sets.create(web(2)).await;
    web.until_available(2).await;
    let first = text(&web.status().await, "updateRevision").to_owned();
    web.change(image("nginx:1.26")).await;
    web.until_updated(2).await;

    web.change(image("nginx:1.25")).await;

    web.until("the old name", |status| text(status, "updateRevision") == first).await;
    let (_, pods) = web.until_updated(2).await;
    assert!(pods.iter().all(|pod| runs(pod, "main", "nginx:1.25") && restarts(pod, "main") == 2));
    let mut revisions = web.revisions_now().await;
    revisions.sort_by_key(|revision| revision.revision);
    let newest = revisions.last().unwrap();
    assert_eq!((revisions.len(), newest.name_any(), newest.revision), (2, first, 3));
}

/// CS-33, CS-39: a raised partition brings pods back only with gate CloneSetPartitionRollback.
#[tokio::test]
async fn scenario_25_raised_partition_without_the_gate() {
    let sets = clonesets("scenario-25-off").await;
    let web = sets.create(web(5).rolling(&json!({"partition": 3, "maxUnavailable": 2}))).await;
    let old = hash(&web.until_available(5).await[0]).to_owned();
    web.change(image("nginx:1.26")).await;
    web.until("2 updated", |status| status["updatedAvailableReplicas"] == 2).await;

    web.change(rolling(&json!({"partition": 5}))).await;

    web.until("the new partition", |status| status["expectedUpdatedReplicas"] == 0).await;
    sets.quiet().await;
    assert_eq!(at_revision(&web.pods_now().await, &old), 3);
}

/// CS-33, CS-39, CS-73 with the gate: the same pods, restarted with the old image.
#[tokio::test]
async fn scenario_25_raised_partition_with_the_gate() {
    let sets = clonesets_with_all_gates("scenario-25-on").await;
    let web = sets.create(web(5).rolling(&json!({"partition": 3, "maxUnavailable": 2}))).await;
    let before = web.until_available(5).await;
    let old = hash(&before[0]).to_owned();
    web.change(image("nginx:1.26")).await;
    web.until("2 updated", |status| status["updatedAvailableReplicas"] == 2).await;

    web.change(rolling(&json!({"partition": 5}))).await;

    let back =
        |pods: &[Pod]| at_revision(pods, &old) == 5 && pods.iter().all(|pod| runs(pod, "main", "nginx:1.25"));
    let after = web.until_active("all back", |pods| back(pods) && pods.iter().all(is_ready)).await;
    assert_eq!(uids(&after), uids(&before));
}

/// CS-30, CS-34, CS-38, CS-75: within the limits at every moment, whatever they are.
#[tokio::test]
async fn scenario_26_limits_hold_at_every_change() {
    let sets = clonesets("scenario-26").await;
    let mut cases = Vec::new();
    for policy in ["ReCreate", "InPlaceIfPossible"] {
        for (unavailable, surge, percent) in
            [("0", "1", 0), ("1", "0", 0), ("30%", "0", 30), ("30%", "30%", 30)]
        {
            for replicas in [1_usize, 3, 4, 10] {
                let name =
                    format!("{policy}-{unavailable}-{surge}-{replicas}").to_lowercase().replace('%', "p");
                let up = (replicas * percent).div_ceil(100);
                let budget = Budget {
                    replicas,
                    max_unavailable: match (unavailable, surge) {
                        ("30%", "0") => up,
                        ("30%", _) => replicas * percent / 100,
                        (count, _) => count.parse().unwrap(),
                    },
                    max_surge: if surge == "30%" { up } else { surge.parse().unwrap() },
                    partition: 0,
                };
                let settings = json!({
                    "podUpdatePolicy": policy, "maxUnavailable": amount(unavailable), "maxSurge": amount(surge),
                });
                let object = web(u32::try_from(replicas).unwrap()).named(&name).rolling(&settings);
                cases.push((budget, sets.create(object).await));
            }
        }
    }
    let mut watchers = Vec::new();
    for (budget, live) in &cases {
        live.until_available(budget.replicas).await;
        watchers.push(budget.watch(live).await);
    }

    for (_, live) in &cases {
        live.change(image("nginx:1.26")).await;
    }

    for (budget, live) in &cases {
        live.until_updated(budget.replicas).await;
    }
    for watcher in watchers {
        watcher.verdict().await;
    }
}

fn amount(text: &str) -> Value {
    text.parse::<u32>().map_or_else(|_| json!(text), |count| json!(count))
}
