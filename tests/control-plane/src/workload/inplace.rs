//! In-place updates that both kinds of workload go through in the same way.

use k8s_openapi::api::core::v1::Pod;
use kruise_sim::kubelet::{Behaviour, Which};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::watcher::Pods;
use super::web::{containers, image};
use super::{Kind, Sets, has_condition, image_of, is_available, restarts, runs, state, status_of, uids};

/// A moved tag restarts the container although its image stays the same.
pub async fn another_tag_of_the_same_image(kind: Kind, name: &str) {
    let sets = Sets::shared(kind, name).await;
    let which = Which { image: Some("nginx:stable".into()), ..Which::default() };
    sets.behave(which, Behaviour::SameDigestAs("nginx:1.25".into()));
    let web = sets.create(kind.web(2)).await;
    let before = web.until_available(2).await;

    web.change(image("nginx:stable")).await;

    let (_, after) = web.until_updated(2).await;
    assert_eq!(uids(&after), uids(&before));
    for (old, new) in before.iter().zip(&after) {
        let (old, new) = (status_of(old, "main").unwrap(), status_of(new, "main").unwrap());
        assert_eq!(new.image_id, old.image_id);
        assert_ne!(new.container_id, old.container_id);
    }
}

/// A template that changes during the grace period is the one that is applied, once.
pub async fn template_changes_during_the_grace_period(kind: Kind, name: &str) {
    let sets = Sets::shared(kind, name).await;
    let grace = json!({"inPlaceUpdateStrategy": {"gracePeriodSeconds": 5}});
    let web = sets.create(kind.web(1).rolling(&grace)).await;
    let before = web.until_available(1).await;
    let watcher = web.watching(never("nginx:1.26")).await;
    web.change(image("nginx:1.26")).await;
    web.until_pods("the grace period", |pods| {
        state(&pods[0]) == "Updating"
            && pods[0].annotations().contains_key("apps.kruise.io/inplace-update-grace")
    })
    .await;
    assert!(!is_available(&web.pods_now().await[0]), "out of traffic while the grace period runs");

    web.change(image("nginx:1.27")).await;

    let (_, after) = web.until_updated(1).await;
    assert_eq!((uids(&after), restarts(&after[0], "main")), (uids(&before), 1));
    assert!(runs(&after[0], "main", "nginx:1.27"));
    watcher.verdict().await;
}

/// No pod ever asks for this image.
fn never(image: &'static str) -> impl Fn(&Pods) -> Result<(), String> {
    move |pods| match pods.values().find(|pod: &&Pod| image_of(pod, "main") == image) {
        Some(pod) => Err(format!("{} was given {image}", pod.name_any())),
        None => Ok(()),
    }
}

/// A container whose request alone changes.
pub fn sized(image: &str, cpu: &str) -> Value {
    let resources = json!({"requests": {"cpu": cpu}, "limits": {"cpu": "200"}});
    containers(&json!([{"name": "main", "image": image, "resources": resources}]))
}

/// A size that its node does not have is refused by the API server (from 1.36 on); the pod serves on and this condition says why,
/// until a template that fits is applied in place.
pub async fn infeasible_size_recovers(kind: Kind, name: &str, condition: &str) {
    let sets = Sets::with_all_gates(kind, name).await;
    let web = sets.create(kind.web(1).spec(sized("nginx:1.25", "1"))).await;
    let before = web.until_available(1).await;
    web.change(sized("nginx:1.25", "100")).await;
    let status = web.until("a refusal", |status| has_condition(status, condition)).await;
    assert_eq!(status["availableReplicas"], 1);

    web.change(sized("nginx:1.25", "2")).await;

    let (last, after) = web.until_updated(1).await;
    assert!(!has_condition(&last, condition), "{last}");
    assert_eq!((uids(&after), restarts(&after[0], "main")), (uids(&before), 0));
    let granted = status_of(&after[0], "main").unwrap().resources.as_ref().unwrap();
    assert_eq!(granted.requests.as_ref().unwrap()["cpu"].0, "2");
}
