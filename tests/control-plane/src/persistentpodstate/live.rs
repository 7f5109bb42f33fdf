//! A namespace with StatefulSets of both groups and the objects that remember their pods.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kruise_testbed::wait;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

/// A machine that also builds is slow; a test that is right never waits this long.
const PATIENCE: Duration = Duration::from_mins(3);

pub struct States {
    client: Client,
    namespace: String,
    pub api: Api<DynamicObject>,
    pub pods: Api<Pod>,
}

/// A StatefulSet `web` in one of the two groups.
pub struct Set(pub Api<DynamicObject>);

impl States {
    pub fn new(client: Client, namespace: &str) -> Self {
        let kind = GroupVersionKind::gvk("apps.kruise.io", "v1beta1", "PersistentPodState");
        let api = Api::namespaced_with(client.clone(), namespace, &ApiResource::from_gvk(&kind));
        let pods = Api::namespaced(client.clone(), namespace);
        Self { client, namespace: namespace.to_owned(), api, pods }
    }

    pub fn older(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("apps.kruise.io", "v1alpha1", "PersistentPodState");
        Api::namespaced_with(self.client.clone(), &self.namespace, &ApiResource::from_gvk(&kind))
    }

    /// Creates StatefulSet `web` with pods that all come at once.
    pub async fn set(&self, group: &str, version: &str, annotations: Value, spec: Value) -> Set {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, "StatefulSet"));
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &self.namespace, &kind);
        let mut object = json!({
            "apiVersion": format!("{group}/{version}"), "kind": "StatefulSet",
            "metadata": {"name": "web", "annotations": annotations},
            "spec": {
                "podManagementPolicy": "Parallel",
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"terminationGracePeriodSeconds": 0, "containers": [{"name": "main", "image": "nginx:1.25"}]},
                },
            },
        });
        for (key, value) in spec.as_object().unwrap() {
            object["spec"][key] = value.clone();
        }
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
        Set(api)
    }

    pub async fn create(
        &self,
        api: &Api<DynamicObject>,
        name: &str,
        spec: Value,
    ) -> kube::Result<DynamicObject> {
        let kind = api.resource_url().contains("v1alpha1");
        let version = if kind { "v1alpha1" } else { "v1beta1" };
        let object = json!({
            "apiVersion": format!("apps.kruise.io/{version}"), "kind": "PersistentPodState",
            "metadata": {"name": name}, "spec": spec,
        });
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await
    }

    /// Until the object of this name is as wanted.
    pub async fn until(&self, name: &str, what: &str, ok: impl Fn(&DynamicObject) -> bool) -> DynamicObject {
        let params = ListParams::default().fields(&format!("metadata.name={name}"));
        let found = wait::until_all_within(&self.api, &params, what, PATIENCE, |all| all.iter().any(&ok))
            .await
            .unwrap();
        found.into_iter().next().unwrap()
    }

    pub async fn until_gone(&self, name: &str) {
        let params = ListParams::default().fields(&format!("metadata.name={name}"));
        wait::until_all_within(&self.api, &params, "no object", PATIENCE, <[_]>::is_empty).await.unwrap();
    }

    /// Until exactly these pods are remembered.
    pub async fn until_remembered(&self, names: &[&str]) -> BTreeMap<String, Value> {
        let what = format!("records of {names:?}");
        let object = self.until("web", &what, |object| records(object).keys().eq(names)).await;
        records(&object)
    }

    pub async fn until_ready(&self, count: usize) -> Vec<Pod> {
        let params = ListParams::default().labels("app=web");
        let is_ready = |pod: &Pod| {
            let status = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
            pod.metadata.deletion_timestamp.is_none()
                && status.into_iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True")
        };
        let ok = |pods: &[Pod]| pods.len() == count && pods.iter().all(is_ready);
        wait::until_all_within(&self.pods, &params, "ready pods", PATIENCE, ok).await.unwrap()
    }

    /// Deletes a pod and waits until its successor is ready.
    pub async fn replace(&self, name: &str, count: usize) -> Vec<Pod> {
        let old = self.pods.get(name).await.unwrap().uid().unwrap();
        self.pods.delete(name, &DeleteParams::default()).await.unwrap();
        let params = ListParams::default().fields(&format!("metadata.name={name}"));
        let is_new = |pods: &[Pod]| pods.iter().any(|pod| pod.uid().as_ref() != Some(&old));
        wait::until_all_within(&self.pods, &params, "the successor", PATIENCE, is_new).await.unwrap();
        self.until_ready(count).await
    }

    pub async fn change(&self, name: &str, patch: Value) {
        self.api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }
}

impl Set {
    pub async fn change(&self, patch: Value) {
        self.0.patch("web", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub async fn scale(&self, replicas: u32) {
        self.change(json!({"spec": {"replicas": replicas}})).await;
    }

    pub async fn annotate(&self, key: &str, value: Value) {
        self.change(json!({"metadata": {"annotations": {(key): value}}})).await;
    }

    pub async fn delete(&self) {
        self.0.delete("web", &DeleteParams::default()).await.unwrap();
    }
}

pub fn records(object: &DynamicObject) -> BTreeMap<String, Value> {
    let states =
        object.data.pointer("/status/podStates").and_then(Value::as_object).cloned().unwrap_or_default();
    states.into_iter().collect()
}

/// How many labels each record has.
pub fn labels(object: &DynamicObject) -> Vec<usize> {
    let count = |record: &Value| record["nodeTopologyLabels"].as_object().map_or(0, serde_json::Map::len);
    records(object).values().map(count).collect()
}

/// Node of each pod, by pod name.
pub fn nodes(pods: &[Pod]) -> BTreeMap<String, String> {
    let node = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default();
    pods.iter().map(|pod| (pod.name_any(), node(pod))).collect()
}

pub fn owned_by(object: &DynamicObject) -> Option<&str> {
    object.metadata.owner_references.as_ref()?.first().map(|owner| owner.api_version.as_str())
}

/// By which object the pod was placed.
pub fn placed(pod: &Pod) -> Option<&str> {
    pod.annotations().get("kruise.io/injected-persistent-pod-state").map(String::as_str)
}
