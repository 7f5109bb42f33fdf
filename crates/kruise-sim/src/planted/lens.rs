//! The lens: a service between the client and the door of the server.

use std::convert::Infallible;
use std::io;

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

/// Where a bug sits.
#[derive(Clone, Copy)]
pub enum Lens {
    /// These writes are never sent, but the manager believes they were.
    Forgets(fn(&Ask) -> bool),
    /// These writes are sent otherwise.
    Sends { which: fn(&Ask) -> bool, change: fn(&mut Value) },
    /// These writes are sent twice, changed.
    Doubles { which: fn(&Ask) -> bool, change: fn(&mut Value) },
    /// Objects of these plurals look otherwise.
    Sees { whose: &'static [&'static str], change: fn(&mut Value) },
    /// Of a plural, with the word of the watch: never shown.
    Overlooks(fn(&str, &str, &Value) -> bool),
    /// Answers to writes say otherwise.
    Hears(fn(&mut StatusCode, &mut Value)),
}

/// What is read rather than told by a watch.
const LISTED: &str = "ADDED";

impl Lens {
    /// Whether the manager gets to see an object, which may change on the way.
    fn shows(self, plural: &str, word: &str, object: &mut Value) -> bool {
        match self {
            Self::Sees { whose, change } if whose.contains(&plural) => {
                change(object);
                true
            }
            Self::Overlooks(what) => !what(plural, word, object),
            Self::Sees { .. }
            | Self::Forgets(_)
            | Self::Sends { .. }
            | Self::Doubles { .. }
            | Self::Hears(_) => true,
        }
    }

    fn is_for_sight(self) -> bool {
        matches!(self, Self::Sees { .. } | Self::Overlooks(_))
    }
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
        Some(bug) => {
            let spectacles = Spectacles { door, bug };
            let answer = move |request: Request<Body>| spectacles.clone().answer(request);
            kube::Client::new(tower::service_fn(answer), "default")
        }
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

    pub fn is(&self, method: &Method, plural: &str) -> bool {
        self.method == *method && self.plural == plural
    }

    pub fn is_write(&self) -> bool {
        self.method != Method::GET
    }
}

impl Spectacles {
    async fn answer(self, request: Request<Body>) -> io::Result<Response<Content>> {
        let (parts, body) = request.into_parts();
        let bytes = body.collect_bytes().await.unwrap_or_default();
        let is_watch = parts.uri.query().is_some_and(|query| query.contains("watch=true"));
        let Some(mut ask) = Ask::read(&parts, &bytes) else { return self.pass(parts, bytes).await };
        let is_courtesy = matches!(ask.plural.as_str(), "leases" | "events" | "");
        if is_courtesy || (!ask.is_write() && !self.bug.lens.is_for_sight()) {
            return self.pass(parts, bytes).await;
        }
        match self.bug.lens {
            Lens::Forgets(which) if which(&ask) => Ok(believed(&ask)),
            Lens::Sends { which, change } if which(&ask) => {
                change(&mut ask.body);
                self.pass(parts, Bytes::from(ask.body.to_string())).await
            }
            Lens::Doubles { which, change } if which(&ask) => {
                change(&mut ask.body);
                let changed = Bytes::from(ask.body.to_string());
                drop(self.clone().pass(parts.clone(), changed.clone()).await);
                self.pass(parts, changed).await
            }
            lens @ (Lens::Sees { .. } | Lens::Overlooks(_)) if is_watch => {
                Ok(watched(self.pass(parts, bytes).await?, ask.plural, lens))
            }
            lens @ (Lens::Sees { .. } | Lens::Overlooks(_)) if !ask.is_write() => {
                Ok(read(self.pass(parts, bytes).await?, &ask.plural, lens).await)
            }
            Lens::Hears(lens) => Ok(heard(self.pass(parts, bytes).await?, lens).await),
            Lens::Forgets(_)
            | Lens::Sends { .. }
            | Lens::Doubles { .. }
            | Lens::Sees { .. }
            | Lens::Overlooks(_) => self.pass(parts, bytes).await,
        }
    }

    async fn pass(mut self, parts: http::request::Parts, body: Bytes) -> io::Result<Response<Content>> {
        self.door.call(Request::from_parts(parts, Body::from(body.to_vec()))).await
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

fn watched(response: Response<Content>, plural: String, lens: Lens) -> Response<Content> {
    response.map(|body| {
        let changed = body.map_frame(move |frame| {
            frame.map_data(|line| {
                let Ok(mut event) = serde_json::from_slice::<Value>(&line) else { return line };
                let word = event.pointer("/type").and_then(Value::as_str).unwrap_or_default().to_owned();
                if matches!(word.as_str(), "BOOKMARK" | "ERROR") {
                    return line;
                }
                match event.get_mut("object").map(|object| lens.shows(&plural, &word, object)) {
                    Some(true) => Bytes::from(format!("{event}\n")),
                    Some(false) => Bytes::new(),
                    None => line,
                }
            })
        });
        changed.boxed_unsync()
    })
}

async fn read(response: Response<Content>, plural: &str, lens: Lens) -> Response<Content> {
    let (parts, mut value) = opened(response).await;
    match value.get_mut("items").and_then(Value::as_array_mut) {
        Some(items) => items.retain_mut(|item| lens.shows(plural, LISTED, item)),
        None => _ = lens.shows(plural, LISTED, &mut value),
    }
    Response::from_parts(parts, full(Bytes::from(value.to_string())))
}

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
