//! Writes that the API server denies, and what users hear of what was done.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, ResourceQuota};
use kruise_testbed::wait;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::{Sets, has_condition, is_available, names, pods, statefulsets, web};
use crate::workload::web::claims;

/// A claim of the only template, as an earlier life would have left it.
fn claim(name: &str) -> PersistentVolumeClaim {
    let template = claims("1Gi")["volumeClaimTemplates"][0].clone();
    let object = json!({"metadata": {"name": name, "labels": {"app": "web"}}, "spec": template["spec"]});
    serde_json::from_value(object).unwrap()
}

/// Section 8.2, statefulset/B18, statefulset/B20: a quota that denies the claim of the first ordinal stops no other one; the
/// condition says so, and goes when there is room.
#[tokio::test]
async fn statefulset_b18_quota_denies_one_ordinal_and_stops_no_other() {
    let sets = statefulsets("ss-quota").await;
    let held: Api<PersistentVolumeClaim> = sets.all();
    for name in ["data-web-1", "data-web-2"] {
        held.create(&PostParams::default(), &claim(name)).await.unwrap();
    }
    let quotas: Api<ResourceQuota> = sets.all();
    let hard = |count: u32| json!({"hard": {"persistentvolumeclaims": count.to_string()}});
    let object = json!({"metadata": {"name": "claims"}, "spec": hard(2)});
    quotas.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    let counts = |quota: &ResourceQuota| {
        let used =
            quota.status.as_ref().and_then(|status| status.used.as_ref()?.get("persistentvolumeclaims"));
        used.is_some_and(|used| used.0 == "2")
    };
    wait::until(&quotas, "claims", "a quota that counts", counts).await.unwrap();

    let web = sets.create(web(3).parallel().claims("1Gi")).await;

    let status = web.until("the denial", |status| has_condition(status, "FailedCreatePod")).await;
    let told = status["conditions"].as_array().unwrap().iter().find(|one| one["type"] == "FailedCreatePod");
    assert!(told.unwrap()["message"].as_str().unwrap().contains("exceeded quota"), "{status}");
    let others = |all: &[Pod]| all.len() == 2 && all.iter().all(is_available);
    assert_eq!(names(&web.until_active("the others", others).await), pods(1..3));
    web.until_told("FailedCreate").await;

    let more = Patch::Merge(json!({"spec": hard(3)}));
    quotas.patch("claims", &PatchParams::default(), &more).await.unwrap();
    web.until_available(3).await;
    web.until("no denial any more", |now| !has_condition(now, "FailedCreatePod")).await;
}

/// Pods of this namespace with these names are refused from now on, as an administrator's policy would.
async fn refuse(sets: &Sets, names: &BTreeSet<String>) {
    let (name, list) = (format!("{}-refuses", sets.namespace), serde_json::to_string(names).unwrap());
    let rule =
        json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]});
    let policy = json!({"metadata": {"name": name}, "spec": {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": format!("!(object.metadata.name in {list})")}],
    }});
    let here = json!({"matchLabels": {"kubernetes.io/metadata.name": sets.namespace}});
    let binding = json!({"metadata": {"name": name}, "spec": {
        "policyName": name, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": here},
    }});
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(sets.client.clone());
    let bindings: Api<ValidatingAdmissionPolicyBinding> = Api::all(sets.client.clone());
    let posted = PostParams::default();
    policies.create(&posted, &serde_json::from_value(policy).unwrap()).await.unwrap();
    bindings.create(&posted, &serde_json::from_value(binding).unwrap()).await.unwrap();
    let (pods, tried): (Api<Pod>, _) = (sets.all(), PostParams { dry_run: true, ..PostParams::default() });
    let pod = json!({"metadata": {"name": names.first()}, "spec": {"containers": [{"name": "main", "image": "x"}]}});
    let pod: Pod = serde_json::from_value(pod).unwrap();
    for _ in 0..150 {
        if pods.create(&tried, &pod).await.is_err() {
            return;
        }
        // The API server learns of policies with a delay.
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("the policy never acted");
}

/// Section 8.2, statefulset/B18: more ordinals than are given up on at once are refused for ever, and those above them come all the
/// same.
#[tokio::test]
async fn statefulset_b18_ordinals_that_are_always_refused_hide_no_others() {
    let sets = statefulsets("ss-refused").await;
    refuse(&sets, &pods(0..20)).await;

    let web = sets.create(web(24).parallel()).await;

    let others = |all: &[Pod]| all.len() == 4 && all.iter().all(is_available);
    assert_eq!(names(&web.until_active("those above", others).await), pods(20..24));
    let is_told =
        |status: &Value| has_condition(status, "FailedCreatePod") && status["availableReplicas"] == 4;
    web.until("the denial", is_told).await;
    let before = web.status().await;
    sets.quiet().await;
    assert_eq!(web.status().await, before, "they take turns, and the status stays");
}

/// Section 8.2: one event for each action, and none for what was not done.
#[tokio::test]
async fn one_event_for_each_action() {
    let sets = statefulsets("ss-events").await;
    let web = sets.create(web(3).parallel()).await;
    web.until_available(3).await;
    web.scale(1).await;
    web.until_available(1).await;
    web.change(crate::workload::web::image("nginx:1.26")).await;
    web.until_updated(1).await;
    sets.quiet().await;

    let expected = [("SuccessfulCreate", 3), ("SuccessfulDelete", 2), ("SuccessfulUpdatePodInPlace", 1)];
    let all = expected.map(|(reason, count)| (reason.to_owned(), count)).into();
    assert_eq!(web.events().await, all);
}
