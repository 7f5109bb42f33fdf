//! Pods come and go: in order, in parallel, marked ones, orphans.

use k8s_openapi::api::core::v1::Pod;
use kruise_sim::kubelet::{Behaviour, Which};
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams, PropagationPolicy};
use serde_json::json;

use super::{Live, image_of, is_available, label, names, pods, statefulsets, uids, web};
use crate::workload::watcher::{Pods, Watcher};
use crate::workload::web::{image, rolling};

/// Scenario 1, AS-20, install/T37, install/F9: names, host names, services and claims are the same after all pods were lost.
#[tokio::test]
async fn scenario_1_identity_survives_a_restart_of_all_pods() {
    let sets = statefulsets("ss-scenario-1").await;
    let web = sets.create(web(2).claims("1Gi")).await;
    let before = web.until_available(2).await;
    let volumes = |pods: &[Pod]| pods.iter().map(claim_of).collect::<Vec<_>>();

    for pod in &before {
        web.delete_pod(&pod.name_any()).await;
    }

    let anew = |pods: &[Pod]| {
        pods.len() == 2 && uids(pods).is_disjoint(&uids(&before)) && pods.iter().all(is_available)
    };
    let after = web.until_active("new pods", anew).await;
    assert_eq!(volumes(&after), volumes(&before));
    for pod in &after {
        let spec = pod.spec.as_ref().unwrap();
        assert_eq!(spec.hostname, Some(pod.name_any()));
        assert_eq!(spec.subdomain.as_deref(), Some("web"));
        assert_eq!(label(pod, "statefulset.kubernetes.io/pod-name"), pod.name_any());
        assert_eq!(format!("web-{}", label(pod, "apps.kubernetes.io/pod-index")), pod.name_any());
    }
}

fn claim_of(pod: &Pod) -> String {
    let volumes = pod.spec.as_ref().unwrap().volumes.as_ref().unwrap();
    volumes.iter().find_map(|volume| volume.persistent_volume_claim.as_ref()).unwrap().claim_name.clone()
}

/// Scenario 2, AS-3, AS-4: an orphan is adopted; a pod that loses its labels is let go, and taken back with them.
#[tokio::test]
async fn scenario_2_orphans_are_adopted_and_lost_pods_let_go() {
    let sets = statefulsets("ss-scenario-2").await;
    let first = sets.create(web(2)).await;
    let before = first.until_available(2).await;
    let orphan =
        DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() };
    sets.api.delete("web", &orphan).await.unwrap();
    let is_free = |pods: &[Pod]| pods.len() == 2 && pods.iter().all(|pod| pod.owner_references().is_empty());
    kruise_testbed::wait::until_all(&first.pods, &ListParams::default(), "orphans", is_free).await.unwrap();
    kruise_testbed::wait::until_all(&sets.api, &ListParams::default(), "no set", <[_]>::is_empty)
        .await
        .unwrap();

    let second = sets.create(web(2)).await;
    let adopted = second.until_available(2).await;
    assert_eq!(uids(&adopted), uids(&before), "nobody was replaced");
    assert_eq!(second.revisions_now().await.len(), 1, "the revision was adopted too");

    second.label_pod("web-1", "app", "lost").await;
    let lost = adopted[1].uid();
    second.until_pods("the lost pod to be let go", |pods| pods.iter().all(|pod| pod.uid() != lost)).await;
    let free = second.pods.get("web-1").await.unwrap();
    assert!(free.owner_references().is_empty() && free.uid() == lost);
    second.label_pod("web-1", "app", "web").await;
    let back = second.until_available(2).await;
    assert_eq!(uids(&back), uids(&before));
}

/// In order: a pod appears only when all before it are available, and goes only when none after it is left.
async fn in_order(web: &Live) -> Watcher {
    let mut before: Pods = Pods::new();
    web.watching(move |all: &Pods| {
        let ordinal = |name: &String| name.rsplit('-').next().unwrap().parse::<u32>().unwrap();
        let newcomer = all.keys().find(|name| !before.contains_key(*name));
        let verdict = match newcomer {
            Some(name)
                if before
                    .values()
                    .any(|pod| !is_available(pod) && ordinal(&pod.name_any()) < ordinal(name)) =>
            {
                Err(format!("{name} came before the others were available"))
            }
            _ => Ok(()),
        };
        before = all.clone();
        verdict
    })
    .await
}

/// Scenario 11, AS-23, AS-32, AS-39: one after the other, and nobody passes a pod that is not ready.
#[tokio::test]
async fn scenario_11_ordered_scale_halts_at_an_unready_pod() {
    let sets = statefulsets("ss-scenario-11").await;
    let unready = Which { pod: Some("web-1".into()), ..Which::default() };
    sets.behave(unready.clone(), Behaviour::NeverReady);
    let web = sets.create(web(3)).await;
    let order = in_order(&web).await;
    web.until_pods("the second pod", |pods| pods.len() == 2).await;
    sets.quiet().await;
    assert_eq!(names(&web.pods_now().await), pods(0..2), "the third waits");

    sets.recover(&unready);
    let three = web.until_available(3).await;
    assert_eq!(names(&three), pods(0..3));
    order.verdict().await;

    web.scale(1).await;
    assert_eq!(names(&web.until_available(1).await), pods(0..1));
}

