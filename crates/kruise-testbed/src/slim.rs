//! Slim pods of the kubelet model straight from the API server: what the simulated nodes and the benchmark read.

use http::Request;
use kruise_sim::kubelet::Pod;
use kube::Client;
use serde::Deserialize;

/// Pods as listed, and from which version to watch on.
pub struct Listed {
    pub pods: Vec<Pod>,
    pub version: String,
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

pub async fn list(client: &Client, path: &str) -> Result<Listed, kube::Error> {
    let list: PodList = client.request(get(path)?).await?;
    Ok(Listed { pods: list.items, version: list.metadata.resource_version })
}

pub fn get(path: &str) -> Result<Request<Vec<u8>>, kube::Error> {
    Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)
}
