//! All caches of the manager and the watches that fill them: one per resource type for the whole process.

use std::sync::Arc;

use kruise_runtime::cache::{Cached, Caches, Store, Watch, WatchSettings};
use kube::Client;
use tokio::task::JoinSet;

use crate::objects::{Claim, CloneSet, Node, Pod, PullJob, Revision};

pub struct Stores {
    pub clonesets: Arc<Store<CloneSet>>,
    pub pods: Arc<Store<Pod>>,
    pub claims: Arc<Store<Claim>>,
    pub revisions: Arc<Store<Revision>>,
    pub nodes: Arc<Store<Node>>,
    /// Only with the gate: nobody else needs the watch.
    pub pull_jobs: Option<Arc<Store<PullJob>>>,
}

/// Whether ImagePullJobs are made at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullJobs {
    Used,
    Unused,
}

impl Stores {
    pub fn new(pull_jobs: PullJobs) -> Self {
        Self {
            clonesets: Arc::default(),
            pods: Arc::default(),
            claims: Arc::default(),
            revisions: Arc::default(),
            nodes: Arc::default(),
            pull_jobs: (pull_jobs == PullJobs::Used).then(Arc::default),
        }
    }

    pub fn caches(&self) -> Caches {
        let mut caches = Caches::default();
        caches.add(&self.clonesets);
        caches.add(&self.pods);
        caches.add(&self.claims);
        caches.add(&self.revisions);
        caches.add(&self.nodes);
        if let Some(jobs) = &self.pull_jobs {
            caches.add(jobs);
        }
        caches
    }

    /// Starts all watches. Register what they wake before.
    pub fn watch(&self, client: &Client, settings: &WatchSettings) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        watch(&mut tasks, client, &self.clonesets, settings);
        watch(&mut tasks, client, &self.pods, settings);
        watch(&mut tasks, client, &self.claims, settings);
        watch(&mut tasks, client, &self.revisions, settings);
        watch(&mut tasks, client, &self.nodes, &WatchSettings { namespace: "".into(), ..settings.clone() });
        if let Some(jobs) = &self.pull_jobs {
            watch(&mut tasks, client, jobs, settings);
        }
        tasks
    }

    pub async fn synced(&self) {
        self.clonesets.synced().await;
        self.pods.synced().await;
        self.claims.synced().await;
        self.revisions.synced().await;
        self.nodes.synced().await;
        if let Some(jobs) = &self.pull_jobs {
            jobs.synced().await;
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
