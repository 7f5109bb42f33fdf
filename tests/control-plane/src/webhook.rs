//! Conversion and admission on the real API server: our manager as a process that the API server calls on loopback.
//!
//! In a cluster of its own: here the manager is killed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{Event, Pod, Secret};
use kruise_testbed::checkout::golden;
use kruise_testbed::simnodes::{self, SimNodes};
use kruise_testbed::{Cluster, Options, crds, manager, wait};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

struct World {
    cluster: Cluster,
    _nodes: SimNodes,
    client: Client,
}

async fn world() -> World {
    let program = manager::program().unwrap();
    let cluster = Cluster::start(Options::default()).await.unwrap();
    let client = cluster.client();
    let nodes = SimNodes::start(cluster.client_named(simnodes::USER_AGENT).await.unwrap(), 3).await.unwrap();
    crds::install(&client).await.unwrap();
    let gates = "StatefulSetAutoResizePVCGate=true";
    let kubeconfig = manager::authorize(&cluster, gates).await.unwrap();
    let mut args = manager::args_with_webhooks(&kubeconfig, manager::free_port().unwrap());
    args.push(format!("--feature-gates={gates}"));
    cluster.spawn(manager::PART, program, args).unwrap();
    World { cluster, _nodes: nodes, client }
}

impl World {
    fn clonesets(&self, version: &str) -> Api<DynamicObject> {
        self.workloads("CloneSet", version)
    }

    fn workloads(&self, kind: &str, version: &str) -> Api<DynamicObject> {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", version, kind));
        Api::namespaced_with(self.client.clone(), "default", &kind)
    }

    async fn create(&self, object: &Value) -> Result<DynamicObject, kube::Error> {
        let version = object["apiVersion"].as_str().unwrap().rsplit('/').next().unwrap();
        let read: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        self.workloads(object["kind"].as_str().unwrap(), version).create(&PostParams::default(), &read).await
    }

    /// Until the API server has seen the manager's configurations and its part in the definitions, nobody calls it.
    async fn until_called(&self) {
        let mut bad = web("v1beta1", "probe");
        bad["spec"]["template"]["spec"]["containers"][0]["ports"] = json!([{"containerPort": 70_000}]);
        for _ in 0..120 {
            let is_judged = self.probe(&bad).await.is_err_and(|why| why.contains("vcloneset.kb.io"));
            if is_judged && self.probe(&web("v1alpha1", "probe")).await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        panic!("the webhook was never called");
    }

    /// Creates an object and takes it away again, or says why it was refused.
    async fn probe(&self, object: &Value) -> Result<(), String> {
        self.create(object).await.map_err(|error| error.to_string())?;
        self.clonesets("v1beta1").delete("probe", &DeleteParams::default()).await.unwrap();
        Ok(())
    }
}

fn web(version: &str, name: &str) -> Value {
    json!({
        "apiVersion": format!("apps.kruise.io/{version}"), "kind": "CloneSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "nginx:1.25"}]},
            },
        },
    })
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

#[tokio::test]
async fn cloneset_of_either_version_is_defaulted_judged_and_rolled_out() {
    let world = world().await;
    world.until_called().await;

    rolls_out(&world).await;
    scenario_1_ports_of_the_host(&world).await;
    stores_what_the_original_stored(&world).await;
    refuses_with_the_field(&world).await;
    statefulsets_too(&world).await;

    heals(&world).await;

    logs_can_be_searched(&world).await;
    world.cluster.stop(manager::PART).unwrap();
    world.clonesets("v1beta1").get("web").await.unwrap();
    assert!(world.clonesets("v1beta1").list(&ListParams::default()).await.is_ok());
}

async fn rolls_out(world: &World) {
    world.create(&web("v1alpha1", "web")).await.unwrap();

    let read = world.clonesets("v1beta1").get("web").await.unwrap();
    assert_eq!(read.data["spec"]["updateStrategy"]["rollingUpdate"]["podUpdatePolicy"], "ReCreate");
    assert_eq!(read.metadata.annotations, None, "nothing had to be kept aside");
    let pods: Api<Pod> = Api::namespaced(world.client.clone(), "default");
    let params = ListParams::default().labels("app=web");
    let ready = |found: &[Pod]| found.len() == 2 && found.iter().all(is_ready);
    wait::until_all(&pods, &params, "2 ready pods", ready).await.unwrap();
}

