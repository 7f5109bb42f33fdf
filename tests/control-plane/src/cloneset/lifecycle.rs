//! Hooks around an in-place update.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::{
    Web, at_revision, clonesets, clonesets_with_all_gates, condition, hash, is_ready, names, runs, state,
    text, uids, web,
};
use crate::workload::web::image;

const HOLD: &str = "example.com/hold";

/// Every pod is held before it is updated, until its label is taken away.
fn held(web: Web, mark_not_ready: &Value) -> Web {
    web.spec(json!({
        "lifecycle": {"inPlaceUpdate": {"labelsHandler": {(HOLD): "true"}, "markPodNotReady": mark_not_ready}},
        "template": {"metadata": {"labels": {(HOLD): "true"}}},
    }))
}

fn preparing(pods: &[Pod]) -> Vec<&Pod> {
    pods.iter().filter(|pod| state(pod) == "PreparingUpdate").collect()
}

/// CS-23, CS-36, CS-41: with the gate a pod that waits for its update counts as new, so what is lost or added is old.
#[tokio::test]
async fn scenario_18_preparing_update_counts_as_updated_when_scaling() {
    let sets = clonesets_with_all_gates("scenario-18").await;
    let web = sets.create(held(web(4), &json!(false)).rolling(&json!({"partition": "99%"}))).await;
    let before = web.until_available(4).await;
    let old = hash(&before[0]).to_owned();
    web.change(image("nginx:1.26")).await;
    let held_pods = web.until_active("one pod to be held", |pods| preparing(pods).len() == 1).await;
    let waiting = preparing(&held_pods)[0].name_any();

    let lost = names(&before).into_iter().find(|name| *name != waiting).unwrap();
    web.delete_pod(&lost).await;
    let replaced =
        |pods: &[Pod]| pods.len() == 4 && !names(pods).contains(&lost) && pods.iter().all(is_ready);
    let four = web.until_active("a replacement", replaced).await;
    assert_eq!(at_revision(&four, &old), 4, "the replacement is old");

    web.scale(5).await;
    let five = web.until_active("a fifth pod", |pods| pods.len() == 5 && pods.iter().all(is_ready)).await;
    assert_eq!(at_revision(&five, &old), 5, "the added pod is old");
    assert_eq!(preparing(&five).len(), 1);

    web.label_pod(&waiting, HOLD, None::<&str>).await;
    web.until_pods("the update", |pods| pods.iter().any(|pod| state(pod) == "Updated")).await;
    web.label_pod(&waiting, HOLD, "true").await;
    let status = web.until("one updated pod", |status| status["updatedAvailableReplicas"] == 1).await;
    let pods = web.until_available(5).await;
    assert_eq!(at_revision(&pods, text(&status, "updateRevision")), 1);
    assert!(pods.iter().any(|pod| pod.name_any() == waiting && runs(pod, "main", "nginx:1.26")));
}

/// SM-44, SM-45, M3: a pod that was taken out of traffic for an update that is called off comes back.
#[tokio::test]
async fn scenario_34_rollback_while_held_brings_the_pod_back_to_traffic() {
    let sets = clonesets("scenario-34").await;
    let web = sets.create(held(web(2), &json!(true)).rolling(&json!({"maxUnavailable": 1}))).await;
    let before = web.until_available(2).await;
    web.change(image("nginx:1.26")).await;
    let out = |pod: &Pod| !is_ready(pod) && condition(pod, "KruisePodReady") == Some("False");
    web.until_pods("one pod out of traffic", |pods| preparing(pods).into_iter().any(out)).await;

    web.change(image("nginx:1.25")).await;

    let (_, after) = web.until_updated(2).await;
    assert_eq!(uids(&after), uids(&before));
    assert!(after.iter().all(|pod| super::restarts(pod, "main") == 0 && state(pod) == "Normal"));
    assert!(after.iter().all(|pod| condition(pod, "KruisePodReady") == Some("True")));
}

/// SM-44, SM-45, SM-46: held, let go, updated, hooked again.
#[tokio::test]
async fn hook_is_told_before_and_after_an_update() {
    let sets = clonesets("update-hook").await;
    let web = sets.create(held(web(1), &json!(true))).await;
    let pod = names(&web.until_available(1).await).pop_first().unwrap();
    web.change(image("nginx:1.26")).await;
    web.until_pods("it to be held", |pods| preparing(pods).len() == 1).await;

    web.label_pod(&pod, HOLD, None::<&str>).await;
    web.until_pods("the update", |pods| state(&pods[0]) == "Updated" && runs(&pods[0], "main", "nginx:1.26"))
        .await;
    web.label_pod(&pod, HOLD, "true").await;

    let (_, pods) = web.until_updated(1).await;
    assert_eq!(state(&pods[0]), "Normal");
}
