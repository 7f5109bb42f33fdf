//! The check before an uninstall (UN-7): while objects of ours own pods or alter them, the release stays.

use anyhow::Context;
use kruise_api::names::{APPS_GROUP, POLICY_GROUP};
use kube::Client;
use serde_json::Value;

use crate::kinds;

/// Kinds that are not registered yet but may have objects of the original. The first text is the original's.
const NOT_YET: [(&str, &str, &str); 3] = [
    (APPS_GROUP, "uniteddeployments", "uniteddeployments"),
    (APPS_GROUP, "workloadspreads", "workloadspreads"),
    (POLICY_GROUP, "podunavailablebudgets", "podunavailablebudgets"),
];

/// Group, plural, and what the message calls them.
pub fn checked() -> Vec<(&'static str, &'static str, &'static str)> {
    let registered = kinds::ALL.iter().filter_map(|one| one.blocks_uninstall);
    let registered = registered.map(|(resource, words)| (resource.group(), resource.plural(), words));
    registered.chain(NOT_YET).collect()
}

/// How many objects the message names.
const NAMED_MAX: usize = 10;

/// Fails with the names of the first objects found.
pub async fn check() -> anyhow::Result<()> {
    let client = Client::try_default().await.context("the hook must run in a pod of the cluster")?;
    is_clean(&client).await?;
    eprintln!("cluster is clean, ready to delete kruise");
    Ok(())
}

async fn is_clean(client: &Client) -> anyhow::Result<()> {
    let mut faults = Vec::new();
    for (group, plural, words) in checked() {
        let found = found(client, group, plural).await?;
        if !found.is_empty() {
            faults.push(format!("there still exists some {words} in the cluster: {}", found.join(", ")));
        }
    }
    anyhow::ensure!(faults.is_empty(), "{}", faults.join("\n"));
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

    /// An API server that has one object of this kind, and no definition of any other.
    fn with_one(path: &'static str) -> Client {
        let answer = move |request: http::Request<kube::client::Body>| async move {
            let is_it = request.uri().path().contains(path) && !path.is_empty();
            let (code, body) = if is_it {
                (200, json!({"items": [{"metadata": {"name": "one"}}]}))
            } else {
                (
                    404,
                    json!({"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "message": "no"}),
                )
            };
            http::Response::builder()
                .status(code)
                .body(kube::client::Body::from(body.to_string().into_bytes()))
        };
        Client::new(tower::service_fn(answer), "default")
    }

    /// UN-5, install/F2, install acceptance 5 and 6: any of the kinds blocks, and a missing definition does not.
    #[tokio::test]
    async fn un_5_install_f2_every_kind_that_has_to_do_with_pods_blocks() {
        assert!(is_clean(&with_one("")).await.is_ok());
        for (_, plural, words) in checked() {
            let error = is_clean(&with_one(plural)).await.unwrap_err().to_string();
            assert_eq!(error, format!("there still exists some {words} in the cluster: one"));
        }
    }

    #[test]
    fn un_7_objects_are_named_with_their_namespace() {
        let list = json!({"items": [{"metadata": {"name": "web", "namespace": "shop"}}, {"metadata": {"name": "all"}}]});
        assert_eq!(names(&list), ["shop/web", "all"]);
        assert_eq!(names(&json!({})), Vec::<String>::new());
    }
}
