//! How fast a set may move: readiness that has to last, limits, and pods that never get there (AS-30, AS-37, AS-46, AS-53).

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use kruise_sim::kubelet::{Behaviour, Which};
use kube::ResourceExt;
use serde_json::json;

use super::{image_of, is_available, is_ready, names, pods, reason, runs, statefulsets, uids, web};
use crate::workload::watcher::Pods;
use crate::workload::web::{image, rolling};

const SECONDS: i64 = 5;

fn pod(name: &str) -> Which {
    Which { pod: Some(name.into()), ..Which::default() }
}

fn created(pod: &Pod) -> Timestamp {
    pod.metadata.creation_timestamp.as_ref().unwrap().0
}

fn ready_since(pod: &Pod) -> Option<Timestamp> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let ready = conditions.iter().find(|one| one.type_ == "Ready" && one.status == "True")?;
    Some(ready.last_transition_time.as_ref()?.0)
}

/// The next pod came when readiness had lasted. How much later is a matter of the machine; without a timer it would never come.
fn paced(first: &Pod, next: &Pod) {
    let waited = created(next).duration_since(ready_since(first).unwrap()).as_secs();
    assert!(SECONDS <= waited, "{} came after {waited} s", next.name_any());
}

/// Section 8.2, AS-7, AS-30, AS-39, AS-56, statefulset/B6: minReadySeconds paces creation, update and removal, and time alone
/// is enough to go on: nothing else happens to these pods meanwhile.
#[tokio::test]
async fn statefulset_b6_min_ready_seconds_paces_everything() {
    let sets = statefulsets("ss-min-ready").await;
    let object = web(3).policy("ReCreate").rolling(&json!({"minReadySeconds": SECONDS}));
    let web = sets.create(object).await;
    let status = web.until("a ready pod", |status| status["readyReplicas"] == 1).await;
    assert_eq!(status["availableReplicas"], 0, "ready is not available yet");
    let before = web.until_available(3).await;
    paced(&before[0], &before[1]);
    paced(&before[1], &before[2]);

    web.change(image("nginx:1.26")).await;
    let (_, after) = web.until_updated(3).await;
    paced(&after[2], &after[1]);
    paced(&after[1], &after[0]);

    let early = web.watching(not_before_the_first_is_available).await;
    web.delete_pod("web-0").await;
    // Pods and sets are watched apart: the manager may hear of the smaller number first, and then nothing is wrong with web-0.
    web.until("the deletion to be seen", |now| now["availableReplicas"] == 2).await;
    web.scale(1).await;
    web.until_available(1).await;
    early.verdict().await;
}

/// Condemned pods go only while the pod that stays is available.
fn not_before_the_first_is_available(all: &Pods) -> Result<(), String> {
    let lasted = |pod: &Pod| {
        let long = SignedDuration::from_secs(SECONDS);
        pod.metadata.deletion_timestamp.is_none()
            && ready_since(pod).is_some_and(|since| Timestamp::now().duration_since(since) >= long)
    };
    let stays = all.get("web-0").is_some_and(lasted);
    let going =
        all.values().find(|pod| pod.name_any() != "web-0" && pod.metadata.deletion_timestamp.is_some());
    match going {
        // One that began to go in time takes a moment to be gone.
        Some(pod) if !stays && all.len() == 3 => Err(format!("{} went too early", pod.name_any())),
        _ => Ok(()),
    }
}

/// Section 8.2, statefulset/B3: with a limit of one an evicted pod is deleted and made again; where a stuck pod uses up the limit
/// it is still deleted, and made again as soon as the limit allows a pod that is not available.
#[tokio::test]
async fn statefulset_b3_evicted_pod_is_replaced_with_a_limit_of_one() {
    let sets = statefulsets("ss-scale-evicted").await;
    let web = sets.create(web(3).parallel().spec(json!({"scaleStrategy": {"maxUnavailable": 1}}))).await;
    let before = web.until_available(3).await;
    super::evict(&web, "web-2").await;
    let is_back = |all: &[Pod]| all.len() == 3 && is_available(&all[2]) && all[2].uid() != before[2].uid();
    let second = web.until_active("a new web-2", is_back).await;

    sets.behave(pod("web-0"), Behaviour::NeverReady);
    web.until_active("a stuck pod", |all| all.len() == 3 && !is_ready(&all[0])).await;
    super::evict(&web, "web-2").await;
    let is_gone = |all: &[Pod]| names(all) == pods(0..2);
    web.until_pods("web-2 to be deleted", is_gone).await;
    sets.recover(&pod("web-0"));

    let after = web.until_available(3).await;
    assert_eq!(uids(&after[..2]), uids(&second[..2]));
}

