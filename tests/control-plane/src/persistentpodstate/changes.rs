//! What changes records and what does not: updates in place, the manager's absence, odd keys, two workloads of one name.

use kruise_testbed::{scratch, scratch_with_all_gates, scratch_without_manager, wait};
use kube::api::ListParams;
use serde_json::{Value, json};

use super::{States, labels, owned_by, records};
use crate::workload::crash::own;

fn wishes() -> Value {
    json!({
        "kruise.io/auto-generate-persistent-pod-state": "true", "kruise.io/required-persistent-topology": "kubernetes.io/os",
    })
}

/// 8.2, PP-25: a new image and a new size in place change neither pods' places nor records.
#[tokio::test]
async fn update_in_place_changes_no_record() {
    let test = scratch_with_all_gates("pps-in-place").await.unwrap();
    let states = States::new(test.client.clone(), &test.namespace);
    let template = |image: &str, cpu: &str| {
        let resources = json!({"requests": {"cpu": cpu}, "limits": {"cpu": "4"}});
        json!({
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "terminationGracePeriodSeconds": 0, "readinessGates": [{"conditionType": "InPlaceUpdateReady"}],
                "containers": [{"name": "main", "image": image, "resources": resources}],
            },
        })
    };
    let strategy =
        json!({"type": "RollingUpdate", "rollingUpdate": {"podUpdatePolicy": "InPlaceIfPossible"}});
    let spec = json!({"replicas": 2, "template": template("nginx:1.25", "1"), "updateStrategy": strategy});
    let set = states.set("apps.kruise.io", "v1beta1", wishes(), spec).await;
    states.until_remembered(&["web-0", "web-1"]).await;
    let before = states.api.get("web").await.unwrap();

    set.change(json!({"spec": {"template": template("nginx:1.26", "2")}})).await;

    let name = ListParams::default().fields("metadata.name=web");
    let is_done = |all: &[kube::api::DynamicObject]| {
        let status = &all[0].data["status"];
        status["updatedAvailableReplicas"] == 2
            && status["currentRevision"] == status["updateRevision"]
            && status["observedGeneration"].as_i64() == all[0].metadata.generation
    };
    wait::until_all(&set.0, &name, "the update", is_done).await.unwrap();
    let after = states.api.get("web").await.unwrap();
    assert_eq!(after.metadata.resource_version, before.metadata.resource_version, "no write at all");
}

/// 8.2: annotations removed and a workload deleted while the manager is down: both are noticed after its start (D8).
#[tokio::test]
async fn persistentpodstate_d8_what_happened_while_the_manager_was_down() {
    let test = scratch_without_manager("pps-down").await.unwrap();
    let states = States::new(test.client.clone(), &test.namespace);
    let manager = own(&test, &[]);
    manager.start().unwrap();
    let set = states.set("apps", "v1", wishes(), json!({"replicas": 1})).await;
    let by_hand = json!({
        "targetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"},
        "requiredPersistentTopology": {"keys": ["kubernetes.io/os"]},
    });
    states.until_remembered(&["web-0"]).await;

    manager.kill().unwrap();
    set.annotate("kruise.io/auto-generate-persistent-pod-state", Value::Null).await;
    manager.start().unwrap();
    states.until_gone("web").await;
    states.create(&states.api, "web", by_hand).await.unwrap();
    states.until_remembered(&["web-0"]).await;

    manager.kill().unwrap();
    set.delete().await;
    wait::until_all(&set.0, &ListParams::default(), "no set", <[_]>::is_empty).await.unwrap();
    manager.start().unwrap();
    let left = states.until("web", "no records", |object| records(object).is_empty()).await;
    assert_eq!(owned_by(&left), None, "made by hand, it stays");
    manager.kill().unwrap();
}

/// 8.2: a key that no node has and an empty list are no trouble; both StatefulSets of one name have pods of one name, so only the
/// first of them runs here: the object belongs to it, and the other one neither takes nor changes it (D7).
#[tokio::test]
async fn persistentpodstate_d7_odd_keys_and_two_workloads_of_one_name() {
    let test = scratch("pps-odd").await.unwrap();
    let states = States::new(test.client.clone(), &test.namespace);
    states.set("apps", "v1", wishes(), json!({"replicas": 1})).await;
    states.until_remembered(&["web-0"]).await;
    let other = json!({"replicas": 0, "selector": {"matchLabels": {"app": "other"}}, "template": {
        "metadata": {"labels": {"app": "other"}}, "spec": {"containers": [{"name": "main", "image": "nginx:1.25"}]},
    }});
    let mut more = wishes();
    more["kruise.io/required-persistent-topology"] = json!("example.com/rack");
    let second = states.set("apps.kruise.io", "v1beta1", more, other).await;
    second.annotate("example.com/touched", json!("yes")).await;

    let absent = json!({
        "requiredPersistentTopology": {"keys": ["example.com/nowhere", "kubernetes.io/os"]},
        "preferredPersistentTopology": [{"weight": 1, "preference": {"keys": []}}],
    });
    states.change("web", json!({"metadata": {"ownerReferences": null}, "spec": absent})).await;
    let is_seen = |object: &kube::api::DynamicObject| {
        object.data.pointer("/status/observedGeneration").and_then(Value::as_i64)
            == object.metadata.generation
    };
    let object = states.until("web", "the new keys", is_seen).await;
    assert_eq!(labels(&object), [1], "only what the node has");
    assert_eq!(object.data["spec"]["targetRef"]["apiVersion"], "apps/v1");
}
