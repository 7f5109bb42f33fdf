//! The in-place engine: acceptance scenarios of the shared machinery, with a CloneSet as the workload.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kruise_sim::kubelet::{Behaviour, Which};
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::{
    Kind, Live, clonesets, clonesets_with_all_gates, condition, image_of, is_ready, restarts, runs, state,
    status_of, uids, web,
};
use crate::workload::inplace::{infeasible_size_recovers, sized, template_changes_during_the_grace_period};
use crate::workload::watcher::Pods;
use crate::workload::web::image;

const FINALIZER: &str = "example.com/drained";

/// What must hold at every change: a pod that is asked for its new image left traffic before.
fn drained_first(pods: &Pods) -> Result<(), String> {
    let changed = |pod: &&Pod| image_of(pod, "main") == "nginx:1.26" && !runs(pod, "main", "nginx:1.26");
    let early = pods.values().filter(changed).find(|pod| is_ready(pod));
    early.map_or(Ok(()), |pod| Err(format!("{} was changed while it served", pod.name_any())))
}

/// Somebody who writes to all pods again and again, so that every version is old at once.
async fn storm(live: &Live) {
    for number in 0_u32.. {
        for pod in live.pods_now().await {
            let patch = json!({"metadata": {"annotations": {"example.com/storm": number.to_string()}}});
            live.patch_pod(&pod.name_any(), patch).await;
        }
        tokio::task::yield_now().await;
    }
}

/// SM-27, SM-28, M18: traffic is drained before the container restarts, also while every write meets a newer version.
#[tokio::test]
async fn shared_scenario_13_drained_first_in_a_storm_of_conflicts() {
    let sets = clonesets("shared-13").await;
    let web = sets.create(web(3).rolling(&json!({"maxUnavailable": 2}))).await;
    let before = web.until_available(3).await;
    let watcher = web.watching(drained_first).await;

    web.change(image("nginx:1.26")).await;
    let after = tokio::select! {
        (_, pods) = web.until_updated(3) => pods,
        () = storm(&web) => unreachable!("the storm does not end"),
    };

    assert_eq!(uids(&after), uids(&before));
    assert!(after.iter().all(|pod| restarts(pod, "main") == 1));
    watcher.verdict().await;
}

/// SM-36, CS-92, B5.
#[tokio::test]
async fn shared_scenario_7_infeasible_size_recovers() {
    infeasible_size_recovers(Kind::CloneSet, "shared-7", "FailedUpdate").await;
}

/// SM-20, SM-36, M6: image and resources together are one restart.
#[tokio::test]
async fn shared_scenario_6_image_and_resources_in_one_restart() {
    let sets = clonesets_with_all_gates("shared-6").await;
    let web = sets.create(web(2).spec(sized("nginx:1.25", "1"))).await;
    let before = web.until_available(2).await;

    web.change(sized("nginx:1.26", "2")).await;

    let (_, after) = web.until_updated(2).await;
    assert_eq!(uids(&after), uids(&before));
    for pod in &after {
        assert!(runs(pod, "main", "nginx:1.26") && restarts(pod, "main") == 1);
        let granted = status_of(pod, "main").unwrap().resources.as_ref().unwrap();
        assert_eq!(granted.requests.as_ref().unwrap()["cpu"].0, "2");
    }
}

/// SM-44, M3: a hook that is put back while the update still runs leaves nothing held behind.
#[tokio::test]
async fn shared_scenario_14_hook_put_back_during_the_update() {
    let sets = clonesets("shared-14").await;
    let hook = json!({"inPlaceUpdate": {"finalizersHandler": [FINALIZER], "markPodNotReady": true}});
    let finalizers = json!({"metadata": {"finalizers": [FINALIZER]}});
    let web = sets.create(web(1).spec(json!({"lifecycle": hook, "template": finalizers}))).await;
    let pod = web.until_available(1).await.remove(0).name_any();
    sets.behave(
        Which { image: Some("nginx:1.26".into()), ..Which::default() },
        Behaviour::ReadyAfter(Duration::from_secs(2)),
    );
    web.change(image("nginx:1.26")).await;
    web.until_pods("it to be held", |pods| state(&pods[0]) == "PreparingUpdate").await;

    web.patch_pod(&pod, json!({"metadata": {"finalizers": null}})).await;
    web.until_pods("its update", |pods| image_of(&pods[0], "main") == "nginx:1.26").await;
    web.patch_pod(&pod, finalizers.clone()).await;

    let (_, pods) = web.until_updated(1).await;
    assert_eq!((state(&pods[0]), condition(&pods[0], "KruisePodReady")), ("Normal", Some("True")));
    web.patch_pod(&pod, json!({"metadata": {"finalizers": null}})).await;
}