async fn stores_what_the_original_stored(world: &World) {
    for name in ["cs-minimal", "cs-probes", "csb-minimal"] {
        stores_as_recorded(world, "CloneSet", &golden("cloneset").join(format!("{name}.json"))).await;
    }
}

/// Creates what was recorded, without pods, and reads it back in both versions; or sees it refused as it was.
async fn stores_as_recorded(world: &World, kind: &str, file: &Path) {
    let golden: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let name = file.file_stem().unwrap().to_str().unwrap();
    let mut input = golden["input"].clone();
    input["metadata"] = json!({"name": name});
    input["spec"]["replicas"] = json!(0);
    let created = world.create(&input).await;
    if !golden["refused"].is_null() {
        assert!(created.is_err(), "{name}");
        return;
    }
    created.unwrap();
    for version in ["v1alpha1", "v1beta1"] {
        let stored = world.workloads(kind, version).get(name).await.unwrap();
        let mut expected = golden[format!("stored_{version}")]["spec"].clone();
        expected["replicas"] = json!(0);
        assert_eq!(without_nulls(&stored.data["spec"]), without_nulls(&expected), "{name} {version}");
    }
}

/// Section 6 of their specification: all recorded objects, a v1alpha1 client that loses nothing, growth that is refused.
async fn statefulsets_too(world: &World) {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(golden("statefulset")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 17);
    for file in &files {
        stores_as_recorded(world, "StatefulSet", file).await;
    }
    keeps_what_v1alpha1_does_not_know(world).await;

    let claim = |size: &str| json!([{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "gone", "resources": {"requests": {"storage": size}}}}]);
    let mut growing = web("v1beta1", "growing");
    growing["kind"] = json!("StatefulSet");
    growing["spec"]["replicas"] = json!(0);
    growing["spec"]["volumeClaimUpdateStrategy"] = json!({"type": "OnPodRollingUpdate"});
    growing["spec"]["volumeClaimTemplates"] = claim("1Gi");
    world.create(&growing).await.unwrap();
    let grow = Patch::Merge(json!({"spec": {"volumeClaimTemplates": claim("2Gi")}}));
    let grown =
        world.workloads("StatefulSet", "v1beta1").patch("growing", &PatchParams::default(), &grow).await;
    let Err(kube::Error::Api(status)) = grown else { panic!("it was accepted") };
    assert!(status.message.contains("spec.volumeClaimTemplates[0].spec.resources"), "{}", status.message);
}

/// statefulset/B17, section 8.2: a v1alpha1 client edits an object that uses every field of v1beta1 alone.
async fn keeps_what_v1alpha1_does_not_know(world: &World) {
    let mut object = web("v1beta1", "both");
    object["kind"] = json!("StatefulSet");
    let newer = json!({
        "podManagementPolicy": "Parallel",
        "reserveOrdinals": [1, "3-5"], "ordinals": {"start": 2}, "scaleStrategy": {"maxUnavailable": 2},
        "lifecycle": {"preDelete": {"labelsHandler": {"hold": "on"}}},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Delete"},
        "volumeClaimUpdateStrategy": {"type": "OnPodRollingUpdate"},
    });
    for (field, value) in newer.as_object().unwrap() {
        object["spec"][field] = value.clone();
    }
    object["spec"]["replicas"] = json!(0);
    world.create(&object).await.unwrap();

    let older = world.workloads("StatefulSet", "v1alpha1");
    let is_seen = |seen: &DynamicObject| seen.data["status"]["updateRevision"].is_string();
    let mut read = wait::until(&older, "both", "its status", is_seen).await.unwrap();
    assert!(read.data["spec"].get("reserveOrdinals").is_none());
    read.data["spec"]["revisionHistoryLimit"] = json!(3);
    // As clients do: the status may be written meanwhile.
    while let Err(kube::Error::Api(status)) = older.replace("both", &PostParams::default(), &read).await {
        assert_eq!(status.code, 409, "{}", status.message);
        read.metadata.resource_version = older.get("both").await.unwrap().metadata.resource_version;
    }

    let stored = world.workloads("StatefulSet", "v1beta1").get("both").await.unwrap();
    assert_eq!(stored.data["spec"]["revisionHistoryLimit"], 3);
    for (field, value) in newer.as_object().unwrap() {
        assert_eq!(stored.data["spec"][field], *value, "{field}");
    }
}

