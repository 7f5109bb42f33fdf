//! The chart applied again and again without helm's memory, as Argo CD and Flux do it: what the leader says about pods stays. In a cluster
//! of its own.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kruise_testbed::chart::{self, Apply, Chart};
use kruise_testbed::{Cluster, Options, crds, manager, wait};
use kube::Api;
use kube::api::{WatchEvent, WatchParams};

const MUTATING: &str = "kruise-mutating-webhook-configuration";
const SYNCS: usize = 3;

/// Whether new pods with an order of their containers are asked about, and whether others are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Selects {
    NoEntry,
    TooMany,
    Exactly,
    Other,
}

fn selects(one: &MutatingWebhookConfiguration) -> Selects {
    let mut entries = one.webhooks.iter().flatten();
    let Some(entry) = entries.find(|entry| entry.name == "mpod.kb.io") else { return Selects::NoEntry };
    let condition = entry.match_conditions.iter().flatten().find(|condition| condition.name == "concerned");
    match condition {
        None => Selects::TooMany,
        Some(found) if found.expression.contains("KRUISE_CONTAINER_PRIORITY") => Selects::Exactly,
        Some(_) => Selects::Other,
    }
}

/// The configuration at each of its versions from one on, until nothing has changed for a while.
async fn versions(api: &Api<MutatingWebhookConfiguration>, from: &str) -> Vec<Selects> {
    let params = WatchParams::default().fields(&format!("metadata.name={MUTATING}"));
    let mut events = api.watch(&params, from).await.unwrap().boxed();
    let mut all = Vec::new();
    while let Ok(Some(event)) = tokio::time::timeout(Duration::from_secs(3), events.next()).await {
        match event.unwrap() {
            WatchEvent::Added(one) | WatchEvent::Modified(one) => all.push(selects(&one)),
            WatchEvent::Deleted(_) => all.push(Selects::NoEntry),
            WatchEvent::Bookmark(_) | WatchEvent::Error(_) => {}
        }
    }
    all
}

/// 16.15: three syncs in a row, with either way to apply, leave the pods selected without a gap.
#[tokio::test]
async fn in_9_syncs_without_helm_leave_the_selection_alone() {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    crds::install(&cluster.client()).await.unwrap();
    let chart = Chart::find().await.unwrap();
    let rendered = chart.rendered(&["--set=crds.managed=false"]).await.unwrap();
    assert!(!rendered.contains("mpod.kb.io"), "only the manager says what is asked about pods");
    for how in [Apply::Server, Apply::Client] {
        chart::apply_as(&cluster, &rendered, how).await.unwrap();
        if how == Apply::Server {
            let args = vec![
                format!("--kubeconfig={}", cluster.kubeconfig_of(manager::USER).unwrap().display()),
                format!("--webhook-port={}", manager::free_port().unwrap()),
                "--health-probe-addr=0".to_owned(),
                "--metrics-addr=0".to_owned(),
            ];
            cluster.spawn(manager::PART, manager::program().unwrap(), args).unwrap();
        }
        let api: Api<MutatingWebhookConfiguration> = Api::all(cluster.client());
        let before =
            wait::until(&api, MUTATING, "the leader's selection", |one| selects(one) == Selects::Exactly)
                .await
                .unwrap();
        for _ in 0..SYNCS {
            chart::apply_as(&cluster, &rendered, how).await.unwrap();
        }
        let since = before.metadata.resource_version.unwrap();
        let all = versions(&api, &since).await;
        assert!(all.iter().all(|one| *one == Selects::Exactly), "{how:?}: {all:?}");
    }
}