/// SM-52: Ready only when every writer has taken its key back.
#[tokio::test]
async fn shared_scenario_16_two_writers_hold_a_pod_out_of_traffic() {
    let sets = clonesets("shared-16").await;
    let hook = json!({"inPlaceUpdate": {"finalizersHandler": [FINALIZER], "markPodNotReady": true}});
    let finalizers = json!({"metadata": {"finalizers": [FINALIZER]}});
    let web = sets.create(web(1).spec(json!({"lifecycle": hook, "template": finalizers}))).await;
    let pod = web.until_available(1).await.remove(0).name_any();
    web.change(image("nginx:1.26")).await;
    web.until_pods("it to be held", |pods| state(&pods[0]) == "PreparingUpdate").await;
    let held = |user_agent: &str, key: &str| json!({"userAgent": user_agent, "key": key});
    let (theirs, ours) = (held("ContainerRecreateRequest", "ns/one"), held("Lifecycle", "preUpdateHook"));
    write_keys(&web, &pod, &json!([theirs, ours]), "False").await;

    web.patch_pod(&pod, json!({"metadata": {"finalizers": null}})).await;
    web.until_pods("the update", |pods| state(&pods[0]) == "Updated").await;
    web.patch_pod(&pod, finalizers.clone()).await;
    web.until_pods("the other writer's key only", |pods| {
        state(&pods[0]) == "Normal" && keys(&pods[0]) == json!([theirs]) && !is_ready(&pods[0])
    })
    .await;

    write_keys(&web, &pod, &json!([]), "True").await;
    web.until_updated(1).await;
    web.patch_pod(&pod, json!({"metadata": {"finalizers": null}})).await;
}

/// Another writer of the condition that keeps pods out of traffic.
async fn write_keys(live: &Live, pod: &str, keys: &Value, status: &str) {
    let condition = json!({"type": "KruisePodReady", "status": status, "message": keys.to_string()});
    let patch = Patch::Strategic(json!({"status": {"conditions": [condition]}}));
    live.pods.patch_status(pod, &PatchParams::default(), &patch).await.unwrap();
}

fn keys(pod: &Pod) -> Value {
    let conditions = pod.status.as_ref().unwrap().conditions.as_ref().unwrap();
    let found = conditions.iter().find(|condition| condition.type_ == "KruisePodReady").unwrap();
    serde_json::from_str(found.message.as_deref().unwrap_or("[]")).unwrap()
}

/// SM-29, M13.
#[tokio::test]
async fn shared_scenario_17_template_changes_during_the_grace_period() {
    template_changes_during_the_grace_period(Kind::CloneSet, "shared-17").await;
}

/// CS-75, rule of issue 5: pods of a revision that can never become ready do not block the one that repairs them.
#[tokio::test]
async fn broken_revision_does_not_block_its_repair() {
    let sets = clonesets("repair").await;
    let broken = Which { image: Some("nginx:broken".into()), ..Which::default() };
    sets.behave(broken, Behaviour::PullFails);
    let web = sets.create(web(4).rolling(&json!({"maxUnavailable": 2}))).await;
    let before = web.until_available(4).await;
    web.change(image("nginx:broken")).await;
    let stuck = |pods: &[Pod]| pods.iter().filter(|pod| !is_ready(pod)).count() == 2;
    web.until_pods("two broken pods", stuck).await;

    web.change(image("nginx:1.26")).await;

    let (_, after) = web.until_updated(4).await;
    assert_eq!(uids(&after), uids(&before));
}