async fn refuses_with_the_field(world: &World) {
    let mut old = web("v1alpha1", "bad");
    old["spec"]["updateStrategy"] = json!({"type": "InPlaceOnly", "maxSurge": 1});
    let mut new = web("v1beta1", "bad");
    new["spec"]["template"]["spec"]["containers"][0]["ports"] = json!([{"containerPort": 70_000}]);
    for (bad, field) in
        [(old, "spec.updateStrategy"), (new, "spec.template.spec.containers[0].ports[0].containerPort")]
    {
        let Err(kube::Error::Api(status)) = world.create(&bad).await else { panic!("it was accepted") };
        assert!(status.message.contains(field), "{}", status.message);
    }
}

/// install/T18, install/T28, install/T26: the log by the words of the guide, by name and by uid; events by their object.
async fn logs_can_be_searched(world: &World) {
    let uid = world.clonesets("v1beta1").get("web").await.unwrap().metadata.uid.unwrap();
    let log = world.cluster.log_dir().join(format!("{}.log", manager::PART));
    let text = std::fs::read_to_string(log).unwrap();
    for words in [["webhook", "certificate"], ["default/web", uid.as_str()]] {
        let found = text.lines().any(|line| words.iter().all(|word| line.contains(word)));
        assert!(found, "no line of the log has {words:?}");
    }
    let events: Api<Event> = Api::namespaced(world.client.clone(), "default");
    let about = ListParams::default().fields("involvedObject.kind=CloneSet,involvedObject.name=web");
    // install/T5: what `kubectl describe cloneset` shows below the status.
    let is_told = |all: &[Event]| {
        all.iter().any(|one| {
            one.reason.as_deref() == Some("SuccessfulCreate")
                && one.involved_object.uid.as_ref() == Some(&uid)
                && one.last_timestamp.is_some()
        })
    };
    wait::until_all(&events, &about, "the event of a creation", is_told).await.unwrap();
}

/// The secret is deleted, then the CA in a configuration is another one: both heal without a restart.
async fn heals(world: &World) {
    let secrets: Api<Secret> = Api::namespaced(world.client.clone(), "kruise-system");
    let before = secrets.get("kruise-webhook-certs").await.unwrap().data.unwrap();
    let keys = ["ca-key.pem", "ca-cert.pem", "key.pem", "cert.pem", "tls.key", "tls.crt"];
    assert!(keys.iter().all(|key| before.contains_key(*key)), "{:?}", before.keys());

    secrets.delete("kruise-webhook-certs", &DeleteParams::default()).await.unwrap();
    let is_new = |secret: &Secret| {
        secret.data.as_ref().is_some_and(|data| data["ca-cert.pem"] != before["ca-cert.pem"])
    };
    wait::until(&secrets, "kruise-webhook-certs", "a new secret", is_new).await.unwrap();
    world.until_called().await;

    let name = "kruise-validating-webhook-configuration";
    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(world.client.clone());
    let other = json!([{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": ""}]);
    let patch = Patch::Json::<()>(serde_json::from_value(other).unwrap());
    configurations.patch(name, &PatchParams::default(), &patch).await.unwrap();
    world.until_called().await;
}

/// The API server prunes nulls where the schema does not want them.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, field)| !field.is_null())
            .map(|(key, field)| (key.clone(), without_nulls(field)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// CloneSet acceptance 1: a template in the host's network that names only container ports.
async fn scenario_1_ports_of_the_host(world: &World) {
    let mut object = web("v1beta1", "host");
    object["spec"]["progressDeadlineSeconds"] = json!(600);
    object["spec"]["template"]["spec"]["hostNetwork"] = json!(true);
    object["spec"]["template"]["spec"]["containers"][0]["ports"] = json!([{"containerPort": 18_080}]);
    world.create(&object).await.unwrap();

    let pods: Api<Pod> = Api::namespaced(world.client.clone(), "default");
    let of_it = ListParams::default().labels("app=host");
    let all =
        wait::until_all(&pods, &of_it, "two ready pods", |all| all.len() == 2 && all.iter().all(is_ready));
    for pod in all.await.unwrap() {
        let ports = pod.spec.unwrap().containers.remove(0).ports.unwrap();
        assert_eq!(ports[0].host_port, Some(18_080));
    }
    let is_available = |set: &DynamicObject| {
        let conditions = set.data["status"]["conditions"].as_array().into_iter().flatten();
        let mut progressing = conditions.filter(|condition| condition["type"] == "Progressing");
        progressing.any(|condition| condition["reason"] == "CloneSetAvailable")
    };
    wait::until(&world.clonesets("v1beta1"), "host", "CloneSetAvailable", is_available).await.unwrap();
}
