//! In-place updates of several containers, in order of their launch priority (SM-24 … SM-31).
//!
//! The pod webhook that writes the barrier environment does not exist yet: the templates here carry it.

use k8s_openapi::api::core::v1::Pod;
use kruise_sim::kubelet::{Behaviour, Which};
use kruise_testbed::daemon;
use kube::ResourceExt;
use serde_json::{Value, json};
use std::time::Duration;

use super::{Live, clonesets, image_of, is_available, names, restarts, runs, status_of, uids, web};
use crate::workload::watcher::Pods;
use crate::workload::web::containers;

const STATE: &str = "apps.kruise.io/inplace-update-state";
/// A key of the template that containers read as environment.
const KEY: &str = "example.com/config";

/// Two containers; `first` is launched before `second`.
fn two(first: &str, second: &str, environment: &Value) -> Value {
    containers(&json!([
        {"name": "first", "image": first, "env": [barrier("p_10")]},
        {"name": "second", "image": second, "env": [environment, barrier("p_0")]},
    ]))
}

fn barrier(key: &str) -> Value {
    let from = json!({"configMapKeyRef": {"name": "barrier", "key": key}});
    json!({"name": "KRUISE_CONTAINER_BARRIER", "valueFrom": from})
}

fn literal() -> Value {
    json!({"name": "PLAIN", "value": "x"})
}

fn from_metadata(kind: &str) -> Value {
    json!({"name": "CONFIG", "valueFrom": {"fieldRef": {"fieldPath": format!("metadata.{kind}['{KEY}']")}}})
}

/// The record of a pod's last in-place update.
fn record(pod: &Pod) -> Value {
    pod.annotations().get(STATE).map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
}

fn batches(pod: &Pod) -> Vec<Value> {
    let record = record(pod);
    let list = record["containerBatchesRecord"].as_array().cloned().unwrap_or_default();
    list.into_iter().map(|batch| batch["containers"].clone()).collect()
}

/// What must hold at every change: `second` is asked for its new image only when `first` runs with its own.
fn in_order(pods: &Pods) -> Result<(), String> {
    let early = pods.values().find(|pod| image_of(pod, "second") == "b:2" && !runs(pod, "first", "a:2"));
    early.map_or(Ok(()), |pod| Err(format!("{} was updated out of order", pod.name_any())))
}

/// SM-24, SM-26, SM-31(a): one restart for both changes, finished when the daemon has seen the new environment.
#[tokio::test]
async fn scenario_12_image_and_environment_in_one_restart() {
    let sets = clonesets("scenario-12").await;
    let of = |image: &str, value: &str| {
        json!({"template": {
            "metadata": {"labels": {(KEY): value}},
            "spec": {"containers": [{"name": "main", "image": image, "env": [from_metadata("labels")]}]},
        }})
    };
    let web = sets.create(web(1).spec(of("nginx:1.25", "old"))).await;
    let before = web.until_available(1).await;
    play_daemon(&web, &before[0]).await;

    web.change(of("nginx:1.26", "new")).await;
    let pods = web.until_pods("a restart", |pods| runs(&pods[0], "main", "nginx:1.26")).await;
    sets.quiet().await;
    assert!(!is_available(&web.pods_now().await[0]), "the environment is not proved yet");
    play_daemon(&web, &pods[0]).await;

    let (_, after) = web.until_updated(1).await;
    assert_eq!(uids(&after), uids(&before));
    assert_eq!((restarts(&after[0], "main"), super::label(&after[0], KEY)), (1, "new"));
    assert_eq!(record(&after[0])["updateEnvFromMetadata"], true);
}

