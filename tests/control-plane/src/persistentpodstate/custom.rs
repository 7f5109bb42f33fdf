//! Kinds that the administrator lists, in the shared cluster whose manager is asked about objects and pods. One story, because the
//! list is one object for the whole cluster. The test plays the controller of the kind.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kruise_testbed::{manager, scratch_with_all_gates, wait};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::{States, owned_by, placed, records};

const GROUP: &str = "game.example.com";
const LIST: &str = "PPS_Watch_Custom_Workload_WhiteList";
const ADDRESS: &str = "example.com/address";

async fn apply<K>(api: &Api<K>, object: &Value)
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
    K::DynamicType: Default,
{
    let params = PatchParams::apply("test").force();
    api.patch(object["metadata"]["name"].as_str().unwrap(), &params, &Patch::Apply(object)).await.unwrap();
}

/// The administrator's list says this.
async fn list(client: &Client, text: &str) {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), "kruise-system");
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kruise-configuration"}, "data": {(LIST): text},
    });
    apply(&api, &object).await;
}

fn game_sets() -> String {
    json!({"workloads": [{"Group": GROUP, "Version": "v1", "Kind": "GameSet"}]}).to_string()
}

/// Its definition, and what PP-30 asks of the administrator: that the manager may read it.
async fn install(client: &Client) {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("gamesets.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced", "names": {"plural": "gamesets", "kind": "GameSet"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    apply(&Api::<CustomResourceDefinition>::all(client.clone()), &definition).await;
    let rules = json!([{"apiGroups": [GROUP], "resources": ["gamesets"], "verbs": ["list", "watch"]}]);
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "game-sets"}, "rules": rules,
    });
    apply(&Api::<ClusterRole>::all(client.clone()), &role).await;
    let api_group = "rbac.authorization.k8s.io";
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "game-sets"},
        "roleRef": {"apiGroup": api_group, "kind": "ClusterRole", "name": "game-sets"},
        "subjects": [{"apiGroup": api_group, "kind": "User", "name": manager::USER}],
    });
    apply(&Api::<ClusterRoleBinding>::all(client.clone()), &binding).await;
}

struct Game {
    states: States,
    sets: Api<DynamicObject>,
    uid: String,
}

impl Game {
    /// A set of two that asks for its pods to be remembered, once its kind is served.
    async fn of(client: &Client, namespace: &str) -> Self {
        let states = States::new(client.clone(), namespace);
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(GROUP, "v1", "GameSet"));
        let sets: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind);
        let object = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "GameSet",
            "metadata": {"name": "web", "annotations": {
                "kruise.io/auto-generate-persistent-pod-state": "true",
                "kruise.io/required-persistent-topology": "kubernetes.io/os",
                "kruise.io/preferred-persistent-topology": "kubernetes.io/hostname",
                "kruise.io/persistent-pod-annotations": ADDRESS,
            }},
            "spec": {"replicas": 2},
        });
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        for _ in 0..240 {
            if let Ok(created) = sets.create(&PostParams::default(), &object).await {
                return Self { states, sets, uid: created.uid().unwrap() };
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        panic!("the kind was never served");
    }

    fn pod(&self, name: &str) -> Pod {
        let owner = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "GameSet", "name": "web", "uid": self.uid, "controller": true,
        });
        let object = json!({
            "metadata": {"name": name, "labels": {"app": "web"}, "annotations": {(ADDRESS): format!("at-{name}")}, "ownerReferences": [owner]},
            "spec": {"terminationGracePeriodSeconds": 0, "containers": [{"name": "main", "image": "nginx:1.25"}]},
        });
        serde_json::from_value(object).unwrap()
    }

    async fn start(&self, name: &str) {
        self.states.pods.create(&PostParams::default(), &self.pod(name)).await.unwrap();
    }

    async fn stop(&self, name: &str) {
        self.states.pods.delete(name, &DeleteParams::default()).await.unwrap();
        let params = ListParams::default().fields(&format!("metadata.name={name}"));
        wait::until_all(&self.states.pods, &params, "no pod", <[Pod]>::is_empty).await.unwrap();
    }

    async fn scale(&self, replicas: u32) {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        self.sets.patch("web", &PatchParams::default(), &patch).await.unwrap();
    }

    /// The webhook may still be on its way into the configuration: a pod that is only tried tells.
    async fn until_placed(&self, name: &str) {
        let try_only = PostParams { dry_run: true, ..PostParams::default() };
        for _ in 0..240 {
            let tried = self.states.pods.create(&try_only, &self.pod(name)).await.unwrap();
            if placed(&tried) == Some("web") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        panic!("{name} was never placed");
    }
}

