//! No replica misses a SidecarSet that was stored before a pod was created, however late its watch is.
//!
//! A replica that lets in a set which selects more pods first notes its name in one small ConfigMap. A replica that is asked about a new
//! pod reads that note, live and after it was asked, and reads every set live that is noted and that its cache does not have yet. A set
//! that was stored before the pod was asked for was noted before that, so the note has it; one that is not found was not stored yet.
//! Many pods that are asked about at once share one read.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{Method, Request as Http, header};
use jiff::Timestamp;
use kruise_api::names::SIDECARSET_ADMISSIONS;
use kruise_core::admission::{DryRun, Operation, Request, Subresource};
use kruise_core::cluster::namespace::Namespace;
use kruise_core::lookup::Slim;
use kruise_core::sidecarset::SidecarSet;
use kruise_core::time;
use kruise_runtime::Key;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::Context;
use super::entry::Sort;

/// Longer than a request of the API server lasts, and than any watch is late that is not broken; clocks may differ by the rest.
const NOTED_SECONDS: i64 = 300;

/// How often and how long a review waits for what a watch is about to bring: ten seconds in all, a third of what the API server waits.
const WATCH_TURNS: u32 = 500;
const WATCH_PAUSE: Duration = Duration::from_millis(20);

/// Reads the note for all who ask.
#[derive(Default)]
pub struct Fresh {
    is_off: bool,
    turn: Mutex<()>,
    begun: AtomicU64,
    done: AtomicU64,
}

/// A set that is about to be stored.
pub struct Announced {
    name: String,
    generation: i64,
}

impl Fresh {
    /// For handlers without an API server behind them.
    pub fn off() -> Self {
        Self { is_off: true, ..Self::default() }
    }

    /// Returns when the caches have every set that was stored before this was called; the error says why they have not.
    pub async fn ensure(&self, cx: &Context, namespace: &str) -> Result<(), String> {
        if self.is_off {
            return Ok(());
        }
        know_namespace(cx, namespace).await?;
        let before = self.begun.load(Ordering::SeqCst);
        let _turn = self.turn.lock().await;
        if before < self.done.load(Ordering::SeqCst) {
            return Ok(()); // Another one began to read after this one came.
        }
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        read_noted(cx).await?;
        self.done.store(number, Ordering::SeqCst);
        Ok(())
    }
}

/// B3: a namespace that was created a moment ago is waited for, and so are the first lists of a replica that has just begun.
async fn know_namespace(cx: &Context, name: &str) -> Result<(), String> {
    let is_known = || cx.stores.lookup().get::<Namespace>(&Key::cluster(name)).is_some();
    for _ in 0..WATCH_TURNS {
        if cx.stores.lookup().is_settled::<SidecarSet>() && (name.is_empty() || is_known()) {
            return Ok(());
        }
        tokio::time::sleep(WATCH_PAUSE).await;
    }
    Err(format!("this manager does not know all SidecarSets and the namespace {name:?} yet"))
}

async fn read_noted(cx: &Context) -> Result<(), String> {
    let Some(note) = get(&cx.client, &note_path(cx)).await? else { return Ok(()) };
    let note: Value = serde_json::from_str(&note).map_err(|error| error.to_string())?;
    for (name, text) in entries(&note) {
        if is_over(&text, cx.clock.now()) || has(cx, &name, &text) {
            continue;
        }
        refresh(cx, SidecarSet::RESOURCE, &name).await?;
    }
    Ok(())
}

fn entries(note: &Value) -> BTreeMap<String, String> {
    let data = note.get("data").and_then(Value::as_object).into_iter().flatten();
    data.filter_map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned()))).collect()
}

/// `generation@time`.
fn is_over(text: &str, now: Timestamp) -> bool {
    let noted = text.split_once('@').and_then(|(_, at)| time::read(at));
    noted.is_some_and(|at| time::after(at, NOTED_SECONDS) < now)
}

fn has(cx: &Context, name: &str, text: &str) -> bool {
    let wanted = text.split_once('@').and_then(|(generation, _)| generation.parse::<i64>().ok()).unwrap_or(0);
    let cached = cx.stores.lookup().get::<SidecarSet>(&Key::cluster(name));
    cached.is_some_and(|set| wanted <= set.head.generation)
}

