//! Images are pulled ahead of an in-place update. Only the jobs are made here: their controller comes with its own kind.

use kruise_testbed::wait;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use serde_json::json;

use super::{Sets, statefulsets_with_all_gates, text, web};
use crate::workload::web::{image, rolling};

fn jobs(sets: &Sets) -> Api<DynamicObject> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", "v1beta1", "ImagePullJob"));
    Api::namespaced_with(sets.client.clone(), &sets.namespace, &kind)
}

/// AS-91, section 8.2: none for so few pods that it would not help, and none before enough updated pods have shown that the image works.
#[tokio::test]
async fn few_pods_and_unproven_images_are_not_pulled_ahead() {
    let sets = statefulsets_with_all_gates("ss-predownload-not").await;
    let jobs = jobs(&sets);
    let few = sets.create(web(3).named("few").parallel().rolling(&json!({"partition": 2}))).await;
    let mut object = web(4).parallel().rolling(&json!({"partition": 3}));
    object.0["metadata"]["annotations"] =
        json!({"apps.kruise.io/image-predownload-min-updated-ready-pods": "2"});
    let enough = sets.create(object).await;
    few.until_available(3).await;
    enough.until_available(4).await;
    few.change(image("nginx:1.26")).await;
    enough.change(image("nginx:1.26")).await;
    for set in [&few, &enough] {
        set.until("the partition", |status| status["updatedAvailableReplicas"] == 1).await;
    }
    sets.quiet().await;
    assert!(jobs.list(&ListParams::default()).await.unwrap().items.is_empty());

    enough.change(rolling(&json!({"partition": 2}))).await;

    let one = |all: &[DynamicObject]| all.len() == 1 && all[0].name_any().starts_with("web-");
    wait::until_all(&jobs, &ListParams::default(), "one job", one).await.unwrap();
}

/// AS-91 … AS-93, section 8.2: one job while old pods remain, and none after the image was rolled back.
#[tokio::test]
async fn image_is_pulled_ahead_and_a_rollback_ends_it() {
    let sets = statefulsets_with_all_gates("ss-predownload").await;
    let jobs = jobs(&sets);
    let mut object = web(4).parallel().rolling(&json!({"partition": 3}));
    object.0["metadata"]["annotations"] = json!({"apps.kruise.io/image-predownload-parallelism": "2"});
    let web = sets.create(object).await;
    web.until_available(4).await;

    web.change(image("nginx:1.26")).await;

    let status = web.until("the partition", |status| status["updatedAvailableReplicas"] == 1).await;
    let all = ListParams::default();
    let found = wait::until_all(&jobs, &all, "one job", |jobs| jobs.len() == 1).await.unwrap();
    let spec = &found[0].data["spec"];
    assert_eq!((&spec["image"], &spec["parallelism"]), (&json!("nginx:1.26"), &json!(2)));
    assert_eq!(found[0].metadata.name, Some(format!("{}-main", text(&status, "updateRevision"))));

    web.change(image("nginx:1.25")).await;
    web.until_updated(4).await;
    wait::until_all(&jobs, &all, "no job", <[DynamicObject]>::is_empty).await.unwrap();
}
