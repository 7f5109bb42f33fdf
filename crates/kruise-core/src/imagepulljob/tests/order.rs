//! PJ-5, images/3: nodes are asked in the order in which the workload updates its pods.

use serde_json::{Value, json};

use super::with;
use crate::chain::Purpose;
use crate::fixtures::images::{Cluster, cluster};
use crate::fixtures::pod;

fn on(name: &str, node: &str, priority: &str) -> Value {
    let mut one = pod(name).label("app", "x").label("p", priority).node(node).running().0;
    one["kind"] = json!("Pod");
    one["metadata"]["namespace"] = json!("n");
    one
}

fn workload(kind: &str, rolling: &Value) -> Value {
    let template = json!({"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "main", "image": "x"}]}});
    json!({
        "apiVersion": "apps.kruise.io/v1beta1", "kind": kind, "metadata": {"name": "w", "namespace": "n", "uid": "w-uid"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "x"}}, "template": template, "updateStrategy": {"rollingUpdate": rolling}},
    })
}

/// Nodes in the order of their chains.
fn order(cluster: &Cluster) -> Vec<String> {
    let plan = cluster.plan_job("j");
    let asked = plan.chains.iter().filter(|chain| chain.purpose == Purpose::PreDownload);
    asked.map(|chain| chain.item.as_ref().unwrap().name().to_owned()).collect()
}

fn owned() -> Value {
    let mut job = with(&json!({"parallelism": 9, "podSelector": {"matchLabels": {"app": "x"}}}));
    job["metadata"]["ownerReferences"] = json!([{"uid": "w-uid", "controller": true}]);
    job
}

#[test]
fn pj_5_images_3_nodes_of_a_cloneset_follow_its_priority() {
    let rolling = json!({"priorityStrategy": {"orderPriority": [{"orderedKey": "p"}]}});
    let cluster = cluster(&["a", "b", "c"])
        .with(&workload("CloneSet", &rolling))
        .with(&on("w-1", "a", "1"))
        .with(&on("w-2", "b", "3"))
        .with(&on("w-3", "c", "2"))
        .with(&owned());
    assert_eq!(order(&cluster), ["b", "c", "a"]);
}

#[test]
fn pj_5_images_3_nodes_of_a_statefulset_begin_with_the_highest_ordinal() {
    let cluster = cluster(&["a", "b", "c"])
        .with(&workload("StatefulSet", &json!({})))
        .with(&on("w-2", "a", "1"))
        .with(&on("w-10", "b", "1"))
        .with(&on("w-3", "c", "1"))
        .with(&on("w-4", "c", "1"))
        .with(&owned());
    assert_eq!(order(&cluster), ["b", "c", "a"]);
}
