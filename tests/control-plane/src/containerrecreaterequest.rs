//! Acceptance scenarios of ContainerRecreateRequest (section 8 of its specification) on the real control plane. The nodes are simulated, so
//! the tests say in the status what a node agent says.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kruise_testbed::{Scratch, scratch_with_all_gates, wait};
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

/// A machine that also builds is slow; a test that is right never waits this long.
const PATIENCE: Duration = Duration::from_mins(3);

struct Requests {
    test: Scratch,
    pods: Api<Pod>,
}

impl Requests {
    /// In a namespace of its own with a running pod `web` that has the readiness gate.
    async fn new(name: &str) -> Self {
        let test = scratch_with_all_gates(name).await.unwrap();
        let here = Self { pods: Api::namespaced(test.client.clone(), &test.namespace), test };
        let pod = json!({
            "metadata": {"name": "web"},
            "spec": {
                "terminationGracePeriodSeconds": 7, "readinessGates": [{"conditionType": "KruisePodReady"}],
                "containers": [{"name": "main", "image": "nginx:1"}],
            },
        });
        here.pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
        here.until_pod("it is ready", |seen| {
            condition(seen, "Ready").is_some_and(|(status, _)| status == "True")
        })
        .await;
        here
    }

    fn api(&self, version: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("apps.kruise.io", version, "ContainerRecreateRequest");
        Api::namespaced_with(self.test.client.clone(), &self.test.namespace, &ApiResource::from_gvk(&kind))
    }

    async fn create(&self, version: &str, more: Value) -> Result<DynamicObject, kube::Error> {
        let mut spec = json!({"podName": "web", "containers": [{"name": "main"}]});
        for (field, value) in more.as_object().unwrap() {
            spec[field] = value.clone();
        }
        let object = json!({
            "apiVersion": format!("apps.kruise.io/{version}"), "kind": "ContainerRecreateRequest",
            "metadata": {"name": "r"}, "spec": spec,
        });
        self.api(version).create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await
    }

    /// What a node agent says.
    async fn says(&self, status: Value) {
        let patch = Patch::Merge(json!({"status": status}));
        self.api("v1beta1").patch_status("r", &PatchParams::default(), &patch).await.unwrap();
    }

    async fn until(&self, what: &str, ok: impl Fn(&DynamicObject) -> bool) -> DynamicObject {
        let one = ListParams::default().fields("metadata.name=r");
        let has = |all: &[DynamicObject]| all.iter().any(&ok);
        wait::until_all_within(&self.api("v1beta1"), &one, what, PATIENCE, has).await.unwrap().remove(0)
    }

    async fn until_gone(&self) {
        let one = ListParams::default().fields("metadata.name=r");
        let gone = |all: &[DynamicObject]| all.is_empty();
        wait::until_all_within(&self.api("v1beta1"), &one, "it is gone", PATIENCE, gone).await.unwrap();
    }

    async fn until_pod(&self, what: &str, ok: impl Fn(&Pod) -> bool) {
        let one = ListParams::default().fields("metadata.name=web");
        let has = |all: &[Pod]| all.iter().any(&ok);
        wait::until_all_within(&self.pods, &one, what, PATIENCE, has).await.unwrap();
    }
}

/// Status and message of a condition.
fn condition(pod: &Pod, kind: &str) -> Option<(String, String)> {
    let all = pod.status.as_ref()?.conditions.as_ref()?;
    let one = all.iter().find(|one| one.type_ == kind)?;
    Some((one.status.clone(), one.message.clone().unwrap_or_default()))
}

fn draining() -> Value {
    json!({"strategy": {"unreadyGracePeriodSeconds": 1}, "ttlSecondsAfterFinished": 1})
}

