//! Pods with claims of their own (CS-60 … CS-64).

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kruise_testbed::wait;
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams, PropagationPolicy};
use serde_json::json;

use super::{Live, clonesets, clonesets_with_all_gates, is_available, names, runs, uids, web};
use crate::workload::web::{claims, containers};

fn claim_uids(claims: &[PersistentVolumeClaim]) -> BTreeSet<String> {
    claims.iter().map(|claim| claim.uid().unwrap()).collect()
}

/// A change of the image that keeps the mount of the claim.
fn image(image: &str) -> serde_json::Value {
    let mounts = json!([{"name": "data", "mountPath": "/data"}]);
    containers(&json!([{"name": "main", "image": image, "volumeMounts": mounts}]))
}

/// Waits until these are exactly the claims that stay.
async fn until_claims(live: &Live, what: &str, ok: impl Fn(&[PersistentVolumeClaim]) -> bool) {
    let staying = |all: &[PersistentVolumeClaim]| -> Vec<_> {
        all.iter().filter(|claim| claim.metadata.deletion_timestamp.is_none()).cloned().collect()
    };
    wait::until_all(&live.claims, &ListParams::default(), what, |all| ok(&staying(all))).await.unwrap();
}

fn size(claim: &PersistentVolumeClaim) -> String {
    let resources = claim.spec.as_ref().unwrap().resources.as_ref().unwrap();
    resources.requests.as_ref().unwrap()["storage"].0.clone()
}

/// CS-61, B8: what was deleted by hand comes back under its name, with its volumes.
#[tokio::test]
async fn scenario_17_claims_are_reused() {
    let sets = clonesets("scenario-17-on").await;
    let web =
        sets.create(web(2).claims("1Gi").spec(json!({"scaleStrategy": {"enablePVCReuse": true}}))).await;
    let before = web.until_available(2).await;
    let claims = web.claims_now().await;
    assert_eq!(claims.len(), 2);
    let lost = names(&before).pop_first().unwrap();

    web.delete_pod(&lost).await;

    let anew = |pods: &[Pod]| pods.len() == 2 && uids(pods) != uids(&before) && pods.iter().all(is_available);
    let after = web.until_active("it to be back", anew).await;
    assert_eq!(names(&after), names(&before));
    assert_eq!(claim_uids(&web.claims_now().await), claim_uids(&claims));
}

/// CS-60: without reuse the claims go with their pod, and the new pod gets new ones.
#[tokio::test]
async fn scenario_17_claims_are_not_reused() {
    let sets = clonesets("scenario-17-off").await;
    let web = sets.create(web(2).claims("1Gi")).await;
    let before = web.until_available(2).await;
    let claims = web.claims_now().await;
    let lost = names(&before).pop_first().unwrap();

    web.delete_pod(&lost).await;

    let anew =
        |pods: &[Pod]| pods.len() == 2 && !names(pods).contains(&lost) && pods.iter().all(is_available);
    web.until_active("another pod", anew).await;
    let kept = |all: &[PersistentVolumeClaim]| claim_uids(all).intersection(&claim_uids(&claims)).count();
    until_claims(&web, "one old claim and one new one", |all| all.len() == 2 && kept(all) == 1).await;
}

/// CS-64, SM-12, SM-13 with the gate: other claims need other pods.
#[tokio::test]
async fn scenario_19_changed_claims_recreate_pods_with_their_image() {
    let sets = clonesets_with_all_gates("scenario-19").await;
    let web = sets.create(web(2).claims("1Gi")).await;
    let before = web.until_available(2).await;

    web.change(claims("2Gi")).await;
    web.change(image("nginx:1.26")).await;

    let (_, after) = web.until_updated(2).await;
    assert!(uids(&after).is_disjoint(&uids(&before)));
    until_claims(&web, "two larger claims", |all| all.len() == 2 && all.iter().all(|one| size(one) == "2Gi"))
        .await;
}