/// Scenario 12: in parallel nobody waits.
#[tokio::test]
async fn scenario_12_parallel_scale_completes_with_unready_pods() {
    let sets = statefulsets("ss-scenario-12").await;
    sets.behave(Which { pod: Some("web-".into()), ..Which::default() }, Behaviour::NeverReady);
    let web = sets.create(web(3).parallel()).await;
    web.until_pods("all at once", |pods| pods.len() == 3).await;

    web.scale(1).await;

    let left = web.until_pods("one pod", |pods| pods.len() == 1).await;
    assert_eq!(names(&left), pods(0..1));
}

/// Scenario 13, AS-33: a pod that its node refused is made again.
#[tokio::test]
async fn scenario_13_rejected_pod_is_recreated() {
    let sets = statefulsets("ss-scenario-13").await;
    let rejected = Which { pod: Some("web-0".into()), ..Which::default() };
    sets.behave(rejected.clone(), Behaviour::Rejects { reason: "OutOfcpu".into() });
    let web = sets.create(web(1)).await;
    web.until_pods("a refused pod", |pods| {
        pods.iter().any(|pod| pod.status.as_ref().unwrap().phase.as_deref() == Some("Failed"))
    })
    .await;

    sets.recover(&rejected);

    web.until_available(1).await;
}

/// Scenario 14: what autoscalers read and write.
#[tokio::test]
async fn scenario_14_scale_subresource() {
    let sets = statefulsets("ss-scenario-14").await;
    let web = sets.create(web(1)).await;
    web.until_available(1).await;
    let scale = web.api.get_scale("web").await.unwrap();
    assert_eq!(scale.spec.unwrap().replicas, Some(1));
    assert_eq!(scale.status.unwrap().selector.as_deref(), Some("app=web"));

    web.scale(2).await;

    web.until_available(2).await;
    assert_eq!(web.api.get_scale("web").await.unwrap().status.unwrap().replicas, 2);
}

/// Scenario 15, AS-37: new pods stream in, two that are not available at a time.
#[tokio::test]
async fn scenario_15_scale_strategy_streams() {
    let sets = statefulsets("ss-scenario-15").await;
    let web = sets.create(web(3).parallel().spec(json!({"scaleStrategy": {"maxUnavailable": 2}}))).await;
    web.until_available(3).await;
    let limit = web
        .watching(|all: &Pods| {
            let down = all.values().filter(|pod| !is_available(pod)).count();
            if down <= 2 { Ok(()) } else { Err(format!("{down} pods were not available")) }
        })
        .await;
    let newcomers: Vec<Which> =
        (3..10).map(|ordinal| Which { pod: Some(format!("web-{ordinal}")), ..Which::default() }).collect();
    for newcomer in &newcomers {
        sets.behave(newcomer.clone(), Behaviour::NeverReady);
    }
    web.scale(10).await;
    web.until_active("two more", |pods| pods.len() == 5).await;
    sets.quiet().await;
    assert_eq!(web.pods_now().await.len(), 5);

    for newcomer in &newcomers {
        sets.recover(newcomer);
    }

    web.until_available(10).await;
    limit.verdict().await;
}

/// Scenario 15, AS-53: limits of 100% let all broken pods be repaired at once.
#[tokio::test]
async fn scenario_15_all_broken_pods_are_repaired() {
    let sets = statefulsets("ss-scenario-15-broken").await;
    sets.behave(Which { image: Some("nginx:broken".into()), ..Which::default() }, Behaviour::PullFails);
    let all = json!({"maxUnavailable": "100%"});
    let web = sets
        .create(
            web(4).parallel().rolling(&all).spec(json!({"scaleStrategy": all})).spec(image("nginx:broken")),
        )
        .await;
    web.until_pods("broken pods", |pods| pods.len() == 4).await;

    web.change(image("nginx:1.26")).await;

    web.until_updated(4).await;
}

/// Scenario 16, AS-79: marked pods are replaced under their own name and at their own revision, before and during an update.
#[tokio::test]
async fn scenario_16_specified_deletion() {
    let sets = statefulsets("ss-scenario-16").await;
    let web = sets.create(web(4).parallel().rolling(&json!({"partition": 2}))).await;
    let before = web.until_available(4).await;
    let mark = "apps.kruise.io/specified-delete";
    web.label_pod("web-1", mark, "true").await;
    let replaced = |pods: &[Pod]| {
        pods.len() == 4 && pods.iter().all(is_available) && !uids(pods).contains(&before[1].uid().unwrap())
    };
    let second = web.until_active("a new web-1", replaced).await;

    web.change(image("nginx:1.26")).await;
    web.until("two updated", |status| status["updatedAvailableReplicas"] == 2).await;
    web.label_pod("web-0", mark, "true").await;
    web.label_pod("web-3", mark, "true").await;
    let both = |pods: &[Pod]| {
        let kept = uids(pods).intersection(&uids(&second)).count();
        pods.len() == 4 && pods.iter().all(is_available) && kept == 2
    };
    let after = web.until_active("new pods 0 and 3", both).await;
    assert_eq!(
        after.iter().map(|pod| image_of(pod, "main")).collect::<Vec<_>>(),
        ["nginx:1.25", "nginx:1.25", "nginx:1.26", "nginx:1.26"]
    );

    web.change(rolling(&json!({"partition": 0}))).await;
    web.until_updated(4).await;
}
