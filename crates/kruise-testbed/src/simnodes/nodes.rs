//! Node objects and their heartbeats.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use futures::{StreamExt, stream};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::Controls;
use crate::TestbedError;
use crate::components::KUBERNETES;

/// Marks our nodes, so that a restart of the agent finds them and selectors can tell them from real ones.
const MARK: (&str, &str) = ("kruise-testbed/simulated", "true");

/// As a kubelet does; the controller manager gives up after 40 s without one.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Requests in flight while registering or beating for hundreds of nodes.
const AT_ONCE: usize = 16;

/// Creates the nodes that do not exist yet.
pub async fn register(client: &Client, names: &[String]) -> Result<(), TestbedError> {
    let api: Api<Node> = Api::all(client.clone());
    let mut results = stream::iter(names.iter().enumerate())
        .map(|(number, name)| create(&api, number, name))
        .buffer_unordered(AT_ONCE);
    while let Some(result) = results.next().await {
        result?;
    }
    beat(client, names).await
}

/// Renews leases, and sets nodes back to Ready that were marked otherwise while no agent ran.
pub async fn keep_alive(client: Client, names: Vec<String>, controls: Arc<Controls>) {
    loop {
        let knobs = controls.knobs();
        let alive: Vec<String> = names.iter().filter(|name| !knobs.is_gone(name)).cloned().collect();
        if let Err(error) = beat(&client, &alive).await {
            tracing::warn!(%error, "lease not renewed; tried again with the next heartbeat");
        }
        repair(&client, &alive).await;
        tokio::time::sleep(HEARTBEAT).await;
    }
}

async fn create(api: &Api<Node>, number: usize, name: &str) -> Result<(), TestbedError> {
    let node: Node =
        serde_json::from_value(node(number, name)).map_err(|error| TestbedError::Unfit(error.to_string()))?;
    match api.create(&PostParams::default(), &node).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(TestbedError::api(format!("node {name}"))(error)),
    }
}

fn node(number: usize, name: &str) -> Value {
    let resources = json!({"cpu": "64", "memory": "512Gi", "pods": "1000", "ephemeral-storage": "1Ti"});
    json!({
        "metadata": {"name": name, "labels": {
            (MARK.0): MARK.1,
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "topology.kubernetes.io/zone": format!("zone-{}", number % 3),
        }},
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [ready(Timestamp::now())],
            "addresses": [{"type": "Hostname", "address": name}],
            "nodeInfo": {
                "kubeletVersion": format!("v{KUBERNETES}"), "operatingSystem": "linux", "architecture": "amd64",
                "machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "", "osImage": "simulated",
                "containerRuntimeVersion": "containerd://simulated", "kubeProxyVersion": "",
            },
        },
    })
}

fn ready(now: Timestamp) -> Value {
    json!({"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now, "lastTransitionTime": now})
}

/// Renews all leases; the last refusal, if any, is returned after all were tried.
async fn beat(client: &Client, names: &[String]) -> Result<(), TestbedError> {
    let api: Api<Lease> = Api::namespaced(client.clone(), "kube-node-lease");
    let mut outcome = Ok(());
    for some in names.chunks(AT_ONCE) {
        let results = join_all(some.iter().map(|name| renew(&api, name))).await;
        outcome = results.into_iter().fold(outcome, Result::and);
    }
    outcome
}

async fn renew(api: &Api<Lease>, name: &str) -> Result<(), TestbedError> {
    // The API's micro time takes exactly six digits.
    let now = format!("{:.6}", Timestamp::now());
    let patch = Patch::Apply(json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now},
    }));
    let renewed = api.patch(name, &PatchParams::apply(super::USER_AGENT).force(), &patch).await;
    renewed.map(drop).map_err(TestbedError::api(format!("the lease of node {name}")))
}

async fn repair(client: &Client, names: &[String]) {
    let api: Api<Node> = Api::all(client.clone());
    let ours = ListParams::default().labels(&format!("{}={}", MARK.0, MARK.1));
    let nodes = match api.list(&ours).await {
        Ok(nodes) => nodes,
        Err(error) => {
            tracing::warn!(%error, "nodes not listed; tried again with the next heartbeat");
            return;
        }
    };
    for node in nodes.items.iter().filter(|node| names.contains(&node.name_any()) && !is_ready(node)) {
        let patch = Patch::Strategic(json!({"status": {"conditions": [ready(Timestamp::now())]}}));
        if let Err(error) = api.patch_status(&node.name_any(), &PatchParams::default(), &patch).await {
            tracing::warn!(node = node.name_any(), %error, "node not set back to Ready");
        }
    }
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}
