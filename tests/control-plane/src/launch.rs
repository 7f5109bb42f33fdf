//! Pods by themselves: containers that start in an order, readiness gates that nobody else opens. In a cluster of its own,
//! because webhooks are called.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kruise_sim::kubelet::{Behaviour, Which};
use kruise_testbed::simnodes::{self, SimNodes};
use kruise_testbed::{Cluster, Options, crds, manager, wait};
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(1);

struct World {
    nodes: SimNodes,
    pods: Api<Pod>,
    config_maps: Api<ConfigMap>,
    _cluster: Cluster,
}

async fn world() -> World {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    let client = cluster.client();
    let nodes = SimNodes::start(cluster.client_named(simnodes::USER_AGENT).await.unwrap(), 2).await.unwrap();
    crds::install(&client).await.unwrap();
    let kubeconfig = manager::authorize(&cluster, "").await.unwrap();
    let args = manager::args_with_webhooks(&kubeconfig, manager::free_port().unwrap());
    cluster.spawn(manager::PART, manager::program().unwrap(), args).unwrap();
    let (pods, config_maps) = (Api::default_namespaced(client.clone()), Api::default_namespaced(client));
    World { nodes, pods, config_maps, _cluster: cluster }
}

impl World {
    async fn create(&self, metadata: Value, containers: Value) -> Result<Pod, kube::Error> {
        let pod = json!({"metadata": metadata, "spec": {"containers": containers}});
        self.pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await
    }

    /// The API server learns of a changed configuration with a delay: until it asks us about such pods.
    async fn until_asked(&self) {
        let start = Instant::now();
        loop {
            match self.create(json!({"name": "probe"}), two_levels("first")).await {
                Err(error) if error.to_string().contains("KRUISE_CONTAINER_PRIORITY") => return,
                Err(error) => panic!("{error}"),
                Ok(_) => {
                    self.pods.delete("probe", &DeleteParams::default().grace_period(0)).await.unwrap();
                    assert!(start.elapsed() < PATIENCE, "nobody asked about a priority that is no number");
                }
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

fn two_levels(priority: &str) -> Value {
    json!([
        {"name": "low", "image": "nginx:1"},
        {"name": "high", "image": "nginx:1", "env": [{"name": "KRUISE_CONTAINER_PRIORITY", "value": priority}]},
    ])
}

fn keys(map: &ConfigMap) -> Vec<String> {
    map.data.iter().flatten().map(|(key, _)| key.clone()).collect()
}

/// PW-1, PW-3, SM-95 … SM-98: by the condition in the configuration, the webhook, and both controllers.
#[tokio::test]
async fn sm_95_sm_98_pw_3_order_is_kept_and_gates_of_foreign_pods_are_opened() {
    let world = world().await;
    let never = Which { container: Some("high".to_owned()), ..Which::default() };
    world.nodes.rule(never.clone(), Behaviour::NeverReady);
    world.until_asked().await;

    let pod = world.create(json!({"generateName": "web-"}), two_levels("10")).await.unwrap();
    let name = pod.metadata.name.clone().unwrap();
    let barrier = json!({"name": format!("{name}-barrier"), "key": "p_0"});
    let first = json!(pod.spec.unwrap().containers[0].env.as_ref().unwrap()[0]);
    assert_eq!(first["valueFrom"]["configMapKeyRef"], barrier);

    let is_open = |map: &ConfigMap| keys(map) == ["p_10"];
    let map = format!("{name}-barrier");
    let found = wait::until(&world.config_maps, &map, "the first level", is_open).await.unwrap();
    assert_eq!(found.metadata.owner_references.unwrap()[0].uid, pod.metadata.uid.unwrap());
    let is_up = |seen: &Pod| {
        let statuses = seen.status.as_ref().and_then(|status| status.container_statuses.as_ref());
        statuses.is_some_and(|all| all.iter().any(|one| one.name == "low" && one.ready))
    };
    // The simulated kubelet does not wait for the ConfigMap; what is open must not follow from that.
    let waiting = wait::until(&world.pods, &name, "the lower container", is_up).await.unwrap();
    let done = |seen: &Pod| {
        let annotations = seen.metadata.annotations.as_ref();
        annotations.is_some_and(|all| all.contains_key("apps.kruise.io/container-launch-priority-completed"))
    };
    assert!(!done(&waiting), "the higher level is not ready");
    assert_eq!(keys(&world.config_maps.get(&map).await.unwrap()), ["p_10"]);
    gate_is_opened(&world).await;
    world.nodes.forget(&never);
    second_level_follows(&world).await;
}

/// The next pod: high is ready at once, low is not, so that its level is opened and the pod marked.
async fn second_level_follows(world: &World) {
    let never = Which { container: Some("low".to_owned()), ..Which::default() };
    world.nodes.rule(never, Behaviour::NeverReady);
    world.create(json!({"name": "next"}), two_levels("10")).await.unwrap();

    let all_open = |map: &ConfigMap| keys(map) == ["p_0", "p_10"];
    wait::until(&world.config_maps, "next-barrier", "both levels", all_open).await.unwrap();
    let is_marked = |pod: &Pod| {
        let key = "apps.kruise.io/container-launch-priority-completed";
        pod.metadata.annotations.as_ref().and_then(|all| all.get(key)).is_some_and(|value| value == "true")
    };
    wait::until(&world.pods, "next", "the mark", is_marked).await.unwrap();
}

/// PW-3: nobody owns this pod.
async fn gate_is_opened(world: &World) {
    let pod = json!({
        "metadata": {"name": "gated"},
        "spec": {"containers": [{"name": "main", "image": "nginx:1"}], "readinessGates": [{"conditionType": "KruisePodReady"}]},
    });
    world.pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let is_ready = |seen: &Pod| {
        let conditions = seen.status.as_ref().and_then(|status| status.conditions.as_ref());
        let is_true = |kind: &str| {
            conditions.is_some_and(|all| all.iter().any(|one| one.type_ == kind && one.status == "True"))
        };
        is_true("KruisePodReady") && is_true("Ready")
    };
    wait::until(&world.pods, "gated", "ready", is_ready).await.unwrap();
}
