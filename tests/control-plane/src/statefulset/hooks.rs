//! Lifecycle hooks (AS-70 … AS-78), and pods on their way out that are wanted again.

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::{Web, is_available, names, pods, runs, state, statefulsets, uids, web};
use crate::workload::web::image;

const HOLD: &str = "example.com/hold";

fn held(web: Web, hook: &str) -> Web {
    web.spec(json!({
        "lifecycle": {(hook): {"labelsHandler": {(HOLD): "true"}}},
        "template": {"metadata": {"labels": {(HOLD): "true"}}},
    }))
}

fn in_state(all: &[Pod], wanted: &str) -> Vec<String> {
    all.iter().filter(|pod| state(pod) == wanted).map(kube::ResourceExt::name_any).collect()
}

/// AS-73, statefulset/B1: in order, each pod is held before its update; releasing it lets the rollout go on.
#[tokio::test]
async fn statefulset_b1_update_hook_under_ordered_ready() {
    let sets = statefulsets("ss-hook-update").await;
    let web = sets.create(held(web(2), "inPlaceUpdate")).await;
    let before = web.until_available(2).await;

    web.change(image("nginx:1.26")).await;
    for name in ["web-1", "web-0"] {
        web.until_pods("one held pod", |all| in_state(all, "PreparingUpdate") == [name]).await;
        sets.quiet().await;
        assert_eq!(in_state(&web.pods_now().await, "PreparingUpdate"), [name], "one at a time");
        web.label_pod(name, HOLD, None::<&str>).await;
        web.until_pods("its update", |all| in_state(all, "Updated") == [name]).await;
        web.label_pod(name, HOLD, "true").await;
    }

    let (_, after) = web.until_updated(2).await;
    assert_eq!(uids(&after), uids(&before));
    assert!(after.iter().all(|pod| runs(pod, "main", "nginx:1.26")));
}

/// AS-72: a rollback while a pod is held gives it back unharmed.
#[tokio::test]
async fn held_update_that_is_rolled_back() {
    for (name, kind) in [("ss-hook-back", web(2)), ("ss-hook-back-parallel", web(2).parallel())] {
        let sets = statefulsets(name).await;
        let web = sets.create(held(kind, "inPlaceUpdate")).await;
        let before = web.until_available(2).await;
        web.change(image("nginx:1.26")).await;
        web.until_pods("a held pod", |all| in_state(all, "PreparingUpdate") == ["web-1"]).await;

        web.change(image("nginx:1.25")).await;

        let (_, after) = web.until_updated(2).await;
        assert_eq!(uids(&after), uids(&before));
    }
}

/// AS-78, statefulset/B2: scaled down by three in order, one pod is held at a time, and all go once they are let.
#[tokio::test]
async fn statefulset_b2_delete_hook_scaled_down_by_three() {
    let sets = statefulsets("ss-hook-delete").await;
    let web = sets.create(held(web(4), "preDelete")).await;
    web.until_available(4).await;

    web.scale(1).await;
    for name in ["web-3", "web-2", "web-1"] {
        web.until_pods("one held pod", |all| in_state(all, "PreparingDelete") == [name]).await;
        sets.quiet().await;
        assert_eq!(in_state(&web.pods_now().await, "PreparingDelete"), [name], "one at a time");
        web.label_pod(name, HOLD, None::<&str>).await;
    }

    assert_eq!(names(&web.until_available(1).await), pods(0..1));
}

/// statefulset/B10: scaled back up while they are held, pods return to normal.
#[tokio::test]
async fn statefulset_b10_held_pods_that_are_wanted_again() {
    for (name, kind, count) in
        [("ss-hook-again", web(3), 1), ("ss-hook-again-parallel", web(3).parallel(), 2)]
    {
        let sets = statefulsets(name).await;
        let web = sets.create(held(kind, "preDelete")).await;
        let before = web.until_available(3).await;
        web.scale(1).await;
        web.until_pods("held pods", |all| in_state(all, "PreparingDelete").len() == count).await;

        web.scale(3).await;

        let after = web.until_available(3).await;
        assert_eq!(uids(&after), uids(&before));
    }
}

