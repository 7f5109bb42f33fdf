//! Volumes for claims: two storage classes whose claims get a host path at once.
//!
//! Simulated nodes mount nothing, so a volume is only an object that the volume binder of the controller manager accepts.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::TestbedError;
use crate::wait::Watched;

/// By which the audit log tells its writes apart.
pub const USER_AGENT: &str = "testbed-provisioner";

/// The default class; its claims can grow.
pub const STANDARD: &str = "standard";
/// Claims of this class keep their size.
pub const FIXED: &str = "fixed";

const PROVISIONER: &str = "testbed.kruise.io/host-path";

/// Between two tries to reach the API server.
const RETRY: Duration = Duration::from_millis(500);

/// A running provisioner. Dropping it stops it; volumes stay.
#[derive(Debug)]
pub struct Provisioner(Vec<JoinHandle<()>>);

impl Provisioner {
    /// Creates the storage classes and begins to serve claims.
    pub async fn start(client: Client) -> Result<Self, TestbedError> {
        let classes: Api<StorageClass> = Api::all(client.clone());
        for (name, expands) in [(STANDARD, true), (FIXED, false)] {
            let class = class(name, &json!(expands));
            let params = PatchParams::apply(USER_AGENT).force();
            let applied = classes.patch(name, &params, &Patch::Apply(class)).await;
            applied.map_err(TestbedError::api(format!("storage class {name}")))?;
        }
        Ok(Self(vec![
            tokio::spawn(follow::<PersistentVolumeClaim>(client.clone())),
            tokio::spawn(follow::<PersistentVolume>(client)),
        ]))
    }
}

/// What the provisioner follows.
trait Served: Watched {
    fn plural() -> &'static str;

    /// Does what this state of the object asks for.
    fn serve(&self, client: &Client) -> impl Future<Output = Result<(), kube::Error>> + Send;
}

impl Drop for Provisioner {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

/// Serves every object now and at every change, for ever. What fails is tried again after a new list.
async fn follow<K: Served>(client: Client)
where
    K::DynamicType: Default,
{
    loop {
        if let Err(error) = list_and_watch::<K>(&client).await {
            tracing::debug!(kind = <K as Served>::plural(), %error, "provisioning interrupted; listing again");
            tokio::time::sleep(RETRY).await;
        }
    }
}

async fn list_and_watch<K: Served>(client: &Client) -> Result<(), kube::Error>
where
    K::DynamicType: Default,
{
    let api: Api<K> = Api::all(client.clone());
    let list = api.list(&ListParams::default()).await?;
    let version = list.metadata.resource_version.unwrap_or_default();
    for object in list.items {
        object.serve(client).await?;
    }
    let mut events = api.watch(&WatchParams::default(), &version).await?.boxed();
    while let Some(event) = events.try_next().await? {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => object.serve(client).await?,
            WatchEvent::Deleted(_) | WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(status) => return Err(kube::Error::Api(status)),
        }
    }
    Ok(())
}

impl Served for PersistentVolumeClaim {
    fn plural() -> &'static str {
        "persistentvolumeclaims"
    }

    async fn serve(&self, client: &Client) -> Result<(), kube::Error> {
        provide(client, self).await
    }
}

impl Served for PersistentVolume {
    fn plural() -> &'static str {
        "persistentvolumes"
    }

    async fn serve(&self, client: &Client) -> Result<(), kube::Error> {
        reclaim(&Api::all(client.clone()), self).await
    }
}

/// Gives an unbound claim its volume, and one that asks for more what it asks for.
async fn provide(client: &Client, claim: &PersistentVolumeClaim) -> Result<(), kube::Error> {
    let Some(spec) = claim.spec.as_ref().filter(|_| claim.meta().deletion_timestamp.is_none()) else {
        return Ok(());
    };
    if ![Some(STANDARD), Some(FIXED)].contains(&spec.storage_class_name.as_deref()) {
        return Ok(());
    }
    let volumes: Api<PersistentVolume> = Api::all(client.clone());
    let wanted = spec.resources.as_ref().and_then(|all| all.requests.as_ref()?.get("storage")).cloned();
    let status = claim.status.as_ref();
    let bound = status.is_some_and(|status| status.phase.as_deref() == Some("Bound"));
    let has = status.and_then(|status| status.capacity.as_ref()?.get("storage")).cloned();
    match &spec.volume_name {
        None => {
            let volume = serde_json::from_value(volume(claim)).map_err(kube::Error::SerdeError)?;
            unless_done(volumes.create(&PostParams::default(), &volume).await)
        }
        Some(name) if bound && wanted != has => {
            let capacity = json!({"capacity": {"storage": wanted}});
            let params = PatchParams::default();
            unless_done(volumes.patch(name, &params, &Patch::Merge(json!({"spec": capacity}))).await)?;
            let claims: Api<PersistentVolumeClaim> =
                Api::namespaced(client.clone(), &claim.namespace().unwrap_or_default());
            let patch = Patch::Merge(json!({"status": capacity}));
            unless_done(claims.patch_status(&claim.name_any(), &params, &patch).await)
        }
        Some(_) => Ok(()),
    }
}

/// The claim is gone: so is its volume.
async fn reclaim(volumes: &Api<PersistentVolume>, volume: &PersistentVolume) -> Result<(), kube::Error> {
    let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
    if phase != Some("Released") || volume.meta().deletion_timestamp.is_some() {
        return Ok(());
    }
    unless_done(volumes.delete(&volume.name_any(), &DeleteParams::default()).await)
}

/// Gone meanwhile, or made by an earlier event: nothing is left to do.
fn unless_done<T>(result: Result<T, kube::Error>) -> Result<(), kube::Error> {
    match result {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        other => other.map(drop),
    }
}

fn class(name: &str, expands: &Value) -> Value {
    let default = (name == STANDARD).to_string();
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": name, "annotations": {"storageclass.kubernetes.io/is-default-class": default}},
        "provisioner": PROVISIONER, "allowVolumeExpansion": expands, "reclaimPolicy": "Delete",
    })
}

fn volume(claim: &PersistentVolumeClaim) -> Value {
    let name = format!("pv-{}", claim.uid().unwrap_or_default());
    let spec = claim.spec.as_ref();
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": PROVISIONER}},
        "spec": {
            "capacity": spec.and_then(|spec| spec.resources.as_ref()?.requests.clone()),
            "accessModes": spec.and_then(|spec| spec.access_modes.clone()),
            "storageClassName": spec.and_then(|spec| spec.storage_class_name.clone()),
            "persistentVolumeReclaimPolicy": "Delete",
            "hostPath": {"path": format!("/var/lib/testbed/{name}"), "type": "DirectoryOrCreate"},
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": claim.namespace(),
                "name": claim.name_any(), "uid": claim.uid(),
            },
        },
    })
}
