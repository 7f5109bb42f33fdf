//! Images are pulled ahead of an in-place update. Only the jobs are made here: their controller comes with its own kind.

use kruise_testbed::wait;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use serde_json::json;

use super::{clonesets_with_all_gates, text, web};
use crate::workload::web::{image, rolling};

/// SM-80 … SM-83: one job per changed image while old pods remain, none when the rollout is over.
#[tokio::test]
async fn scenario_21_image_is_pulled_ahead() {
    let sets = clonesets_with_all_gates("scenario-21").await;
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", "v1beta1", "ImagePullJob"));
    let jobs: Api<DynamicObject> = Api::namespaced_with(sets.client.clone(), &sets.namespace, &kind);
    let strategy = json!({"partition": 1, "inPlaceUpdateStrategy": {"imagePreDownloadParallelism": 2}});
    let web = sets.create(web(5).rolling(&strategy)).await;
    web.until_available(5).await;

    web.change(image("nginx:1.26")).await;

    let status = web.until("the partition", |status| status["updatedAvailableReplicas"] == 4).await;
    let all = ListParams::default();
    let found = wait::until_all(&jobs, &all, "one job", |jobs| jobs.len() == 1).await.unwrap();
    let spec = &found[0].data["spec"];
    assert_eq!((&spec["image"], &spec["parallelism"]), (&json!("nginx:1.26"), &json!(2)));
    let revision = text(&status, "updateRevision").to_owned();
    assert_eq!(found[0].metadata.name, Some(format!("{revision}-main")));
    assert_eq!(found[0].metadata.owner_references.as_ref().unwrap()[0].uid, web.uid);
    let labels = web.revisions.get(&revision).await.unwrap().metadata.labels.unwrap();
    assert_eq!(labels["apps.kruise.io/pre-predownload-created"], "true");

    web.change(rolling(&json!({"partition": 0}))).await;
    web.until_updated(5).await;
    wait::until_all(&jobs, &all, "no job", <[DynamicObject]>::is_empty).await.unwrap();
}
