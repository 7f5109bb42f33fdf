//! Nodes that go away, and zones that should stay balanced.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Pod};
use kruise_sim::kubelet::{Behaviour, Which};
use kruise_testbed::simnodes::{self, SimNodes};
use kruise_testbed::{Cluster, Options, crds, manager};
use kube::Api;
use kube::api::ListParams;
use serde_json::json;

use super::{Kind, Sets, clonesets, is_active, is_available, names, web};
use crate::workload::watcher::Pods;

const ZONE: &str = "topology.kubernetes.io/zone";
const REPLICAS: usize = 60;

fn node(pod: &Pod) -> &str {
    pod.spec.as_ref().unwrap().node_name.as_deref().unwrap_or_default()
}

/// CS-6, CS-36: pods of a lost node are replaced as soon as they are evicted, one for one. The node controller and the
/// eviction are the real ones; fewer pods than the scenario's 500, and one node of four.
#[tokio::test]
async fn scenario_32_pods_of_a_lost_node_are_replaced() {
    let program = manager::program().unwrap();
    let cluster = Cluster::start(Options::default()).await.unwrap();
    let nodes = SimNodes::start(cluster.client_named(simnodes::USER_AGENT).await.unwrap(), 4).await.unwrap();
    crds::install(&cluster.client()).await.unwrap();
    manager::start(&cluster, &program, &[]).await.unwrap();
    let sets = Sets::new(Kind::CloneSet, cluster.client(), "default");
    let soon = json!([{
        "key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1,
    }]);
    let web =
        web(u32::try_from(REPLICAS).unwrap()).spec(json!({"template": {"spec": {"tolerations": soon}}}));
    let web = sets.create(web).await;
    let before = web.until_available(REPLICAS).await;
    let gone = nodes.names()[0].clone();
    let (lost, kept): (Vec<Pod>, Vec<Pod>) = before.into_iter().partition(|pod| node(pod) == gone);
    let least = kept.len();
    assert!(!lost.is_empty());
    let watcher = web.watching(move |pods| within(pods, least)).await;

    nodes.rule(Which { node: Some(gone), ..Which::default() }, Behaviour::NodeGone);

    let replaced = |pods: &[Pod]| {
        let available: Vec<Pod> = pods.iter().filter(|pod| is_available(pod)).cloned().collect();
        available.len() == REPLICAS && names(&available).is_disjoint(&names(&lost))
    };
    let after = web.until_active("replacements", replaced).await;
    assert!(names(&kept).is_subset(&names(&after)), "nobody else was touched");
    watcher.verdict().await;
}

fn within(pods: &Pods, least: usize) -> Result<(), String> {
    let active = pods.values().filter(|pod| is_active(pod)).count();
    let available = pods.values().filter(|pod| is_available(pod)).count();
    if REPLICAS < active || available < least {
        return Err(format!("{active} pods, {available} of them available"));
    }
    Ok(())
}

/// CS-50 (5), CS-52: what is scaled in comes from the fullest zone.
#[tokio::test]
async fn scenario_32_scale_in_keeps_zones_balanced() {
    let sets = clonesets("scenario-32").await;
    let spread = json!([{
        "maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }]);
    let web =
        sets.create(web(12).spec(json!({"template": {"spec": {"topologySpreadConstraints": spread}}}))).await;
    web.until_available(12).await;
    let all: Api<Node> = Api::all(sets.client.clone());
    let zones: BTreeMap<String, String> = all
        .list(&ListParams::default())
        .await
        .unwrap()
        .items
        .into_iter()
        .map(|node| (node.metadata.name.unwrap(), node.metadata.labels.unwrap()[ZONE].clone()))
        .collect();

    for replicas in [8, 5, 3] {
        web.scale(replicas).await;

        let mut counts: BTreeMap<&str, usize> = zones.values().map(|zone| (zone.as_str(), 0)).collect();
        let pods = web.until_available(usize::try_from(replicas).unwrap()).await;
        for pod in &pods {
            *counts.get_mut(zones[node(pod)].as_str()).unwrap() += 1;
        }
        let (most, least) = (counts.values().max().unwrap(), counts.values().min().unwrap());
        assert!(most - least <= 1, "{counts:?} of {replicas}");
    }
}
