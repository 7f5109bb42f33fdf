//! CloneSets on the real control plane: our manager as a process, simulated nodes.

use k8s_openapi::api::core::v1::Pod;
use kruise_testbed::{Scratch, scratch, wait};
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

struct CloneSets {
    test: Scratch,
    api: Api<DynamicObject>,
    pods: Api<Pod>,
}

async fn clonesets(name: &str) -> CloneSets {
    let test = scratch(name).await.unwrap();
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", "v1beta1", "CloneSet"));
    let api = Api::namespaced_with(test.client.clone(), &test.namespace, &kind);
    let pods = test.api();
    CloneSets { test, api, pods }
}

fn web(replicas: u32) -> Value {
    json!({
        "apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "nginx:1.25"}]},
            },
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"podUpdatePolicy": "InPlaceIfPossible"}},
        },
    })
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

impl CloneSets {
    async fn create(&self, object: Value) {
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        self.api.create(&PostParams::default(), &object).await.unwrap();
    }

    async fn change(&self, patch: Value) {
        self.api.patch("web", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    async fn until_pods(&self, what: &str, ok: impl Fn(&[Pod]) -> bool) -> Vec<Pod> {
        wait::until_all(&self.pods, &ListParams::default(), what, ok).await.unwrap()
    }

    async fn until_status(&self, what: &str, ok: impl Fn(&Value) -> bool) -> DynamicObject {
        wait::until(&self.api, "web", what, |object| ok(&object.data["status"])).await.unwrap()
    }
}

/// Scenario 6: create 3 replicas, all ready.
#[tokio::test]
async fn scenario_6_three_replicas_become_ready() {
    let sets = clonesets("scenario-6").await;

    sets.create(web(3)).await;

    let pods = sets.until_pods("3 ready pods", |pods| pods.len() == 3 && pods.iter().all(is_ready)).await;
    let status = sets.until_status("the status", |status| status["readyReplicas"] == 3).await;
    assert_eq!(status.data["status"]["updatedAvailableReplicas"], 3);
    for pod in &pods {
        let labels = pod.labels();
        assert_eq!(labels["lifecycle.apps.kruise.io/state"], "Normal");
        assert_eq!(
            Some(labels["apps.kruise.io/cloneset-instance-id"].as_str()),
            pod.name_any().strip_prefix("web-")
        );
    }
    drop(sets.test);
}

/// In-place update: same pods, new image, one restart each.
#[tokio::test]
async fn image_is_updated_in_place() {
    let sets = clonesets("in-place").await;
    sets.create(web(5)).await;
    let before = sets.until_pods("5 ready pods", |pods| pods.len() == 5 && pods.iter().all(is_ready)).await;

    sets.change(
        json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "nginx:1.26"}]}}}}),
    )
    .await;

    let restarted = |pod: &Pod| {
        let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
        is_ready(pod) && statuses.is_some_and(|all| all[0].image == "nginx:1.26" && all[0].restart_count == 1)
    };
    let after = sets.until_pods("5 updated pods", |pods| pods.len() == 5 && pods.iter().all(restarted)).await;
    let uids = |pods: &[Pod]| pods.iter().map(|pod| pod.uid().unwrap()).collect::<Vec<_>>();
    assert_eq!(uids(&after), uids(&before));
    sets.until_status("the rollout's end", |status| {
        status["updatedAvailableReplicas"] == 5 && status["currentRevision"] == status["updateRevision"]
    })
    .await;
}

/// Scenario 35, in part: replicas to 0 and back.
#[tokio::test]
async fn scenario_35_scale_to_zero_and_back() {
    let sets = clonesets("scenario-35").await;
    sets.create(web(4)).await;
    sets.until_pods("4 ready pods", |pods| pods.len() == 4 && pods.iter().all(is_ready)).await;

    sets.change(json!({"spec": {"replicas": 0}})).await;
    sets.until_pods("no pods", <[Pod]>::is_empty).await;

    sets.change(json!({"spec": {"replicas": 2}})).await;
    sets.until_pods("2 ready pods", |pods| pods.len() == 2 && pods.iter().all(is_ready)).await;
}
