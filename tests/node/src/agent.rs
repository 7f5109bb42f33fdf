//! The node agent on a real node: kubelet, containerd and a registry do what they do in a cluster.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kruise_testbed::chart::{self, Apply};
use kruise_testbed::wait;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::fixtures::{Bench, PATIENCE, is_ready, with_agent};

/// A key of the template that a container reads as environment.
const KEY: &str = "example.com/config";

/// On requests that are not over.
const ACTIVE: &str = "crr.apps.kruise.io/active";

fn kind(version: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", version, kind))
}

fn container(pod: &Pod) -> &ContainerStatus {
    &pod.status.as_ref().unwrap().container_statuses.as_ref().unwrap()[0]
}

async fn create(api: &Api<DynamicObject>, object: Value) {
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

async fn until(api: &Api<DynamicObject>, name: &str, what: &str, ok: impl Fn(&Value) -> bool) -> Value {
    let params = ListParams::default().fields(&format!("metadata.name={name}"));
    let seen =
        wait::until_all_within(api, &params, what, PATIENCE, |all| all.iter().any(|one| ok(&one.data)));
    seen.await.unwrap_or_else(|error| panic!("{error}")).pop().unwrap().data
}

/// daemon, acceptance 1 and 8: the environment comes from an annotation, the image has no shell and no `env`. A change of the
/// template restarts the container once and completes; nobody plays the agent.
#[tokio::test]
async fn cm_9_environment_from_metadata_is_updated_in_place() {
    let Some(bench) = with_agent("agent-env").await else { return };
    let api: Api<DynamicObject> =
        Api::namespaced_with(bench.client.clone(), bench.namespace, &kind("v1beta1", "CloneSet"));
    let variable = json!({"name": "CONFIG", "valueFrom": {"fieldRef": {"fieldPath": format!("metadata.annotations['{KEY}']")}}});
    create(&api, json!({
        "apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "metadata": {"name": "web"},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}, "annotations": {KEY: "one"}},
                "spec": {"terminationGracePeriodSeconds": 1, "containers": [{"name": "main", "image": "nginx:1.22", "env": [variable]}]},
            },
            "updateStrategy": {"rollingUpdate": {"podUpdatePolicy": "InPlaceOnly"}},
        },
    }))
    .await;
    let before = one_pod(&bench, "a ready pod with a report", |pod| {
        is_ready(pod) && pod.annotations().contains_key("apps.kruise.io/runtime-containers-meta")
    })
    .await;

    let patch = json!({"spec": {"template": {"metadata": {"annotations": {KEY: "two"}}}}});
    api.patch("web", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();

    until(&api, "web", "the update to complete", |set| {
        set["status"]["updatedAvailableReplicas"] == 1 && set["status"]["observedGeneration"] == 2
    })
    .await;
    let after = one_pod(&bench, "the updated pod", is_ready).await;
    assert_eq!(after.uid(), before.uid());
    assert_ne!(container(&after).container_id, container(&before).container_id);
    assert_eq!(container(&after).restart_count, 1, "once, and not again");
}

async fn one_pod(bench: &Bench, what: &str, ok: impl Fn(&Pod) -> bool) -> Pod {
    let params = ListParams::default().labels("app=web");
    let pods = bench.pods();
    let seen =
        wait::until_all_within(&pods, &params, what, PATIENCE, |pods| matches!(pods, [pod] if ok(pod)));
    seen.await.unwrap_or_else(|error| panic!("{error}")).pop().unwrap()
}

/// CRR, acceptance 1: kubectl names a pod and a container, admission freezes which one is meant, the agent stops it, and the
/// manager tells the agent when the pod is ready with the next one.
#[tokio::test]
async fn cd_9_cr_7_request_of_kubectl_restarts_a_container() {
    let Some(bench) = with_agent("agent-recreate").await else { return };
    bench.run("web", "nginx:1.22", bench.node(1)).await;
    let before = bench.until_ready("web").await;
    let request = json!({
        "apiVersion": "apps.kruise.io/v1beta1", "kind": "ContainerRecreateRequest",
        "metadata": {"name": "restart", "namespace": bench.namespace},
        "spec": {"podName": "web", "containers": [{"name": "main"}]},
    });
    chart::apply_as(bench.cluster, &request.to_string(), Apply::Client).await.unwrap();

    let resource = kind("v1beta1", "ContainerRecreateRequest");
    let api: Api<DynamicObject> = Api::namespaced_with(bench.client.clone(), bench.namespace, &resource);
    // The last write: the manager takes the label off when the agent is done.
    let params = ListParams::default();
    let ended = wait::until_all_within(
        &api,
        &params,
        "the request to end",
        PATIENCE,
        |all| matches!(all, [one] if !one.labels().contains_key(ACTIVE)),
    );
    let ended = ended.await.unwrap_or_else(|error| panic!("{error}")).pop().unwrap();

    assert_eq!(ended.labels().get("crr.apps.kruise.io/pod-uid"), before.uid().as_ref());
    let frozen = json!({"containerID": container(&before).container_id, "restartCount": 0});
    assert_eq!(ended.data["spec"]["containers"][0]["statusContext"], frozen);
    assert_eq!(ended.data["spec"]["strategy"]["terminationGracePeriodSeconds"], 1, "the pod's");
    let after = bench.until_ready("web").await;
    assert_eq!(after.uid(), before.uid());
    assert_ne!(container(&after).container_id, container(&before).container_id);
    assert_eq!(container(&after).restart_count, 1, "once, and not again");
    let status = &ended.data["status"];
    assert_eq!((&status["phase"], &status["message"]), (&json!("Completed"), &Value::Null));
    let states = json!([{"name": "main", "phase": "Succeeded", "isKilled": true}]);
    assert_eq!(status["containerRecreateStates"], states);
    assert_eq!(status["containerStatusSnapshot"][0]["containerID"], json!(container(&after).container_id));
}

