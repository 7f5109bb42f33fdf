//! Everything that the sets of a pod bring, put into it at once (SS-31 … SS-34, SS-38 … SS-40).

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use kruise_api::annotations::{SIDECARSET_INJECTED_LIST, SIDECARSET_WORKING_HOTUPGRADE_CONTAINER};
use serde_json::{Map, Value, json};

use super::Chosen;
use super::build::{Host, items, list, push, text};
use crate::pod::string_map;
use crate::sidecarset::metadata;
use crate::sidecarset::records::{self, Note, Noted, Which};
use crate::sidecarset::sidecar::{Place, Sidecar};
use crate::time;

/// How injected containers are ordered among each other (SS-32).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    AsGiven,
    ByName,
}

/// A container and where it goes.
struct Placed {
    place: Place,
    container: Value,
}

/// What all sets bring together.
#[derive(Default)]
struct Brought {
    init: Vec<Placed>,
    containers: Vec<Placed>,
    volumes: Vec<Value>,
    pull_secrets: Vec<Value>,
    annotations: BTreeMap<String, String>,
    working: BTreeMap<String, String>,
}

/// Puts the sidecars into a pod. Pure: the same pod, sets and time give the same pod. The error says what is wrong.
pub fn inject(pod: &mut Value, sets: &[Chosen], order: Order, now: Timestamp) -> Result<(), String> {
    for one in sets {
        let there = string_map(pod.pointer("/metadata/annotations"));
        let patched = metadata::patched(&one.sidecars.patches, |key| there.get(key).map(String::as_str));
        annotate(pod, patched.map_err(|why| of_set(one, &why))?)?;
    }
    let mut brought = bring(pod, sets)?;
    if brought.init.is_empty() && brought.containers.is_empty() {
        return Ok(()); // SS-31
    }
    brought.init.sort_by(|a, b| text(&a.container, "name").cmp(text(&b.container, "name")));
    if order == Order::ByName {
        brought.containers.sort_by(|a, b| text(&a.container, "name").cmp(text(&b.container, "name")));
    }
    note(pod, sets, &mut brought, now)?;
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return Err("the pod has no spec".to_owned());
    };
    place(spec, "initContainers", brought.init);
    place(spec, "containers", brought.containers);
    add_by_name(spec, "volumes", brought.volumes);
    if !brought.pull_secrets.is_empty() {
        unique_by_name(spec, "imagePullSecrets");
        add_by_name(spec, "imagePullSecrets", brought.pull_secrets);
    }
    annotate(pod, brought.annotations)
}

/// Containers of all sets, and what they need.
fn bring(pod: &Value, sets: &[Chosen]) -> Result<Brought, String> {
    let names = sets.iter().flat_map(|one| {
        let given =
            one.sidecars.containers.iter().chain(&one.sidecars.init).map(|side| side.name.to_string());
        given.chain(one.sidecars.pod_names())
    });
    let host = Host::new(pod, names.collect());
    let mut brought = Brought::default();
    for one in sets {
        let start = (brought.init.len(), brought.containers.len());
        for sidecar in &one.sidecars.init {
            let built = built(&host, one, sidecar, &mut brought)?;
            brought.init.extend(built);
        }
        for sidecar in &one.sidecars.containers {
            let built = built(&host, one, sidecar, &mut brought)?;
            brought.containers.extend(built);
        }
        let new = brought.init.iter().skip(start.0).chain(brought.containers.iter().skip(start.1));
        let used: Vec<&str> = new
            .flat_map(|placed| {
                let fields = ["/volumeMounts", "/volumeDevices"].into_iter();
                fields.flat_map(|field| list(&placed.container, field)).map(|mount| text(mount, "name"))
            })
            .collect();
        // SS-38, in the order of the mounts.
        let of_set = |name: &&str| one.sidecars.volumes.iter().find(|volume| text(volume, "name") == *name);
        let volumes: Vec<Value> = used.iter().filter_map(of_set).cloned().collect();
        brought.volumes.extend(volumes);
        brought.pull_secrets.extend(one.sidecars.pull_secrets.iter().cloned());
    }
    Ok(brought)
}

