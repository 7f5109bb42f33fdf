//! Definitions that are missing, or as an older release left them. In a cluster of its own: definitions are everybody's.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use k8s_openapi::api::apps::v1::StatefulSet as Native;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kruise_testbed::components::{self, Component};
use kruise_testbed::simnodes::{self, SimNodes};
use kruise_testbed::{Cluster, Options, crds, manager, wait};
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::json;

use crate::pages::until_says;
use crate::workload::{Kind, Sets, cloneset, statefulset};

const STATEFULSETS: &str = "statefulsets.apps.kruise.io";
const POD_STATES: &str = "persistentpodstates.apps.kruise.io";

/// The definition of PersistentPodState as charts up to 1.9.0-alpha.3 have it: one version, stored.
async fn older_pod_states(definitions: &Api<CustomResourceDefinition>) {
    let all = kruise_api::crd::all_crds();
    let mut older = all.into_iter().find(|one| one["metadata"]["name"] == POD_STATES).unwrap();
    let versions = older["spec"]["versions"].as_array_mut().unwrap();
    versions.retain(|version| version["name"] == "v1alpha1");
    versions[0]["storage"] = json!(true);
    older["spec"]["conversion"] = json!({"strategy": "None"});
    let params = PatchParams::apply("original").force();
    definitions.patch(POD_STATES, &params, &Patch::Apply(&older)).await.unwrap();
}

fn pod_states(client: &Client, version: &str) -> Api<DynamicObject> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", version, "PersistentPodState"));
    Api::namespaced_with(client.clone(), "default", &kind)
}