/// AS-71, AS-72: a new pod is available only after its hook was set.
#[tokio::test]
async fn pre_normal_hook_holds_new_pods() {
    let sets = statefulsets("ss-hook-normal").await;
    let web = sets
        .create(web(2).spec(json!({"lifecycle": {"preNormal": {"labelsHandler": {(HOLD): "true"}}}})))
        .await;
    web.until_pods("the first pod", |all| in_state(all, "PreparingNormal") == ["web-0"]).await;
    sets.quiet().await;
    assert_eq!(web.pods_now().await.len(), 1, "the second waits");

    web.label_pod("web-0", HOLD, "true").await;
    web.until_pods("the second pod", |all| in_state(all, "PreparingNormal") == ["web-1"]).await;
    web.label_pod("web-1", HOLD, "true").await;

    assert!(web.until_available(2).await.iter().all(is_available));
}

/// Section 8.2, AS-78: replaced by recreation, each pod is held before it goes, whatever the order; released, it is replaced.
#[tokio::test]
async fn delete_hook_holds_a_recreation() {
    for (name, object) in [("ss-hook-recreate", web(2)), ("ss-hook-recreate-parallel", web(2).parallel())] {
        let sets = statefulsets(name).await;
        let web = sets.create(held(object.policy("ReCreate"), "preDelete")).await;
        let before = web.until_available(2).await;

        web.change(image("nginx:1.26")).await;
        for pod in ["web-1", "web-0"] {
            web.until_pods("one held pod", |all| in_state(all, "PreparingDelete") == [pod]).await;
            sets.quiet().await;
            assert_eq!(in_state(&web.pods_now().await, "PreparingDelete"), [pod], "within the limit of one");
            web.label_pod(pod, HOLD, None::<&str>).await;
        }

        let (_, after) = web.until_updated(2).await;
        assert!(uids(&after).is_disjoint(&uids(&before)));
    }
}

/// Section 8.2: a hook is only for what it is named after: preDelete holds no update in place, inPlaceUpdate no recreation.
#[tokio::test]
async fn hooks_hold_only_what_they_are_for() {
    for (name, object) in [("ss-hook-other", web(2)), ("ss-hook-other-parallel", web(2).parallel())] {
        let sets = statefulsets(name).await;
        for (set, policy, hook) in
            [("one", "InPlaceIfPossible", "preDelete"), ("two", "ReCreate", "inPlaceUpdate")]
        {
            let live = sets.create(held(object.clone().named(set).policy(policy), hook)).await;
            let before = live.until_available(2).await;
            live.change(image("nginx:1.26")).await;
            let (_, after) = live.until_updated(2).await;
            assert_eq!(uids(&after) == uids(&before), policy == "InPlaceIfPossible", "{name} {set}");
        }
    }
}

/// Section 8.2, AS-40, AS-71, AS-73 in parallel: the update hook holds one pod at a time within the limit, the delete hook all three at
/// once, and new pods are held side by side.
#[tokio::test]
async fn hooks_in_parallel() {
    let sets = statefulsets("ss-hook-parallel").await;
    let web_updated = sets.create(held(web(2).parallel().named("updated"), "inPlaceUpdate")).await;
    let web_deleted = sets.create(held(web(4).parallel().named("deleted"), "preDelete")).await;
    let hook = json!({"lifecycle": {"preNormal": {"labelsHandler": {(HOLD): "true"}}}});
    let web_new = sets.create(web(2).parallel().named("new").spec(hook)).await;

    web_updated.until_available(2).await;
    web_updated.change(image("nginx:1.26")).await;
    for pod in ["updated-1", "updated-0"] {
        web_updated.until_pods("one held pod", |all| in_state(all, "PreparingUpdate") == [pod]).await;
        web_updated.label_pod(pod, HOLD, None::<&str>).await;
        web_updated.until_pods("its update", |all| in_state(all, "Updated") == [pod]).await;
        web_updated.label_pod(pod, HOLD, "true").await;
    }
    web_updated.until_updated(2).await;

    web_deleted.until_available(4).await;
    web_deleted.scale(1).await;
    web_deleted.until_pods("three held pods", |all| in_state(all, "PreparingDelete").len() == 3).await;
    for pod in ["deleted-3", "deleted-1", "deleted-2"] {
        web_deleted.label_pod(pod, HOLD, None::<&str>).await;
    }
    web_deleted.until_available(1).await;

    web_new.until_pods("two held pods", |all| in_state(all, "PreparingNormal").len() == 2).await;
    for pod in ["new-0", "new-1"] {
        web_new.label_pod(pod, HOLD, "true").await;
    }
    web_new.until_available(2).await;
}