fn built(
    host: &Host<'_>,
    one: &Chosen,
    sidecar: &Sidecar,
    brought: &mut Brought,
) -> Result<Vec<Placed>, String> {
    let built = host.build(sidecar).map_err(|why| of_set(one, &why))?;
    if sidecar.is_hot() {
        let [first, _] = sidecar.twins();
        brought.working.insert(sidecar.name.to_string(), first);
    }
    brought.annotations.extend(built.annotations);
    let place = sidecar.place;
    Ok(built.containers.into_iter().map(|container| Placed { place, container }).collect())
}

/// SS-40. B17: what a template carries of sets that the pod does not get is dropped.
fn note(pod: &Value, sets: &[Chosen], brought: &mut Brought, now: Timestamp) -> Result<(), String> {
    let there = string_map(pod.pointer("/metadata/annotations"));
    let is_matched = |name: &str| sets.iter().any(|one| one.set.name().as_ref() == name);
    for which in [Which::Whole, Which::WithoutImage] {
        let text = there.get(which.key()).map(String::as_str);
        let mut noted: Noted = records::notes(text, which, None).map_err(|error| error.to_string())?;
        noted.retain(|name, _| is_matched(name));
        for one in sets {
            let list = one.sidecars.list().into_iter().map(str::to_owned).collect();
            let (hash, controller_revision) = match which {
                Which::Whole => (one.hashes.whole.clone(), one.revision.clone()),
                Which::WithoutImage => (one.hashes.without_image.clone(), String::new()),
            };
            let note = Note {
                update_timestamp: Some(time::seconds(now)),
                hash,
                sidecar_set_name: one.set.name().to_string(),
                sidecar_list: Some(list),
                controller_revision,
            };
            noted.insert(one.set.name().to_string(), note);
        }
        brought.annotations.insert(which.key().to_owned(), records::text(&noted));
    }
    let names: BTreeSet<String> = sets.iter().map(|one| one.set.name().to_string()).collect();
    brought.annotations.insert(SIDECARSET_INJECTED_LIST.to_owned(), records::joined(&names));
    if !brought.working.is_empty() {
        let working = records::text(&brought.working);
        brought.annotations.insert(SIDECARSET_WORKING_HOTUPGRADE_CONTAINER.to_owned(), working);
    }
    Ok(())
}

/// SS-33, SS-34.
fn place(spec: &mut Map<String, Value>, field: &str, injected: Vec<Placed>) {
    if injected.is_empty() {
        return;
    }
    let mut own = match spec.remove(field) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for Placed { place, container } in injected {
        let name = text(&container, "name").to_owned();
        match (own.iter_mut().find(|one| text(one, "name") == name), place) {
            (Some(there), _) => *there = container,
            (None, Place::Before) => before.push(container),
            (None, Place::After) => after.push(container),
        }
    }
    let all: Vec<Value> = before.into_iter().chain(own).chain(after).collect();
    spec.insert(field.to_owned(), Value::Array(all));
}

/// The first of a name stays.
fn add_by_name(spec: &mut Map<String, Value>, field: &str, new: Vec<Value>) {
    for one in new {
        if !items(spec, field).any(|there| text(there, "name") == text(&one, "name")) {
            push(spec, field, one);
        }
    }
}

/// SS-39: also those of the pod itself.
fn unique_by_name(spec: &mut Map<String, Value>, field: &str) {
    let mut seen = BTreeSet::new();
    if let Some(items) = spec.get_mut(field).and_then(Value::as_array_mut) {
        items.retain(|one| seen.insert(text(one, "name").to_owned()));
    }
}

fn annotate(pod: &mut Value, new: impl IntoIterator<Item = (String, String)>) -> Result<(), String> {
    let mut new = new.into_iter().peekable();
    if new.peek().is_none() {
        return Ok(());
    }
    let metadata = pod.get_mut("metadata").and_then(Value::as_object_mut);
    let annotations = metadata.map(|metadata| metadata.entry("annotations").or_insert_with(|| json!({})));
    let annotations = annotations.ok_or_else(|| "the pod has no metadata".to_owned())?;
    if annotations.is_null() {
        *annotations = json!({});
    }
    let annotations =
        annotations.as_object_mut().ok_or_else(|| "metadata.annotations is no map".to_owned())?;
    annotations.extend(new.map(|(key, value)| (key, Value::from(value))));
    Ok(())
}

fn of_set(one: &Chosen, why: &str) -> String {
    format!("SidecarSet {:?}: {why}", one.set.name())
}
