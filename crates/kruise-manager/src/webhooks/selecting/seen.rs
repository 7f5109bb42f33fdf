//! Whether the API server uses a selection: asked with a pod that is only tried.

use std::time::Duration;

use kruise_core::admission::selection::{probe, seen_by};
use kube::Client;

/// A namespace that is always there, and never excluded from the pod webhook by the manager itself.
const NAMESPACE: &str = "default";
const ANSWERED_WITHIN: Duration = Duration::from_secs(2);

/// What one try says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    Yes,
    /// The pod would have been created without the pod webhook.
    No,
    /// The try ended before the pod webhook was due: another webhook takes no tries, a quota is used up.
    Unclear(String),
}

pub async fn try_pod(client: &Client, stamp: &str) -> Seen {
    let path = format!("/api/v1/namespaces/{NAMESPACE}/pods?dryRun=All&fieldManager=kruise-manager");
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(probe(stamp).to_string().into_bytes())
        .map_err(kube::Error::HttpError);
    let asked = async { client.request_text(request?).await };
    match tokio::time::timeout(ANSWERED_WITHIN, asked).await {
        Ok(Ok(_)) => Seen::No,
        Ok(Err(kube::Error::Api(status))) if seen_by(&status.message, stamp) => Seen::Yes,
        Ok(Err(error)) => Seen::Unclear(error.to_string()),
        Err(_) => Seen::Unclear("no answer in time".to_owned()),
    }
}