/// An object with a record, stored as v1alpha1, of a workload that has no pods at the moment.
async fn remembered(client: &Client) {
    let mut empty = statefulset(0).named("empty").0;
    empty["apiVersion"] = json!("apps/v1");
    empty["spec"]["updateStrategy"] = json!({"type": "RollingUpdate"});
    let natives: Api<Native> = Api::namespaced(client.clone(), "default");
    natives.create(&PostParams::default(), &serde_json::from_value(empty).unwrap()).await.unwrap();
    let api = pod_states(client, "v1alpha1");
    let object: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "apps.kruise.io/v1alpha1", "kind": "PersistentPodState", "metadata": {"name": "old"},
        "spec": {
            "targetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "empty"},
            "persistentPodStateRetentionPolicy": "WhenDeleted",
            "requiredPersistentTopology": {"nodeTopologyKeys": ["zone"]},
        },
    }))
    .unwrap();
    for _ in 0..240 {
        if api.create(&PostParams::default(), &object).await.is_ok() {
            let record = json!({"nodeName": "node-1", "nodeTopologyLabels": {"zone": "z"}});
            let status =
                Patch::Merge(json!({"status": {"observedGeneration": 1, "podStates": {"empty-0": record}}}));
            api.patch_status("old", &PatchParams::default(), &status).await.unwrap();
            return;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    panic!("v1alpha1 was never served");
}

/// A definition that is missing keeps no other kind from working, is named by `/readyz`, and its kind works when it comes.
/// Section 8.2 of PersistentPodState: objects stored as v1alpha1 keep their records, are read and written in both versions, and are
/// stored as v1beta1 for good by the documented procedure.
#[tokio::test]
async fn missing_and_older_definitions() {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    let client = cluster.client();
    let _nodes = SimNodes::start(cluster.client_named(simnodes::USER_AGENT).await.unwrap(), 3).await.unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    older_pod_states(&definitions).await;
    remembered(&client).await;
    crds::install_without(&client, STATEFULSETS).await.unwrap();

    let kubeconfig = manager::authorize(&cluster, "").await.unwrap();
    let (health, webhooks) = (manager::free_port().unwrap(), manager::free_port().unwrap());
    let mut args = manager::args_with_webhooks(&kubeconfig, webhooks);
    args.retain(|arg| !arg.starts_with("--health-probe-addr"));
    args.push(format!("--health-probe-addr=127.0.0.1:{health}"));
    cluster.spawn(manager::PART, manager::program().unwrap(), args.clone()).unwrap();

    let answer = until_says(health, "/readyz", "HTTP/1.1 200").await;
    assert!(answer.ends_with(&format!("ok; not installed: {STATEFULSETS}")), "{answer}");
    let clonesets = Sets::new(Kind::CloneSet, client.clone(), "default");
    clonesets.create(cloneset(1)).await.until_available(1).await;

    let late =
        kruise_api::crd::all_crds().into_iter().find(|one| one["metadata"]["name"] == STATEFULSETS).unwrap();
    definitions.create(&PostParams::default(), &serde_json::from_value(late).unwrap()).await.unwrap();
    let is_served = |crd: &CustomResourceDefinition| {
        let conditions = crd.status.as_ref().and_then(|status| status.conditions.as_ref());
        conditions.into_iter().flatten().any(|one| one.type_ == "Established" && one.status == "True")
    };
    wait::until(&definitions, STATEFULSETS, "the definition", is_served).await.unwrap();
    let sets = Sets::new(Kind::StatefulSet, client.clone(), "default");
    sets.create(statefulset(1).named("late")).await.until_available(1).await;
    let now = until_says(health, "/readyz", "HTTP/1.1 200").await;
    assert!(now.ends_with("\r\nok"), "{now}");

    is_shown_in_both_versions(&client).await;
    let restart = async || {
        cluster.spawn(manager::PART, manager::program().unwrap(), args.clone()).unwrap();
        until_says(health, "/readyz", "HTTP/1.1 200").await;
    };
    let newer = pod_states(&client, "v1beta1");
    cluster.stop(manager::PART).unwrap();
    newer.get("old").await.expect_err("stored as v1alpha1, it needs the manager to be read");
    restart().await;
    store_the_newer_version(&cluster).await;
    is_shown_in_both_versions(&client).await;
    cluster.stop(manager::PART).unwrap();
    newer.get("old").await.expect("stored as v1beta1, it needs nobody");
}

/// The record of the object that was stored as v1alpha1.
async fn is_shown_in_both_versions(client: &Client) {
    let record = json!({"empty-0": {"nodeName": "node-1", "nodeTopologyLabels": {"zone": "z"}}});
    for (version, keys) in [("v1beta1", "keys"), ("v1alpha1", "nodeTopologyKeys")] {
        let read = pod_states(client, version).get("old").await.unwrap();
        assert_eq!(read.data["spec"]["requiredPersistentTopology"], json!({(keys): ["zone"]}));
        assert_eq!(read.data["status"]["podStates"], record);
    }
}

/// The commands that docs/upgrade.md gives to users who do not want to go back: every object is written again as it is, and then its
/// definition forgets the older version.
async fn store_the_newer_version(cluster: &Cluster) {
    let page = include_str!("../../../docs/upgrade.md");
    let (_, section) = page.split_once("### Objects that the original stored").unwrap();
    let (_, commands) = section.split_once("```sh\n").unwrap();
    let (commands, _) = commands.split_once("```").unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client());
    let stored = async || definitions.get(POD_STATES).await.unwrap().status.unwrap().stored_versions.unwrap();
    assert_eq!(stored().await, ["v1alpha1", "v1beta1"]);

    let (shell, kubeconfig) = (commands.to_owned(), cluster.kubeconfig().to_owned());
    let done = tokio::task::spawn_blocking(move || run(&shell, &kubeconfig)).await.unwrap();

    assert!(done.contains("persistentpodstate.apps.kruise.io/old replaced"), "{done}");
    assert_eq!(stored().await, ["v1beta1"], "{done}");
}

/// What shell commands say, with our kubectl.
fn run(shell: &str, kubeconfig: &Path) -> String {
    let kubectl = components::ensure(Component::Kubernetes).unwrap();
    let path = format!("{}:{}", kubectl.dir().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command
        .args(["-c", shell])
        .env("PATH", path)
        .env("KUBECONFIG", kubeconfig)
        .env("KUBECACHEDIR", kubeconfig.with_file_name("cache"));
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
