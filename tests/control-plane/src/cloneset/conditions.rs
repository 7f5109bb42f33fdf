//! The Progressing condition (CS-90, CS-91, B4).

use k8s_openapi::api::core::v1::Pod;
use kruise_sim::kubelet::{Behaviour, Which};
use serde_json::json;
use std::time::Duration;

use super::{clonesets, has_condition, image_of, is_ready, names, reason, state, web};
use crate::workload::web::{image, rolling};

const FINALIZER: &str = "example.com/registered";

/// CS-21, CS-90(d), SM-43, SM-44: ready is not available while a preNormal hook is open; once let through, a pod stays.
#[tokio::test]
async fn scenario_2_pre_normal_hook_holds_availability_back() {
    let sets = clonesets("scenario-2").await;
    let hook = json!({"preNormal": {"finalizersHandler": [FINALIZER]}});
    let web = sets.create(web(1).spec(json!({"lifecycle": hook, "progressDeadlineSeconds": 2}))).await;

    let held = |pod: &Pod| is_ready(pod) && state(pod) == "PreparingNormal";
    let pods = web.until_pods("a pod that is held", |pods| pods.len() == 1 && pods.iter().all(held)).await;
    let status = web
        .until("the deadline", |status| {
            reason(status, "Progressing") == "ProgressDeadlineExceeded" && status["readyReplicas"] == 1
        })
        .await;
    assert_eq!(status["availableReplicas"], 0);

    let name = names(&pods).pop_first().unwrap();
    web.patch_pod(&name, json!({"metadata": {"finalizers": [FINALIZER]}})).await;
    assert_eq!(state(&web.until_available(1).await[0]), "Normal");
    web.until("success", |now| reason(now, "Progressing") == "CloneSetAvailable").await;

    web.patch_pod(&name, json!({"metadata": {"finalizers": null}})).await;
    sets.quiet().await;
    assert_eq!(web.status().await["availableReplicas"], 1);
    assert_eq!(state(&web.pods_now().await[0]), "Normal");
}

/// CS-90(d), SM-44, install/T27: without a node a pod stays PreparingNormal; B4: the template that repairs it starts the clock again.
#[tokio::test]
async fn scenario_3_unknown_scheduler_runs_into_the_deadline() {
    let sets = clonesets("scenario-3").await;
    let nobody = json!({"template": {"spec": {"schedulerName": "nobody"}}, "progressDeadlineSeconds": 5});
    let web = sets.create(web(1).spec(nobody)).await;

    web.until("the deadline", |status| reason(status, "Progressing") == "ProgressDeadlineExceeded").await;
    let waiting = web.pods_now().await;
    assert_eq!((waiting.len(), state(&waiting[0])), (1, "PreparingNormal"));

    web.change(json!({"template": {"spec": {"schedulerName": "default-scheduler"}}})).await;
    let (status, pods) = web.until_updated(1).await;
    assert_eq!(state(&pods[0]), "Normal");
    assert_eq!(reason(&status, "Progressing"), "CloneSetAvailable");
}

/// CS-90: the largest number means no deadline.
#[tokio::test]
async fn scenario_4_no_deadline_no_condition() {
    let sets = clonesets("scenario-4").await;
    let web = sets.create(web(1).spec(json!({"progressDeadlineSeconds": i32::MAX}))).await;
    web.until_available(1).await;
    assert!(!has_condition(&web.status().await, "Progressing"));

    web.change(json!({"progressDeadlineSeconds": 10})).await;

    web.until("the condition", |status| reason(status, "Progressing") == "CloneSetAvailable").await;
}

/// CS-20, CS-90: numbers at the edge are no trouble.
#[tokio::test]
async fn scenario_5_largest_min_ready_seconds_without_deadline() {
    let sets = clonesets("scenario-5").await;
    let largest = json!({"minReadySeconds": i32::MAX, "progressDeadlineSeconds": i32::MAX});
    let web = sets.create(web(1).spec(largest)).await;
    let status = web.until("a ready pod", |status| status["readyReplicas"] == 1).await;
    assert_eq!(status["availableReplicas"], 0);
    assert!(!has_condition(&status, "Progressing"));

    web.change(json!({"minReadySeconds": 3, "progressDeadlineSeconds": null})).await;

    let later = web.until("an available pod", |now| now["availableReplicas"] == 1).await;
    assert!(!has_condition(&later, "Progressing"));
}

/// CS-48, CS-71, CS-90(b): pausing stops updates, not the creation of pods.
#[tokio::test]
async fn scenario_8_paused_from_the_start() {
    let sets = clonesets("scenario-8").await;
    sets.behave(Which::default(), Behaviour::ReadyAfter(Duration::from_secs(3)));
    let web = sets
        .create(web(2).rolling(&json!({"paused": true})).spec(json!({"progressDeadlineSeconds": 60})))
        .await;
    web.until("the pause", |status| reason(status, "Progressing") == "CloneSetPaused").await;
    web.until_available(2).await;

    web.change(image("nginx:1.26")).await;
    web.until("the pause again", |status| reason(status, "Progressing") == "CloneSetPaused").await;
    sets.quiet().await;
    assert!(web.pods_now().await.iter().all(|pod| image_of(pod, "main") == "nginx:1.25"));

    web.change(rolling(&json!({"paused": false}))).await;
    let (status, _) = web.until_updated(2).await;
    assert_eq!(reason(&status, "Progressing"), "CloneSetAvailable");
}
