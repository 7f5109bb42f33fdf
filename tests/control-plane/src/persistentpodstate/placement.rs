//! Pods come back to where they were ready last: the API server calls our manager for every new pod.

use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{Node, Pod, Secret};
use kruise_testbed::simnodes::{self, SimNodes};
use kruise_testbed::{Cluster, Options, crds, manager, wait};
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::{Set, States, labels, nodes, placed, records};

struct World {
    cluster: Cluster,
    _nodes: SimNodes,
    client: Client,
    args: Vec<String>,
}

async fn world() -> World {
    let program = manager::program().unwrap();
    let cluster = Cluster::start(Options::default()).await.unwrap();
    let client = cluster.client();
    let sim = SimNodes::start(cluster.client_named(simnodes::USER_AGENT).await.unwrap(), 6).await.unwrap();
    crds::install(&client).await.unwrap();
    let port = manager::free_port().unwrap();
    manager::namespace(&client).await.unwrap();
    let args = manager::args_with_webhooks(cluster.kubeconfig(), port);
    cluster.spawn(manager::PART, program, args.clone()).unwrap();
    let world = World { cluster, _nodes: sim, client, args };
    world.call_for_pods(port).await;
    world
}

impl World {
    /// Which pods are sent to us is the business of the installation; here it is all of them.
    async fn call_for_pods(&self, port: u16) {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), "kruise-system");
        let has_ca =
            |secret: &Secret| secret.data.as_ref().is_some_and(|data| data.contains_key("ca-cert.pem"));
        let secret = wait::until(&secrets, "kruise-webhook-certs", "certificates", has_ca).await.unwrap();
        let ca = serde_json::to_value(&secret.data.unwrap()["ca-cert.pem"]).unwrap();
        let entry = json!({
            "name": "mpod.kb.io", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
            "clientConfig": {"url": format!("https://127.0.0.1:{port}/mutate-pod"), "caBundle": ca},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        });
        let object = json!({"metadata": {"name": "pods-of-the-test"}, "webhooks": [entry]});
        let all: Api<MutatingWebhookConfiguration> = Api::all(self.client.clone());
        all.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }

    async fn cordon(&self, node: &str, mark: Value) {
        let all: Api<Node> = Api::all(self.client.clone());
        let patch = Patch::Merge(json!({"spec": {"unschedulable": mark}}));
        all.patch(node, &PatchParams::default(), &patch).await.unwrap();
    }
}

fn remember(required: &[&str], preferred: &[&str]) -> Value {
    let mut spec = json!({"targetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"}});
    if !required.is_empty() {
        spec["requiredPersistentTopology"] = json!({"keys": required});
    }
    if !preferred.is_empty() {
        spec["preferredPersistentTopology"] = json!([{"weight": 100, "preference": {"keys": preferred}}]);
    }
    spec
}

const HOST: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

/// 8.2: actual placement. PP-16 … PP-20, PP-24: preferred nodes are found again after deletion and after scaling
/// (WhenDeleted); 8.1, scenario 4: both versions show one object; a second object for the target is refused.
#[tokio::test]
async fn pods_return_to_their_nodes() {
    let world = world().await;
    let states = States::new(world.client.clone(), "default");
    let older = states.older();
    let mut spec = remember(&[], &[HOST]);
    spec["preferredPersistentTopology"][0]["preference"] = json!({"nodeTopologyKeys": [HOST]});
    created(&states, &older, spec).await;
    let shown = states.api.get("web").await.unwrap();
    assert_eq!(shown.data["spec"]["preferredPersistentTopology"][0]["preference"], json!({"keys": [HOST]}));
    let refused = wait_refused(&states).await;
    assert!(refused.contains("web already records the pods of this workload"), "{refused}");
    states.change("web", json!({"spec": {"persistentPodStateRetentionPolicy": "WhenDeleted"}})).await;
    assert_eq!(
        older.get("web").await.unwrap().data["spec"]["persistentPodStateRetentionPolicy"],
        "WhenDeleted"
    );

    let set: Set = states.set("apps", "v1", json!({}), json!({"replicas": 5})).await;
    let first = states.until_ready(5).await;
    assert!(first.iter().all(|pod| placed(pod).is_none()), "the first placement is the scheduler's");
    states.until_remembered(&["web-0", "web-1", "web-2", "web-3", "web-4"]).await;

    let again = states.replace("web-2", 5).await;
    assert_eq!(nodes(&again), nodes(&first));
    assert_eq!(again.iter().filter_map(placed).collect::<Vec<_>>(), ["web"]);

    set.scale(1).await;
    states.until_ready(1).await;
    set.scale(5).await;
    assert_eq!(nodes(&states.until_ready(5).await), nodes(&first));
    let object = states.api.get("web").await.unwrap();
    assert_eq!(labels(&object), [1; 5]);
    quick_deletions_lose_no_record(&world, &states).await;
}

/// 8.2, persistentpodstate/D16: a pod that is driven from node to node and deleted as soon as it is ready is remembered where it is
/// ready last, and no other record suffers.
async fn quick_deletions_lose_no_record(world: &World, states: &States) {
    let before = records(&states.api.get("web").await.unwrap());
    for _ in 0..3 {
        let left = nodes(&states.until_ready(5).await)["web-2"].clone();
        world.cordon(&left, json!(true)).await;
        let elsewhere = nodes(&states.replace("web-2", 5).await)["web-2"].clone();
        assert_ne!(elsewhere, left);
        states.pods.delete("web-2", &DeleteParams::default()).await.unwrap();
        world.cordon(&left, Value::Null).await;
    }

    let last = nodes(&states.until_ready(5).await)["web-2"].clone();
    let is_right = |object: &DynamicObject| records(object)["web-2"]["nodeName"] == json!(last);
    let mut after = records(&states.until("web", "the last node", is_right).await);
    assert_eq!(after["web-2"]["nodeTopologyLabels"], json!({(HOST): last}));
    after.insert("web-2".to_owned(), before["web-2"].clone());
    assert_eq!(after, before);
}

