//! An API server in memory: lists, watches and patches of what the agent reads. It can be cut off.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::broadcast;

type Answer = UnsyncBoxBody<Bytes, std::io::Error>;

#[derive(Clone)]
pub struct Server(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changes: broadcast::Sender<(String, String)>,
}

/// Whether anybody answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Service {
    #[default]
    Up,
    Down,
}

#[derive(Default)]
struct State {
    /// Objects by path, without `/status`.
    objects: BTreeMap<String, Value>,
    version: u64,
    /// Every write: path and body.
    writes: Vec<(String, Value)>,
    requests: Vec<String>,
    service: Service,
}

fn merge(into: &mut Value, patch: &Value) {
    match patch {
        Value::Object(fields) => {
            if !into.is_object() {
                *into = json!({});
            }
            for (key, value) in fields {
                if value.is_null() {
                    into.as_object_mut().unwrap().remove(key);
                } else {
                    merge(&mut into[key.as_str()], value);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            *into = patch.clone();
        }
    }
}

/// `/apis/g/v/plural` of an object's path, with or without a namespace in it.
fn collection(path: &str) -> String {
    let parent = path.rsplit_once('/').unwrap().0;
    let parts: Vec<&str> = parent.split('/').collect();
    match parts.iter().position(|part| *part == "namespaces") {
        Some(at) => [&parts[..at], &parts[at + 2..]].concat().join("/"),
        None => parent.to_owned(),
    }
}

impl Server {
    pub fn new() -> Self {
        let (changes, _) = broadcast::channel(1_024);
        Self(Arc::new(Shared { state: Mutex::default(), changes }))
    }

    pub fn client(&self) -> Client {
        let server = self.clone();
        Client::new(
            tower::service_fn(move |request: Request<Body>| server.clone().answer(request)),
            "default",
        )
    }

    /// Creates or replaces an object.
    pub fn put(&self, path: &str, mut object: Value) {
        let mut state = self.0.state.lock().unwrap();
        state.version += 1;
        object["metadata"]["resourceVersion"] = json!(state.version.to_string());
        state.objects.insert(path.to_owned(), object.clone());
        drop(state);
        self.tell(path, "ADDED", &object);
    }

    pub fn change(&self, path: &str, change: impl FnOnce(&mut Value)) {
        let mut object = self.get(path);
        change(&mut object);
        self.put(path, object);
    }

    pub fn delete(&self, path: &str) {
        let object = self.0.state.lock().unwrap().objects.remove(path).unwrap();
        self.tell(path, "DELETED", &object);
    }

    pub fn get(&self, path: &str) -> Value {
        self.0.state.lock().unwrap().objects.get(path).cloned().unwrap_or_default()
    }

    /// Writes to one object so far.
    pub fn writes(&self, path: &str) -> Vec<Value> {
        let state = self.0.state.lock().unwrap();
        state.writes.iter().filter(|(to, _)| to == path).map(|(_, body)| body.clone()).collect()
    }

    pub fn events(&self, reason: &str) -> Vec<Value> {
        let state = self.0.state.lock().unwrap();
        let events = state.writes.iter().filter(|(to, _)| to.ends_with("/events"));
        events.map(|(_, body)| body.clone()).filter(|body| body["reason"] == reason).collect()
    }

    pub fn requests(&self) -> Vec<String> {
        self.0.state.lock().unwrap().requests.clone()
    }

    pub fn set(&self, service: Service) {
        self.0.state.lock().unwrap().service = service;
    }

    fn tell(&self, path: &str, kind: &str, object: &Value) {
        let line = json!({"type": kind, "object": object}).to_string() + "\n";
        // Nobody may be watching.
        let _none = self.0.changes.send((collection(path), line));
    }

    async fn answer(self, request: Request<Body>) -> Result<Response<Answer>, std::io::Error> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let path = parts.uri.path().to_owned();
        let query = parts.uri.query().unwrap_or_default().to_owned();
        {
            let mut state = self.0.state.lock().unwrap();
            state.requests.push(format!("{} {path}?{query}", parts.method));
            if state.service == Service::Down {
                return Err(std::io::Error::other("no route to host"));
            }
        }
        if parts.method == Method::GET {
            return Ok(if query.contains("watch=true") { self.watch(&path) } else { self.read(&path) });
        }
        let body: Value = serde_json::from_slice(&body).unwrap();
        Ok(self.write(&parts.method, &path, &body))
    }

    fn read(&self, path: &str) -> Response<Answer> {
        let state = self.0.state.lock().unwrap();
        if let Some(object) = state.objects.get(path) {
            return response(StatusCode::OK, object);
        }
        if path.contains("/secrets/") {
            return not_found();
        }
        let items: Vec<&Value> =
            state.objects.iter().filter(|(at, _)| collection(at) == path).map(|(_, object)| object).collect();
        response(
            StatusCode::OK,
            &json!({"metadata": {"resourceVersion": state.version.to_string()}, "items": items}),
        )
    }

    fn watch(&self, path: &str) -> Response<Answer> {
        let receiver = self.0.changes.subscribe();
        let path = path.to_owned();
        let lines = stream::unfold(receiver, |mut receiver| async {
            receiver.recv().await.ok().map(|change| (change, receiver))
        });
        let lines = lines.filter_map(move |(at, line)| {
            let fits = at == path;
            async move { fits.then(|| Ok::<_, std::io::Error>(Frame::data(Bytes::from(line)))) }
        });
        Response::new(StreamBody::new(lines).boxed_unsync())
    }

    fn write(&self, method: &Method, path: &str, body: &Value) -> Response<Answer> {
        let target = path.strip_suffix("/status").unwrap_or(path).to_owned();
        let mut state = self.0.state.lock().unwrap();
        state.writes.push((target.clone(), body.clone()));
        if method == Method::POST {
            return response(StatusCode::CREATED, body);
        }
        state.version += 1;
        let version = state.version.to_string();
        let Some(object) = state.objects.get_mut(&target) else { return not_found() };
        merge(object, body);
        object["metadata"]["resourceVersion"] = json!(version);
        let object = object.clone();
        drop(state);
        self.tell(&target, "MODIFIED", &object);
        response(StatusCode::OK, &object)
    }
}

fn response(status: StatusCode, value: &Value) -> Response<Answer> {
    let mut response = Response::new(
        Full::new(Bytes::from(value.to_string())).map_err(|never| match never {}).boxed_unsync(),
    );
    *response.status_mut() = status;
    response
}

fn not_found() -> Response<Answer> {
    response(
        StatusCode::NOT_FOUND,
        &json!({"kind": "Status", "status": "Failure", "code": 404, "message": "not found", "reason": "NotFound"}),
    )
}
