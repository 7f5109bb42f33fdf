//! Simulated nodes on the real control plane: the scheduler binds, the agent plays the kubelet.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kruise_sim::kubelet::{Behaviour, Which};
use kruise_testbed::{scratch, wait};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn pod(name: &str, image: &str) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }))
    .unwrap()
}

#[tokio::test]
async fn deployment_of_50_pods_becomes_ready() {
    let test = scratch("deployment").await.unwrap();
    let deployment: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 50,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "nginx:1.25"}]},
            },
        },
    }))
    .unwrap();

    test.api::<Deployment>().create(&PostParams::default(), &deployment).await.unwrap();

    let pods = wait::until_all(&test.api::<Pod>(), &ListParams::default(), "50 ready pods", |pods| {
        pods.len() == 50 && pods.iter().all(is_ready)
    })
    .await
    .unwrap();
    assert!(
        pods.iter().all(|pod| { pod.spec.as_ref().unwrap().node_name.as_ref().unwrap().starts_with("sim-") })
    );
}

#[tokio::test]
async fn changed_image_restarts_the_container_in_place() {
    let test = scratch("in-place").await.unwrap();
    let pods: Api<Pod> = test.api();
    pods.create(&PostParams::default(), &pod("web", "nginx:1.25")).await.unwrap();
    let before = wait::until(&pods, "web", "the pod to be ready", is_ready).await.unwrap();

    let patch = json!({"spec": {"containers": [{"name": "main", "image": "nginx:1.26"}]}});
    pods.patch("web", &PatchParams::default(), &Patch::Strategic(patch)).await.unwrap();

    let after = wait::until(&pods, "web", "a restart", |pod| {
        let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
        is_ready(pod) && statuses.is_some_and(|statuses| statuses[0].restart_count == 1)
    })
    .await
    .unwrap();
    assert_eq!(after.uid(), before.uid());
}

#[tokio::test]
async fn knobs_turn_while_the_cluster_runs() {
    let test = scratch("knobs").await.unwrap();
    let pods: Api<Pod> = test.api();
    let which = Which { namespace: Some(test.namespace.clone()), ..Which::default() };
    test.shared.nodes.rule(which.clone(), Behaviour::PullFails);
    pods.create(&PostParams::default(), &pod("web", "nginx:none")).await.unwrap();

    wait::until(&pods, "web", "a pull that fails", |pod| {
        let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
        let state = statuses.and_then(|statuses| statuses[0].state.as_ref());
        state
            .and_then(|state| state.waiting.as_ref())
            .is_some_and(|w| w.reason.as_deref() == Some("ImagePullBackOff"))
    })
    .await
    .unwrap();

    test.shared.nodes.forget(&which);
    wait::until(&pods, "web", "the pod to be ready", is_ready).await.unwrap();
}

#[tokio::test]
async fn deleted_pod_is_gone() {
    let test = scratch("delete").await.unwrap();
    let pods: Api<Pod> = test.api();
    pods.create(&PostParams::default(), &pod("web", "nginx:1.25")).await.unwrap();
    wait::until(&pods, "web", "the pod to be ready", is_ready).await.unwrap();

    pods.delete("web", &DeleteParams::default()).await.unwrap();

    wait::until_all(&pods, &ListParams::default(), "no pod", <[k8s_openapi::api::core::v1::Pod]>::is_empty)
        .await
        .unwrap();
}
