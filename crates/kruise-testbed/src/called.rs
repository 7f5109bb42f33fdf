//! Whether the API server calls a manager: it takes a moment to see new webhook configurations and changed CRDs.

use kruise_api::names::{APPS_GROUP, NAMESPACE};
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

/// The entry that judges CloneSets.
const JUDGE: &str = "vcloneset.kb.io";

/// Whether the manager judges what is created, and converts what comes in the older version; else what happened instead.
/// Nothing is stored.
pub async fn is_called(client: &Client) -> Result<(), String> {
    let bad = cloneset("v1beta1", &json!([{"containerPort": 70_000}]));
    match create(client, "v1beta1", bad).await {
        Err(message) if message.contains(JUDGE) => {}
        Err(message) => return Err(message),
        Ok(()) => return Err("a CloneSet that is wrong was let through".to_owned()),
    }
    create(client, "v1alpha1", cloneset("v1alpha1", &json!([]))).await
}

async fn create(client: &Client, version: &str, object: Value) -> Result<(), String> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(APPS_GROUP, version, "CloneSet"));
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), NAMESPACE, &kind);
    let object = serde_json::from_value(object).map_err(|error| error.to_string())?;
    let try_only = PostParams { dry_run: true, ..PostParams::default() };
    match api.create(&try_only, &object).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) => Err(status.message.clone()),
        Err(error) => Err(error.to_string()),
    }
}

fn cloneset(version: &str, ports: &Value) -> Value {
    let labels = json!({"app": "probe"});
    let main = json!({"name": "main", "image": "x", "ports": ports});
    json!({
        "apiVersion": format!("{APPS_GROUP}/{version}"), "kind": "CloneSet", "metadata": {"name": "probe"},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [main]}},
        },
    })
}
