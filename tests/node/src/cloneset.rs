//! In-place updates of CloneSets where containers are real: scenarios 11 to 15 of the specification.
//!
//! No node agent runs here: where it must report or restart, the test plays it. `agent.rs` has the real one.

use std::net::{IpAddr, SocketAddr};

use k8s_openapi::api::core::v1::{ConfigMap, ContainerStatus, Pod};
use kruise_testbed::{daemon, wait};
use kube::api::{ApiResource, DynamicObject, ListParams, LogParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::fixtures::{Bench, PATIENCE, managed, until_answer};

const STATE: &str = "apps.kruise.io/inplace-update-state";
/// A key of the template that containers read as environment.
const KEY: &str = "example.com/config";

/// A CloneSet `web` of one pod.
struct Web {
    bench: Bench,
    api: Api<DynamicObject>,
}

async fn web(bench: Bench, template: Value) -> Web {
    let barrier = json!({"metadata": {"name": "barrier"}, "data": {"p_0": "true", "p_10": "true"}});
    let maps: Api<ConfigMap> = Api::namespaced(bench.client.clone(), bench.namespace);
    maps.create(&PostParams::default(), &serde_json::from_value(barrier).unwrap()).await.unwrap();
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", "v1beta1", "CloneSet"));
    let api = Api::namespaced_with(bench.client.clone(), bench.namespace, &kind);
    let object = json!({
        "apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "metadata": {"name": "web"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": template,
            "updateStrategy": {"rollingUpdate": {"podUpdatePolicy": "InPlaceOnly"}},
        },
    });
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    Web { bench, api }
}

impl Web {
    async fn change(&self, template: Value) {
        let patch = Patch::Merge(json!({"spec": {"template": template}}));
        self.api.patch("web", &PatchParams::default(), &patch).await.unwrap();
    }

    /// Waits for its one pod to be so.
    async fn until(&self, what: &str, ok: impl Fn(&Pod) -> bool) -> Pod {
        let params = ListParams::default().labels("app=web");
        let pods = self.bench.pods();
        let seen =
            wait::until_all_within(&pods, &params, what, PATIENCE, |pods| matches!(pods, [pod] if ok(pod)));
        seen.await.unwrap_or_else(|error| panic!("{error}")).pop().unwrap()
    }

    /// Waits until the manager counts its pod as updated and available.
    async fn until_updated(&self) -> Pod {
        let params = ListParams::default().fields("metadata.name=web");
        let done = |sets: &[DynamicObject]| {
            sets.iter().any(|set| {
                let status = &set.data["status"];
                status["observedGeneration"] == json!(set.metadata.generation)
                    && status["updatedAvailableReplicas"] == 1
            })
        };
        let seen = wait::until_all_within(&self.api, &params, "an updated pod", PATIENCE, done).await;
        seen.unwrap_or_else(|error| panic!("{error}"));
        self.until("the updated pod", |_| true).await
    }

    async fn play_daemon(&self, pod: &Pod) {
        let patch = Patch::Merge(daemon::report(pod));
        self.bench.pods().patch(&pod.name_any(), &PatchParams::default(), &patch).await.unwrap();
    }

    /// What the daemon does: restarts `second` until its process has the wanted environment, and reports it.
    async fn restart_until(&self, wanted: &str) {
        for count in 1.. {
            let pod = self.until("a pod", |_| true).await;
            until_answer(address(&pod, 81), "/exit?code=0", "HTTP/1.1 200").await;
            let back = self
                .until("a restart", |now| restarts(now, "second") == count && status(now, "second").ready);
            let restarted = back.await;
            let answer = until_answer(address(&pod, 81), "/env?name=CONFIG", "HTTP/1.1 200").await;
            if answer.contains(wanted) {
                return self.play_daemon(&restarted).await;
            }
            println!("restart {count} came too early for the kubelet: {answer}");
        }
    }

    async fn logs(&self, pod: &Pod, container: &str) -> String {
        let params = LogParams { container: Some(container.into()), ..LogParams::default() };
        self.bench.pods().logs(&pod.name_any(), &params).await.unwrap()
    }
}

