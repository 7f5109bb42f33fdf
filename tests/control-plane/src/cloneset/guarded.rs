//! PodUnavailableBudgets that are asked before a pod is disturbed. Their own controller does not exist yet, so the tests
//! write the status that it would write.

use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::{Sets, clonesets_with_all_gates, image_of, web};
use crate::workload::web::image;

pub struct Budgets(Api<DynamicObject>);

impl Budgets {
    pub fn of(sets: &Sets) -> Self {
        let kind = GroupVersionKind::gvk("policy.kruise.io", "v1beta1", "PodUnavailableBudget");
        let resource = ApiResource::from_gvk(&kind);
        Self(Api::namespaced_with(sets.client.clone(), &sets.namespace, &resource))
    }

    /// Guards three pods, of which `allowed` may go down now.
    pub async fn create(&self, name: &str, allowed: u32) {
        let object = json!({
            "apiVersion": "policy.kruise.io/v1beta1", "kind": "PodUnavailableBudget",
            "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 1},
        });
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        self.0.create(&PostParams::default(), &object).await.unwrap();
        self.allow(name, allowed).await;
    }

    pub async fn allow(&self, name: &str, allowed: u32) {
        let status = json!({"status": {
            "unavailableAllowed": allowed, "currentAvailable": 3, "desiredAvailable": 2, "totalReplicas": 3,
        }});
        self.0.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    }

    pub async fn status(&self, name: &str) -> Value {
        self.0.get(name).await.unwrap().data["status"].clone()
    }
}

/// CS-76, B10, PUB-30, PUB-32, PUB-35: only one pod may be down at a time, and the one that comes first is guarded by a budget
/// that has nothing to give. The others are updated all the same, the user is told, and the guarded one follows when the
/// budget gives.
#[tokio::test]
async fn scenario_36_cloneset_b10_refused_pod_does_not_stop_the_others() {
    let sets = clonesets_with_all_gates("scenario-36").await;
    let web = sets.create(web(3).rolling(&json!({"maxUnavailable": 1}))).await;
    let pods = web.until_available(3).await;
    let budgets = Budgets::of(&sets);
    budgets.create("refuses", 0).await;
    budgets.create("gives", 1).await;
    let (held, paying) = (pods[0].name_any(), pods[1].name_any());
    for (pod, budget) in [(&held, "refuses"), (&paying, "gives")] {
        let patch = json!({"metadata": {"annotations": {"pub.kruise.io/related-pub": budget}}});
        web.patch_pod(pod, patch).await;
    }

    web.change(image("nginx:1.26")).await;

    let refused = |status: &Value| {
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let mut messages = conditions.filter_map(|condition| condition["message"].as_str());
        status["updatedAvailableReplicas"] == 2
            && messages.any(|message| {
                message.contains("refuses does not allow it: no disruption allowed now: 3 of 3 pods")
            })
    };
    web.until("two updated, and told why not the third", refused).await;
    sets.quiet().await;
    let now = web.pods_now().await;
    let is_old = now.iter().any(|pod| pod.name_any() == held && image_of(pod, "main") == "nginx:1.25");
    assert!(is_old, "it is guarded");
    let paid = budgets.status("gives").await;
    assert_eq!(paid["unavailableAllowed"], 0);
    assert!(paid["unavailablePods"][&paying].is_string(), "{paid}");

    budgets.allow("refuses", 1).await;
    web.until_updated(3).await;
    assert!(budgets.status("refuses").await["unavailablePods"][&held].is_string());
}
