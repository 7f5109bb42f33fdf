//! The lens: a service between the client and the door of the server.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use kube::client::Body;
use serde_json::{Value, json};
use tower::Service;

use super::Bug;
use crate::server::Door;

/// One request of the manager.
#[derive(Debug, Clone)]
pub struct Ask {
    pub method: Method,
    /// `pods`, `clonesets` …
    pub plural: String,
    pub name: String,
    /// `status`, `scale` …; empty for the object itself.
    pub part: String,
    pub body: Value,
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    Once,
    Twice,
    /// Never sent, but the manager believes it was.
    Never,
}

/// What becomes of an object on its way to the manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    Shown,
    Hidden,
}

/// Where a bug sits.
#[derive(Clone, Copy)]
pub enum Lens {
    /// In what is sent.
    Asks(fn(&mut Ask) -> Sent),
    /// In what is seen of an object of this plural: by lists, watches and reads. The word is that of the watch.
    Sees(fn(&str, &str, &mut Value) -> Sight),
    /// In what a write is answered with.
    Hears(fn(&mut StatusCode, &mut Value)),
}

type Content = UnsyncBoxBody<Bytes, Infallible>;

#[derive(Clone)]
struct Spectacles {
    door: Door,
    bug: &'static Bug,
}

/// The client of a manager, with a bug or without.
pub fn client(door: Door, bug: Option<&'static Bug>) -> kube::Client {
    match bug {
        Some(bug) => kube::Client::new(Spectacles { door, bug }, "default"),
        None => door.client(),
    }
}

impl Ask {
    /// `None` for what is about no object.
    fn read(request: &http::request::Parts, body: &Bytes) -> Option<Self> {
        let mut parts = request.uri.path().split('/').skip(1);
        let first = parts.next()?;
        let skip = if first == "api" { 1 } else { 2 };
        let mut rest: Vec<&str> = parts.skip(skip).collect();
        if rest.first() == Some(&"namespaces") && rest.len() > 2 {
            rest.drain(..2);
        }
        let at = |place: usize| rest.get(place).map(|text| (*text).to_owned()).unwrap_or_default();
        let body = serde_json::from_slice(body).unwrap_or(Value::Null);
        Some(Self { method: request.method.clone(), plural: at(0), name: at(1), part: at(2), body })
    }

    pub fn is_write(&self) -> bool {
        self.method != Method::GET
    }

    /// Operations of a JSON patch.
    pub fn operations(&mut self) -> Option<&mut Vec<Value>> {
        self.body.as_array_mut()
    }
}

impl Spectacles {
    async fn answer(self, request: Request<Body>) -> Response<Content> {
        let (parts, body) = request.into_parts();
        let bytes = body.collect_bytes().await.unwrap_or_default();
        let is_watch = parts.uri.query().is_some_and(|query| query.contains("watch=true"));
        let Some(mut ask) = Ask::read(&parts, &bytes) else { return self.pass(parts, bytes).await };
        let is_courtesy = matches!(ask.plural.as_str(), "leases" | "events" | "");
        let mut sent = Sent::Once;
        let mut changed = bytes;
        if let (Lens::Asks(lens), true, false) = (self.bug.lens, ask.is_write(), is_courtesy) {
            sent = lens(&mut ask);
            changed = if ask.body.is_null() { Bytes::new() } else { Bytes::from(ask.body.to_string()) };
        }
        if sent == Sent::Never {
            return believed(&ask);
        }
        if sent == Sent::Twice {
            drop(self.clone().pass(parts.clone(), changed.clone()).await);
        }
        let response = self.clone().pass(parts, changed).await;
        match self.bug.lens {
            Lens::Sees(lens) if is_watch => watched(response, ask.plural, lens),
            Lens::Sees(lens) if !ask.is_write() => read(response, &ask.plural, lens).await,
            Lens::Hears(lens) if ask.is_write() && !is_courtesy => heard(response, lens).await,
            Lens::Asks(_) | Lens::Sees(_) | Lens::Hears(_) => response,
        }
    }

    async fn pass(mut self, parts: http::request::Parts, body: Bytes) -> Response<Content> {
        let request = Request::from_parts(parts, Body::from(body.to_vec()));
        match self.door.call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

/// As if it had been done: a version that no cache has to wait for.
fn believed(ask: &Ask) -> Response<Content> {
    let uid = ask.body.pointer("/metadata/uid").cloned().unwrap_or_default();
    let object = json!({"metadata": {"name": ask.name, "uid": uid, "resourceVersion": "0"}});
    let mut response = Response::new(full(Bytes::from(object.to_string())));
    response.headers_mut().insert(http::header::CONTENT_TYPE, JSON);
    response
}

const JSON: http::HeaderValue = http::HeaderValue::from_static("application/json");

fn watched(
    response: Response<Content>,
    plural: String,
    lens: fn(&str, &str, &mut Value) -> Sight,
) -> Response<Content> {
    response.map(|body| {
        let changed = body.map_frame(move |frame| {
            frame.map_data(|line| {
                let Ok(mut event) = serde_json::from_slice::<Value>(&line) else { return line };
                let word = event["type"].as_str().unwrap_or_default().to_owned();
                if matches!(word.as_str(), "BOOKMARK" | "ERROR") {
                    return line;
                }
                match lens(&plural, &word, &mut event["object"]) {
                    Sight::Shown => Bytes::from(format!("{event}\n")),
                    Sight::Hidden => Bytes::new(),
                }
            })
        });
        changed.boxed_unsync()
    })
}

async fn read(
    response: Response<Content>,
    plural: &str,
    lens: fn(&str, &str, &mut Value) -> Sight,
) -> Response<Content> {
    let (parts, mut value) = opened(response).await;
    match value.get_mut("items").and_then(Value::as_array_mut) {
        Some(items) => items.retain_mut(|item| lens(plural, LISTED, item) == Sight::Shown),
        None => drop(lens(plural, LISTED, &mut value)),
    }
    Response::from_parts(parts, full(Bytes::from(value.to_string())))
}

/// What is read rather than told.
const LISTED: &str = "ADDED";

async fn heard(response: Response<Content>, lens: fn(&mut StatusCode, &mut Value)) -> Response<Content> {
    let (mut parts, mut value) = opened(response).await;
    lens(&mut parts.status, &mut value);
    Response::from_parts(parts, full(Bytes::from(value.to_string())))
}

async fn opened(response: Response<Content>) -> (http::response::Parts, Value) {
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    (parts, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

fn full(bytes: Bytes) -> Content {
    Full::new(bytes).boxed_unsync()
}

impl Service<Request<Body>> for Spectacles {
    type Response = Response<Content>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let spectacles = self.clone();
        Box::pin(async move { Ok(spectacles.answer(request).await) })
    }
}
