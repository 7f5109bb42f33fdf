//! The check before an uninstall (UN-7): while objects of ours own pods or alter them, the release stays.

use anyhow::Context;
use kruise_api::names::{APPS_GROUP, POLICY_GROUP};
use kube::Client;
use serde_json::Value;

/// Group, plural, and what the message calls them. The first three texts are the original's.
pub const CHECKED: [(&str, &str, &str); 10] = [
    (APPS_GROUP, "clonesets", "clonesets"),
    (APPS_GROUP, "statefulsets", "advanced statefulsets"),
    (APPS_GROUP, "daemonsets", "advanced daemonsets"),
    (APPS_GROUP, "uniteddeployments", "uniteddeployments"),
    (APPS_GROUP, "broadcastjobs", "broadcastjobs"),
    (APPS_GROUP, "advancedcronjobs", "advancedcronjobs"),
    (APPS_GROUP, "sidecarsets", "sidecarsets"),
    (APPS_GROUP, "workloadspreads", "workloadspreads"),
    (APPS_GROUP, "resourcedistributions", "resourcedistributions"),
    (POLICY_GROUP, "podunavailablebudgets", "podunavailablebudgets"),
];

/// How many objects the message names.
const NAMED_MAX: usize = 10;

/// Fails with the names of the first objects found.
pub async fn check() -> anyhow::Result<()> {
    let client = Client::try_default().await.context("the hook runs in a pod of the cluster")?;
    let mut faults = Vec::new();
    for (group, plural, words) in CHECKED {
        let found = found(&client, group, plural).await?;
        if !found.is_empty() {
            faults.push(format!("there still exists some {words} in the cluster: {}", found.join(", ")));
        }
    }
    anyhow::ensure!(faults.is_empty(), "{}", faults.join("\n"));
    eprintln!("cluster is clean, ready to delete kruise");
    Ok(())
}

/// The first objects of a kind; none where its definition is missing.
async fn found(client: &Client, group: &str, plural: &str) -> anyhow::Result<Vec<String>> {
    // The version that all charts of the original serve; no conversion is needed to learn names.
    let path = format!("/apis/{group}/v1alpha1/{plural}?limit={NAMED_MAX}");
    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
    let request = http::Request::get(path).header("accept", accept).body(Vec::new())?;
    match client.request::<Value>(request).await {
        Ok(list) => Ok(names(&list)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("listing {plural}.{group}")),
    }
}

fn names(list: &Value) -> Vec<String> {
    let text = |item: &Value, field: &str| {
        item.pointer(&format!("/metadata/{field}")).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let items = list.get("items").and_then(Value::as_array).into_iter().flatten();
    items
        .map(|item| match text(item, "namespace").as_str() {
            "" => text(item, "name"),
            namespace => format!("{namespace}/{}", text(item, "name")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn un_7_objects_are_named_with_their_namespace() {
        let list = json!({"items": [{"metadata": {"name": "web", "namespace": "shop"}}, {"metadata": {"name": "all"}}]});
        assert_eq!(names(&list), ["shop/web", "all"]);
        assert_eq!(names(&json!({})), Vec::<String>::new());
    }
}
