//! One watch of a selection of objects, decoded line by line into slim types: lists by small pages, then follows, and begins
//! anew whenever it must. It never gives up.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::AsyncBufReadExt;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::client::{Api, ApiError};
use super::pulse::Pulse;
use crate::metrics::Metrics;
use crate::random;

/// Objects per page: a page is in memory as text.
const PAGE: usize = 25;
/// The server says something at least every minute; a watch that is silent for longer is dead.
const SILENT_MAX: Duration = Duration::from_secs(150);
/// Between two tries: doubles, with a random part, so that agents do not come back all at once.
const RETRY_FIRST: Duration = Duration::from_millis(500);
const RETRY_LONGEST: Duration = Duration::from_secs(30);
/// How long the server keeps one watch open, in seconds.
const OPEN_FOR: u64 = 280;

/// Namespace and name.
pub type Key = (String, String);

/// What every object has.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Meta {
    pub name: String,
    pub namespace: String,
    pub uid: String,
    pub resource_version: String,
    pub deletion_timestamp: Option<String>,
}

/// A type that can be watched.
pub trait Watched: DeserializeOwned + Send + Sync + 'static {
    fn key(&self) -> Key;
    fn version(&self) -> &str;
    /// Drops what is never read.
    #[must_use]
    fn trimmed(self) -> Self {
        self
    }
}

/// What is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// For metrics and logs.
    pub resource: &'static str,
    pub path: String,
    /// `fieldSelector=…` or `labelSelector=…`, encoded.
    pub query: String,
}

#[derive(Debug)]
pub enum Change<T> {
    Applied(T),
    Gone(Key),
}

