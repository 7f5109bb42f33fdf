//! Acceptance scenarios of SidecarSet (section 8 of its specification) on the real control plane.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kruise_testbed::{Scratch, scratch_with_all_gates, wait};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

/// A machine that also builds is slow; a test that is right never waits this long.
const PATIENCE: Duration = Duration::from_mins(3);

struct Sets {
    client: Client,
    namespace: String,
    pods: Api<Pod>,
}

impl Sets {
    async fn new(name: &str) -> Self {
        let Scratch { client, namespace, .. } = scratch_with_all_gates(name).await.unwrap();
        Self { pods: Api::namespaced(client.clone(), &namespace), client, namespace }
    }

    fn api(&self, version: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("apps.kruise.io", version, "SidecarSet");
        Api::all_with(self.client.clone(), &ApiResource::from_gvk(&kind))
    }

    /// Of this namespace alone, with its name.
    async fn create(&self, more: Value) -> Result<DynamicObject, kube::Error> {
        let mut spec = json!({
            "selector": {"matchLabels": {"app": "web"}},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}},
            "containers": [{"name": "side", "image": "side:1"}],
        });
        for (key, value) in more.as_object().unwrap() {
            spec[key] = value.clone();
        }
        let object = json!({
            "apiVersion": "apps.kruise.io/v1beta1", "kind": "SidecarSet", "metadata": {"name": self.namespace}, "spec": spec,
        });
        self.api("v1beta1").create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await
    }

    async fn patch(&self, path: &str, value: Value) {
        let ops = json!([{"op": "add", "path": path, "value": value}]);
        let patch = Patch::Json::<()>(serde_json::from_value(ops).unwrap());
        self.api("v1beta1").patch(&self.namespace, &PatchParams::default(), &patch).await.unwrap();
    }

    async fn pod(&self, name: &str, more: Value) -> Pod {
        let mut pod = json!({
            "metadata": {"name": name, "labels": {"app": "web"}},
            "spec": {"terminationGracePeriodSeconds": 0, "containers": [{"name": "main", "image": "nginx:1"}]},
        });
        for (key, value) in more.as_object().unwrap() {
            pod["spec"][key] = value.clone();
        }
        self.pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap()
    }

    /// Matched, updated, ready, updated and ready.
    async fn until(&self, what: &str, wanted: [i64; 4]) -> Value {
        let one = ListParams::default().fields(&format!("metadata.name={}", self.namespace));
        let fields = ["matchedPods", "updatedPods", "readyPods", "updatedReadyPods"];
        let is_so = |set: &DynamicObject| {
            let status = &set.data["status"];
            let is_seen = status["observedGeneration"].as_i64() == set.metadata.generation;
            is_seen && fields.map(|field| status[field].as_i64().unwrap_or(0)) == wanted
        };
        let has = |sets: &[DynamicObject]| sets.iter().any(is_so);
        let sets = wait::until_all_within(&self.api("v1beta1"), &one, what, PATIENCE, has).await.unwrap();
        sets[0].data["status"].clone()
    }

    async fn images(&self, container: &str) -> Vec<String> {
        let pods = self.pods.list(&ListParams::default()).await.unwrap();
        let image = |pod: &Pod| {
            let all = &pod.spec.as_ref()?.containers;
            all.iter().find(|one| one.name == container)?.image.clone()
        };
        pods.items.iter().filter_map(image).collect()
    }

    async fn end(&self) {
        self.api("v1beta1").delete(&self.namespace, &DeleteParams::default()).await.unwrap();
    }
}

fn names(pod: &Pod) -> Vec<&str> {
    pod.spec.as_ref().unwrap().containers.iter().map(|one| one.name.as_str()).collect()
}

/// 8.1 no. 1, 3, 9, 11: injection at once after the set is stored, an upgrade with a bad image and its repair.
#[tokio::test]
async fn sidecarset_scenarios_1_3_11_pods_are_injected_and_upgraded_in_place() {
    let sets = Sets::new("ss-upgrade").await;
    sets.create(json!({})).await.unwrap();
    let first = sets.pod("a", json!({})).await;
    assert_eq!(names(&first), ["side", "main"], "the first pod after the set");
    sets.pod("b", json!({})).await;
    let status = sets.until("both injected", [2, 2, 2, 2]).await;
    assert!(status["latestRevision"].as_str().unwrap().starts_with(&sets.namespace));

    sets.patch("/spec/containers/0/image", json!("side:2")).await;
    sets.until("both upgraded", [2, 2, 2, 2]).await;
    assert_eq!(sets.images("side").await, ["side:2", "side:2"]);
    let pod = sets.pods.get("a").await.unwrap();
    let said =
        pod.status.unwrap().conditions.unwrap().into_iter().find(|one| one.type_ == "SidecarSetUpgradable");
    assert_eq!(said.unwrap().status, "True");

    sets.patch("/spec/containers/0/env", json!([{"name": "A", "value": "1"}])).await;
    sets.until("not upgradable", [2, 0, 2, 0]).await;
    sets.end().await;
    let other = sets.pod("after", json!({})).await;
    assert_eq!(names(&other), ["main"], "8.1 no. 1: no set selects it");
}