/// Section 8.2, AS-37: a pod that hangs while it ends uses the only unit: nobody else is made until it is gone, and then all.
#[tokio::test]
async fn terminating_pod_uses_the_scale_limit_once() {
    let sets = statefulsets("ss-scale-terminating").await;
    let web = sets.create(web(2).parallel().spec(json!({"scaleStrategy": {"maxUnavailable": 1}}))).await;
    web.until_available(2).await;
    sets.behave(pod("web-1"), Behaviour::NeverStops);
    web.delete_pod("web-1").await;
    web.until("the deletion to be seen", |status| status["updatedReplicas"] == 1).await;
    web.scale(4).await;
    web.until("it to be seen", |_| true).await;
    sets.quiet().await;
    assert_eq!(names(&web.pods_now().await), pods(0..1));

    sets.recover(&pod("web-1"));

    assert_eq!(names(&web.until_available(4).await), pods(0..4));
}

/// Section 8.2, statefulset/B5: an update that may take down more than scaling may leave unavailable is not starved by it.
#[tokio::test]
async fn statefulset_b5_update_limit_above_the_scale_limit() {
    let sets = statefulsets("ss-scale-below-update").await;
    let object = web(4).parallel().policy("ReCreate").rolling(&json!({"maxUnavailable": 3}));
    let web = sets.create(object.spec(json!({"scaleStrategy": {"maxUnavailable": 1}}))).await;
    web.until_available(4).await;
    let down = super::update::at_most_down(&web, 4, 3).await;

    web.change(image("nginx:1.26")).await;

    let (_, after) = web.until_updated(4).await;
    assert!(after.iter().all(|pod| runs(pod, "main", "nginx:1.26")));
    down.verdict().await;
}

/// Section 8.2, AS-53: a broken pod below the window uses up a limit of one: nobody else is touched. One inside it is updated
/// for nothing, and those that serve wait for it.
#[tokio::test]
async fn broken_pods_below_and_inside_the_window() {
    let sets = statefulsets("ss-broken-window").await;
    let web = sets.create(web(4).parallel().rolling(&json!({"partition": 1, "maxUnavailable": 1}))).await;
    let before = web.until_available(4).await;
    sets.behave(pod("web-0"), Behaviour::NeverReady);
    web.until("one below to be seen", |status| status["readyReplicas"] == 3).await;
    web.change(image("nginx:1.26")).await;
    web.until("why it waits", |status| ["MaxUnavailable", "NotReady"].contains(&reason(status, "Waiting")))
        .await;
    sets.quiet().await;
    assert!(web.pods_now().await.iter().all(|pod| image_of(pod, "main") == "nginx:1.25"));

    sets.behave(pod("web-2"), Behaviour::NeverReady);
    let is_updated = |all: &[Pod]| image_of(&all[2], "main") == "nginx:1.26" && !is_ready(&all[2]);
    web.until_active("the one inside, updated", is_updated).await;
    sets.quiet().await;
    let kept = web.pods_now().await;
    assert!([0, 1, 3].iter().all(|at| image_of(&kept[*at], "main") == "nginx:1.25"), "the others serve on");

    sets.recover(&pod("web-0"));
    sets.recover(&pod("web-2"));
    web.until("the window", |status| status["updatedAvailableReplicas"] == 3).await;
    assert_eq!(uids(&web.until_available(4).await), uids(&before));
}

/// Section 8.2, AS-53: broken pods above those that are not updated yet, at a limit of one; and 100% that repairs all at once.
#[tokio::test]
async fn broken_pods_above_and_a_limit_of_all() {
    let sets = statefulsets("ss-broken-above").await;
    sets.behave(Which { image: Some("nginx:broken".into()), ..Which::default() }, Behaviour::PullFails);
    let web = sets.create(web(3).parallel().rolling(&json!({"maxUnavailable": 1}))).await;
    web.until_available(3).await;
    web.change(image("nginx:broken")).await;
    web.until_active("one broken pod", |all| !is_ready(&all[2])).await;
    sets.quiet().await;
    assert!(web.pods_now().await[..2].iter().all(is_available), "the limit holds");

    web.change(rolling(&json!({"maxUnavailable": "100%"}))).await;
    web.until_active("all broken", |all| all.len() == 3 && !all.iter().any(is_ready)).await;

    web.change(image("nginx:1.26")).await;
    web.until_updated(3).await;
}
