//! Volumes for claims: storage classes whose claims get a host path at once, and grow, or fail to, as their class says.
//!
//! Simulated nodes mount nothing, so a volume is only an object that the volume binder of the controller manager accepts.

mod classes;
mod volumes;

pub use classes::{BROKEN, FAST, FIXED, GO_ON, OFFLINE, PROVISIONER, SLOW, STANDARD, UNSAID};

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use kube::{Api, Client};
use tokio::task::JoinHandle;

use crate::TestbedError;
use crate::wait::Watched;

/// By which the audit log tells its writes apart.
pub const USER_AGENT: &str = "testbed-provisioner";

/// Between two tries to reach the API server.
const RETRY: Duration = Duration::from_millis(500);

/// A running provisioner. Dropping it stops it; volumes stay.
#[derive(Debug)]
pub struct Provisioner(Vec<JoinHandle<()>>);

impl Provisioner {
    /// Creates the storage classes and begins to serve claims.
    pub async fn start(client: Client) -> Result<Self, TestbedError> {
        let classes: Api<StorageClass> = Api::all(client.clone());
        for (name, class) in classes::all() {
            let params = PatchParams::apply(USER_AGENT).force();
            let applied = classes.patch(name, &params, &Patch::Apply(class)).await;
            applied.map_err(TestbedError::api(format!("storage class {name}")))?;
        }
        Ok(Self(vec![
            tokio::spawn(follow::<PersistentVolumeClaim>(client.clone())),
            tokio::spawn(follow::<PersistentVolume>(client.clone())),
            tokio::spawn(follow::<Pod>(client)),
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
        volumes::provide(client, self).await
    }
}

impl Served for PersistentVolume {
    fn plural() -> &'static str {
        "persistentvolumes"
    }

    async fn serve(&self, client: &Client) -> Result<(), kube::Error> {
        volumes::reclaim(&Api::all(client.clone()), self).await
    }
}

impl Served for Pod {
    fn plural() -> &'static str {
        "pods"
    }

    async fn serve(&self, client: &Client) -> Result<(), kube::Error> {
        volumes::mounted(client, self).await
    }
}
