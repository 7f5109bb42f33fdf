//! What a manager outside of a cluster leaves there: webhook configurations and conversions that point at its own address.
//! Without the manager behind them they only stand in the way.

use std::fmt::Debug;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition as Crd;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::TestbedError;

const MUTATING: &str = "kruise-mutating-webhook-configuration";
const VALIDATING: &str = "kruise-validating-webhook-configuration";

/// Whose webhooks a cluster has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Nobody,
    /// A manager outside, by its address.
    Outside,
    /// A release in the cluster, by its Service.
    Release,
}

/// Whom the configurations point at.
pub async fn owner(client: &Client) -> Result<Owner, TestbedError> {
    let mutating: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let validating: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let read = "the webhook configurations";
    let mutating = mutating.get_opt(MUTATING).await.map_err(TestbedError::api(read))?;
    let validating = validating.get_opt(VALIDATING).await.map_err(TestbedError::api(read))?;
    let mutating = mutating.and_then(|one| one.webhooks).unwrap_or_default();
    let validating = validating.and_then(|one| one.webhooks).unwrap_or_default();
    let entries = mutating.iter().map(|entry| &entry.client_config);
    Ok(owner_of(entries.chain(validating.iter().map(|entry| &entry.client_config))))
}

/// One entry that needs the Service is enough: what is installed is left alone.
fn owner_of<'a>(entries: impl Iterator<Item = &'a WebhookClientConfig>) -> Owner {
    let mut owner = Owner::Nobody;
    for entry in entries {
        if entry.service.is_some() {
            return Owner::Release;
        }
        owner = Owner::Outside;
    }
    owner
}

/// Takes away what points at a manager outside; what a release has written stays.
pub async fn withdraw(client: &Client) -> Result<(), TestbedError> {
    if owner(client).await? == Owner::Outside {
        delete::<MutatingWebhookConfiguration>(client, MUTATING).await?;
        delete::<ValidatingWebhookConfiguration>(client, VALIDATING).await?;
    }
    let crds: Api<Crd> = Api::all(client.clone());
    let all = crds.list(&ListParams::default()).await.map_err(TestbedError::api("the CRDs"))?;
    for manifest in kruise_api::crd::all_crds() {
        let name = manifest.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let is_outside = all.iter().any(|crd| crd.name_any() == name && converts_outside(crd));
        let Some(wanted) = manifest.pointer("/spec/conversion/webhook/clientConfig").filter(|_| is_outside)
        else {
            continue;
        };
        let mut config = wanted.clone();
        if let Some(fields) = config.as_object_mut() {
            fields.extend([("url".to_owned(), Value::Null), ("caBundle".to_owned(), Value::Null)]);
        }
        let patch = Patch::Merge(json!({"spec": {"conversion": {"webhook": {"clientConfig": config}}}}));
        let patched = crds.patch(name, &PatchParams::default(), &patch).await;
        patched.map_err(TestbedError::api(format!("the conversion of {name}")))?;
    }
    Ok(())
}

fn converts_outside(crd: &Crd) -> bool {
    let webhook = crd.spec.conversion.as_ref().and_then(|conversion| conversion.webhook.as_ref());
    webhook.and_then(|webhook| webhook.client_config.as_ref()).is_some_and(|config| config.url.is_some())
}

async fn delete<K>(client: &Client, name: &str) -> Result<(), TestbedError>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    match Api::<K>::all(client.clone()).delete(name, &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        deleted => deleted.map(drop).map_err(TestbedError::api(format!("the deletion of {name}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_of_a_service_belongs_to_a_release() {
        let read = |value: Value| serde_json::from_value::<WebhookClientConfig>(value).unwrap();
        let outside = read(json!({"url": "https://127.0.0.1:1/x"}));
        let inside = read(json!({"service": {"name": "s", "namespace": "n"}}));

        assert_eq!(owner_of([].iter()), Owner::Nobody);
        assert_eq!(owner_of([outside.clone()].iter()), Owner::Outside);
        assert_eq!(owner_of([outside, inside].iter()), Owner::Release);
    }
}