/// SidecarTerminator, acceptance 1 and 12: the main container ends, the agent stops the sidecar, and the pod succeeds. One whose sidecar
/// runs for ever and ignores being told succeeds because its exit code does not count.
#[tokio::test]
async fn st_14_job_ends_although_its_sidecar_would_not() {
    let Some(bench) = with_agent("agent-job").await else { return };
    let variable = |name: &str| json!({"name": name, "value": "true"});
    let by_agent = variable("KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT");
    let ignored = variable("KRUISE_TERMINATE_SIDECAR_IGNORE_EXIT_CODE");
    for (name, sidecar, env) in [
        ("stops", json!(["/bin/testapp", "serve", "8080"]), json!([by_agent])),
        ("hangs", json!(["/bin/testapp", "hang"]), json!([by_agent, ignored])),
    ] {
        let pod = json!({
            "metadata": {"name": name, "namespace": bench.namespace},
            "spec": {
                "nodeName": bench.node(1), "restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
                "containers": [
                    {"name": "main", "image": "nginx:1.22", "command": ["/bin/testapp", "sleep", "1"]},
                    {"name": "side", "image": "nginx:1.22", "command": sidecar, "env": env},
                ],
            },
        });
        bench.pods().create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    }
    for name in ["stops", "hangs"] {
        let params = ListParams::default().fields(&format!("metadata.name={name}"));
        let phase = |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.clone());
        let is_over =
            |pods: &[Pod]| pods.iter().any(|pod| phase(pod).is_some_and(|phase| phase == "Succeeded"));
        let pods = bench.pods();
        wait::until_all_within(&pods, &params, "the pod to succeed", PATIENCE, is_over)
            .await
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// images, acceptance 13, 20: a tag that the node does not have is pulled from the registry, and reported, through the job, the NodeImage
/// and the agent; one that does not exist fails.
#[tokio::test]
async fn np_5_pj_9_image_is_pulled_before_a_pod_needs_it() {
    let Some(bench) = with_agent("agent-pull").await else { return };
    let jobs: Api<DynamicObject> =
        Api::namespaced_with(bench.client.clone(), bench.namespace, &kind("v1beta1", "ImagePullJob"));
    for (name, image) in [("there", "nginx:1.27"), ("missing", "nginx:does-not-exist")] {
        let policy = json!({"type": "Always", "ttlSecondsAfterFinished": 300});
        create(
            &jobs,
            json!({
                "apiVersion": "apps.kruise.io/v1beta1", "kind": "ImagePullJob", "metadata": {"name": name},
                "spec": {
                    "image": image, "selector": {"names": [bench.node(1)]}, "completionPolicy": policy,
                    "pullPolicy": {"backoffLimit": 1, "timeoutSeconds": 60},
                },
            }),
        )
        .await;
    }

    until(&jobs, "there", "the image to be pulled", |job| job["status"]["succeeded"] == 1).await;
    let failed = until(&jobs, "missing", "the other job to fail", |job| job["status"]["failed"] == 1).await;
    assert_eq!(failed["status"]["failedNodes"], json!([bench.node(1)]));
    assert!(bench.cluster.registry().unwrap().pulls("nginx:1.27") >= 1);
    let nodes: Api<DynamicObject> = Api::all_with(bench.client.clone(), &kind("v1beta1", "NodeImage"));
    let reported = nodes.get(bench.node(1)).await.unwrap();
    let tags = reported.data["status"]["imageStatuses"]["nginx"]["tags"].as_array().unwrap();
    let pulled = tags.iter().find(|tag| tag["tag"] == "1.27").unwrap();
    assert!(pulled["imageID"].as_str().unwrap().starts_with("nginx@sha256:"), "{pulled}");
}