/// Conversion and admission may still be on their way into the configuration.
async fn created(states: &States, api: &Api<DynamicObject>, spec: Value) {
    for _ in 0..240 {
        if states.create(api, "web", spec.clone()).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    states.create(api, "web", spec).await.unwrap();
}

/// The validating webhook may still be on its way into the configuration.
async fn wait_refused(states: &States) -> String {
    for _ in 0..240 {
        match states.create(&states.api, "second", remember(&[], &[HOST])).await {
            Err(kube::Error::Api(status)) if status.message.contains("vpersistentpodstate.kb.io") => {
                assert_eq!(status.code, 400);
                return status.message;
            }
            Ok(_) => drop(states.api.delete("second", &DeleteParams::default()).await.unwrap()),
            Err(_) => {}
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    panic!("the second object was never refused");
}

/// 8.2: with a required topology a pod waits for its zone rather than going elsewhere. Manager down while a pod becomes ready
/// elsewhere: after its start the record is right.
#[tokio::test]
async fn required_zone_holds_and_records_catch_up() {
    let world = world().await;
    let states = States::new(world.client.clone(), "default");
    created(&states, &states.api, remember(&[ZONE], &[])).await;
    let set = states.set("apps", "v1", json!({}), json!({"replicas": 1})).await;
    let first = states.until_ready(1).await;
    let zone = states.until_remembered(&["web-0"]).await["web-0"]["nodeTopologyLabels"][ZONE].clone();
    let of_zone: Api<Node> = Api::all(world.client.clone());
    let of_zone = of_zone
        .list(&ListParams::default().labels(&format!("{ZONE}={}", zone.as_str().unwrap())))
        .await
        .unwrap();
    let names: Vec<String> = of_zone.items.into_iter().filter_map(|node| node.metadata.name).collect();
    assert!(names.contains(&nodes(&first)["web-0"]));
    for name in &names {
        world.cordon(name, json!(true)).await;
    }

    states.pods.delete("web-0", &DeleteParams::default()).await.unwrap();
    let says_why = |pod: &Pod| {
        let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
        placed(pod).is_some()
            && conditions
                .into_iter()
                .flatten()
                .any(|one| one.type_ == "PodScheduled" && one.reason.as_deref() == Some("Unschedulable"))
    };
    wait::until(&states.pods, "web-0", "a pod that waits and says why", says_why).await.unwrap();
    for name in &names {
        world.cordon(name, Value::Null).await;
    }
    let back = nodes(&states.until_ready(1).await)["web-0"].clone();
    assert!(names.contains(&back));

    // Nobody records while the manager is down; nothing calls it either, as long as no pod is created.
    world.cluster.stop(manager::PART).unwrap();
    let status = json!({"status": {"podStates": {"web-0": {"nodeName": "elsewhere"}}}});
    states.api.patch_status("web", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    world.cluster.spawn(manager::PART, manager::program().unwrap(), world.args.clone()).unwrap();
    states.until("web", "the right node", |object| records(object)["web-0"]["nodeName"] == json!(back)).await;
    template_moves_a_pod_only_where_the_object_says_so(&states, &set, zone.as_str().unwrap()).await;
}

fn selected_zone(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_selector.as_ref()?.get(ZONE).map(String::as_str)
}

/// 8.2, PP-18, persistentpodstate/D5: the template asks for another zone. As with the original the record wins; where the object says
/// so, the template wins and the record follows, also when the template says nothing any more.
async fn template_moves_a_pod_only_where_the_object_says_so(states: &States, set: &Set, first: &str) {
    let other = if first == "zone-0" { "zone-1" } else { "zone-0" };
    let wish = |zone: Value, image: &str| {
        let main = json!({"name": "main", "image": image});
        json!({"spec": {"template": {"spec": {"nodeSelector": {(ZONE): zone}, "containers": [main]}}}})
    };
    let until_in = async |zone: &str, image: &str| {
        let is_so = |pod: &Pod| {
            let runs =
                pod.spec.as_ref().is_some_and(|spec| spec.containers[0].image.as_deref() == Some(image));
            runs && selected_zone(pod) == Some(zone)
        };
        wait::until(&states.pods, "web-0", &format!("{image} in {zone}"), is_so).await.unwrap();
        states.until_ready(1).await;
    };

    set.change(wish(json!(other), "nginx:1.26")).await;
    until_in(first, "nginx:1.26").await;

    let wins = json!({"kruise.io/template-node-selector-wins": "true"});
    states.change("web", json!({"metadata": {"annotations": wins}})).await;
    states.replace("web-0", 1).await;
    until_in(other, "nginx:1.26").await;
    let follows =
        |object: &DynamicObject| records(object)["web-0"]["nodeTopologyLabels"][ZONE] == json!(other);
    states.until("web", "a record of the new zone", follows).await;

    set.change(wish(Value::Null, "nginx:1.27")).await;
    until_in(other, "nginx:1.27").await;
}
