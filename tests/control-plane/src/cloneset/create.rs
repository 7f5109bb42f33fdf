//! Creating pods and changing how many there are.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::json;

use super::{at_revision, clonesets, hash, is_available, label, state, text, uids, web};
use crate::workload::web::{image, rolling};

/// CS-41, CS-42, SM-44, install/T25: pods get their id, name and state.
#[tokio::test]
async fn scenario_6_three_replicas_become_ready() {
    let sets = clonesets("scenario-6").await;

    let web = sets.create(web(3)).await;

    let pods = web.until_available(3).await;
    let status = web.until("all counted", |status| status["updatedAvailableReplicas"] == 3).await;
    assert_eq!(status["labelSelector"], "app=web");
    for pod in &pods {
        assert_eq!(state(pod), "Normal");
        let id = label(pod, "apps.kruise.io/cloneset-instance-id");
        assert_eq!(Some(id), pod.name_any().strip_prefix("web-"));
        assert_eq!(label(pod, "controller-revision-hash"), text(&status, "updateRevision"));
    }
}

/// CS-36, CS-41 (scaleUpLimit), CS-20: the next pod comes when the last one was ready for minReadySeconds; B11: not a
/// whole interval later.
#[tokio::test]
async fn scenario_7_pods_are_created_one_after_another() {
    const SECONDS: i64 = 4;
    let sets = clonesets("scenario-7").await;

    let web = sets
        .create(web(3).spec(json!({"minReadySeconds": SECONDS, "scaleStrategy": {"maxUnavailable": 1}})))
        .await;

    let mut pods = web.until_available(3).await;
    pods.sort_by_key(created);
    for pair in pods.windows(2) {
        let waited = created(&pair[1]).duration_since(ready_since(&pair[0])).as_secs();
        assert!((SECONDS..2 * SECONDS).contains(&waited), "the next pod came after {waited} s");
    }
}

fn created(pod: &Pod) -> Timestamp {
    pod.metadata.creation_timestamp.as_ref().unwrap().0
}

fn ready_since(pod: &Pod) -> Timestamp {
    let conditions = pod.status.as_ref().unwrap().conditions.as_ref().unwrap();
    let ready = conditions.iter().find(|condition| condition.type_ == "Ready").unwrap();
    ready.last_transition_time.as_ref().unwrap().0
}

/// CS-31, CS-36, CS-41: a percentage follows the replicas, and pods of both revisions come and go with it. The
/// autoscaler uses the same subresource as this test.
#[tokio::test]
async fn scenario_35_scaling_in_the_middle_of_a_partitioned_rollout() {
    let sets = clonesets("scenario-35").await;
    let web = sets.create(web(4).rolling(&json!({"partition": "50%", "maxUnavailable": 4}))).await;
    let old = hash(&web.until_available(4).await[0]).to_owned();
    web.change(image("nginx:1.26")).await;
    web.until("half of 4", |status| status["updatedAvailableReplicas"] == 2).await;

    web.scale(6).await;
    let status = web.until("half of 6", |status| status["updatedAvailableReplicas"] == 3).await;
    assert_eq!(status["expectedUpdatedReplicas"], 3);
    assert_eq!(at_revision(&web.until_available(6).await, &old), 3);

    web.scale(2).await;
    assert_eq!(at_revision(&web.until_available(2).await, &old), 1);

    web.change(rolling(&json!({"partition": 0}))).await;
    web.until_updated(2).await;
}

/// CS-41, CS-45, CS-72: to nothing and back. With no pod left the rollout is over, so what comes back is new.
#[tokio::test]
async fn scenario_35_scale_to_zero_and_back() {
    let sets = clonesets("scenario-35-zero").await;
    let web = sets.create(web(4).rolling(&json!({"partition": 2, "maxUnavailable": 4}))).await;
    web.until_available(4).await;
    web.change(image("nginx:1.26")).await;
    web.until("2 updated", |status| status["updatedAvailableReplicas"] == 2).await;

    web.scale(0).await;
    let status = web.until("no pods", |status| status["replicas"] == 0).await;
    assert_eq!(status["currentRevision"], status["updateRevision"]);
    web.until_pods("no pods", <[Pod]>::is_empty).await;

    web.scale(4).await;
    let pods = web.until_available(4).await;
    assert_eq!(at_revision(&pods, text(&status, "updateRevision")), 4);
}

/// CS-4, CS-5, SM-6: ownership is by uid, whatever the labels say.
#[tokio::test]
async fn scenario_37_two_clonesets_with_one_selector_leave_each_other_alone() {
    let sets = clonesets("scenario-37").await;
    let one = sets.create(web(2).named("one").labelled("both")).await;
    let two = sets.create(web(3).named("two").labelled("both")).await;
    let (pods_of_one, pods_of_two) = (one.until_available(2).await, two.until_available(3).await);

    one.scale(1).await;
    two.change(image("nginx:1.26")).await;

    let left = one.until_available(1).await;
    let (_, updated) = two.until_updated(3).await;
    assert!(uids(&left).is_subset(&uids(&pods_of_one)));
    assert_eq!(uids(&updated), uids(&pods_of_two));
    sets.quiet().await;
    assert_eq!(uids(&one.pods_now().await), uids(&left));
    assert!(two.pods_now().await.iter().all(is_available));
    assert_eq!(one.revisions_now().await.len(), 1);
    assert_eq!(two.revisions_now().await.len(), 2);
}
