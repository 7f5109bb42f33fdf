//! The node agent beside a test cluster, and what it reports about a pod, for tests that play it.

use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod};
use kruise_api::annotations::RUNTIME_CONTAINERS_META;
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::chart::{self, Chart};
use crate::node::RealNode;
use crate::{Cluster, TestbedError, cargo, manager};

/// Whom the chart's roles of the agent are for: what they do not grant fails the tests.
pub const USER: &str = "system:serviceaccount:kruise-system:kruise-daemon";

/// The templates that the agent's permissions need.
const ROLES: [&str; 2] = ["templates/namespace.yaml", "templates/daemon-rbac.yaml"];

/// Starts the agent of a real node, with the permissions of the chart; it ends with the cluster.
pub async fn start(cluster: &Cluster, node: &RealNode) -> Result<u32, TestbedError> {
    let chart = Chart::find().await?;
    for template in ROLES {
        let rendered = chart.rendered(&["--show-only", template]).await?;
        chart::apply(cluster, &rendered).await?;
    }
    let sockets = node.containerd_socket();
    let sockets = sockets.ancestors().nth(2).map(|dir| dir.display().to_string()).unwrap_or_default();
    let args = vec![
        format!("--kubeconfig={}", cluster.kubeconfig_of(USER)?.display()),
        format!("--node-name={}", node.name()),
        format!("--socket-dir={sockets}"),
        format!("--addr=127.0.0.1:{}", manager::free_port()?),
        "--v=4".to_owned(),
    ];
    cluster.spawn("kruise-daemon", cargo::program("kruise-daemon")?, args)
}

/// The patch that the daemon makes once the containers run with the pod's present metadata (shared machinery,
/// section 2, SM-33 to SM-35).
pub fn report(pod: &Pod) -> Value {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let metas: Vec<Value> = containers.filter_map(|container| meta(pod, container)).collect();
    let text = json!({"containers": metas}).to_string();
    json!({"metadata": {"annotations": {(RUNTIME_CONTAINERS_META): text}}})
}

fn status_of<'a>(pod: &'a Pod, container: &str) -> Option<&'a ContainerStatus> {
    pod.status.as_ref()?.container_statuses.as_ref()?.iter().find(|one| one.name == container)
}

/// Nothing for a container without a status: it has not run yet.
fn meta(pod: &Pod, container: &Container) -> Option<Value> {
    let status = status_of(pod, &container.name)?;
    let plain = json!({"image": container.image, "name": container.name}).to_string();
    Some(json!({
        "name": container.name,
        "containerID": status.container_id,
        "restartCount": status.restart_count,
        "hashes": {
            "plainHash": deep_hash(&plain),
            "extractedEnvFromMetadataHash": deep_hash(&environment(pod, container)),
        },
    }))
}

/// SM-34: the environment that comes from labels and annotations, with their present values.
fn environment(pod: &Pod, container: &Container) -> String {
    let mut found: Vec<(String, String)> = Vec::new();
    for variable in container.env.iter().flatten() {
        let field = variable.value_from.as_ref().and_then(|from| from.field_ref.as_ref());
        let Some(path) = field.map(|field| field.field_path.as_str()) else { continue };
        let key = |kind: &str| path.strip_prefix(kind)?.strip_suffix("']").map(str::to_owned);
        let value = match (key("metadata.labels['"), key("metadata.annotations['")) {
            (Some(key), _) => pod.labels().get(&key),
            (None, Some(key)) => pod.annotations().get(&key),
            (None, None) => continue,
        };
        found.push((variable.name.clone(), value.cloned().unwrap_or_default()));
    }
    if found.is_empty() {
        return "null".to_owned();
    }
    found.sort();
    let list = found.into_iter().map(|(name, value)| match value.as_str() {
        "" => json!({"name": name}),
        value => json!({"name": name, "value": value}),
    });
    list.collect::<Value>().to_string()
}

/// SM-33: FNV-1a over the bytes as Go prints them.
fn deep_hash(text: &str) -> u32 {
    let numbers: Vec<String> = text.bytes().map(|byte| byte.to_string()).collect();
    let printed = format!("([]uint8)[{}]", numbers.join(" "));
    printed.bytes().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[test]
fn sm_33_vectors_of_the_specification() {
    assert_eq!(deep_hash("null"), 86_995_377);
    assert_eq!(deep_hash(r#"{"image":"nginx","name":"nginx"}"#), 2_774_804_510);
}