fn template(metadata: &Value, containers: &Value) -> Value {
    let mut template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {
        "containers": containers, "terminationGracePeriodSeconds": 1,
    }});
    for (kind, entries) in metadata.as_object().unwrap() {
        for (key, value) in entries.as_object().unwrap() {
            template["metadata"][kind][key] = value.clone();
        }
    }
    template
}

/// Two containers; `first` is launched before `second`.
fn two(image: &str, second: &str, metadata: &Value) -> Value {
    let config = json!({"fieldRef": {"fieldPath": format!("metadata.annotations['{KEY}']")}});
    template(
        metadata,
        &json!([
            {"name": "first", "image": image, "env": [barrier("p_10")]},
            {"name": "second", "image": second, "command": ["/bin/testapp", "serve", "81"],
             "env": [{"name": "CONFIG", "valueFrom": config}, barrier("p_0")]},
        ]),
    )
}

fn barrier(key: &str) -> Value {
    json!({"name": "KRUISE_CONTAINER_BARRIER", "valueFrom": {"configMapKeyRef": {"name": "barrier", "key": key}}})
}

fn status<'a>(pod: &'a Pod, container: &str) -> &'a ContainerStatus {
    let all = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
    all.into_iter().flatten().find(|status| status.name == container).unwrap()
}

fn started(pod: &Pod, container: &str) -> k8s_openapi::jiff::Timestamp {
    let state = status(pod, container).state.as_ref().unwrap();
    state.running.as_ref().unwrap().started_at.as_ref().unwrap().0
}

fn restarts(pod: &Pod, container: &str) -> i32 {
    status(pod, container).restart_count
}

fn record(pod: &Pod) -> Value {
    pod.annotations().get(STATE).map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
}

fn batches(pod: &Pod) -> Vec<Value> {
    let record = record(pod);
    let list = record["containerBatchesRecord"].as_array().cloned().unwrap_or_default();
    list.into_iter().map(|batch| batch["containers"].clone()).collect()
}

fn address(pod: &Pod, port: u16) -> SocketAddr {
    let address: IpAddr = pod.status.as_ref().unwrap().pod_ip.as_ref().unwrap().parse().unwrap();
    (address, port).into()
}

/// SM-31(c), SM-35: another tag of the same image restarts the container once and counts as done.
#[tokio::test]
async fn scenario_11_another_tag_of_the_same_image() {
    let Some(bench) = managed("scenario-11").await else { return };
    let of = |image: &str| template(&json!({}), &json!([{"name": "main", "image": image}]));
    let web = web(bench, of("nginx:alpine")).await;
    let before = web.until_updated().await;

    web.change(of("nginx:mainline")).await;
    // The runtime goes on naming the image by its older tag: only the daemon can tell that this container is new.
    let restarted = web.until("a restart", |pod| restarts(pod, "main") == 1 && status(pod, "main").ready);
    web.play_daemon(&restarted.await).await;

    let after = web.until_updated().await;
    assert_eq!(after.uid(), before.uid());
    assert_eq!(status(&after, "main").image_id, status(&before, "main").image_id);
    assert_ne!(status(&after, "main").container_id, status(&before, "main").container_id);
    assert_eq!(restarts(&after, "main"), 1);
}

/// SM-24, SM-26, SM-31: image and environment change with one restart, and the process sees both.
#[tokio::test]
async fn scenario_12_image_and_environment_in_one_restart() {
    let Some(bench) = managed("scenario-12").await else { return };
    let of = |image: &str, value: &str| {
        let config = json!({"fieldRef": {"fieldPath": format!("metadata.labels['{KEY}']")}});
        let env = json!([{"name": "CONFIG", "valueFrom": config}]);
        let containers = json!([{"name": "main", "image": image, "env": env}]);
        template(&json!({"labels": {(KEY): value}}), &containers)
    };
    let web = web(bench, of("nginx:1.14.2", "old")).await;
    let before = web.until_updated().await;
    until_answer(address(&before, 80), "/env?name=CONFIG", "old").await;
    web.play_daemon(&before).await;

    web.change(of("nginx:1.15.1", "new")).await;
    let restarted = web.until("one restart", |pod| restarts(pod, "main") == 1 && status(pod, "main").ready);
    web.play_daemon(&restarted.await).await;

    let after = web.until_updated().await;
    assert_eq!((after.uid(), restarts(&after, "main")), (before.uid(), 1));
    until_answer(address(&after, 80), "/env?name=CONFIG", "new").await;
    assert!(web.logs(&after, "main").await.contains("serving version 1.15.1"));
}

