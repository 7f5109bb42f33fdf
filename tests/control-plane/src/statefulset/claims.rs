//! Claims: kept or taken along, lost and made again (AS-81 … AS-84).

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kruise_sim::kubelet::{Behaviour, Which};
use kruise_testbed::wait;
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams, PropagationPolicy};
use serde_json::{Value, json};

use super::{Live, Sets, Web, names, pods, statefulsets, uids, web};

fn policy(when_deleted: &str, when_scaled: &str) -> Value {
    json!({"persistentVolumeClaimRetentionPolicy": {"whenDeleted": when_deleted, "whenScaled": when_scaled}})
}

fn claims(ordinals: impl IntoIterator<Item = u32>) -> BTreeSet<String> {
    ordinals.into_iter().map(|ordinal| format!("data-web-{ordinal}")).collect()
}

async fn until_claims(web: &Live, what: &str, expected: BTreeSet<String>) -> Vec<PersistentVolumeClaim> {
    let is_so = |all: &[PersistentVolumeClaim]| {
        all.iter().map(ResourceExt::name_any).collect::<BTreeSet<_>>() == expected
    };
    wait::until_all(&web.claims, &ListParams::default(), what, is_so).await.unwrap()
}

fn owners(claims: &[PersistentVolumeClaim]) -> Vec<String> {
    claims.iter().flat_map(|claim| claim.owner_references().iter().map(|owner| owner.kind.clone())).collect()
}

/// The pods that a set leaves behind when it is deleted without them.
async fn orphans(sets: &Sets, object: Web, count: usize) -> Vec<Pod> {
    let pods = sets.create(object).await.until_available(count).await;
    let orphan =
        DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() };
    sets.api.delete("web", &orphan).await.unwrap();
    wait::until_all(&sets.api, &ListParams::default(), "no set", <[_]>::is_empty).await.unwrap();
    pods
}

/// Scenarios 17, 20, AS-82, AS-84: whenDeleted takes the claims along, also when it is set on a live set or after adoption.
#[tokio::test]
async fn scenario_17_20_claims_go_with_the_set() {
    let sets = statefulsets("ss-scenario-17").await;
    let before = orphans(&sets, web(2).claims("1Gi"), 2).await;

    let second = sets.create(web(2).claims("1Gi").spec(policy("Delete", "Retain"))).await;
    let adopted = second.until_available(2).await;
    assert_eq!(uids(&adopted), uids(&before));
    let owned = |all: &[PersistentVolumeClaim]| owners(all) == ["StatefulSet", "StatefulSet"];
    wait::until_all(&second.claims, &ListParams::default(), "owned claims", owned).await.unwrap();

    sets.api.delete("web", &DeleteParams::background()).await.unwrap();
    until_claims(&second, "no claims", BTreeSet::new()).await;
}

/// Scenario 18, AS-82: whenScaled takes the claims of condemned pods, and only those.
#[tokio::test]
async fn scenario_18_claims_go_with_scaled_pods() {
    let sets = statefulsets("ss-scenario-18").await;
    let web = sets.create(web(3).parallel().claims("1Gi").spec(policy("Retain", "Delete"))).await;
    web.until_available(3).await;
    assert_eq!(owners(&until_claims(&web, "three claims", claims(0..3)).await), Vec::<String>::new());

    web.scale(1).await;
    until_claims(&web, "one claim", claims(0..1)).await;
    web.scale(2).await;
    web.until_available(2).await;
    until_claims(&web, "two claims", claims(0..2)).await;

    sets.api.delete("web", &DeleteParams::background()).await.unwrap();
    wait::until_all(&web.pods, &ListParams::default(), "no pods", <[_]>::is_empty).await.unwrap();
    until_claims(&web, "both claims stay", claims(0..2)).await;
}

/// Scenario 21, AS-82, AS-84: the same after adoption. The claims of the pods that stay are kept, and so are these pods.
#[tokio::test]
async fn scenario_21_claims_go_with_scaled_pods_after_adoption() {
    let sets = statefulsets("ss-scenario-21").await;
    let object = || web(3).claims("1Gi").spec(policy("Retain", "Delete"));
    let before = orphans(&sets, object(), 3).await;

    let second = sets.create(object()).await;
    assert_eq!(uids(&second.until_available(3).await), uids(&before));
    let there = until_claims(&second, "three claims", claims(0..3)).await;
    assert_eq!(owners(&there), Vec::<String>::new(), "nobody goes before its pod does");
    second.scale(1).await;

    let left = until_claims(&second, "one claim", claims(0..1)).await;
    assert_eq!(left[0].uid(), there[0].uid());
    assert_eq!(uids(&second.until_available(1).await), uids(&before[..1]));
}