/// SM-25, SM-26, SM-30: the container of lower priority follows when the other one is up.
#[tokio::test]
async fn scenario_13_containers_are_updated_by_priority() {
    let sets = clonesets("scenario-13").await;
    let slow = Which { container: Some("first".into()), image: Some("a:2".into()), ..Which::default() };
    sets.behave(slow, Behaviour::ReadyAfter(Duration::from_secs(2)));
    let web = sets.create(web(2).spec(two("a:1", "b:1", &literal()))).await;
    let before = web.until_available(2).await;
    let watcher = web.watching(in_order).await;

    web.change(two("a:2", "b:2", &literal())).await;

    let (_, after) = web.until_updated(2).await;
    assert_eq!(uids(&after), uids(&before));
    for pod in &after {
        assert_eq!(batches(pod), [json!(["first"]), json!(["second"])]);
        assert_eq!((restarts(pod, "first"), restarts(pod, "second")), (1, 1));
        assert_eq!(record(pod).get("nextContainerImages"), None);
    }
    watcher.verdict().await;
}

/// SM-30, SM-31: a first batch that never comes up keeps the second from being touched.
#[tokio::test]
async fn scenario_14_first_batch_that_cannot_start_stops_the_second() {
    let sets = clonesets("scenario-14").await;
    let broken = Which { image: Some("a:2".into()), ..Which::default() };
    sets.behave(broken, Behaviour::PullFails);
    let web = sets.create(web(1).spec(two("a:1", "b:1", &literal()))).await;
    web.until_available(1).await;

    web.change(two("a:2", "b:2", &literal())).await;
    web.until_pods("a pull that fails", |pods| {
        let waiting = status_of(&pods[0], "first").and_then(|status| status.state.as_ref()?.waiting.as_ref());
        waiting.is_some_and(|waiting| waiting.reason.as_deref() == Some("ImagePullBackOff"))
    })
    .await;
    sets.quiet().await;

    let pod = web.pods_now().await.remove(0);
    assert_eq!((image_of(&pod, "second"), restarts(&pod, "second")), ("b:1", 0));
    assert_eq!(batches(&pod), [json!(["first"])]);
    assert_eq!(record(&pod)["nextContainerImages"], json!({"second": "b:2"}));
    assert_eq!(record(&pod)["preCheckBeforeNext"], json!({"containersRequiredReady": ["first"]}));
}

/// SM-24 … SM-26, SM-31(a): an image first, then the environment of the other container.
#[tokio::test]
async fn scenario_15_image_then_environment() {
    let sets = clonesets("scenario-15").await;
    let of = |first: &str, value: &str| {
        let mut change = two(first, "b:1", &from_metadata("annotations"));
        change["template"]["metadata"] = json!({"annotations": {(KEY): value}});
        change
    };
    let web = sets.create(web(1).spec(of("a:1", "old"))).await;
    let before = web.until_available(1).await;
    play_daemon(&web, &before[0]).await;

    web.change(of("a:2", "new")).await;
    let value = |pod: &Pod| pod.annotations().get(KEY).cloned().unwrap_or_default();
    let pods = web.until_pods("the first batch", |pods| runs(&pods[0], "first", "a:2")).await;
    assert_eq!(value(&pods[0]), "old", "the annotation waits for its batch");
    daemon_follows(&web, |pod| value(pod) == "new").await;

    let (_, after) = web.until_updated(1).await;
    assert_eq!(names(&after), names(&before));
    assert_eq!(batches(&after[0]), [json!(["first"]), json!(["second"])]);
    assert_eq!((value(&after[0]).as_str(), restarts(&after[0], "first")), ("new", 1));
}

async fn play_daemon(live: &Live, pod: &Pod) {
    live.patch_pod(&pod.name_any(), daemon::report(pod)).await;
}

/// The daemon reports now, and again when the pod has come to what is waited for.
async fn daemon_follows(live: &Live, ok: impl Fn(&Pod) -> bool) {
    play_daemon(live, &live.pods_now().await[0]).await;
    let pods = live.until_pods("the next batch", |pods| ok(&pods[0])).await;
    play_daemon(live, &pods[0]).await;
}