#[derive(Deserialize)]
struct Page<'a> {
    metadata: PageMeta,
    #[serde(borrow, default)]
    items: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMeta {
    #[serde(default)]
    resource_version: String,
    #[serde(default, rename = "continue")]
    next: String,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Bare {
    metadata: Meta,
    code: u16,
}

/// How one stream ended.
enum Ended {
    /// Go on from where it was.
    Resume,
    /// The history is gone: list anew.
    Relist,
}

/// Everything that one watch needs.
pub struct Watcher {
    pub api: Api,
    pub selection: Selection,
    pub pulse: Arc<Pulse>,
    pub metrics: Arc<Metrics>,
}

/// Tells every change until aborted.
pub async fn watch<T: Watched>(watcher: Watcher, mut take: impl FnMut(Change<T>)) {
    let mut known: HashSet<Key> = HashSet::new();
    let mut failures = 0;
    loop {
        watcher.pulse.beats();
        let from = match list(&watcher, &mut known, &mut take).await {
            Ok(version) => version,
            Err(error) => {
                if matches!(error, ApiError::NotFound) {
                    watcher.pulse.absent();
                }
                failures += 1;
                tracing::debug!(resource = watcher.selection.resource, %error, "list failed");
                tokio::time::sleep(pause(failures)).await;
                continue;
            }
        };
        watcher.pulse.listed();
        failures = 0;
        follow(&watcher, from, &mut known, &mut take).await;
        watcher.metrics.watch_restarted(watcher.selection.resource);
        tokio::time::sleep(random::up_to(RETRY_FIRST)).await;
    }
}

fn pause(failures: u32) -> Duration {
    let factor = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    let longest = RETRY_FIRST.saturating_mul(factor).min(RETRY_LONGEST);
    longest / 2 + random::up_to(longest / 2)
}

/// All objects by pages; those that were known and are not listed are gone.
async fn list<T: Watched>(
    watcher: &Watcher,
    known: &mut HashSet<Key>,
    take: &mut impl FnMut(Change<T>),
) -> Result<String, ApiError> {
    let (mut next, mut seen) = (String::new(), HashSet::new());
    let Selection { path, query, .. } = &watcher.selection;
    loop {
        let text: Box<RawValue> =
            watcher.api.get(&format!("{path}?limit={PAGE}&{query}&continue={next}")).await?;
        let page: Page<'_> =
            serde_json::from_str(text.get()).map_err(|error| ApiError::Unreachable(error.to_string()))?;
        for item in page.items {
            if let Some(object) = read::<T>(item, watcher.selection.resource) {
                seen.insert(object.key());
                take(Change::Applied(object));
            }
        }
        watcher.pulse.beats();
        if page.metadata.next.is_empty() {
            for gone in known.difference(&seen) {
                take(Change::Gone(gone.clone()));
            }
            *known = seen;
            return Ok(page.metadata.resource_version);
        }
        next = page.metadata.next;
    }
}

/// Streams until the history is gone or the server fails.
async fn follow<T: Watched>(
    watcher: &Watcher,
    mut from: String,
    known: &mut HashSet<Key>,
    take: &mut impl FnMut(Change<T>),
) {
    let mut failures = 0;
    loop {
        watcher.pulse.beats();
        match stream(watcher, &mut from, known, take).await {
            Ok(Ended::Resume) => failures = 0,
            Ok(Ended::Relist) | Err(ApiError::NotFound) => return,
            Err(error) => {
                failures += 1;
                tracing::debug!(resource = watcher.selection.resource, %error, "watch failed");
                tokio::time::sleep(pause(failures)).await;
            }
        }
    }
}

async fn stream<T: Watched>(
    watcher: &Watcher,
    from: &mut String,
    known: &mut HashSet<Key>,
    take: &mut impl FnMut(Change<T>),
) -> Result<Ended, ApiError> {
    let Selection { path, query, .. } = &watcher.selection;
    let bookmarks = "allowWatchBookmarks=true";
    let uri =
        format!("{path}?watch=true&{bookmarks}&timeoutSeconds={OPEN_FOR}&resourceVersion={from}&{query}");
    let request = watcher.api.request("GET", &uri).body(Vec::new());
    let request = request.map_err(|error| ApiError::Refused(error.to_string()))?;
    let opened = tokio::time::timeout(SILENT_MAX, watcher.api.client().request_stream(request)).await;
    let lines = match opened.map_err(|_| ApiError::Unreachable("no answer in time".to_owned()))? {
        Err(kube::Error::Api(status)) if status.code == 410 => return Ok(Ended::Relist),
        other => other?,
    };
    let mut lines = std::pin::pin!(lines);
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let read = tokio::time::timeout(SILENT_MAX, lines.read_until(b'\n', &mut buffer)).await;
        watcher.pulse.beats();
        match read {
            // A line that was cut is the end, too.
            Err(_) | Ok(Ok(0)) => return Ok(Ended::Resume),
            Ok(Err(error)) => return Err(ApiError::Unreachable(error.to_string())),
            Ok(Ok(_)) => {}
        }
        let Ok(line) = serde_json::from_slice::<Line<'_>>(&buffer) else { return Ok(Ended::Resume) };
        if let Some(ended) = one(&line, watcher.selection.resource, (from, known), take) {
            return Ok(ended);
        }
        if buffer.capacity() > 1 << 16 {
            buffer = Vec::new();
        }
    }
}

fn one<T: Watched>(
    line: &Line<'_>,
    resource: &str,
    (from, known): (&mut String, &mut HashSet<Key>),
    take: &mut impl FnMut(Change<T>),
) -> Option<Ended> {
    let bare: Bare = serde_json::from_str(line.object.get()).unwrap_or_default();
    match line.kind {
        // Whatever the server says: the list is always right.
        "ERROR" => {
            tracing::debug!(resource, code = bare.code, "the server ended the watch");
            return Some(Ended::Relist);
        }
        "BOOKMARK" => {}
        "DELETED" => {
            let key = (bare.metadata.namespace.clone(), bare.metadata.name.clone());
            known.remove(&key);
            take(Change::Gone(key));
        }
        _ => {
            if let Some(object) = read::<T>(line.object, resource) {
                known.insert(object.key());
                take(Change::Applied(object));
            }
        }
    }
    if !bare.metadata.resource_version.is_empty() {
        *from = bare.metadata.resource_version;
    }
    None
}

/// One object that cannot be read hides no other.
fn read<T: Watched>(object: &RawValue, resource: &str) -> Option<T> {
    match serde_json::from_str::<T>(object.get()) {
        Ok(object) => Some(object.trimmed()),
        Err(error) => {
            tracing::error!(resource, %error, "an object cannot be read and is ignored");
            None
        }
    }
}