/// Scenarios 1, 7, 11 and 12: what admission freezes, the pod out of service and back, both versions, time to live.
#[tokio::test]
async fn containerrecreaterequest_scenarios_1_7_11_12_pod_goes_out_of_service_and_comes_back() {
    let here = Requests::new("crr-drains").await;
    let made = here.create("v1alpha1", draining()).await.unwrap();
    let spec = &made.data["spec"];
    assert_eq!(spec["strategy"]["failurePolicy"], "Fail");
    assert_eq!(spec["strategy"]["terminationGracePeriodSeconds"], 7);
    assert!(spec["containers"][0]["statusContext"]["containerID"].is_string(), "{spec}");
    let labels = made.metadata.labels.unwrap();
    assert_eq!(labels["crr.apps.kruise.io/active"], "true");

    here.says(json!({"phase": "Recreating"})).await;
    let key = format!(r#"[{{"userAgent":"ContainerRecreateRequest","key":"{}/r"}}]"#, here.test.namespace);
    let is_out = |pod: &Pod| condition(pod, "KruisePodReady") == Some(("False".to_owned(), key.clone()));
    here.until_pod("it is out of service", is_out).await;
    here.until("the condition", |one| one.data["status"]["conditions"][0]["type"] == "PreRecreateGrace")
        .await;
    let older = here.api("v1alpha1").get("r").await.unwrap().metadata;
    assert!(older.annotations.unwrap().contains_key("crr.apps.kruise.io/unready-acquired"));

    here.says(json!({"phase": "Completed", "completionTime": "2026-01-01T00:00:00Z"})).await;
    here.until_pod("it is ready again", |pod| {
        condition(pod, "Ready").is_some_and(|(status, _)| status == "True")
    })
    .await;
    here.until_gone().await;
}

/// Scenarios 17 and 23: deleted while draining, and a pod that goes.
#[tokio::test]
async fn containerrecreaterequest_scenarios_17_23_deleted_request_and_deleted_pod() {
    let here = Requests::new("crr-deleted").await;
    here.create("v1beta1", draining()).await.unwrap();
    here.says(json!({"phase": "Recreating"})).await;
    here.until_pod("it is out of service", |pod| {
        condition(pod, "KruisePodReady").is_some_and(|(status, _)| status == "False")
    })
    .await;
    here.api("v1beta1").delete("r", &DeleteParams::default()).await.unwrap();
    here.until_gone().await;
    here.until_pod("it is ready again", |pod| {
        condition(pod, "KruisePodReady").is_some_and(|(status, _)| status == "True")
    })
    .await;

    here.create("v1beta1", json!({})).await.unwrap();
    here.pods.delete("web", &DeleteParams::default().grace_period(0)).await.unwrap();
    let ended = here.until("its end", |one| one.data["status"]["phase"] == "Completed").await;
    assert_eq!(ended.data["status"]["message"], "pod has gone");
    here.until("the label is gone", |one| {
        one.metadata.labels.as_ref().is_none_or(|all| !all.contains_key("crr.apps.kruise.io/active"))
    })
    .await;
}

/// Scenarios 24 and 28: refusals name what is wrong.
#[tokio::test]
async fn containerrecreaterequest_scenarios_24_28_bad_requests_are_refused() {
    let here = Requests::new("crr-refused").await;
    let refusal = |answer: Result<DynamicObject, kube::Error>| match answer {
        Err(kube::Error::Api(status)) => status.message,
        other => panic!("{other:?}"),
    };
    for (more, word) in [
        (json!({"podName": "nobody"}), "no found Pod named nobody"),
        (json!({"containers": [{"name": "other"}]}), "container other not found in Pod"),
        (json!({"containers": [{"name": "main"}, {"name": "main"}]}), "main"),
    ] {
        let message = refusal(here.create("v1beta1", more).await);
        assert!(message.contains(word), "{message}");
    }
    here.create("v1beta1", json!({})).await.unwrap();
    let change = Patch::Merge(json!({"spec": {"podName": "other"}}));
    let message = refusal(here.api("v1beta1").patch("r", &PatchParams::default(), &change).await);
    assert!(message.contains("immutable") || message.contains("cannot be changed"), "{message}");
    let note = Patch::Merge(json!({"metadata": {"annotations": {"a": "b"}}}));
    here.api("v1beta1").patch("r", &PatchParams::default(), &note).await.unwrap();
}