/// CS-11, CS-64: claims alone update nothing; the next template takes them along.
#[tokio::test]
async fn scenario_19_changed_claims_alone_wait_for_the_next_template() {
    let sets = clonesets_with_all_gates("scenario-19-alone").await;
    let web = sets.create(web(2).claims("1Gi")).await;
    let before = web.until_available(2).await;

    web.change(claims("2Gi")).await;
    web.until("it to be seen", |_| true).await;
    sets.quiet().await;
    assert_eq!(uids(&web.pods_now().await), uids(&before));
    assert!(web.claims_now().await.iter().all(|one| size(one) == "1Gi"));
    assert_eq!(web.revisions_now().await.len(), 1);

    web.change(image("nginx:1.26")).await;
    let (_, after) = web.until_updated(2).await;
    assert!(uids(&after).is_disjoint(&uids(&before)));
    until_claims(&web, "two larger claims", |all| all.len() == 2 && all.iter().all(|one| size(one) == "2Gi"))
        .await;
}

/// CS-64, CS-78: InPlaceOnly never recreates, whatever happened to the claims.
#[tokio::test]
async fn scenario_19_in_place_only_keeps_pods_and_claims() {
    let sets = clonesets_with_all_gates("scenario-19-only").await;
    let web = sets.create(web(2).claims("1Gi").policy("InPlaceOnly")).await;
    let before = web.until_available(2).await;
    let claims_before = web.claims_now().await;

    web.change(claims("2Gi")).await;
    web.change(image("nginx:1.26")).await;

    let (_, after) = web.until_updated(2).await;
    assert_eq!(uids(&after), uids(&before));
    assert!(after.iter().all(|pod| runs(pod, "main", "nginx:1.26")));
    assert_eq!(claim_uids(&web.claims_now().await), claim_uids(&claims_before));
}

/// CS-2, B7: who deletes a CloneSet and leaves its pods keeps their claims too.
#[tokio::test]
async fn scenario_28_orphaned_pods_keep_their_claims() {
    let sets = clonesets("scenario-28-orphan").await;
    let web = sets.create(web(2).claims("1Gi")).await;
    let before = web.until_available(2).await;
    let claims_before = web.claims_now().await;

    let orphan =
        DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() };
    web.api.delete("web", &orphan).await.unwrap();

    let all = ListParams::default();
    let free = |pods: &[Pod]| pods.iter().all(|pod| pod.owner_references().is_empty());
    wait::until_all(&web.pods, &all, "free pods", free).await.unwrap();
    wait::until_all(&web.api, &all, "no CloneSet", <[_]>::is_empty).await.unwrap();
    sets.quiet().await;
    let left = web.pods.list(&all.labels("app=web")).await.unwrap().items;
    assert_eq!(uids(&left), uids(&before));
    assert_eq!(claim_uids(&web.claims_now().await), claim_uids(&claims_before));
}

/// CS-5, B7: a pod that is taken out of the selector runs on, with its claim.
#[tokio::test]
async fn scenario_28_released_pod_keeps_its_claim() {
    let sets = clonesets("scenario-28-label").await;
    let web = sets.create(web(2).claims("1Gi")).await;
    let before = web.until_available(2).await;
    let claims_before = web.claims_now().await;
    let released = names(&before).pop_first().unwrap();

    web.label_pod(&released, "app", "debug").await;

    wait::until(&web.pods, &released, "its release", |pod| pod.owner_references().is_empty()).await.unwrap();
    let anew =
        |pods: &[Pod]| pods.len() == 2 && !names(pods).contains(&released) && pods.iter().all(is_available);
    web.until_active("a replacement", anew).await;
    sets.quiet().await;
    let pod = web.pods.get(&released).await.unwrap();
    assert_eq!((pod.metadata.deletion_timestamp.clone(), is_available(&pod)), (None, true));
    assert!(claim_uids(&claims_before).is_subset(&claim_uids(&web.claims_now().await)), "no claim is lost");
}
