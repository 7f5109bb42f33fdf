//! Requests with a deadline and an error that says what comes next.

use std::time::Duration;

use http::{Request, header};
use kube::Client;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Until an answer is complete. Watches have a limit of their own.
const WITHIN: Duration = Duration::from_secs(30);

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The object, or its kind, is not there.
    #[error("not found")]
    NotFound,
    /// Another object of that name, or somebody else wrote first.
    #[error("conflict: {0}")]
    Conflict(String),
    /// The same request will be refused again.
    #[error("refused: {0}")]
    Refused(String),
    /// Try again later.
    #[error("{0}")]
    Unreachable(String),
}

/// How a patch is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchKind {
    Merge,
    Strategic,
}

/// One part of the agent talking to the API server.
#[derive(Clone)]
pub struct Api {
    client: Client,
    agent: String,
}

impl Api {
    pub fn new(client: Client) -> Self {
        Self { client, agent: "kruise-daemon".to_owned() }
    }

    /// The same server under the name of a part.
    #[must_use]
    pub fn named(&self, part: &str) -> Self {
        Self { client: self.client.clone(), agent: format!("kruise-daemon/{part}") }
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ApiError> {
        self.send(self.request("GET", path), Vec::new()).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<(), ApiError> {
        let request = self.request("POST", path).header(header::CONTENT_TYPE, "application/json");
        self.send::<serde::de::IgnoredAny>(request, body.to_string().into_bytes()).await.map(drop)
    }

    /// The object as it is afterwards.
    pub async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        kind: PatchKind,
        body: &Value,
    ) -> Result<T, ApiError> {
        let kind = match kind {
            PatchKind::Merge => "application/merge-patch+json",
            PatchKind::Strategic => "application/strategic-merge-patch+json",
        };
        let request = self.request("PATCH", path).header(header::CONTENT_TYPE, kind);
        self.send(request, body.to_string().into_bytes()).await
    }

    pub(super) fn request(&self, method: &str, path: &str) -> http::request::Builder {
        Request::builder().method(method).uri(path).header(header::USER_AGENT, &self.agent)
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    async fn send<T: DeserializeOwned>(
        &self,
        request: http::request::Builder,
        body: Vec<u8>,
    ) -> Result<T, ApiError> {
        let request = request.body(body).map_err(|error| ApiError::Refused(error.to_string()))?;
        let answer = tokio::time::timeout(WITHIN, self.client.request_text(request)).await;
        let text = answer.map_err(|_| ApiError::Unreachable("no answer in time".to_owned()))??;
        serde_json::from_str(&text).map_err(|error| ApiError::Refused(format!("odd answer: {error}")))
    }
}

impl From<kube::Error> for ApiError {
    fn from(error: kube::Error) -> Self {
        let kube::Error::Api(status) = &error else { return Self::Unreachable(error.to_string()) };
        match status.code {
            404 => Self::NotFound,
            409 => Self::Conflict(status.message.clone()),
            400 | 403 | 405 | 413 | 415 | 422 => Self::Refused(status.message.clone()),
            _ => Self::Unreachable(status.message.clone()),
        }
    }
}
