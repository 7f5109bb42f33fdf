//! All caches of the manager and the watches that fill them: one per resource type for the whole process.

use std::sync::Arc;

use kruise_runtime::cache::{Cached, Caches, Store, Watch, WatchSettings};
use kube::Client;
use tokio::task::JoinSet;

use crate::custom_kinds::CustomKinds;
use crate::objects::{
    Claim, CloneSet, NativeStatefulSet, Node, PersistentPodState, Pod, PullJob, Revision, StatefulSet,
    StorageClass,
};

pub struct Stores {
    pub clonesets: Arc<Store<CloneSet>>,
    pub statefulsets: Arc<Store<StatefulSet>>,
    /// Of Kubernetes itself.
    pub native_statefulsets: Arc<Store<NativeStatefulSet>>,
    pub pod_states: Arc<Store<PersistentPodState>>,
    pub pods: Arc<Store<Pod>>,
    pub claims: Arc<Store<Claim>>,
    pub revisions: Arc<Store<Revision>>,
    pub nodes: Arc<Store<Node>>,
    /// Of kinds that the administrator lists.
    pub custom: Arc<CustomKinds>,
    /// Only with the gate: nobody else needs the watch.
    pub pull_jobs: Option<Arc<Store<PullJob>>>,
    /// Only with the gate that lets claims grow.
    pub storage_classes: Option<Arc<Store<StorageClass>>>,
}

/// Which of the stores that a gate decides about are there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Optional {
    pub pull_jobs: Use,
    pub storage_classes: Use,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Use {
    Used,
    #[default]
    Unused,
}

impl Stores {
    pub fn new(optional: Optional) -> Self {
        Self {
            clonesets: Arc::default(),
            statefulsets: Arc::default(),
            native_statefulsets: Arc::default(),
            pod_states: Arc::default(),
            pods: Arc::default(),
            claims: Arc::default(),
            revisions: Arc::default(),
            nodes: Arc::default(),
            custom: Arc::default(),
            pull_jobs: (optional.pull_jobs == Use::Used).then(Arc::default),
            storage_classes: (optional.storage_classes == Use::Used).then(Arc::default),
        }
    }

    pub fn caches(&self) -> Caches {
        let mut caches = Caches::default();
        caches.add(&self.clonesets);
        caches.add(&self.statefulsets);
        caches.add(&self.native_statefulsets);
        caches.add(&self.pod_states);
        caches.add(&self.pods);
        caches.add(&self.claims);
        caches.add(&self.revisions);
        caches.add(&self.nodes);
        if let Some(jobs) = &self.pull_jobs {
            caches.add(jobs);
        }
        if let Some(classes) = &self.storage_classes {
            caches.add(classes);
        }
        caches
    }

    /// Starts all watches. Register what they wake before. `own_namespace` is where the administrator's configuration is.
    pub fn watch(&self, client: &Client, settings: &WatchSettings, own_namespace: &str) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        watch(&mut tasks, client, &self.clonesets, settings);
        watch(&mut tasks, client, &self.statefulsets, settings);
        watch(&mut tasks, client, &self.native_statefulsets, settings);
        watch(&mut tasks, client, &self.pod_states, settings);
        watch(&mut tasks, client, &self.pods, settings);
        watch(&mut tasks, client, &self.claims, settings);
        watch(&mut tasks, client, &self.revisions, settings);
        let everywhere = WatchSettings { namespace: "".into(), ..settings.clone() };
        watch(&mut tasks, client, &self.nodes, &everywhere);
        if let Some(jobs) = &self.pull_jobs {
            watch(&mut tasks, client, jobs, settings);
        }
        if let Some(classes) = &self.storage_classes {
            watch(&mut tasks, client, classes, &everywhere);
        }
        self.custom.start(&mut tasks, client, settings, own_namespace);
        tasks
    }

    /// Resolves when the caches have everything that a leader before this one has written. A standby's watches may be late, and
    /// what it does not know of its predecessor it would do again. Only the types that managers write are listed: nothing hides in
    /// the others that the next event does not bring.
    pub async fn catch_up(&self) {
        let jobs = async {
            if let Some(jobs) = &self.pull_jobs {
                jobs.list_again().await;
            }
        };
        tokio::join!(
            self.clonesets.list_again(),
            self.statefulsets.list_again(),
            self.pod_states.list_again(),
            self.pods.list_again(),
            self.claims.list_again(),
            self.revisions.list_again(),
            jobs,
        );
    }

    pub async fn synced(&self) {
        self.clonesets.synced().await;
        self.statefulsets.synced().await;
        self.native_statefulsets.synced().await;
        self.pod_states.synced().await;
        self.pods.synced().await;
        self.claims.synced().await;
        self.revisions.synced().await;
        self.nodes.synced().await;
        if let Some(jobs) = &self.pull_jobs {
            jobs.synced().await;
        }
        if let Some(classes) = &self.storage_classes {
            classes.synced().await;
        }
    }
}

fn watch<T: Cached>(
    tasks: &mut JoinSet<()>,
    client: &Client,
    store: &Arc<Store<T>>,
    settings: &WatchSettings,
) {
    tasks.spawn(Watch::new(client.clone(), Arc::clone(store), settings.clone()).run());
}
