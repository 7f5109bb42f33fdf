//! Objects that annotations ask for, and their records, on the shared cluster.

use kruise_testbed::{scratch, scratch_with_all_gates};
use serde_json::{Value, json};

use super::{States, labels, nodes, owned_by, records};

const ENABLED: &str = "kruise.io/auto-generate-persistent-pod-state";
const REQUIRED: &str = "kruise.io/required-persistent-topology";
const PREFERRED: &str = "kruise.io/preferred-persistent-topology";

fn wishes() -> Value {
    json!({(ENABLED): "true", (REQUIRED): "kubernetes.io/os", (PREFERRED): "kubernetes.io/hostname"})
}

const FIVE: [&str; 5] = ["web-0", "web-1", "web-2", "web-3", "web-4"];

/// 8.1, scenarios 1 and 3: PP-4, PP-9, PP-12, PP-26, PP-28, persistentpodstate/D8, persistentpodstate/D17.
#[tokio::test]
async fn scenario_1_object_follows_the_annotations_of_its_workload() {
    let test = scratch("pps-generated").await.unwrap();
    let states = States::new(test.client.clone(), &test.namespace);
    let set = states.set("apps", "v1", wishes(), json!({"replicas": 5})).await;

    let first = states.until_remembered(&FIVE).await;
    let object = states.api.get("web").await.unwrap();
    assert_eq!(owned_by(&object), Some("apps/v1"));
    assert_eq!(labels(&object), [2; 5]);
    let running = nodes(&states.until_ready(5).await);
    for (pod, record) in &first {
        assert_eq!(record["nodeName"], running[pod]);
    }

    set.scale(1).await;
    states.until_remembered(&["web-0"]).await;
    set.scale(5).await;
    let second = states.until_remembered(&FIVE).await;
    assert_eq!(second["web-0"], first["web-0"]);

    set.annotate(ENABLED, Value::Null).await;
    states.until_gone("web").await;
    set.annotate(ENABLED, json!("true")).await;
    assert_eq!(states.until_remembered(&FIVE).await, second);

    set.annotate(REQUIRED, Value::Null).await;
    states.until("web", "one label per record", |now| labels(now) == [1; 5]).await;

    states.change("web", json!({"spec": {"persistentPodStateRetentionPolicy": "WhenDeleted"}})).await;
    set.scale(1).await;
    states.until_ready(1).await;
    set.annotate(REQUIRED, json!("kubernetes.io/os")).await;
    let kept = states
        .until("web", "the required key again", |now| {
            now.data.pointer("/spec/requiredPersistentTopology").is_some()
                && now.data.pointer("/status/observedGeneration").and_then(Value::as_i64)
                    == now.metadata.generation
        })
        .await;
    assert_eq!(records(&kept).keys().collect::<Vec<_>>(), FIVE);
    assert_eq!(kept.data["spec"]["persistentPodStateRetentionPolicy"], "WhenDeleted");

    set.delete().await;
    states.until_gone("web").await;
}

/// 8.2: PP-13, persistentpodstate/D1 with both kinds: a pod whose ordinal is not below the replicas is remembered when it is
/// deleted, too; reserved ordinals are forgotten.
#[tokio::test]
async fn start_ordinals_are_remembered() {
    for (group, version) in [("apps", "v1"), ("apps.kruise.io", "v1beta1")] {
        let test = scratch_with_all_gates("pps-ordinals").await.unwrap();
        let states = States::new(test.client.clone(), &test.namespace);
        let spec = json!({"replicas": 3, "ordinals": {"start": 5}});
        let set = states.set(group, version, wishes(), spec).await;
        let before = states.until_remembered(&["web-5", "web-6", "web-7"]).await;
        assert_eq!(before.len(), 3, "{group}");

        states.replace("web-7", 3).await;
        states.until_remembered(&["web-5", "web-6", "web-7"]).await;

        if group == "apps.kruise.io" {
            set.change(json!({"spec": {"reserveOrdinals": ["6-6"]}})).await;
            states.until_remembered(&["web-5", "web-7", "web-8"]).await;
        }
    }
}

/// 8.2: persistentpodstate/D7: an object made by hand with the workload's name is nobody's to change or delete. PP-7: it
/// outlives its workload, empty.
#[tokio::test]
async fn object_made_by_hand_stays() {
    let test = scratch("pps-by-hand").await.unwrap();
    let states = States::new(test.client.clone(), &test.namespace);
    let spec = json!({
        "targetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"},
        "preferredPersistentTopology": [{"weight": 7, "preference": {"keys": ["kubernetes.io/hostname"]}}],
    });
    let made = states.create(&states.api, "web", spec).await.unwrap();
    let set = states.set("apps", "v1", wishes(), json!({"replicas": 2})).await;
    states.until_remembered(&["web-0", "web-1"]).await;

    set.annotate(ENABLED, Value::Null).await;
    set.annotate(ENABLED, json!("true")).await;
    set.scale(1).await;
    states.until_remembered(&["web-0"]).await;
    set.delete().await;

    let left = states.until("web", "no records", |object| records(object).is_empty()).await;
    assert_eq!(
        (left.metadata.uid.as_ref(), &left.data["spec"]),
        (made.metadata.uid.as_ref(), &made.data["spec"])
    );
}
