//! Pods with claims of their own (CS-60 … CS-64).

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kruise_testbed::wait;
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams, PropagationPolicy};
use serde_json::json;

use super::{Live, Sets, Web, clonesets, clonesets_with_all_gates, is_available, names, runs, uids, web};
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

/// A CloneSet of two pods with a claim each, and what there was when it was available.
struct Two {
    web: Live,
    pods: Vec<Pod>,
    claims: Vec<PersistentVolumeClaim>,
}

impl Two {
    async fn of(sets: &Sets, object: Web) -> Self {
        let web = sets.create(object.claims("1Gi")).await;
        let pods = web.until_available(2).await;
        let claims = web.claims_now().await;
        assert_eq!(claims.len(), 2);
        Self { web, pods, claims }
    }

    fn first(&self) -> String {
        names(&self.pods).pop_first().unwrap()
    }

    /// Waits until two pods serve and this one is not among them.
    async fn until_without(&self, name: &str) {
        let anew =
            |pods: &[Pod]| pods.len() == 2 && !names(pods).contains(name) && pods.iter().all(is_available);
        self.web.until_active("another pod", anew).await;
    }

    /// The claims grow with the image: both pods are new and their claims are large.
    async fn until_recreated(&self) {
        let (_, after) = self.web.until_updated(2).await;
        assert!(uids(&after).is_disjoint(&uids(&self.pods)));
        let are_large =
            |all: &[PersistentVolumeClaim]| all.len() == 2 && all.iter().all(|one| size(one) == "2Gi");
        until_claims(&self.web, "two larger claims", are_large).await;
    }
}

/// CS-61, B8: what was deleted by hand comes back under its name, with its volumes.
#[tokio::test]
async fn scenario_17_claims_are_reused() {
    let sets = clonesets("scenario-17-on").await;
    let two = Two::of(&sets, web(2).spec(json!({"scaleStrategy": {"enablePVCReuse": true}}))).await;

    two.web.delete_pod(&two.first()).await;

    let anew =
        |pods: &[Pod]| pods.len() == 2 && uids(pods) != uids(&two.pods) && pods.iter().all(is_available);
    let after = two.web.until_active("it to be back", anew).await;
    assert_eq!(names(&after), names(&two.pods));
    assert_eq!(claim_uids(&two.web.claims_now().await), claim_uids(&two.claims));
}

/// CS-60: without reuse the claims go with their pod, and the new pod gets new ones.
#[tokio::test]
async fn scenario_17_claims_are_not_reused() {
    let sets = clonesets("scenario-17-off").await;
    let two = Two::of(&sets, web(2)).await;

    two.web.delete_pod(&two.first()).await;

    two.until_without(&two.first()).await;
    let kept = |all: &[PersistentVolumeClaim]| claim_uids(all).intersection(&claim_uids(&two.claims)).count();
    until_claims(&two.web, "one old claim and one new one", |all| all.len() == 2 && kept(all) == 1).await;
}

/// CS-64, SM-12, SM-13 with the gate: other claims need other pods.
#[tokio::test]
async fn scenario_19_changed_claims_recreate_pods_with_their_image() {
    let sets = clonesets_with_all_gates("scenario-19").await;
    let two = Two::of(&sets, web(2)).await;

    two.web.change(claims("2Gi")).await;
    two.web.change(image("nginx:1.26")).await;

    two.until_recreated().await;
}

/// CS-11, CS-64: claims alone update nothing; the next template takes them along.
#[tokio::test]
async fn scenario_19_changed_claims_alone_wait_for_the_next_template() {
    let sets = clonesets_with_all_gates("scenario-19-alone").await;
    let two = Two::of(&sets, web(2)).await;

    two.web.change(claims("2Gi")).await;
    two.web.until("it to be seen", |_| true).await;
    sets.quiet().await;
    assert_eq!(uids(&two.web.pods_now().await), uids(&two.pods));
    assert!(two.web.claims_now().await.iter().all(|one| size(one) == "1Gi"));
    assert_eq!(two.web.revisions_now().await.len(), 1);

    two.web.change(image("nginx:1.26")).await;
    two.until_recreated().await;
}

/// CS-64, CS-78: InPlaceOnly never recreates, whatever happened to the claims.
#[tokio::test]
async fn scenario_19_in_place_only_keeps_pods_and_claims() {
    let sets = clonesets_with_all_gates("scenario-19-only").await;
    let two = Two::of(&sets, web(2).policy("InPlaceOnly")).await;

    two.web.change(claims("2Gi")).await;
    two.web.change(image("nginx:1.26")).await;

    let (_, after) = two.web.until_updated(2).await;
    assert_eq!(uids(&after), uids(&two.pods));
    assert!(after.iter().all(|pod| runs(pod, "main", "nginx:1.26")));
    assert_eq!(claim_uids(&two.web.claims_now().await), claim_uids(&two.claims));
}

/// CS-2, B7: who deletes a CloneSet and leaves its pods keeps their claims too.
#[tokio::test]
async fn scenario_28_orphaned_pods_keep_their_claims() {
    let sets = clonesets("scenario-28-orphan").await;
    let two = Two::of(&sets, web(2)).await;

    let orphan =
        DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() };
    sets.api.delete("web", &orphan).await.unwrap();

    let all = ListParams::default();
    let free = |pods: &[Pod]| pods.iter().all(|pod| pod.owner_references().is_empty());
    wait::until_all(&two.web.pods, &all, "free pods", free).await.unwrap();
    wait::until_all(&sets.api, &all, "no CloneSet", <[_]>::is_empty).await.unwrap();
    sets.quiet().await;
    let left = two.web.pods.list(&all.labels("app=web")).await.unwrap().items;
    assert_eq!(uids(&left), uids(&two.pods));
    assert_eq!(claim_uids(&two.web.claims_now().await), claim_uids(&two.claims));
}

/// CS-5, B7: a pod that is taken out of the selector runs on, with its claim.
#[tokio::test]
async fn scenario_28_released_pod_keeps_its_claim() {
    let sets = clonesets("scenario-28-label").await;
    let two = Two::of(&sets, web(2)).await;
    let released = two.first();

    two.web.label_pod(&released, "app", "debug").await;

    let is_free = |pod: &Pod| pod.owner_references().is_empty();
    wait::until(&two.web.pods, &released, "its release", is_free).await.unwrap();
    two.until_without(&released).await;
    sets.quiet().await;
    let pod = two.web.pods.get(&released).await.unwrap();
    assert_eq!((pod.metadata.deletion_timestamp.clone(), is_available(&pod)), (None, true));
    let now = claim_uids(&two.web.claims_now().await);
    assert!(claim_uids(&two.claims).is_subset(&now), "no claim is lost");
}
