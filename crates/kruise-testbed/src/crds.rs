//! Installing our custom resource definitions.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition as Crd;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};

use crate::{TestbedError, wait};

/// The API server serves a new definition within a second or two, on a busy machine somewhat later.
const PATIENCE: Duration = Duration::from_mins(1);

/// Applies all of them and waits until the API server serves them. Returns how many there are.
pub async fn install(client: &Client) -> Result<usize, TestbedError> {
    let api: Api<Crd> = Api::all(client.clone());
    let manifests = kruise_api::crd::all_crds();
    for manifest in &manifests {
        let name = manifest.pointer("/metadata/name").and_then(serde_json::Value::as_str).unwrap_or_default();
        let params = PatchParams::apply("kruise-testbed").force();
        let applied = api.patch(name, &params, &Patch::Apply(manifest)).await;
        applied.map_err(TestbedError::api(format!("the definition of {name}")))?;
    }
    let names: Vec<&str> =
        manifests.iter().filter_map(|manifest| manifest.pointer("/metadata/name")?.as_str()).collect();
    wait::until_all_within(&api, &ListParams::default(), "the definitions to be served", PATIENCE, |all| {
        names.iter().all(|name| all.iter().any(|crd| crd.name_any() == *name && is_established(crd)))
    })
    .await?;
    Ok(manifests.len())
}

fn is_established(crd: &Crd) -> bool {
    let conditions = crd.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Established" && condition.status == "True")
}
