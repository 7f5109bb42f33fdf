//! Looking on while pods come, change and go: one watch, slim pods, no polling.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kruise_sim::kubelet::Pod;
use kube::api::ListParams;
use kube::{Api, Client};
use tokio::sync::watch;

use crate::slim::{self, News};
use crate::{TestbedError, wait};

/// A manager that changes no pod for this long is stuck, however large the run.
const PATIENCE: Duration = Duration::from_mins(2);

/// Pods by name.
pub type Seen = HashMap<String, Pod>;

/// The pods of one namespace, kept current by a watch in the background.
#[derive(Debug)]
pub struct Observer {
    pods: watch::Receiver<Seen>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Observer {
    /// Starts with an empty, new namespace.
    pub fn of(client: Client, namespace: String) -> Self {
        let (sender, pods) = watch::channel(HashMap::new());
        let task = tokio::spawn(async move {
            let path = format!("/api/v1/namespaces/{namespace}/pods");
            slim::follow(&client, &path, "", |news| sender.send_modify(|seen| take(seen, news))).await;
        });
        Self { pods, task }
    }

    /// Waits until `ok` holds for all pods together.
    pub async fn until(&self, what: &str, ok: impl Fn(&Seen) -> bool) -> Result<(), TestbedError> {
        let mut pods = self.pods.clone();
        while !ok(&pods.borrow_and_update()) {
            match tokio::time::timeout(PATIENCE, pods.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return Err(TestbedError::Unfit(error.to_string())),
                Err(_) => {
                    let last = format!("{} pods and no change since", pods.borrow().len());
                    let seconds = PATIENCE.as_secs();
                    return Err(TestbedError::Waited { what: what.into(), seconds, last });
                }
            }
        }
        Ok(())
    }

    /// Which pods there are.
    pub fn uids(&self) -> HashSet<String> {
        self.pods.borrow().values().map(|pod| pod.metadata.uid.clone()).collect()
    }

    pub fn pod(&self, name: &str) -> Option<Pod> {
        self.pods.borrow().get(name).cloned()
    }

    /// Waits until `ok` holds for one pod.
    pub async fn until_pod(&self, name: &str, ok: impl Fn(&Pod) -> bool) -> Result<(), TestbedError> {
        let mut pods = self.pods.clone();
        let seen = pods.wait_for(|pods| pods.get(name).is_some_and(&ok)).await;
        seen.map(drop).map_err(|error| TestbedError::Unfit(error.to_string()))
    }
}

pub fn is_ready(pod: &Pod) -> bool {
    pod.condition("Ready").is_some_and(|condition| condition.status == "True")
}

pub fn runs(pod: &Pod, image: &str) -> bool {
    pod.status.container_statuses.first().is_some_and(|status| status.image == image)
}

/// Waits for the simulated nodes.
pub async fn nodes_ready(client: &Client, count: usize) -> Result<(), TestbedError> {
    let nodes: Api<Node> = Api::all(client.clone());
    wait::until_all(&nodes, &ListParams::default(), "the simulated nodes", |nodes| nodes.len() == count)
        .await?;
    Ok(())
}

fn take(pods: &mut Seen, news: News) {
    match news {
        News::Listed(listed) => {
            *pods = listed.into_iter().map(|pod| (pod.metadata.name.clone(), pod)).collect();
        }
        News::Seen(pod) => {
            pods.insert(pod.metadata.name.clone(), *pod);
        }
        News::Gone(pod) => {
            pods.remove(&pod.metadata.name);
        }
    }
}
