//! From a native StatefulSet to ours and back without a restart: the steps of `docs/migrate-statefulset.md`, one by one.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::StatefulSet as Native;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kruise_testbed::wait;
use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams, PropagationPolicy};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::{Live, Sets, names, pods, restarts, runs, statefulsets, uids, web};
use crate::workload::web::containers;

const REPLICAS: usize = 3;

fn orphan() -> DeleteParams {
    DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() }
}

/// A native StatefulSet with claims, as somebody would have it.
fn native() -> Native {
    let mut object = web(3).claims("1Gi").0;
    object["apiVersion"] = json!("apps/v1");
    object["spec"]["updateStrategy"] = json!({"type": "RollingUpdate"});
    object["spec"]["template"]["spec"].as_object_mut().unwrap().shift_remove("readinessGates");
    serde_json::from_value(object).unwrap()
}

/// Step 2: the live spec, with what our kind spells differently.
fn ours(live: &Native) -> DynamicObject {
    let mut spec = serde_json::to_value(live.spec.as_ref().unwrap()).unwrap();
    spec["updateStrategy"] =
        json!({"type": "RollingUpdate", "rollingUpdate": {"podUpdatePolicy": "ReCreate"}});
    let object = json!({
        "apiVersion": "apps.kruise.io/v1beta1", "kind": "StatefulSet", "metadata": {"name": "web"}, "spec": spec,
    });
    serde_json::from_value(object).unwrap()
}

async fn until_native_ready(api: &Api<Native>) -> Native {
    let is_ready = |set: &Native| {
        let status = set.status.as_ref();
        status.is_some_and(|status| {
            let all = i32::try_from(REPLICAS).unwrap();
            status.ready_replicas == Some(all)
                && status.replicas == all
                && status.observed_generation == set.metadata.generation
        })
    };
    wait::until(api, "web", "the native set to be ready", is_ready).await.unwrap()
}

/// Everything that must not change on the way.
#[derive(Debug, PartialEq, Eq)]
struct Facts {
    pods: BTreeSet<String>,
    restarts: i32,
    claims: BTreeSet<String>,
}

async fn facts(sets: &Sets) -> Facts {
    let all: Api<Pod> = sets.all();
    let mut found = all.list(&ListParams::default()).await.unwrap().items;
    found.retain(|pod| !pod.name_any().starts_with("probe"));
    let claims: Api<PersistentVolumeClaim> = sets.all();
    let claims = claims.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(names(&found), pods(0..3));
    Facts {
        pods: uids(&found),
        restarts: found.iter().map(|pod| restarts(pod, "main")).sum(),
        claims: claims.iter().map(|claim| claim.uid().unwrap()).collect(),
    }
}

/// Steps 1 to 4.
async fn to_ours(sets: &Sets, natives: &Api<Native>) -> Live {
    let live = natives.get("web").await.unwrap();
    natives.delete("web", &orphan()).await.unwrap();
    wait::until_all(natives, &ListParams::default(), "no native set", <[Native]>::is_empty).await.unwrap();
    let created = sets.api.create(&PostParams::default(), &ours(&live)).await.unwrap();
    sets.live(&created)
}

/// The way back: the same spec as a native set, its update held back by a partition of all replicas.
async fn to_native(sets: &Sets, natives: &Api<Native>) -> Native {
    let live = sets.api.get("web").await.unwrap();
    sets.api.delete("web", &orphan()).await.unwrap();
    wait::until_all(&sets.api, &ListParams::default(), "no set of ours", <[DynamicObject]>::is_empty)
        .await
        .unwrap();
    let mut object: Value = serde_json::to_value(native()).unwrap();
    object["spec"]["template"] = live.data["spec"]["template"].clone();
    object["spec"]["updateStrategy"] =
        json!({"type": "RollingUpdate", "rollingUpdate": {"partition": REPLICAS}});
    natives.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    until_native_ready(natives).await
}

/// AS-3, AS-4, AS-98 and the issue: there and back, nobody restarts, no revision is added, no claim is lost.
#[tokio::test]
async fn migration_from_a_native_statefulset_and_back() {
    let sets = statefulsets("ss-migrate").await;
    let natives: Api<Native> = sets.all();
    natives.create(&PostParams::default(), &native()).await.unwrap();
    let first = until_native_ready(&natives).await.status.unwrap().update_revision.unwrap();
    let before = facts(&sets).await;

    let web = to_ours(&sets, &natives).await;
    let (status, adopted) = web.until_updated(REPLICAS).await;
    assert_eq!(status["updateRevision"], first, "the same revision, adopted");
    assert_eq!(web.revisions_now().await.len(), 1);
    assert_eq!(adopted.len(), REPLICAS);
    sets.quiet().await;
    assert_eq!(facts(&sets).await, before);

    let back = to_native(&sets, &natives).await;
    assert_eq!(back.status.unwrap().update_revision.as_ref(), Some(&first));
    assert_eq!(facts(&sets).await, before);
    let owners = |pods: &[Pod]| {
        pods.iter().all(|pod| pod.owner_references().iter().all(|owner| owner.api_version == "apps/v1"))
    };
    let all: Api<Pod> = sets.all();
    wait::until_all(&all, &ListParams::default(), "native pods", |pods| {
        pods.len() == REPLICAS && owners(pods)
    })
    .await
    .unwrap();
}

/// After an update under our control: the way back restarts nobody either, as long as the partition holds the native set.
#[tokio::test]
async fn migration_back_after_an_update_of_ours() {
    let sets = statefulsets("ss-migrate-updated").await;
    let natives: Api<Native> = sets.all();
    natives.create(&PostParams::default(), &native()).await.unwrap();
    until_native_ready(&natives).await;
    let web = to_ours(&sets, &natives).await;
    web.until_updated(REPLICAS).await;
    let main = json!([{"name": "main", "image": "nginx:1.26", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]);
    web.change(containers(&main)).await;
    let (_, updated) = web.until_updated(REPLICAS).await;
    assert!(updated.iter().all(|pod| runs(pod, "main", "nginx:1.26")));
    let before = facts(&sets).await;

    to_native(&sets, &natives).await;

    sets.quiet().await;
    assert_eq!(facts(&sets).await, before);
}
