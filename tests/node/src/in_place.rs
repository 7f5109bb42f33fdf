//! The kubelet restarts a container in place when its image changes: what all of in-place update rests on.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::api::{LogParams, Patch, PatchParams};
use serde_json::json;

use crate::fixtures::{bench, is_ready};

fn container(pod: &Pod) -> &ContainerStatus {
    &pod.status.as_ref().unwrap().container_statuses.as_ref().unwrap()[0]
}

#[tokio::test]
async fn changed_image_gives_a_new_container_in_the_same_pod() {
    let Some(bench) = bench("in-place").await else {
        return;
    };
    bench.run("web", "nginx:1.14.2", bench.node(1)).await;
    let before = bench.until_ready("web").await;
    let log = bench.pods().logs("web", &LogParams::default()).await.unwrap();
    assert!(log.contains("serving version 1.14.2"), "{log}");

    let patch = json!({"spec": {"containers": [{"name": "main", "image": "nginx:1.15.1"}]}});
    bench.pods().patch("web", &PatchParams::default(), &Patch::Strategic(patch)).await.unwrap();

    let what = "pod web to run its new image";
    let after = bench.until("web", what, |pod| is_ready(pod) && container(pod).restart_count == 1).await;
    assert_eq!(after.metadata.uid, before.metadata.uid);
    assert_ne!(container(&after).container_id, container(&before).container_id);
    assert_ne!(container(&after).image_id, container(&before).image_id);
    let new_log = bench.pods().logs("web", &LogParams::default()).await.unwrap();
    assert!(new_log.contains("serving version 1.15.1"), "{new_log}");
}

#[tokio::test]
async fn command_runs_inside_a_container() {
    let Some(bench) = bench("exec").await else { return };
    bench.run("web", "nginx:1.22", bench.node(2)).await;
    bench.until_ready("web").await;

    let output = tokio::process::Command::new(bench.cluster.kubectl())
        .arg("--kubeconfig")
        .arg(bench.cluster.kubeconfig())
        .arg("--cache-dir")
        .arg(bench.cluster.dir().join("kubectl-cache"))
        .args(["exec", "--namespace", bench.namespace, "web", "--", "/bin/testapp", "exists", "/etc/passwd"])
        .output()
        .await
        .unwrap();

    assert!(output.status.success(), "{output:?}");
}
