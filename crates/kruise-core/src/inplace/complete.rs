//! Whether a batch has arrived at the node (SM-31 … SM-38).

use serde::Deserialize;
use serde_json::json;

use super::image;
use super::state::{InPlaceState, Recorded};
use crate::pod::{Container, ContainerStatus, PodView, Resources};
use crate::revision::{gojson, hash};
use kruise_api::annotations;

/// What a running update still waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incomplete {
    /// The node daemon has not yet reported containers with the new environment.
    Environment,
    /// The node has not yet given the new resources; an infeasible resize stays here (SM-38).
    Resources,
    /// A container has not yet been restarted with its new image.
    Image,
    /// The record cannot be read, and the containers do not show the images of the spec (M13).
    UnreadableState,
    /// The next batch waits for containers of the last one.
    NextBatch,
    /// The grace period is running.
    Grace,
}

/// What the node daemon wrote about the running containers.
#[derive(Deserialize)]
struct RuntimeMeta {
    #[serde(default)]
    containers: Vec<ContainerMeta>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContainerMeta {
    name: String,
    #[serde(rename = "containerID", default)]
    container_id: String,
    #[serde(default)]
    hashes: Hashes,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Hashes {
    plain_hash: u64,
    extracted_env_from_metadata_hash: u64,
}

/// The whole update is done: no grace, nothing next, last batch complete (SM-32). A pod without a record is complete.
pub fn is_complete(pod: &PodView) -> Result<(), Incomplete> {
    if super::state::Grace::of(pod) != Recorded::Absent {
        return Err(Incomplete::Grace);
    }
    match InPlaceState::of(pod) {
        Recorded::Absent => Ok(()),
        Recorded::Malformed => images_shown(pod),
        Recorded::Present(state) => {
            batch_complete(pod, &state)?;
            if state.has_next() { Err(Incomplete::NextBatch) } else { Ok(()) }
        }
    }
}

/// The last batch has arrived (SM-31).
pub(super) fn batch_complete(pod: &PodView, state: &InPlaceState) -> Result<(), Incomplete> {
    let meta = RuntimeMeta::of(pod);
    if state.update_env_from_metadata
        && !meta.as_ref().is_some_and(|meta| meta.agrees(pod, |one, container| one.env_is(pod, container)))
    {
        return Err(Incomplete::Environment);
    }
    if state.update_resources && !resources_arrived(pod, state) {
        return Err(Incomplete::Resources);
    }
    if meta.is_some_and(|meta| meta.agrees(pod, ContainerMeta::plain_is)) {
        return Ok(());
    }
    let last = state.last_container_statuses.iter().flatten();
    let is_new = |name: &str, before: &str| {
        let container = pod.container(name);
        pod.status_of(name).is_some_and(|now| {
            now.image_id.as_ref() != before
                || container.is_some_and(|container| image::same(&now.image, &container.image))
        })
    };
    let arrived = last.into_iter().all(|(name, before)| is_new(name, &before.image_id));
    if arrived { Ok(()) } else { Err(Incomplete::Image) }
}

/// Only containers that were changed are compared, and only where the node reports resources at all (M7).
fn resources_arrived(pod: &PodView, state: &InPlaceState) -> bool {
    let changed = state.container_batches_record.iter().flat_map(|batch| &batch.containers);
    changed.into_iter().all(|name| {
        let (Some(container), Some(status)) = (pod.container(name), pod.status_of(name)) else {
            return false;
        };
        status.resources.as_ref().is_none_or(|given| covers(given, &container.resources))
    })
}

/// Every cpu and memory quantity that is wanted has been given.
fn covers(given: &Resources, wanted: &Resources) -> bool {
    let is_resizable = |name: &str| matches!(name, "cpu" | "memory");
    let mut limits = wanted.limits.iter().filter(|(name, _)| is_resizable(name));
    let mut requests = wanted.requests.iter().filter(|(name, _)| is_resizable(name));
    limits.all(|(name, quantity)| given.limits.get(name) == Some(quantity))
        && requests.all(|(name, quantity)| given.requests.get(name) == Some(quantity))
}

/// Without a readable record the containers themselves must show the images of the spec.
fn images_shown(pod: &PodView) -> Result<(), Incomplete> {
    let shown = pod.containers.iter().all(|container| {
        pod.status_of(&container.name).is_some_and(|now| image::same(&now.image, &container.image))
    });
    if shown { Ok(()) } else { Err(Incomplete::UnreadableState) }
}

impl RuntimeMeta {
    fn of(pod: &PodView) -> Option<Self> {
        serde_json::from_str(pod.annotations.get(annotations::RUNTIME_CONTAINERS_META)?).ok()
    }

    /// For every container of the spec the report is about the container that runs now, and `test` holds.
    fn agrees(&self, pod: &PodView, test: impl Fn(&ContainerMeta, &Container) -> bool) -> bool {
        pod.containers.iter().all(|container| {
            let meta = self.containers.iter().find(|one| one.name == container.name.as_ref());
            let id = pod.status_of(&container.name).map(|one: &ContainerStatus| one.container_id.as_ref());
            meta.is_some_and(|meta| Some(meta.container_id.as_str()) == id && test(meta, container))
        })
    }
}

impl ContainerMeta {
    /// Either form of the plain hash (SM-35).
    fn plain_is(&self, container: &Container) -> bool {
        let short = json!({"image": container.image.as_ref(), "name": container.name.as_ref()});
        let short = hash::deep(gojson::in_order(&short).as_bytes());
        [Some(short), container.full_hash]
            .into_iter()
            .flatten()
            .any(|one| u64::from(one) == self.hashes.plain_hash)
    }

    fn env_is(&self, pod: &PodView, container: &Container) -> bool {
        u64::from(extracted_env_hash(pod, container)) == self.hashes.extracted_env_from_metadata_hash
    }
}

/// Hash of the environment that a container takes from the pod's metadata now (SM-34).
pub(super) fn extracted_env_hash(pod: &PodView, container: &Container) -> u32 {
    let mut variables: Vec<_> = container.env.iter().collect();
    variables.sort_by(|a, b| a.name.cmp(&b.name));
    if variables.is_empty() {
        return hash::deep(b"null");
    }
    let list: Vec<_> = variables
        .into_iter()
        .map(|variable| match pod.env_value(&variable.source) {
            "" => json!({"name": variable.name.as_ref()}),
            value => json!({"name": variable.name.as_ref(), "value": value}),
        })
        .collect();
    hash::deep(gojson::in_order(&json!(list)).as_bytes())
}
