//! Claims that grow with their template during a rollout (AS-85 … AS-90), accepted or refused by the manager's webhook and
//! grown by the provisioner of the testbed.

use k8s_openapi::api::core::v1::Pod;
use kruise_testbed::provisioner::{FAST, FIXED, STANDARD};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::growth::{growing, image, template, templates, until_sizes, with_image};
use super::{Live, Sets, is_available, runs, statefulsets_with_all_gates, uids};
use crate::workload::web::rolling;

/// What a change is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Grows,
    Refused,
}

/// Whether the image changes with the claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    ImageAndClaims,
    ClaimsAlone,
}

/// Classes of the claims, the sizes that are asked for (all are 1Gi at first), and the answer.
type Row = (&'static str, &'static [(&'static str, &'static str)], Answer);

/// In the order of the scenarios 27, 29, … 39 and 42, 44, … 54 (each pair is one row for the two policies).
const ROWS: [Row; 7] = [
    ("one-grows", &[(STANDARD, "2Gi")], Answer::Grows),
    ("one-fixed", &[(FIXED, "2Gi")], Answer::Refused),
    ("two-grow", &[(STANDARD, "2Gi"), (FAST, "3Gi")], Answer::Grows),
    ("two-fixed", &[(FIXED, "2Gi"), (FIXED, "2Gi")], Answer::Refused),
    ("mixed-allowed", &[(FAST, "2Gi"), (FIXED, "1Gi")], Answer::Grows),
    ("mixed-forbidden", &[(FAST, "1Gi"), (FIXED, "2Gi")], Answer::Refused),
    ("mixed-both", &[(FAST, "2Gi"), (FIXED, "2Gi")], Answer::Refused),
];

async fn all_rows(name: &str, policy: &str, change: Change) {
    let sets = statefulsets_with_all_gates(name).await;
    let mut lives = Vec::new();
    for (set, claims, answer) in ROWS {
        let before: Vec<(&str, &str)> = claims.iter().map(|(class, _)| (*class, "1Gi")).collect();
        let replicas = if answer == Answer::Grows { 2 } else { 1 };
        lives.push(sets.create(growing(replicas, policy, &before).named(set)).await);
    }
    for (live, (_, claims, answer)) in lives.iter().zip(ROWS) {
        row(live, claims, answer, policy, change).await;
    }
}

