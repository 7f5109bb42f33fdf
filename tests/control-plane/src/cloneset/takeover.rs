//! CloneSets as the original left them in the middle of work.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::json;

use super::{at_revision, image_of, label, names, runs, state, text, uids};
use crate::workload::takeover::{reached_partition_goes_on, running_grace_goes_on};
use crate::workload::web::containers;
use crate::workload::{Kind, Takeover};

const HOOK: &str = "hook";

/// SM-10, SM-10a, CS-93: what is finished sees no write at all.
#[tokio::test]
async fn settled_state_sees_no_write() {
    let over = Takeover::of(Kind::CloneSet, "cs-settled").await;

    over.begin().await;

    assert_eq!(over.writes(), []);
    over.nothing_moved().await;
    over.end();
}

/// CS-31, SM-8, SM-10.
#[tokio::test]
async fn partition_that_is_reached() {
    reached_partition_goes_on(Kind::CloneSet, "cs-partition-half").await;
}

/// CS-4, §2.2: written through v1alpha1.
#[tokio::test]
async fn partition_that_is_reached_written_as_v1alpha1() {
    reached_partition_goes_on(Kind::CloneSet, "cs-alpha-partition-half").await;
}

/// CS-60, SM-12: claims stay with their pods.
#[tokio::test]
async fn claims_stay_with_their_pods() {
    reached_partition_goes_on(Kind::CloneSet, "cs-claims").await;
}

/// CS-71: paused stays paused, and goes on when it is let.
#[tokio::test]
async fn paused_in_the_middle() {
    let over = Takeover::of(Kind::CloneSet, "cs-paused-middle").await;
    over.begin().await;
    assert_eq!(over.writes(), []);

    over.nodes_run();
    over.web
        .change(json!({"minReadySeconds": 0, "updateStrategy": {"rollingUpdate": {"paused": false}}}))
        .await;

    let (_, after) = over.web.until_updated(4).await;
    assert_eq!(uids(&after), uids(&over.before));
    assert_eq!(over.web.revisions_now().await.len(), 2);
    over.end();
}

/// SM-29: a grace period that runs is neither cut short nor begun again; what it waits for is applied at its end.
#[tokio::test]
async fn grace_period_that_runs() {
    running_grace_goes_on(Kind::CloneSet, "cs-grace").await;
}

/// SM-42, CS-79: pods that wait for a hook go on waiting for it; those that are let go are updated.
#[tokio::test]
async fn update_hook_that_holds() {
    let over = Takeover::of(Kind::CloneSet, "cs-hook-preparing-update").await;
    over.begin().await;
    over.nothing_moved().await;

    over.nodes_run();
    let released = over.before.iter().find(|pod| state(pod) == "PreparingUpdate").unwrap().name_any();
    over.web.label_pod(&released, HOOK, None::<&str>).await;
    over.web.until_pods("its update", |pods| pods.iter().any(|pod| state(pod) == "Updated")).await;
    let pod = over.web.label_pod(&released, HOOK, "held").await;

    over.web.until("one updated pod", |status| status["updatedAvailableReplicas"] == 1).await;
    assert_eq!(image_of(&pod, "main"), "nginx:1.22");
    let pods = over.web.pods_now().await;
    assert_eq!(uids(&pods), uids(&over.before));
    assert_eq!(at_revision(&pods, text(&over.status, "updateRevision")), 1, "the others are still held");
    over.end();
}

/// SM-42, CS-43, CS-45: pods on their way out stay there until their hook lets go, and no other takes their place.
#[tokio::test]
async fn delete_hook_that_holds() {
    let over = Takeover::of(Kind::CloneSet, "cs-hook-preparing-delete").await;
    over.begin().await;
    over.nothing_moved().await;

    over.nodes_run();
    let leaving: Vec<Pod> =
        over.before.iter().filter(|pod| state(pod) == "PreparingDelete").cloned().collect();
    for pod in &leaving {
        assert_eq!(label(pod, HOOK), "held");
        over.web.label_pod(&pod.name_any(), HOOK, None::<&str>).await;
    }

    let after = over.web.until_available(2).await;
    assert!(names(&after).is_disjoint(&names(&leaving)));
    assert!(uids(&after).is_subset(&uids(&over.before)));
    over.end();
}

/// CS-75, SM-31: an image that cannot be pulled stops its own rollout only; the next template repairs it.
#[tokio::test]
async fn image_that_cannot_be_pulled() {
    let over = Takeover::of(Kind::CloneSet, "cs-stuck-image").await;
    over.begin().await;
    over.nothing_moved().await;

    over.nodes_run();
    let mut all = over.web.api.get("w").await.unwrap().data["spec"]["template"]["spec"]["containers"].clone();
    all[0]["image"] = json!("nginx:1.22");
    over.web.change(containers(&all)).await;

    let (_, after) = over.web.until_updated(4).await;
    assert_eq!(uids(&after), uids(&over.before));
    assert!(after.iter().all(|pod| runs(pod, "main", "nginx:1.22")));
    over.end();
}

/// CS-34, CS-38: the surge that is there is used, not repeated; every pod that is not available yet holds the rest.
#[tokio::test]
async fn surge_in_the_middle_of_recreation() {
    let over = Takeover::of(Kind::CloneSet, "cs-surge-recreate").await;
    over.begin().await;
    over.nothing_moved().await;

    over.nodes_run();
    over.web.change(json!({"minReadySeconds": 0})).await;

    let (status, after) = over.web.until_updated(4).await;
    assert_eq!(status["updateRevision"], over.status["updateRevision"]);
    let new = at_revision(&over.before, text(&over.status, "updateRevision"));
    let kept = uids(&after).intersection(&uids(&over.before)).count();
    assert_eq!((kept, new), (1, 1), "the pod that was new already stays");
    assert_eq!(over.web.revisions_now().await.len(), 2);
    over.end();
}
