//! An object that selects pods and the workload whose pods it selects, at once: the API server asks about every one of these pods. In a
//! cluster of its own, because webhooks are called and the audit log says by whom.

use std::collections::BTreeSet;

use futures::future::join_all;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{Namespace, Pod, ServiceAccount};
use kruise_testbed::{Cluster, Options, crds, manager};
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

/// As many as the acceptance asks for; some at once, so that one write has to do for several of them.
const BURSTS: usize = 10;
const AT_ONCE: usize = 10;
const PODS: usize = 2;

async fn world() -> (Cluster, Client) {
    let cluster = Cluster::start(Options { audit: true, ..Options::default() }).await.unwrap();
    let client = cluster.client();
    crds::install(&client).await.unwrap();
    let program = manager::program().unwrap();
    manager::start_called(&cluster, &program, &[]).await.unwrap();
    (cluster, client)
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn states(client: &Client, namespace: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("apps.kruise.io", "v1beta1", "PersistentPodState");
    Api::namespaced_with(client.clone(), namespace, &ApiResource::from_gvk(&kind))
}

fn state() -> DynamicObject {
    read(json!({
        "apiVersion": "apps.kruise.io/v1beta1", "kind": "PersistentPodState", "metadata": {"name": "db"},
        "spec": {
            "targetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"},
            "requiredPersistentTopology": {"keys": ["kubernetes.io/hostname"]},
        },
    }))
}

/// Requests without a pause: the namespace, the object, the workload, and its pods, which the controller of the workload would be slower
/// to create. What a namespace needs before it takes pods is made here, too: waiting for it would hide a late selection.
async fn burst(client: &Client, namespace: &str) {
    let params = PostParams::default();
    let all: Api<Namespace> = Api::all(client.clone());
    all.create(&params, &read(json!({"metadata": {"name": namespace}}))).await.unwrap();
    let account = read(json!({"metadata": {"name": "default"}}));
    // Somebody else may have made it already.
    let _ = Api::<ServiceAccount>::namespaced(client.clone(), namespace).create(&params, &account).await;
    let containers = json!([{"name": "main", "image": "nginx:1"}]);
    let set = json!({"metadata": {"name": "db"}, "spec": {
        "replicas": 0, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
        "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": containers}},
    }});
    let sets: Api<StatefulSet> = Api::namespaced(client.clone(), namespace);
    let set = sets.create(&params, &read(set)).await.unwrap();
    let owner = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": set.metadata.uid, "controller": true});
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);

    states(client, namespace).create(&params, &state()).await.unwrap();
    for i in 0..PODS {
        let metadata = json!({"name": format!("pod-{i}"), "ownerReferences": [owner]});
        let pod = json!({"metadata": metadata, "spec": {"containers": containers}});
        pods.create(&params, &read(pod)).await.unwrap();
    }
}

/// Namespace of each new pod, and whether the pod webhook was asked about it, as the API server noted.
fn created_pods(log: &str) -> Vec<(String, bool)> {
    let events = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let created = events.filter(|event| {
        event["verb"] == "create"
            && event["objectRef"]["resource"] == "pods"
            && event["objectRef"]["subresource"].is_null()
            && event["responseStatus"]["code"] == 201
            && !event["requestURI"].as_str().unwrap_or_default().contains("dryRun")
    });
    created
        .map(|event| {
            let namespace = event["objectRef"]["namespace"].as_str().unwrap_or_default().to_owned();
            (namespace, event["annotations"].to_string().contains("mpod.kb.io"))
        })
        .collect()
}

/// 16.1: selected before the object is let in. What is only tried selects nothing.
#[tokio::test]
async fn no_pod_is_missed_when_object_and_workload_come_at_once() {
    let (cluster, client) = world().await;
    let tried = PostParams { dry_run: true, ..PostParams::default() };
    states(&client, "default").create(&tried, &state()).await.unwrap();

    for round in 0..BURSTS {
        let names: Vec<String> = (0..AT_ONCE).map(|i| format!("burst-{round}-{i}")).collect();
        join_all(names.iter().map(|name| burst(&client, name))).await;
    }

    let wanted = BURSTS * AT_ONCE * PODS;
    let log = std::fs::read_to_string(cluster.audit_log()).unwrap();
    let all = created_pods(&log);
    assert_eq!(all.len(), wanted);
    let missed: BTreeSet<&str> =
        all.iter().filter(|(_, asked)| !asked).map(|(namespace, _)| namespace.as_str()).collect();
    assert!(missed.is_empty(), "pods that nobody was asked about, in {missed:?}");
    assert!(!log.contains("default/StatefulSet/db"));
    let other = json!({"metadata": {"name": "other"}, "spec": {"containers": [{"name": "main", "image": "nginx:1"}]}});
    Api::<Pod>::namespaced(client, "default").create(&PostParams::default(), &read(other)).await.unwrap();
    let later = std::fs::read_to_string(cluster.audit_log()).unwrap();
    let unrelated = created_pods(&later).into_iter().find(|(namespace, _)| namespace == "default");
    assert_eq!(
        unrelated,
        Some(("default".to_owned(), false)),
        "a pod that nothing selects is not asked about"
    );
}
