//! The volume of one claim: made, grown, given back.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};

use super::classes::{self, Conduct, PROVISIONER};

/// Name of the annotation of the controller manager that says who provides for a claim.
const PROVIDED_BY: &str = "volume.kubernetes.io/storage-provisioner";
/// Uid of the pod that had the volume mounted when it grew.
const MOUNTED_BY: &str = "testbed.kruise.io/mounted-by";
const PENDING: &str = "FileSystemResizePending";

/// Gives an unbound claim its volume, and one that asks for more what it asks for.
pub async fn provide(client: &Client, claim: &PersistentVolumeClaim) -> Result<(), kube::Error> {
    let is_ours = claim.annotations().get(PROVIDED_BY).is_some_and(|name| name == PROVISIONER);
    let Some(spec) = claim.spec.as_ref().filter(|_| is_ours && claim.meta().deletion_timestamp.is_none())
    else {
        return Ok(());
    };
    let conduct = classes::conduct(claim);
    match &spec.volume_name {
        None if conduct == Conduct::BindsWhenTold => Ok(()),
        None => {
            let volume = serde_json::from_value(volume(claim)).map_err(kube::Error::SerdeError)?;
            unless_done(
                Api::<PersistentVolume>::all(client.clone()).create(&PostParams::default(), &volume).await,
            )
        }
        Some(name) if is_bound(claim) && wanted(claim) != capacity(claim) => {
            grow(client, claim, name, conduct).await
        }
        Some(_) => Ok(()),
    }
}

async fn grow(
    client: &Client,
    claim: &PersistentVolumeClaim,
    volume: &str,
    conduct: Conduct,
) -> Result<(), kube::Error> {
    match conduct {
        Conduct::GrowsWhenTold => waiting(client, claim, "Resizing").await,
        Conduct::Serves | Conduct::BindsWhenTold => {
            enlarge(client, claim, volume).await?;
            grown(client, claim).await
        }
        Conduct::GrowsWithNextPod if claim.annotations().contains_key(MOUNTED_BY) => Ok(()),
        Conduct::GrowsWithNextPod => {
            enlarge(client, claim, volume).await?;
            let pods = Api::<Pod>::namespaced(client.clone(), &claim.namespace().unwrap_or_default());
            let pods = pods.list(&ListParams::default()).await?.items;
            let mounting = pods.iter().find(|pod| claims_of(pod).any(|name| name == claim.name_any()));
            let mark = mounting.and_then(ResourceExt::uid).unwrap_or_default();
            annotate(client, claim, &json!(mark)).await?;
            waiting(client, claim, PENDING).await
        }
    }
}

/// Another pod mounts the volume: its file system has the volume's size from now on.
pub async fn mounted(client: &Client, pod: &Pod) -> Result<(), kube::Error> {
    let is_running = pod.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Running"));
    let api = claims(client, pod);
    for name in claims_of(pod).filter(|_| is_running) {
        let Some(claim) = api.get_opt(name).await? else { continue };
        let mounted_by = claim.annotations().get(MOUNTED_BY);
        if mounted_by.is_some_and(|uid| Some(uid) != pod.uid().as_ref()) {
            grown(client, &claim).await?;
            annotate(client, &claim, &Value::Null).await?;
        }
    }
    Ok(())
}

/// The claim is gone: so is its volume.
pub async fn reclaim(volumes: &Api<PersistentVolume>, volume: &PersistentVolume) -> Result<(), kube::Error> {
    let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
    if phase != Some("Released") || volume.meta().deletion_timestamp.is_some() {
        return Ok(());
    }
    unless_done(volumes.delete(&volume.name_any(), &DeleteParams::default()).await)
}

async fn enlarge(client: &Client, claim: &PersistentVolumeClaim, volume: &str) -> Result<(), kube::Error> {
    let patch = Patch::Merge(json!({"spec": {"capacity": {"storage": wanted(claim)}}}));
    let volumes: Api<PersistentVolume> = Api::all(client.clone());
    unless_done(volumes.patch(volume, &PatchParams::default(), &patch).await)
}

/// The claim has what it asked for.
async fn grown(client: &Client, claim: &PersistentVolumeClaim) -> Result<(), kube::Error> {
    report(client, claim, &json!({"capacity": {"storage": wanted(claim)}, "conditions": []})).await
}

/// The claim says what its growth waits for, once.
async fn waiting(client: &Client, claim: &PersistentVolumeClaim, condition: &str) -> Result<(), kube::Error> {
    let conditions = claim.status.as_ref().and_then(|status| status.conditions.as_ref());
    if conditions.into_iter().flatten().any(|one| one.type_ == condition) {
        return Ok(());
    }
    report(client, claim, &json!({"conditions": [{"type": condition, "status": "True"}]})).await
}

async fn report(client: &Client, claim: &PersistentVolumeClaim, status: &Value) -> Result<(), kube::Error> {
    let patch = Patch::Merge(json!({"status": status}));
    unless_done(claims(client, claim).patch_status(&claim.name_any(), &PatchParams::default(), &patch).await)
}

async fn annotate(client: &Client, claim: &PersistentVolumeClaim, value: &Value) -> Result<(), kube::Error> {
    let patch = Patch::Merge(json!({"metadata": {"annotations": {(MOUNTED_BY): value}}}));
    unless_done(claims(client, claim).patch(&claim.name_any(), &PatchParams::default(), &patch).await)
}

/// The claims of its namespace.
fn claims(client: &Client, of: &impl ResourceExt) -> Api<PersistentVolumeClaim> {
    Api::namespaced(client.clone(), &of.namespace().unwrap_or_default())
}

fn is_bound(claim: &PersistentVolumeClaim) -> bool {
    claim.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Bound"))
}

fn wanted(claim: &PersistentVolumeClaim) -> Option<&Quantity> {
    claim.spec.as_ref()?.resources.as_ref()?.requests.as_ref()?.get("storage")
}

fn capacity(claim: &PersistentVolumeClaim) -> Option<&Quantity> {
    claim.status.as_ref()?.capacity.as_ref()?.get("storage")
}

fn claims_of(pod: &Pod) -> impl Iterator<Item = &str> {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.filter_map(|volume| Some(volume.persistent_volume_claim.as_ref()?.claim_name.as_str()))
}

/// Gone meanwhile, or made by an earlier event: nothing is left to do.
fn unless_done<T>(result: Result<T, kube::Error>) -> Result<(), kube::Error> {
    match result {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        other => other.map(drop),
    }
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
