//! Our CRDs on the real API server: accepted, explained, and every rule of theirs refuses and accepts what it should.
//!
//! In a cluster of its own without a manager: what is refused here is refused when no manager runs.

use std::path::PathBuf;
use std::process::Command;

use futures::future::ready;
use futures::{StreamExt, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition as Crd;
use kruise_testbed::{Cluster, Options, checkout, crds};
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

/// One file of the table: a kind, an object that is right, and the rules.
struct Table {
    kind: String,
    is_cluster_wide: bool,
    bases: Value,
    rules: Vec<Value>,
}

#[tokio::test]
async fn every_rule_accepts_and_refuses_on_the_server() {
    let cluster = cluster().await;
    let tables = tables();
    let cases: Vec<(&Table, &Value, &str)> = tables
        .iter()
        .flat_map(|table| table.rules.iter().map(move |rule| (table, rule)))
        .flat_map(|(table, rule)| {
            rule["versions"]
                .as_array()
                .unwrap()
                .iter()
                .map(move |version| (table, rule, version.as_str().unwrap()))
        })
        .collect();
    assert!(cases.len() > 400, "only {} cases: is the table there?", cases.len());

    let client = cluster.client();
    let checks = cases.iter().map(|(table, rule, version)| check(&client, table, rule, version));
    let faults: Vec<String> = stream::iter(checks).buffer_unordered(16).filter_map(ready).collect().await;

    assert!(faults.is_empty(), "{} of {} cases:\n{}", faults.len(), cases.len(), faults.join("\n"));
}

#[tokio::test]
async fn kubectl_explains_every_kind_in_every_version() {
    let cluster = cluster().await;
    for manifest in kruise_api::crd::all_crds() {
        let (group, plural) =
            (&manifest["spec"]["group"], manifest["spec"]["names"]["plural"].as_str().unwrap());
        for version in manifest["spec"]["versions"].as_array().unwrap() {
            let api_version = format!("{}/{}", group.as_str().unwrap(), version["name"].as_str().unwrap());
            let output = Command::new(cluster.kubectl())
                .args(["explain", &format!("{plural}.spec"), "--api-version", &api_version])
                .env("KUBECONFIG", cluster.kubeconfig())
                .env("KUBECACHEDIR", cluster.dir().join("kubectl-cache"))
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{plural}: {}", String::from_utf8_lossy(&output.stderr));
            assert!(
                text.contains("DESCRIPTION:") && !text.contains("<empty>"),
                "{api_version} {plural}:\n{text}"
            );
        }
    }
}

async fn cluster() -> Cluster {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    crds::install(&cluster.client()).await.unwrap();
    without_conversion(&cluster.client()).await;
    cluster
}

/// Objects of older versions are stored without asking a webhook: here only their own schema is of interest.
async fn without_conversion(client: &Client) {
    let api: Api<Crd> = Api::all(client.clone());
    for crd in api.list(&ListParams::default()).await.unwrap() {
        let patch = json!({"spec": {"conversion": {"strategy": "None", "webhook": null}}});
        api.patch(&crd.name_any(), &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }
}

async fn check(client: &Client, table: &Table, rule: &Value, version: &str) -> Option<String> {
    let base = &table.bases[version];
    let api = api(client, table, base, version);
    let expected = rule.get("message").unwrap_or(&rule["rule"]).as_str().unwrap();
    let place = rule.get("path").unwrap_or(&rule["limit"]).as_str().unwrap();
    let title = format!("{} {version} {place}: {expected}", table.kind);
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let (accepted, refused) = if let Some(old) = rule.get("old") {
        let stored = create(&api, &merged(base, old)).await.map_err(|error| format!("{title}: old: {error}"));
        let stored = match stored {
            Ok(stored) => stored,
            Err(fault) => return Some(fault),
        };
        let stored = serde_json::to_value(&stored).unwrap();
        let replace = async |change: &Value| {
            let object: DynamicObject = serde_json::from_value(merged(&stored, change)).unwrap();
            api.replace(&object.name_any(), &dry_run, &object).await
        };
        let outcome = (replace(&rule["accept"]).await, replace(&rule["refuse"]).await);
        api.delete(stored["metadata"]["name"].as_str().unwrap(), &DeleteParams::default()).await.unwrap();
        outcome
    } else {
        let try_one = async |change: &Value| {
            let object: DynamicObject = serde_json::from_value(merged(base, change)).unwrap();
            api.create(&dry_run, &object).await
        };
        (try_one(&rule["accept"]).await, try_one(&rule["refuse"]).await)
    };
    if let Err(error) = accepted {
        return Some(format!("{title}: should be accepted: {error}"));
    }
    match refused {
        Ok(_) => Some(format!("{title}: should be refused")),
        Err(kube::Error::Api(status)) if status.message.contains(expected) => None,
        Err(error) => Some(format!("{title}: refused with other words: {error}")),
    }
}

async fn create(api: &Api<DynamicObject>, object: &Value) -> Result<DynamicObject, kube::Error> {
    let mut object = object.clone();
    object["metadata"] = merged(&object["metadata"], &json!({"name": null, "generateName": "case-"}));
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await
}

fn api(client: &Client, table: &Table, base: &Value, version: &str) -> Api<DynamicObject> {
    let api_version = base["apiVersion"].as_str().unwrap();
    let (group, _) = api_version.split_once('/').unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &table.kind));
    if table.is_cluster_wide {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), "default", &resource)
    }
}

/// A JSON merge patch: null removes.
fn merged(base: &Value, change: &Value) -> Value {
    let (Some(base), Some(change)) = (base.as_object(), change.as_object()) else { return change.clone() };
    let mut result = base.clone();
    for (key, value) in change {
        if value.is_null() {
            result.shift_remove(key);
        } else {
            let below = result.get(key).cloned().unwrap_or(Value::Null);
            result.insert(
                key.clone(),
                if value.is_object() && below.is_null() {
                    merged(&json!({}), value)
                } else {
                    merged(&below, value)
                },
            );
        }
    }
    Value::Object(result)
}

fn tables() -> Vec<Table> {
    let folder = checkout::root().join("crates/kruise-api/testdata/cel");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let crds = kruise_api::crd::all_crds();
    let is_cluster_wide = |kind: &str| {
        crds.iter().any(|crd| crd["spec"]["names"]["kind"] == kind && crd["spec"]["scope"] == "Cluster")
    };
    let read = |path: &PathBuf| {
        let table: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let rules = ["rules", "limits"].iter().flat_map(|part| table[*part].as_array().into_iter().flatten());
        let rules = rules.cloned().collect();
        let kind = table["kind"].as_str().unwrap().to_owned();
        Table { is_cluster_wide: is_cluster_wide(&kind), kind, bases: table["bases"].clone(), rules }
    };
    paths.iter().map(read).collect()
}