/// 8.1, scenario 2; 8.2; PP-5, PP-9, PP-17, PP-21, PP-26, PP-30, persistentpodstate/D6, persistentpodstate/D14.
#[tokio::test]
async fn scenario_2_listed_kind_is_remembered_while_it_is_listed() {
    let test = scratch_with_all_gates("pps-custom").await.unwrap();
    list(&test.client, &game_sets()).await;
    install(&test.client).await; // Listed before it is installed: it is found all the same.
    let game = Game::of(&test.client, &test.namespace).await;
    let states = &game.states;
    for name in ["web-0", "web-1"] {
        game.start(name).await;
    }
    let first = states.until_remembered(&["web-0", "web-1"]).await;
    for (name, record) in &first {
        assert_eq!(record["nodeTopologyLabels"].as_object().unwrap().len(), 2, "{record}");
        assert_eq!(record["annotations"], json!({(ADDRESS): format!("at-{name}")}));
    }
    assert_eq!(owned_by(&states.api.get("web").await.unwrap()), Some("game.example.com/v1"));

    game.stop("web-1").await;
    game.until_placed("web-1").await;
    game.start("web-1").await;
    let both = states.until_ready(2).await;
    assert_eq!(placed(&both[1]), Some("web"));
    assert_eq!(both[1].spec.as_ref().unwrap().node_selector.as_ref().unwrap()["kubernetes.io/os"], "linux");

    // D6: a list that cannot be read stops nobody, and what was listed stays listed.
    list(&test.client, "{").await;
    let mut other = game.pod("other");
    other.metadata.owner_references = None;
    states.pods.create(&PostParams::default(), &other).await.unwrap();
    let runs = |pod: &Pod| pod.status.as_ref().unwrap().phase.as_deref() == Some("Running");
    wait::until(&states.pods, "other", "a pod of nobody", runs).await.unwrap();
    game.scale(1).await;
    game.stop("web-1").await;
    states.until_remembered(&["web-0"]).await;

    // D14: taken off the list, its objects are left alone; back on it, they are brought up to date.
    list(&test.client, "").await;
    wait_unsupported(states).await;
    game.scale(0).await;
    game.stop("web-0").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(records(&states.api.get("web").await.unwrap()).len(), 1, "nobody watches it");
    list(&test.client, &game_sets()).await;
    states.until("web", "no records", |object| records(object).is_empty()).await;

    game.sets.delete("web", &DeleteParams::default()).await.unwrap();
    states.until_gone("web").await;
}

/// The webhook asks for the list at each object: when it refuses the kind, the watch is about to end.
async fn wait_unsupported(states: &States) {
    let spec = json!({
        "targetRef": {"apiVersion": format!("{GROUP}/v1"), "kind": "GameSet", "name": "nobody"},
        "requiredPersistentTopology": {"keys": ["zone"]},
    });
    for _ in 0..240 {
        match states.create(&states.api, "probe", spec.clone()).await {
            Err(error) if error.to_string().contains("use a StatefulSet") => {
                // The manager hears of the same change; it has been told by the time the next object is answered.
                tokio::time::sleep(Duration::from_secs(1)).await;
                return;
            }
            Ok(_) => drop(states.api.delete("probe", &DeleteParams::default()).await.unwrap()),
            Err(_) => {}
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    panic!("the kind is still supported");
}