/// Scenario 19: reserved ordinals count as condemned.
#[tokio::test]
async fn scenario_19_reserved_ordinals_and_their_claims() {
    let sets = statefulsets("ss-scenario-19").await;
    let object =
        web(3).claims("1Gi").spec(policy("Retain", "Delete")).spec(json!({"reserveOrdinals": [0, "2-5"]}));
    let web = sets.create(object).await;
    assert_eq!(names(&web.until_available(3).await), pods([1, 6, 7]));
    until_claims(&web, "three claims", claims([1, 6, 7])).await;

    web.scale(1).await;

    until_claims(&web, "one claim", claims([1])).await;
}

/// AS-82, AS-90: the default keeps everything.
#[tokio::test]
async fn claims_are_kept_and_used_again() {
    let sets = statefulsets("ss-retain").await;
    let web = sets.create(web(2).claims("1Gi")).await;
    web.until_available(2).await;
    let before: BTreeSet<_> =
        until_claims(&web, "two claims", claims(0..2)).await.iter().map(ResourceExt::uid).collect();

    web.scale(0).await;
    web.until_pods("no pods", <[_]>::is_empty).await;
    web.scale(2).await;
    web.until_available(2).await;

    let after: BTreeSet<_> =
        until_claims(&web, "two claims", claims(0..2)).await.iter().map(ResourceExt::uid).collect();
    assert_eq!(after, before);
}

/// Scenario 22, AS-35: a claim that is lost while its pod is pending is made again.
#[tokio::test]
async fn scenario_22_lost_claim_of_a_pending_pod() {
    let sets = statefulsets("ss-scenario-22").await;
    let hanging = Which { pod: Some("web-0".into()), ..Which::default() };
    sets.behave(hanging.clone(), Behaviour::Hangs);
    let web = sets.create(web(1).claims("1Gi")).await;
    web.until_pods("a pending pod", |pods| pods.len() == 1).await;
    let first = until_claims(&web, "its claim", claims(0..1)).await;

    web.claims.delete("data-web-0", &DeleteParams::default()).await.unwrap();
    // As a user does whose volume is broken: the protection of a used claim is taken away.
    let free = kube::api::Patch::Merge(json!({"metadata": {"finalizers": null}}));
    web.claims.patch("data-web-0", &kube::api::PatchParams::default(), &free).await.unwrap();

    let anew = |all: &[PersistentVolumeClaim]| all.len() == 1 && all[0].uid() != first[0].uid();
    wait::until_all(&web.claims, &ListParams::default(), "a new claim", anew).await.unwrap();
    sets.recover(&hanging);
    web.until_available(1).await;
}

/// statefulset/B11: a claim that is added or renamed wedges nothing: pods get it when an update recreates them.
#[tokio::test]
async fn statefulset_b11_added_claim_arrives_with_the_next_update() {
    let sets = statefulsets("ss-b11").await;
    let web = sets.create(web(2).policy("ReCreate").claims("1Gi")).await;
    let before = web.until_available(2).await;
    let mut templates = web.api.get("web").await.unwrap().data["spec"]["volumeClaimTemplates"].clone();
    let mut more = templates[0].clone();
    more["metadata"]["name"] = json!("more");
    templates.as_array_mut().unwrap().push(more);

    web.change(json!({"volumeClaimTemplates": templates})).await;
    sets.quiet().await;
    assert_eq!(uids(&web.pods_now().await), uids(&before), "nobody is restarted for it");
    web.change(json!({"template": {"metadata": {"annotations": {"round": "2"}}}})).await;

    let (_, after) = web.until_updated(2).await;
    for pod in &after {
        let volumes = pod.spec.as_ref().unwrap().volumes.as_ref().unwrap();
        assert_eq!(volumes.iter().filter(|volume| volume.persistent_volume_claim.is_some()).count(), 2);
    }
}
