//! Deleting pods: asked for by name, held by a hook, chosen by the controller.

use serde_json::json;

use super::{Web, clonesets, names, state, uids, web};

const DELETE_ME: &str = "apps.kruise.io/specified-delete";
const HOLD: &str = "example.com/hold";

/// A CloneSet whose pods wait for a label to be taken away before they are deleted.
fn with_delete_hook(web: Web) -> Web {
    web.spec(json!({"lifecycle": {"preDelete": {"labelsHandler": {(HOLD): "true"}}}}))
}

/// The template carries the hook's label, so that every pod is held.
fn held(web: Web) -> Web {
    with_delete_hook(web).spec(json!({"template": {"metadata": {"labels": {(HOLD): "true"}}}}))
}

/// CS-22, CS-35, CS-44, CS-47, SM-42: a held pod still counts; its replacement comes when it goes.
#[tokio::test]
async fn scenario_9_pod_asked_to_go_waits_for_its_hook() {
    let sets = clonesets("scenario-9").await;
    let web = sets.create(held(web(3))).await;
    let before = web.until_available(3).await;
    let victim = names(&before).pop_first().unwrap();

    web.label_pod(&victim, DELETE_ME, "true").await;
    let preparing = |pods: &[_]| pods.iter().filter(|pod| state(pod) == "PreparingDelete").count() == 1;
    web.until_pods("the hook to hold it", preparing).await;
    sets.quiet().await;
    assert_eq!(names(&web.pods_now().await), names(&before));

    web.label_pod(&victim, HOLD, None::<&str>).await;
    let after =
        web.until_active("one new pod", |pods| pods.len() == 3 && !names(pods).contains(&victim)).await;
    let kept = uids(&after).intersection(&uids(&before)).count();
    assert_eq!(kept, 2);
    web.until_available(3).await;
}

/// CS-35, CS-40, CS-46: with exclusion a pod on its way out is no replica.
#[tokio::test]
async fn scenario_10_excluded_preparing_delete_makes_room_at_once() {
    let sets = clonesets("scenario-10").await;
    let web =
        sets.create(held(web(3)).spec(json!({"scaleStrategy": {"excludePreparingDelete": true}}))).await;
    let victim = names(&web.until_available(3).await).pop_first().unwrap();

    web.change(json!({"replicas": 2, "scaleStrategy": {"podsToDelete": [&victim]}})).await;
    web.until_pods("the hook to hold it", |pods| pods.iter().any(|pod| state(pod) == "PreparingDelete"))
        .await;
    web.scale(3).await;
    web.until("4 pods", |status| status["replicas"] == 4 && status["availableReplicas"] == 3).await;

    web.label_pod(&victim, HOLD, None::<&str>).await;
    let pods = web.until_available(3).await;
    assert!(!names(&pods).contains(&victim));
    let object = web.api.get("web").await.unwrap();
    assert_eq!(object.data["spec"]["scaleStrategy"].get("podsToDelete"), None, "the list is trimmed");
}

/// CS-30, CS-38, CS-44, B2: 20 % of three pods is one, also for OnDelete.
#[tokio::test]
async fn scenario_27_pod_asked_to_go_goes_under_on_delete() {
    let sets = clonesets("scenario-27").await;
    let web = sets.create(web(3).on_delete()).await;
    let before = web.until_available(3).await;
    let victim = names(&before).pop_first().unwrap();

    web.label_pod(&victim, DELETE_ME, "true").await;

    web.until_active("one new pod", |pods| pods.len() == 3 && !names(pods).contains(&victim)).await;
    let after = web.until_available(3).await;
    assert_eq!(uids(&after).intersection(&uids(&before)).count(), 2);
}

/// CS-45, B9: a deletion that is stuck is subtracted, it does not stop the others.
#[tokio::test]
async fn scenario_29_scale_in_beside_a_pod_that_is_stuck() {
    let sets = clonesets("scenario-29").await;
    let web = sets.create(with_delete_hook(web(4))).await;
    let stuck = names(&web.until_available(4).await).pop_first().unwrap();
    web.label_pod(&stuck, HOLD, "true").await;
    web.label_pod(&stuck, DELETE_ME, "true").await;
    web.until_pods("the hook to hold it", |pods| pods.iter().any(|pod| state(pod) == "PreparingDelete"))
        .await;

    web.scale(2).await;

    let pods = web.until_active("3 pods", |pods| pods.len() == 3).await;
    assert!(names(&pods).contains(&stuck));
    sets.quiet().await;
    assert_eq!(names(&web.pods_now().await), names(&pods), "one pod for each surplus replica");

    web.label_pod(&stuck, HOLD, None::<&str>).await;
    assert!(!names(&web.until_available(2).await).contains(&stuck));
}
