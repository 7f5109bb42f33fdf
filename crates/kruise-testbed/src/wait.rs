//! Waiting for a condition by watching; a wait that fails says what was seen last.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::TestbedError;

/// What one can wait for: any kind that the client can list and watch.
pub trait Watched: Resource + Clone + Debug + Serialize + DeserializeOwned + Send + 'static {}
impl<K: Resource + Clone + Debug + Serialize + DeserializeOwned + Send + 'static> Watched for K {}

/// Waits until the object exists and `ok` holds for it.
pub async fn until<K: Watched>(
    api: &Api<K>,
    name: &str,
    what: &str,
    ok: impl Fn(&K) -> bool,
) -> Result<K, TestbedError> {
    let params = ListParams::default().fields(&format!("metadata.name={name}"));
    let mut objects = until_all(api, &params, what, |objects| objects.iter().any(&ok)).await?;
    objects.pop().ok_or_else(|| TestbedError::Waited {
        what: what.into(),
        seconds: 0,
        last: "nothing".into(),
    })
}

/// Waits until `ok` holds for the list of matching objects.
pub async fn until_all<K: Watched>(
    api: &Api<K>,
    params: &ListParams,
    what: &str,
    ok: impl Fn(&[K]) -> bool,
) -> Result<Vec<K>, TestbedError> {
    until_all_within(api, params, what, Duration::from_mins(1), ok).await
}

/// As [`until_all`], with its own patience.
pub async fn until_all_within<K: Watched>(
    api: &Api<K>,
    params: &ListParams,
    what: &str,
    patience: Duration,
    ok: impl Fn(&[K]) -> bool,
) -> Result<Vec<K>, TestbedError> {
    let mut seen = Vec::new();
    let watching = watch(api, params, &mut seen, ok);
    match tokio::time::timeout_at(Instant::now() + patience, watching).await {
        Ok(Ok(())) => Ok(seen),
        Ok(Err(error)) => Err(TestbedError::api(format!("watching for {what}"))(error)),
        Err(_) => Err(TestbedError::Waited {
            what: what.into(),
            seconds: patience.as_secs(),
            last: describe(&seen),
        }),
    }
}

async fn watch<K: Watched>(
    api: &Api<K>,
    params: &ListParams,
    seen: &mut Vec<K>,
    ok: impl Fn(&[K]) -> bool,
) -> Result<(), kube::Error> {
    let watch_params = WatchParams {
        label_selector: params.label_selector.clone(),
        field_selector: params.field_selector.clone(),
        ..WatchParams::default()
    };
    loop {
        let list = api.list(params).await?;
        let mut version = list.metadata.resource_version.clone().unwrap_or_default();
        let mut objects: BTreeMap<(Option<String>, String), K> = BTreeMap::new();
        objects
            .extend(list.items.into_iter().map(|object| ((object.namespace(), object.name_any()), object)));
        *seen = objects.values().cloned().collect();
        if ok(seen) {
            return Ok(());
        }
        let mut events = api.watch(&watch_params, &version).await?.boxed();
        while let Some(event) = events.try_next().await? {
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    version = object.resource_version().unwrap_or(version);
                    objects.insert((object.namespace(), object.name_any()), object);
                }
                WatchEvent::Deleted(object) => {
                    objects.remove(&(object.namespace(), object.name_any()));
                }
                WatchEvent::Bookmark(_) => continue,
                // The server's history is too short; list again.
                WatchEvent::Error(_) => break,
            }
            *seen = objects.values().cloned().collect();
            if ok(seen) {
                return Ok(());
            }
        }
    }
}

/// The first few objects without what nobody reads in a message.
fn describe<K: Watched>(seen: &[K]) -> String {
    let mut text = format!("{} objects", seen.len());
    for object in seen.iter().take(3) {
        let mut object = object.clone();
        object.meta_mut().managed_fields = None;
        let json = serde_json::to_string(&object).unwrap_or_else(|error| error.to_string());
        text.push_str("\n  ");
        text.push_str(&json);
    }
    text
}