/// Brings an object into the caches; one that is not there is not stored yet.
async fn refresh(cx: &Context, resource: kruise_runtime::Resource, name: &str) -> Result<(), String> {
    let Some(live) = get(&cx.client, &resource.object("", name)).await? else { return Ok(()) };
    cx.stores.caches.refresh(resource, &live).map_err(|error| error.to_string())
}

async fn get(client: &Client, path: &str) -> Result<Option<String>, String> {
    let request = Http::get(path).body(Vec::new()).map_err(kube::Error::HttpError);
    let asked = async { client.request_text(request?).await };
    match asked.await {
        Ok(text) => Ok(Some(text)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// The set of a request, if it may select pods that the stored one does not.
pub fn announced(request: &Request, sort: Sort) -> Option<Announced> {
    let resource = SidecarSet::RESOURCE;
    let is_set = request.resource.group == resource.group() && request.resource.plural == resource.plural();
    let stores = request.dry_run == DryRun::No && request.subresource == Subresource::Whole;
    if !is_set || !stores || sort != Sort::Validating || request.name.is_empty() {
        return None;
    }
    let selecting =
        ["/spec/selector", "/spec/namespaceSelector", "/spec/namespace", "/spec/injectionStrategy"];
    let generation =
        |object: &Value| object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
    match request.operation {
        Operation::Create => Some(Announced { name: request.name.clone(), generation: 1 }),
        Operation::Update => {
            let is_kept = selecting.iter().all(|at| request.object.pointer(at) == request.old.pointer(at));
            let generation = generation(&request.object).max(generation(&request.old) + 1);
            (!is_kept).then(|| Announced { name: request.name.clone(), generation })
        }
        Operation::Delete | Operation::Connect => None,
    }
}

/// Notes a set that is about to be stored, and forgets those of long ago.
pub async fn announce(cx: &Context, set: &Announced) -> Result<(), String> {
    if cx.fresh.is_off {
        return Ok(());
    }
    let text = format!("{}@{}", set.generation, time::seconds(cx.clock.now()));
    let data = json!({set.name.as_str(): text});
    for _ in 0..3 {
        let patch = json!({ "data": data });
        if let Some(stored) = send(&cx.client, Method::PATCH, &note_path(cx), &patch).await? {
            let stored: Value = serde_json::from_str(&stored).unwrap_or_default();
            forget(cx, &stored).await;
            return Ok(());
        }
        let metadata = json!({"name": SIDECARSET_ADMISSIONS, "namespace": cx.namespace});
        let new = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
        let all = format!("/api/v1/namespaces/{}/configmaps", cx.namespace);
        if send(&cx.client, Method::POST, &all, &new).await?.is_some() {
            return Ok(());
        }
    }
    Err(format!("ConfigMap {SIDECARSET_ADMISSIONS} cannot be written"))
}

/// Whoever fails here is followed by another one.
async fn forget(cx: &Context, stored: &Value) {
    let now = cx.clock.now();
    let over = entries(stored).into_iter().filter(|(_, text)| is_over(text, now));
    let gone: serde_json::Map<String, Value> = over.map(|(name, _)| (name, Value::Null)).collect();
    if gone.is_empty() {
        return;
    }
    if let Err(error) = send(&cx.client, Method::PATCH, &note_path(cx), &json!({ "data": gone })).await {
        tracing::warn!(error, "old notes about SidecarSets stay for now");
    }
}

/// Absent where there is nothing to patch, or another one was faster to create.
async fn send(client: &Client, method: Method, path: &str, body: &Value) -> Result<Option<String>, String> {
    let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let request = Http::builder()
        .method(method)
        .uri(format!("{path}?fieldManager=kruise-manager"))
        .header(header::CONTENT_TYPE, kind)
        .body(serde_json::to_vec(body).unwrap_or_default())
        .map_err(kube::Error::HttpError);
    let asked = async { client.request_text(request?).await };
    match asked.await {
        Ok(text) => Ok(Some(text)),
        Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

fn note_path(cx: &Context) -> String {
    format!("/api/v1/namespaces/{}/configmaps/{SIDECARSET_ADMISSIONS}", cx.namespace)
}
