//! Installing our custom resource definitions.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition as Crd;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;

use crate::{TestbedError, wait};

/// The API server serves a new definition within a second or two, on a busy machine somewhat later.
const PATIENCE: Duration = Duration::from_mins(1);

/// Applies all of them and waits until the API server serves them. Returns how many there are.
pub async fn install(client: &Client) -> Result<usize, TestbedError> {
    install_without(client, "").await
}

/// The same without the one of this name.
pub async fn install_without(client: &Client, missing: &str) -> Result<usize, TestbedError> {
    let api: Api<Crd> = Api::all(client.clone());
    let version =
        client.apiserver_version().await.map_err(TestbedError::api("the version of the API server"))?;
    let takes_creation_rules =
        version.minor.trim_end_matches('+').parse::<u32>().is_ok_and(|minor| minor >= 30);
    let fitted = |manifest| if takes_creation_rules { manifest } else { without_creation_rules(manifest) };
    let manifests: BTreeMap<String, Value> = kruise_api::crd::all_crds()
        .into_iter()
        .map(fitted)
        .map(|manifest| (name_of(&manifest).to_owned(), manifest))
        .filter(|(name, _)| name != missing)
        .collect();
    for (name, manifest) in &manifests {
        let params = PatchParams::apply("kruise-testbed").force();
        let applied = api.patch(name, &params, &Patch::Apply(manifest)).await;
        applied.map_err(TestbedError::api(format!("the definition of {name}")))?;
    }
    wait::until_all_within(&api, &ListParams::default(), "the definitions to be served", PATIENCE, |all| {
        let is_served = |name: &String| all.iter().any(|crd| crd.name_any() == *name && is_established(crd));
        manifests.keys().all(is_served)
    })
    .await?;
    Ok(manifests.len())
}

/// As the chart renders it for servers that refuse rules about creation alone.
fn without_creation_rules(mut manifest: Value) -> Value {
    for version in manifest.pointer_mut("/spec/versions").and_then(Value::as_array_mut).into_iter().flatten()
    {
        let rules = version.pointer_mut("/schema/openAPIV3Schema/x-kubernetes-validations");
        if let Some(rules) = rules.and_then(Value::as_array_mut) {
            rules.retain(|rule| rule.get("optionalOldSelf").is_none());
        }
    }
    manifest
}

fn name_of(manifest: &Value) -> &str {
    manifest.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

fn is_established(crd: &Crd) -> bool {
    let conditions = crd.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Established" && condition.status == "True")
}