/// SM-25, SM-26, SM-30: the container of lower priority is stopped only when the other one is up.
#[tokio::test]
async fn scenario_13_containers_are_updated_by_priority() {
    let Some(bench) = managed("scenario-13").await else { return };
    let web = web(bench, two("nginx:1.14.2", "busybox:1.32", &json!({}))).await;
    let before = web.until_updated().await;

    web.change(two("nginx:1.15.1", "busybox:1.36", &json!({}))).await;

    let after = web.until_updated().await;
    assert_eq!(after.uid(), before.uid());
    assert_eq!(batches(&after), [json!(["first"]), json!(["second"])]);
    assert_eq!((restarts(&after, "first"), restarts(&after, "second")), (1, 1));
    let stopped = status(&after, "second").last_state.as_ref().unwrap().terminated.as_ref().unwrap();
    assert!(started(&after, "first") <= stopped.finished_at.as_ref().unwrap().0, "{:?}", after.status);
}

/// SM-30, SM-31: a first batch that cannot start keeps the second container running untouched.
#[tokio::test]
async fn scenario_14_first_batch_that_cannot_start_stops_the_second() {
    let Some(bench) = managed("scenario-14").await else { return };
    let web = web(bench, two("nginx:1.14.2", "busybox:1.32", &json!({}))).await;
    let before = web.until_updated().await;

    web.change(two("nginx:does-not-exist", "busybox:1.36", &json!({}))).await;
    let failing = web.until("a pull that backs off", |pod| {
        let waiting = status(pod, "first").state.as_ref().and_then(|state| state.waiting.as_ref());
        waiting.and_then(|waiting| waiting.reason.as_deref()) == Some("ImagePullBackOff")
    });
    let after = failing.await;

    assert_eq!(status(&after, "second").container_id, status(&before, "second").container_id);
    assert_eq!(batches(&after), [json!(["first"])]);
    assert_eq!(record(&after)["nextContainerImages"], json!({"second": "busybox:1.36"}));

    // And the revision that repairs it is not held up.
    web.change(two("nginx:1.15.1", "busybox:1.36", &json!({}))).await;
    let repaired = web.until_updated().await;
    assert_eq!(repaired.uid(), before.uid());
    assert!(web.logs(&repaired, "first").await.contains("serving version 1.15.1"));
}

/// SM-24 … SM-26, SM-31: an image first, then the environment of the other container, each with its restart.
#[tokio::test]
async fn scenario_15_image_then_environment() {
    let Some(bench) = managed("scenario-15").await else { return };
    let of = |image: &str, value: &str| two(image, "busybox:1.32", &json!({"annotations": {(KEY): value}}));
    let web = web(bench, of("nginx:1.14.2", "old")).await;
    let before = web.until_updated().await;
    until_answer(address(&before, 81), "/env?name=CONFIG", "old").await;
    web.play_daemon(&before).await;

    web.change(of("nginx:1.15.1", "new")).await;
    let value = |pod: &Pod| pod.annotations().get(KEY).cloned().unwrap_or_default();
    let first =
        web.until("the first batch", |pod| restarts(pod, "first") == 1 && status(pod, "first").ready).await;
    assert_eq!((value(&first).as_str(), restarts(&first, "second")), ("old", 0));
    web.play_daemon(&first).await;
    web.until("the second batch", |pod| value(pod) == "new").await;
    web.restart_until("new").await;
    let after = web.until_updated().await;
    assert_eq!((after.uid(), restarts(&after, "first")), (before.uid(), 1));
    assert_eq!(batches(&after), [json!(["first"]), json!(["second"])]);
}
