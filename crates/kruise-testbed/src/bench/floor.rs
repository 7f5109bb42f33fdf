//! The floor: a bare client that makes only the unavoidable writes. Faster than this no manager can be.
//!
//! Create: create, one status patch that opens the readiness gate. In-place: status patch that closes the gate,
//! image patch, status patch that opens it. Delete: one. JSON patches, as they cost the API server least.

use futures::{StreamExt, TryStreamExt, stream};
use http::Request;
use kruise_sim::kubelet::Pod;
use kube::Client;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::observe::{self, Observer, Seen};
use super::report::Phase;
use super::{Part, Stage, Worker, managed};
use crate::TestbedError;

pub const NAME: &str = "floor";
pub const USER_AGENT: &str = "bare-client";

const GATE: &str = "InPlaceUpdateReady";
const IMAGES: (&str, &str) = ("nginx:1.25", "nginx:1.26");

/// Create, update in place and delete.
pub async fn run(stage: &Stage<'_>) -> Result<Vec<Phase>, TestbedError> {
    let namespace = managed::namespace(&stage.client, "bench-floor").await?;
    let count = stage.settings.floor_pods.unwrap_or_else(|| stage.settings.pods());
    let worker = Worker { pods: count, process: None };
    let names: Vec<String> = (0..count).map(|number| format!("floor-{number:05}")).collect();
    let bare =
        Bare { client: stage.client.clone(), namespace: namespace.clone(), workers: stage.settings.workers };
    let observer = Observer::of(stage.client.clone(), namespace.clone());
    let all_ready = |pods: &Seen| pods.values().filter(|pod| observe::is_ready(pod)).count() == count;
    let updated = |pod: &&Pod| observe::is_ready(pod) && observe::runs(pod, IMAGES.1);
    let create = async {
        bare.each(&names, |name| bare.create(name, &observer)).await?;
        observer.until("pods ready", all_ready).await
    };
    let created = stage.timed(worker, Part::Create, create).await?;
    let update = async {
        bare.each(&names, |name| bare.update(name, &observer)).await?;
        observer.until("pods updated", |pods| pods.values().filter(updated).count() == count).await
    };
    let changed = stage.timed(worker, Part::InPlace, update).await?;
    let delete = async {
        bare.each(&names, |name| bare.delete(name)).await?;
        observer.until("no pods", Seen::is_empty).await
    };
    let deleted = stage.timed(worker, Part::ScaleIn, delete).await?;
    Ok(vec![created, changed, deleted])
}

struct Bare {
    client: Client,
    namespace: String,
    workers: usize,
}

impl Bare {
    async fn each<'a, F>(&self, names: &'a [String], act: impl Fn(&'a str) -> F) -> Result<(), TestbedError>
    where
        F: Future<Output = Result<(), TestbedError>>,
    {
        stream::iter(names).map(|name| act(name)).buffer_unordered(self.workers).try_collect().await
    }

    async fn create(&self, name: &str, observer: &Observer) -> Result<(), TestbedError> {
        let object = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": "floor"}},
            "spec": {"readinessGates": [{"conditionType": GATE}], "containers": [{"name": "main", "image": IMAGES.0}]},
        });
        let request = Request::post(format!("/api/v1/namespaces/{}/pods", self.namespace))
            .header(http::header::CONTENT_TYPE, "application/json");
        self.send(request, &object, name).await?;
        // Once bound, the pod has a list of conditions to append to; a manager waits for that moment, too.
        observer
            .until_pod(name, |pod| !pod.spec.node_name.is_empty() && !pod.status.conditions.is_empty())
            .await?;
        self.gate(name, "True", None).await
    }

    async fn update(&self, name: &str, observer: &Observer) -> Result<(), TestbedError> {
        let position = self.gate_position(observer, name).await?;
        self.gate(name, "False", Some(position)).await?;
        let patch = json!([{"op": "replace", "path": "/spec/containers/0/image", "value": IMAGES.1}]);
        self.patch(name, "", &patch).await?;
        observer.until_pod(name, |pod| observe::runs(pod, IMAGES.1)).await?;
        self.gate(name, "True", Some(position)).await
    }

    async fn delete(&self, name: &str) -> Result<(), TestbedError> {
        let request = Request::delete(self.path(name)).header(http::header::CONTENT_TYPE, "application/json");
        self.send(request, &json!({}), name).await
    }

    async fn gate_position(&self, observer: &Observer, name: &str) -> Result<usize, TestbedError> {
        let gate = |pod: &Pod| pod.status.conditions.iter().position(|condition| condition.kind == GATE);
        observer.until_pod(name, |pod| gate(pod).is_some()).await?;
        let position = observer.pod(name).as_ref().and_then(gate);
        position.ok_or_else(|| TestbedError::Unfit(format!("pod {name} lost its condition")))
    }

    /// Label and condition travel in one write, as a manager's do.
    async fn gate(&self, name: &str, status: &str, position: Option<usize>) -> Result<(), TestbedError> {
        let condition = json!({"type": GATE, "status": status});
        let lifecycle = if status == "True" { "Normal" } else { "Updating" };
        let label = json!({"op": "add", "path": "/metadata/labels/lifecycle", "value": lifecycle});
        let patch = match position {
            None => json!([label, {"op": "add", "path": "/status/conditions/-", "value": condition}]),
            Some(position) => json!([
                label,
                {"op": "test", "path": format!("/status/conditions/{position}/type"), "value": GATE},
                {"op": "replace", "path": format!("/status/conditions/{position}"), "value": condition},
            ]),
        };
        self.patch(name, "/status", &patch).await
    }

    async fn patch(&self, name: &str, subresource: &str, patch: &Value) -> Result<(), TestbedError> {
        let request = Request::patch(format!("{}{subresource}", self.path(name)))
            .header(http::header::CONTENT_TYPE, "application/json-patch+json");
        self.send(request, patch, name).await
    }

    async fn send(
        &self,
        request: http::request::Builder,
        body: &Value,
        name: &str,
    ) -> Result<(), TestbedError> {
        let api = || TestbedError::api(format!("pod {name}"));
        let body = serde_json::to_vec(body).map_err(|error| api()(kube::Error::SerdeError(error)))?;
        let request = request.body(body).map_err(|error| api()(kube::Error::HttpError(error)))?;
        self.client.request::<IgnoredAny>(request).await.map(drop).map_err(api())
    }

    fn path(&self, name: &str) -> String {
        format!("/api/v1/namespaces/{}/pods/{name}", self.namespace)
    }
}
