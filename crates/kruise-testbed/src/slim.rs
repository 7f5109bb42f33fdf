//! Slim pods of the kubelet model straight from the API server: what the simulated nodes and the benchmark read.

use std::convert::Infallible;
use std::time::Duration;

use futures::StreamExt;
use http::Request;
use kruise_sim::kubelet::Pod;
use kube::Client;
use kube::core::WatchEvent;
use serde::Deserialize;

/// Between two tries to reach the API server.
const RETRY: Duration = Duration::from_millis(500);

/// The server knows no more what came after a version.
const FORGOTTEN: u16 = 410;

/// What is heard of pods.
pub enum News {
    /// These and no others.
    Listed(Vec<Pod>),
    Seen(Box<Pod>),
    Gone(Box<Pod>),
}

/// All that is read of an answer about one object or a list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Versioned {
    pub resource_version: String,
}

#[derive(Deserialize)]
struct PodList {
    metadata: Versioned,
    items: Vec<Pod>,
}

/// Follows all pods that `selector`, part of a query or empty, selects below a path, for ever. A watch that ends, as each does
/// sooner or later, goes on where it ended: to list tens of thousands of pods again takes a busy server minutes.
pub async fn follow(client: &Client, path: &str, selector: &str, mut tell: impl FnMut(News)) -> Infallible {
    loop {
        let Err(error) = list_and_watch(client, &format!("{path}?{selector}"), &mut tell).await;
        tracing::warn!(%error, "pods cannot be followed; listing them again");
        tokio::time::sleep(RETRY).await;
    }
}

async fn list_and_watch(
    client: &Client,
    path: &str,
    tell: &mut impl FnMut(News),
) -> Result<Infallible, kube::Error> {
    let list: PodList = client.request(get(path)?).await?;
    tell(News::Listed(list.items));
    let mut version = list.metadata.resource_version;
    loop {
        if let Err(error) = watch(client, path, &mut version, tell).await {
            if matches!(&error, kube::Error::Api(status) if status.code == FORGOTTEN) {
                return Err(error);
            }
            tracing::warn!(%error, "watch of pods broke; going on");
            tokio::time::sleep(RETRY).await;
        }
    }
}

/// Until the server ends it. `version` is what was seen last.
async fn watch(
    client: &Client,
    path: &str,
    version: &mut String,
    tell: &mut impl FnMut(News),
) -> Result<(), kube::Error> {
    let request = get(&format!("{path}&watch=true&allowWatchBookmarks=true&resourceVersion={version}"))?;
    let mut events = std::pin::pin!(client.request_events::<Pod>(request).await?);
    while let Some(event) = events.next().await {
        let (pod, news): (Pod, fn(Box<Pod>) -> News) = match event? {
            WatchEvent::Added(pod) | WatchEvent::Modified(pod) => (pod, News::Seen),
            WatchEvent::Deleted(pod) => (pod, News::Gone),
            WatchEvent::Bookmark(bookmark) => {
                *version = bookmark.metadata.resource_version;
                continue;
            }
            WatchEvent::Error(status) => return Err(kube::Error::Api(status)),
        };
        version.clone_from(&pod.metadata.resource_version);
        tell(news(Box::new(pod)));
    }
    Ok(())
}

fn get(path: &str) -> Result<Request<Vec<u8>>, kube::Error> {
    Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)
}
