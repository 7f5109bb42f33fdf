//! Checking every change of a set of pods, not only the moments at which a test looks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::{Api, ResourceExt};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// All pods of the watched workload by name, as they were after one change.
pub type Pods = BTreeMap<String, Pod>;

/// A running check. Ask for its [`Watcher::verdict`].
pub struct Watcher {
    pods: Api<Pod>,
    fault: Arc<Mutex<Option<String>>>,
    seen: watch::Receiver<u64>,
    task: JoinHandle<()>,
}

/// Runs `check` on the pods whose controller has this uid, now and after each of their changes.
pub async fn watching(
    pods: &Api<Pod>,
    owner: &str,
    check: impl FnMut(&Pods) -> Result<(), String> + Send + 'static,
) -> Watcher {
    let list = pods.list(&ListParams::default()).await.unwrap();
    let version = list.metadata.resource_version.clone().unwrap();
    let (sender, seen) = watch::channel(version.parse().unwrap());
    let mut run =
        Run { owner: owner.to_owned(), pods: Pods::new(), check, fault: Arc::default(), versions: sender };
    let fault = Arc::clone(&run.fault);
    for pod in list.items {
        run.put(pod);
    }
    run.look();
    let api = pods.clone();
    let task = tokio::spawn(async move { run.follow(&api, version).await });
    Watcher { pods: pods.clone(), fault, seen, task }
}

impl Watcher {
    /// Panics with what the check found wrong first, once all changes up to now were checked.
    pub async fn verdict(mut self) {
        let list = self.pods.list(&ListParams::default()).await.unwrap();
        let versions = list.items.iter().filter_map(|pod| pod.resource_version()?.parse::<u64>().ok());
        let newest = versions.max().unwrap_or(0);
        self.seen.wait_for(|seen| newest <= *seen).await.unwrap();
        self.task.abort();
        let fault = self.fault.lock().unwrap().take();
        assert!(fault.is_none(), "{}", fault.unwrap_or_default());
    }
}

struct Run<C> {
    owner: String,
    pods: Pods,
    check: C,
    fault: Arc<Mutex<Option<String>>>,
    versions: watch::Sender<u64>,
}

impl<C: FnMut(&Pods) -> Result<(), String>> Run<C> {
    async fn follow(&mut self, api: &Api<Pod>, from: String) {
        let mut version = from;
        loop {
            let mut events = api.watch(&WatchParams::default(), &version).await.unwrap().boxed();
            // A watch that ends is taken up again where it ended: no change is missed.
            while let Some(event) = events.try_next().await.unwrap() {
                let pod = match event {
                    WatchEvent::Added(pod) | WatchEvent::Modified(pod) => {
                        self.put(pod.clone());
                        pod
                    }
                    WatchEvent::Deleted(pod) => {
                        self.pods.remove(&pod.name_any());
                        pod
                    }
                    WatchEvent::Bookmark(_) => continue,
                    WatchEvent::Error(status) => panic!("changes were missed: {status:?}"),
                };
                version = pod.resource_version().unwrap();
                self.look();
                self.versions.send(version.parse().unwrap()).unwrap();
            }
        }
    }

    fn put(&mut self, pod: Pod) {
        let name = pod.name_any();
        if pod.owner_references().iter().any(|owner| owner.uid == self.owner) {
            self.pods.insert(name, pod);
        } else {
            self.pods.remove(&name);
        }
    }

    fn look(&mut self) {
        if let Err(message) = (self.check)(&self.pods) {
            self.fault.lock().unwrap().get_or_insert(message);
        }
    }
}