/// 8.1 no. 24 and 25: hot upgrade.
#[tokio::test]
async fn sidecarset_scenarios_24_25_hot_upgrades_alternate() {
    let sets = Sets::new("ss-hot").await;
    let strategy = json!({"upgradeType": "HotUpgrade", "hotUpgradeEmptyImage": "empty:1"});
    sets.create(json!({"containers": [{"name": "mesh", "image": "mesh:1", "upgradeStrategy": strategy}]}))
        .await
        .unwrap();
    let pod = sets.pod("a", json!({})).await;
    assert_eq!(names(&pod), ["mesh-1", "mesh-2", "main"]);
    sets.until("injected", [1, 1, 1, 1]).await;
    for (image, twins) in [("mesh:2", ["empty:1", "mesh:2"]), ("mesh:3", ["mesh:3", "empty:1"])] {
        sets.patch("/spec/containers/0/image", json!(image)).await;
        sets.until("upgraded", [1, 1, 1, 1]).await;
        assert_eq!([sets.images("mesh-1").await, sets.images("mesh-2").await].concat(), twins);
    }
    sets.end().await;
}

/// 8.1 no. 27 to 33, 8.2 no. 42, 45 and 47: computed resources, refusals that name the field, and both versions.
#[tokio::test]
async fn sidecarset_scenarios_27_42_resources_and_refusals() {
    let sets = Sets::new("ss-resources").await;
    let wrong = |container: Value| json!({"containers": [container]});
    for (more, what) in [
        (
            wrong(json!({"name": "side", "image": "side:1", "livenessProbe": {"httpGet": {"port": 99999}}})),
            "spec.containers[0].livenessProbe",
        ),
        (
            json!({"injectionStrategy": {"revision": {"revisionName": "another-1"}}}),
            "spec.injectionStrategy.revision",
        ),
        (
            wrong(
                json!({"name": "side", "image": "side:1", "resourcesPolicy": {"targetContainersMode": "sum", "resourcesExpr": {"limits": {"cpu": "100mi"}}}}),
            ),
            "unknown unit",
        ),
    ] {
        let error = sets.create(more).await.unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    let policy = json!({"targetContainersMode": "sum", "targetContainersNameRegex": "^main", "resourcesExpr": {"limits": {"cpu": "max(cpu*50%, 50m)", "memory": "200Mi"}}});
    sets.create(wrong(json!({"name": "side", "image": "side:1", "resourcesPolicy": policy}))).await.unwrap();
    let limits = json!({"limits": {"cpu": "200m", "memory": "400Mi"}});
    let pod = sets
        .pod("a", json!({"containers": [{"name": "main", "image": "nginx:1", "resources": limits}]}))
        .await;
    let side = pod.spec.unwrap().containers.into_iter().find(|one| one.name == "side").unwrap();
    let injected = side.resources.unwrap().limits.unwrap();
    assert_eq!((injected["cpu"].0.as_str(), injected["memory"].0.as_str()), ("100m", "200Mi"));
    let alpha = sets.api("v1alpha1").get(&sets.namespace).await.unwrap();
    assert_eq!(alpha.data["spec"]["containers"][0]["name"], "side");
    sets.end().await;
}

/// 8.1 no. 10, 8.2 no. 39: namespaces by label; and pods that existed before are told.
#[tokio::test]
async fn sidecarset_scenarios_10_39_namespace_labels_and_pods_that_were_there_before() {
    let sets = Sets::new("ss-labels").await;
    sets.pod("early", json!({})).await;
    let team = json!({"namespaceSelector": {"matchLabels": {"team": sets.namespace}}});
    sets.create(team).await.unwrap();
    assert_eq!(names(&sets.pod("before", json!({})).await), ["main"], "the namespace has no label yet");
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(sets.client.clone());
    let label = json!({"metadata": {"labels": {"team": sets.namespace}}});
    namespaces.patch(&sets.namespace, &PatchParams::default(), &Patch::Merge(label)).await.unwrap();
    let one = ListParams::default().fields(&format!("metadata.name={}", sets.namespace));
    let told = |all: &[DynamicObject]| {
        let conditions =
            all.iter().flat_map(|set| set.data["status"]["conditions"].as_array().into_iter().flatten());
        let mut missed = conditions.filter(|condition| condition["type"] == "NotInjected");
        missed.any(|condition| {
            condition["message"]
                .as_str()
                .is_some_and(|text| text.contains("early") && text.contains("2 pods"))
        })
    };
    wait::until_all_within(&sets.api("v1beta1"), &one, "the pods without sidecars", PATIENCE, told)
        .await
        .unwrap();
    assert_eq!(names(&sets.pod("after", json!({})).await), ["side", "main"]);
    sets.until("one has it", [1, 1, 1, 1]).await;
    sets.end().await;
}
