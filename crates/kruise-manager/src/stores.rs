//! All caches of the manager: one per resource type that some kind reads.

use std::sync::Arc;

use kruise_api::names::DAEMON_CONFIG_NAMESPACE;
use kruise_core::gates::Gates;
use kruise_core::lookup::Lookup;
use kruise_core::sidecarset::SidecarSet;
use kruise_runtime::cache::{Caches, WatchSettings};
use kube::Client;
use tokio::task::JoinSet;

use crate::custom_kinds::CustomKinds;
use crate::kinds;

pub struct Stores {
    pub caches: Arc<Caches>,
    /// Of kinds that the administrator lists.
    pub custom: Arc<CustomKinds>,
}

impl Stores {
    pub fn new(gates: &Gates) -> Self {
        Self::with_secrets_in(gates, DAEMON_CONFIG_NAMESPACE)
    }

    /// Secrets are watched in this namespace and in no other.
    pub fn with_secrets_in(gates: &Gates, namespace: &str) -> Self {
        Self { caches: Arc::new(kinds::caches(gates, namespace)), custom: Arc::default() }
    }

    /// Where nothing watches: what admission finds is everything there is.
    pub fn assume_complete(&self) {
        if let Some(sets) = self.caches.store::<SidecarSet>() {
            sets.assume_complete();
        }
    }

    pub fn lookup(&self) -> Lookup<'_> {
        Lookup::new(self.caches.as_ref())
    }

    /// Starts all watches. Register what they wake before. `own_namespace` is where the administrator's configuration is.
    pub fn watch(&self, client: &Client, settings: &WatchSettings, own_namespace: &str) -> JoinSet<()> {
        let mut tasks = self.caches.watch(client, settings);
        self.custom.start(&mut tasks, client, settings, own_namespace);
        tasks
    }

    /// Resolves when the caches have everything that a leader before this one has written. A standby's watches may be late, and
    /// what it does not know of its predecessor it would do again. Only the types that managers write are listed: nothing hides in
    /// the others that the next event does not bring.
    pub async fn catch_up(&self) {
        self.caches.list_again(&kinds::written()).await;
    }

    pub async fn synced(&self) {
        self.caches.synced().await;
    }
}
