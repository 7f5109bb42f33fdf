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
        let before = version.clone();
        match watch(client, path, &mut version, tell).await {
            Ok(()) if version != before => continue,
            Ok(()) => {} // A server that ends each watch at once is not asked without a pause.
            Err(kube::Error::Api(status)) if status.code == FORGOTTEN => {
                return Err(kube::Error::Api(status));
            }
            Err(error) => tracing::warn!(%error, "watch of pods broke; going on"),
        }
        tokio::time::sleep(RETRY).await;
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

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};

    use http::Response;
    use kube::client::Body;
    use serde_json::{Value, json};

    use super::*;

    fn pod(name: &str, version: u32) -> Value {
        json!({"metadata": {"name": name, "namespace": "n", "uid": name, "resourceVersion": version.to_string()}})
    }

    fn list(version: u32, items: &[Value]) -> String {
        json!({"metadata": {"resourceVersion": version.to_string()}, "items": items}).to_string()
    }

    fn event(what: &str, object: &Value) -> String {
        json!({"type": what, "object": object}).to_string() + "\n"
    }

    /// Gives these answers one after the other, then none any more. What was asked, and what was heard.
    async fn followed(answers: Vec<String>) -> (Vec<String>, Vec<String>) {
        let (mut answers, asked) = (VecDeque::from(answers), Arc::new(Mutex::new(Vec::new())));
        let record = Arc::clone(&asked);
        let service = tower::service_fn(move |request: Request<Body>| {
            record.lock().unwrap().push(request.uri().query().unwrap_or_default().to_owned());
            let answer = answers.pop_front();
            async move {
                match answer {
                    Some(text) => Ok::<_, Infallible>(Response::new(Body::from(text.into_bytes()))),
                    None => std::future::pending().await,
                }
            }
        });
        let client = Client::new(service, "default");
        let mut heard = Vec::new();
        let follow = follow(&client, "/api/v1/pods", "", |news| {
            heard.push(match news {
                News::Listed(pods) => format!("{} listed", pods.len()),
                News::Seen(pod) => format!("{} seen", pod.metadata.name),
                News::Gone(pod) => format!("{} gone", pod.metadata.name),
            });
        });
        assert!(tokio::time::timeout(Duration::from_mins(1), follow).await.is_err());
        let asked = asked.lock().unwrap().clone();
        (asked, heard)
    }

    fn watch_from(version: u32) -> String {
        format!("&watch=true&allowWatchBookmarks=true&resourceVersion={version}")
    }

    #[tokio::test(start_paused = true)]
    async fn watch_that_ends_goes_on_where_it_ended() {
        let bookmark = json!({"metadata": {"resourceVersion": "9"}, "kind": "Pod", "apiVersion": "v1"});
        let (asked, heard) = followed(vec![
            list(5, &[pod("a", 3)]),
            event("ADDED", &pod("b", 6)) + &event("DELETED", &pod("a", 7)),
            event("BOOKMARK", &bookmark),
        ])
        .await;

        assert_eq!(asked, [String::new(), watch_from(5), watch_from(7), watch_from(9)]);
        assert_eq!(heard, ["1 listed", "b seen", "a gone"]);
    }

    #[tokio::test(start_paused = true)]
    async fn pods_are_listed_again_when_the_server_has_forgotten_what_came_between() {
        let gone = json!({"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"});
        let (asked, heard) =
            followed(vec![list(5, &[]), event("ERROR", &gone), list(8, &[pod("a", 8)])]).await;

        assert_eq!(asked, [String::new(), watch_from(5), String::new(), watch_from(8)]);
        assert_eq!(heard, ["0 listed", "1 listed"]);
    }

    #[tokio::test(start_paused = true)]
    async fn server_that_ends_every_watch_at_once_is_asked_with_pauses() {
        let ended = std::iter::repeat_n(String::new(), 1_000);
        let (asked, _) = followed(std::iter::once(list(5, &[])).chain(ended).collect()).await;

        assert!(asked.len() < 130, "one minute, two a second: {}", asked.len());
        assert!(asked.len() > 100, "{}", asked.len());
    }
}
