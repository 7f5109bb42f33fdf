//! A scripted API server under the real client, for tests of one mechanism at a time.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

/// One request as the server saw it.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    pub method: Method,
    pub path: String,
    pub query: String,
}

/// What the server answers: status and body, after this long.
pub struct Answer {
    pub code: u16,
    pub body: String,
}

type Script = dyn Fn(&Seen) -> Answer + Send + Sync;

/// The server; clones share what was seen.
#[derive(Clone)]
pub struct Scripted {
    seen: Arc<Mutex<Vec<Seen>>>,
    script: Arc<Script>,
}

impl Answer {
    pub fn object(version: u64) -> Self {
        let body = json!({"metadata": {"name": "x", "uid": "u", "resourceVersion": version.to_string()}});
        Self { code: 200, body: body.to_string() }
    }

    pub fn failure(code: u16, reason: &str) -> Self {
        let body =
            json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": reason});
        Self { code, body: body.to_string() }
    }

    pub fn lines(lines: &[Value]) -> Self {
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        Self { code: 200, body: lines.join("\n") + "\n" }
    }
}

impl Scripted {
    pub fn new(script: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Self {
        Self { seen: Arc::default(), script: Arc::new(script) }
    }

    pub fn client(&self) -> Client {
        Client::new(self.clone(), "default")
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Methods and last path segments, as in `POST pods`.
    pub fn story(&self) -> Vec<String> {
        let line =
            |seen: &Seen| format!("{} {}", seen.method, seen.path.rsplit('/').next().unwrap_or_default());
        self.seen().iter().map(line).collect()
    }
}

impl tower::Service<Request<Body>> for Scripted {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let uri = request.uri();
        let query = uri.query().unwrap_or_default().to_owned();
        let seen = Seen { method: request.method().clone(), path: uri.path().to_owned(), query };
        let answer = (self.script)(&seen);
        self.seen.lock().unwrap().push(seen);
        Box::pin(async move {
            // As from a network: not at once.
            tokio::task::yield_now().await;
            Ok(Response::builder().status(answer.code).body(Body::from(answer.body.into_bytes())).unwrap())
        })
    }
}
