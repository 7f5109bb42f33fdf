//! Claims that grow with their template during a rollout (AS-85 … AS-90).

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kruise_testbed::{provisioner, wait};
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::{Value, json};

use super::{Live, Web, is_available, runs, statefulsets_with_all_gates, uids, web};
use crate::workload::web::{containers, rolling};

fn template(class: &str, size: &str) -> Value {
    json!({"volumeClaimTemplates": [{
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": class, "resources": {"requests": {"storage": size}}},
    }]})
}

fn image(image: &str) -> Value {
    containers(
        &json!([{"name": "main", "image": image, "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]),
    )
}

fn growing(replicas: u32, policy: &str) -> Web {
    web(replicas)
        .policy(policy)
        .claims("1Gi")
        .spec(template(provisioner::STANDARD, "1Gi"))
        .spec(json!({"volumeClaimUpdateStrategy": {"type": "OnPodRollingUpdate"}}))
}

fn capacity(claim: &PersistentVolumeClaim) -> &str {
    claim
        .status
        .as_ref()
        .and_then(|status| status.capacity.as_ref()?.get("storage"))
        .map_or("", |size| size.0.as_str())
}

async fn until_sizes(web: &Live, expected: &[&str]) {
    let is_so = |all: &[PersistentVolumeClaim]| all.iter().map(capacity).eq(expected.iter().copied());
    wait::until_all(&web.claims, &ListParams::default(), &format!("sizes {expected:?}"), is_so)
        .await
        .unwrap();
}

async fn image_and_size(
    name: &str,
    policy: &str,
) -> (Vec<k8s_openapi::api::core::v1::Pod>, Vec<k8s_openapi::api::core::v1::Pod>) {
    let sets = statefulsets_with_all_gates(name).await;
    let web = sets.create(growing(2, policy)).await;
    let before = web.until_available(2).await;

    web.change(image("nginx:1.26")).await;
    let mut both = template(provisioner::STANDARD, "2Gi");
    both["template"] = image("nginx:1.27")["template"].clone();
    web.change(both).await;

    let (_, after) = web.until_updated(2).await;
    assert!(after.iter().all(|pod| runs(pod, "main", "nginx:1.27")));
    until_sizes(&web, &["2Gi", "2Gi"]).await;
    let settled = |seen: &Value| {
        seen["volumeClaims"]
            == json!([{"volumeClaimName": "data", "compatibleReplicas": 2, "compatibleReadyReplicas": 2}])
    };
    web.until("the claims in the status", settled).await;
    for claim in web.claims_now().await {
        assert_eq!(claim.annotations()["apps.kruise.io/owned-by-asts"], "web");
    }
    (before, after)
}

/// Scenario 27.
#[tokio::test]
async fn scenario_27_image_and_size_by_recreation() {
    let (before, after) = image_and_size("ss-scenario-27", "ReCreate").await;
    assert!(uids(&before).is_disjoint(&uids(&after)));
}

/// Scenario 28.
#[tokio::test]
async fn scenario_28_image_and_size_in_place() {
    let (before, after) = image_and_size("ss-scenario-28", "InPlaceIfPossible").await;
    assert_eq!(uids(&before), uids(&after));
}

/// Scenarios 42, 43, AS-86, statefulset/B23: a larger claim alone restarts nobody, and follows the partition.
#[tokio::test]
async fn scenario_42_size_alone_restarts_nobody() {
    let sets = statefulsets_with_all_gates("ss-scenario-42").await;
    let web = sets.create(growing(3, "ReCreate").rolling(&json!({"partition": 2}))).await;
    let before = web.until_available(3).await;

    web.change(template(provisioner::STANDARD, "2Gi")).await;
    until_sizes(&web, &["1Gi", "1Gi", "2Gi"]).await;
    sets.quiet().await;
    until_sizes(&web, &["1Gi", "1Gi", "2Gi"]).await;

    web.change(rolling(&json!({"partition": 0}))).await;
    until_sizes(&web, &["2Gi", "2Gi", "2Gi"]).await;
    assert_eq!(uids(&web.pods_now().await), uids(&before));
}

/// Scenarios 29, 37, AS-87: a class that cannot grow keeps its pods and says so. (Admission refuses the change; this is an
/// object that got past it.)
#[tokio::test]
async fn scenario_29_class_that_cannot_grow_touches_nobody() {
    let sets = statefulsets_with_all_gates("ss-scenario-29").await;
    let web = sets.create(growing(2, "ReCreate").spec(template(provisioner::FIXED, "1Gi"))).await;
    let before = web.until_available(2).await;
    let mut both = template(provisioner::FIXED, "2Gi");
    both["template"] = image("nginx:1.26")["template"].clone();

    web.change(both).await;

    web.until("the new revision", |status| status["updateRevision"] != status["currentRevision"]).await;
    sets.quiet().await;
    assert_eq!(uids(&web.pods_now().await), uids(&before));
    until_sizes(&web, &["1Gi", "1Gi"]).await;
}

/// Scenario 41: a marked pod is replaced meanwhile, and the partition keeps claims small.
#[tokio::test]
async fn scenario_41_specified_deletion_while_claims_grow() {
    let sets = statefulsets_with_all_gates("ss-scenario-41").await;
    let web = sets.create(growing(4, "ReCreate").parallel().rolling(&json!({"partition": 2}))).await;
    let before = web.until_available(4).await;
    let mut both = template(provisioner::STANDARD, "2Gi");
    both["template"] = image("nginx:1.26")["template"].clone();
    web.change(both).await;
    web.label_pod("web-0", "apps.kruise.io/specified-delete", "true").await;

    let is_done = |pods: &[k8s_openapi::api::core::v1::Pod]| {
        pods.len() == 4
            && pods.iter().all(is_available)
            && uids(pods).intersection(&uids(&before)).count() == 1
    };
    let after = web.until_active("three new pods", is_done).await;

    assert!(runs(&after[0], "main", "nginx:1.25") && runs(&after[3], "main", "nginx:1.26"));
    until_sizes(&web, &["1Gi", "1Gi", "2Gi", "2Gi"]).await;
}

/// Scenarios 56 to 59, AS-89, AS-90: going back with the image keeps larger claims; with OnDelete nothing grows any more.
#[tokio::test]
async fn scenario_56_59_going_back_keeps_larger_claims() {
    let sets = statefulsets_with_all_gates("ss-scenario-56").await;
    let web = sets.create(growing(3, "ReCreate").parallel().rolling(&json!({"partition": 2}))).await;
    web.until_available(3).await;
    let mut both = template(provisioner::STANDARD, "2Gi");
    both["template"] = image("nginx:1.26")["template"].clone();
    web.change(both).await;
    until_sizes(&web, &["1Gi", "1Gi", "2Gi"]).await;

    let mut back = template(provisioner::STANDARD, "1Gi");
    back["template"] = image("nginx:1.25")["template"].clone();
    back["volumeClaimUpdateStrategy"] = json!({"type": "OnDelete"});
    back["updateStrategy"] = json!({"rollingUpdate": {"partition": 0}});
    web.change(back).await;

    let (_, after) = web.until_updated(3).await;
    assert!(after.iter().all(|pod| runs(pod, "main", "nginx:1.25")));
    until_sizes(&web, &["1Gi", "1Gi", "2Gi"]).await;
}