async fn row(live: &Live, claims: &[(&str, &str)], answer: Answer, policy: &str, change: Change) {
    let replicas = if answer == Answer::Grows { 2 } else { 1 };
    let before = live.until_available(replicas).await;
    let mut wanted = templates(claims);
    if change == Change::ImageAndClaims {
        wanted = with_image(wanted, "nginx:1.26", claims.len());
    }
    let answered = live.try_change(wanted).await;

    if answer == Answer::Refused {
        let why = answered.unwrap_err();
        assert!(why.contains(r#"storage class "fixed" does not set allowVolumeExpansion"#), "{why}");
        let object = live.api.get(&live.name).await.unwrap();
        assert_eq!(object.metadata.generation, Some(1), "{}", live.name);
        assert_eq!(uids(&live.pods_now().await), uids(&before));
        return;
    }
    answered.unwrap();
    let (status, after) = live.until_updated(replicas).await;
    let sizes: Vec<&str> = claims.iter().flat_map(|(_, size)| [*size, *size]).collect();
    until_sizes(live, &sizes).await;
    match (change, policy) {
        (Change::ImageAndClaims, "ReCreate") => assert!(uids(&after).is_disjoint(&uids(&before))),
        _ => assert_eq!(uids(&after), uids(&before), "{}", live.name),
    }
    let expected = if change == Change::ImageAndClaims { "nginx:1.26" } else { "nginx:1.25" };
    assert!(after.iter().all(|pod| runs(pod, "main", expected)));
    assert_eq!(live.revisions_now().await.len(), if change == Change::ImageAndClaims { 2 } else { 1 });
    is_reported(live, &status, claims).await;
}

/// AS-87, AS-96: the status counts the claims, an event tells of each that grew, and who grew it is written on it.
async fn is_reported(live: &Live, status: &Value, claims: &[(&str, &str)]) {
    assert_eq!(status["volumeClaims"].as_array().unwrap().len(), claims.len());
    let is_settled = |now: &Value| {
        let rows = now["volumeClaims"].as_array().unwrap();
        rows.iter().all(|one| one["compatibleReplicas"] == 2 && one["compatibleReadyReplicas"] == 2)
    };
    live.until("the claims in the status", is_settled).await;
    live.until_told("SuccessfulResize").await;
    let ours = |claim: &&k8s_openapi::api::core::v1::PersistentVolumeClaim| {
        claim.labels().get("app") == Some(&live.name)
    };
    for claim in live.claims_now().await.iter().filter(ours) {
        let has_grown = claim.annotations().get("apps.kruise.io/owned-by-asts") == Some(&live.name);
        let is_fixed = claim.spec.as_ref().unwrap().storage_class_name.as_deref() == Some(FIXED);
        assert_eq!(has_grown, !is_fixed, "{}", claim.name_any());
    }
}

/// Scenarios 27, 29, 31, 33, 35, 37, 39.
#[tokio::test]
async fn scenario_27_to_39_image_and_claims_by_recreation() {
    all_rows("ss-scenario-27", "ReCreate", Change::ImageAndClaims).await;
}

/// Scenarios 28, 30, 32, 34, 36, 38, 40.
#[tokio::test]
async fn scenario_28_to_40_image_and_claims_in_place() {
    all_rows("ss-scenario-28", "InPlaceIfPossible", Change::ImageAndClaims).await;
}

/// Scenarios 42, 44, 46, 48, 50, 52, 54, AS-86, statefulset/B23: claims alone make no revision and restart nobody.
#[tokio::test]
async fn scenario_42_to_54_claims_alone_by_recreation() {
    all_rows("ss-scenario-42", "ReCreate", Change::ClaimsAlone).await;
}

/// Scenarios 43, 45, 47, 49, 51, 53, 55.
#[tokio::test]
async fn scenario_43_to_55_claims_alone_in_place() {
    all_rows("ss-scenario-43", "InPlaceIfPossible", Change::ClaimsAlone).await;
}

/// AS-86: growth alone follows the partition, too.
#[tokio::test]
async fn size_alone_follows_the_partition() {
    let sets = statefulsets_with_all_gates("ss-growth-partition").await;
    let web =
        sets.create(growing(3, "ReCreate", &[(STANDARD, "1Gi")]).rolling(&json!({"partition": 2}))).await;
    let before = web.until_available(3).await;

    web.change(template(STANDARD, "2Gi")).await;
    until_sizes(&web, &["1Gi", "1Gi", "2Gi"]).await;
    sets.quiet().await;
    until_sizes(&web, &["1Gi", "1Gi", "2Gi"]).await;

    web.change(rolling(&json!({"partition": 0}))).await;
    until_sizes(&web, &["2Gi", "2Gi", "2Gi"]).await;
    assert_eq!(uids(&web.pods_now().await), uids(&before));
}

/// Scenario 41: a marked pod is replaced meanwhile, and the partition keeps claims small.
#[tokio::test]
async fn scenario_41_specified_deletion_while_claims_grow() {
    let sets = statefulsets_with_all_gates("ss-scenario-41").await;
    let object = growing(4, "ReCreate", &[(STANDARD, "1Gi")]).parallel();
    let web = sets.create(object.rolling(&json!({"partition": 2}))).await;
    let before = web.until_available(4).await;
    web.change(with_image(template(STANDARD, "2Gi"), "nginx:1.26", 1)).await;
    web.label_pod("web-0", "apps.kruise.io/specified-delete", "true").await;

    let is_done = |pods: &[Pod]| {
        pods.len() == 4
            && pods.iter().all(is_available)
            && uids(pods).intersection(&uids(&before)).count() == 1
    };
    let after = web.until_active("three new pods", is_done).await;

    assert!(runs(&after[0], "main", "nginx:1.25") && runs(&after[3], "main", "nginx:1.26"));
    until_sizes(&web, &["1Gi", "1Gi", "2Gi", "2Gi"]).await;
}

/// One of three pods has the new image and a larger claim; two are kept by the partition.
async fn half_way(sets: &Sets) -> Live {
    let object = growing(3, "ReCreate", &[(STANDARD, "1Gi")]).parallel();
    let web = sets.create(object.rolling(&json!({"partition": 2}))).await;
    web.until_available(3).await;
    web.change(with_image(template(STANDARD, "2Gi"), "nginx:1.26", 1)).await;
    web.until("the partition", |status| status["updatedAvailableReplicas"] == 1).await;
    until_sizes(&web, &["1Gi", "1Gi", "2Gi"]).await;
    web
}

async fn all_run(web: &Live, image: &str) {
    let (_, after) = web.until_updated(3).await;
    assert!(after.iter().all(|pod| runs(pod, "main", image)));
}

fn open() -> Value {
    rolling(&json!({"partition": 0}))
}

/// Scenarios 56, 57: back with the image alone, which keeps the size; then all claims grow, and another image is rolled out.
#[tokio::test]
async fn scenario_56_57_back_with_the_image_then_grow_then_another_image() {
    let sets = statefulsets_with_all_gates("ss-scenario-56").await;
    let web = half_way(&sets).await;

    web.change(image("nginx:1.25", 1)).await;
    web.until("the old image", |status| status["updatedAvailableReplicas"] == 3).await;
    until_sizes(&web, &["1Gi", "1Gi", "2Gi"]).await;
    let before = web.until_available(3).await;
    web.change(open()).await;
    until_sizes(&web, &["2Gi", "2Gi", "2Gi"]).await;
    all_run(&web, "nginx:1.25").await;
    assert_eq!(uids(&web.pods_now().await), uids(&before), "claims alone restart nobody");

    web.change(image("nginx:1.27", 1)).await;
    all_run(&web, "nginx:1.27").await;
    until_sizes(&web, &["2Gi", "2Gi", "2Gi"]).await;
}

/// Scenarios 58, 59, AS-89, AS-90: back with image and size, with either strategy: larger claims stay, none grows or shrinks.
#[tokio::test]
async fn scenario_58_59_back_with_image_and_size() {
    for strategy in ["OnPodRollingUpdate", "OnDelete"] {
        let sets = statefulsets_with_all_gates(&format!("ss-scenario-58-{}", strategy.to_lowercase())).await;
        let web = half_way(&sets).await;

        let mut back = with_image(template(STANDARD, "1Gi"), "nginx:1.25", 1);
        back["volumeClaimUpdateStrategy"] = json!({"type": strategy});
        web.change(back).await;
        web.change(open()).await;

        all_run(&web, "nginx:1.25").await;
        sets.quiet().await;
        until_sizes(&web, &["1Gi", "1Gi", "2Gi"]).await;
    }
}
