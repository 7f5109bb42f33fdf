//! One sidecar as it stands in the pod: with shared mounts, transferred variables and computed resources (SS-35 … SS-37, SS-41).

use std::collections::BTreeSet;

use kruise_api::annotations::{SIDECARSET_VERSION_ALT_PREFIX, SIDECARSET_VERSION_PREFIX};
use kruise_api::env;
use kruise_api::kubernetes::RESTART_ALWAYS;
use serde_json::{Map, Value, json};

use crate::pod::{EnvSource, Resources, string_map};
use crate::sidecarset::resources::Target;
use crate::sidecarset::sidecar::{Sharing, Sidecar, Transfer, TransferSource, Upgrade};

/// The pod before any sidecar.
pub struct Host<'a> {
    pod: &'a Value,
    containers: Vec<&'a Value>,
    /// Names of all containers of all sets that it gets.
    sidecars: BTreeSet<String>,
}

/// A container for the pod, and annotations that come with it.
pub struct Built {
    pub containers: Vec<Value>,
    pub annotations: Vec<(String, String)>,
}

impl<'a> Host<'a> {
    pub fn new(pod: &'a Value, sidecars: BTreeSet<String>) -> Self {
        Self { pod, containers: list(pod, "/spec/containers"), sidecars }
    }

    pub fn build(&self, sidecar: &Sidecar) -> Result<Built, String> {
        let mut container = sidecar.container.clone();
        let Some(fields) = container.as_object_mut() else {
            return Err("a container is no object".to_owned());
        };
        let mut shared_env = Vec::new();
        if sidecar.volumes == Sharing::Enabled {
            shared_env = self.share_mounts(fields);
        }
        if sidecar.devices == Sharing::Enabled {
            self.share_devices(fields);
        }
        push(fields, "env", json!({"name": env::IS_INJECTED, "value": "true"}));
        let transferred = sidecar.transfers.iter().flat_map(|transfer| self.transferred(transfer));
        for variable in transferred.chain(shared_env) {
            if !items(fields, "env").any(|one| one.get("name") == variable.get("name")) {
                push(fields, "env", variable);
            }
        }
        if let Some(policy) = &sidecar.resources {
            let resources = policy.resources(&self.targets());
            let resources =
                resources.map_err(|why| format!("resources of container {:?}: {why}", sidecar.name))?;
            fields.insert("resources".to_owned(), resources);
        }
        Ok(match &sidecar.upgrade {
            Upgrade::Cold => Built { containers: vec![container], annotations: Vec::new() },
            Upgrade::Hot { empty } => twins(sidecar, &container, empty),
        })
    }

    /// Containers that sidecars share with.
    fn sources(&self) -> impl Iterator<Item = &'a Value> {
        self.containers.iter().copied().filter(|one| !is_injected(one))
    }

    /// SS-36. Returns the variables that shared paths need.
    fn share_mounts(&self, fields: &mut Map<String, Value>) -> Vec<Value> {
        let mut needed: Vec<Value> = Vec::new();
        for source in self.sources() {
            for mount in list(source, "/volumeMounts") {
                if is_path_taken(fields, text(mount, "mountPath")) {
                    continue;
                }
                for name in expanded(text(mount, "subPathExpr")) {
                    needed.extend(variable(source, &name).cloned());
                }
                push(fields, "volumeMounts", mount.clone());
            }
        }
        needed
    }

    fn share_devices(&self, fields: &mut Map<String, Value>) {
        for source in self.sources() {
            for device in list(source, "/volumeDevices") {
                if !is_path_taken(fields, text(device, "devicePath")) {
                    push(fields, "volumeDevices", device.clone());
                }
            }
        }
    }

    /// SS-37.
    fn transferred(&self, transfer: &Transfer) -> Vec<Value> {
        let name = match &transfer.from {
            TransferSource::Container(name) => Some(name.clone()),
            TransferSource::Field(EnvSource::Label(key)) => {
                string_map(self.pod.pointer("/metadata/labels")).remove(key.as_ref())
            }
            TransferSource::Field(EnvSource::Annotation(key)) => {
                string_map(self.pod.pointer("/metadata/annotations")).remove(key.as_ref())
            }
            TransferSource::Nowhere => None,
        };
        let Some(name) = name else { return Vec::new() };
        let source = self.containers.iter().find(|one| text(one, "name") == name);
        let found = |wanted: &String| source.and_then(|source| variable(source, wanted)).cloned();
        transfer.names.iter().filter_map(found).collect()
    }

    /// SS-43.
    fn targets(&self) -> Vec<Target<'a>> {
        let native = list(self.pod, "/spec/initContainers").into_iter();
        let native = native.filter(|one| text(one, "restartPolicy") == RESTART_ALWAYS);
        let all = native.chain(self.containers.iter().copied());
        let own = all.filter(|one| !self.sidecars.contains(text(one, "name")));
        own.map(|one| Target {
            name: text(one, "name"),
            resources: one.get("resources").map(Resources::read).unwrap_or_default(),
        })
        .collect()
    }
}

/// SS-41.
fn twins(sidecar: &Sidecar, container: &Value, empty: &str) -> Built {
    let [first, second] = sidecar.twins();
    let twin = |name: &str, image: &str| {
        let mut twin = container.clone();
        if let Some(fields) = twin.as_object_mut() {
            fields.insert("name".to_owned(), json!(name));
            fields.insert("image".to_owned(), json!(image));
            for (variable, prefix) in [
                (env::SIDECARSET_VERSION, SIDECARSET_VERSION_PREFIX),
                (env::SIDECARSET_VERSION_ALT, SIDECARSET_VERSION_ALT_PREFIX),
            ] {
                let path = format!("metadata.annotations['{prefix}{name}']");
                let from = json!({"fieldRef": {"apiVersion": "v1", "fieldPath": path}});
                push(fields, "env", json!({"name": variable, "valueFrom": from}));
            }
        }
        twin
    };
    let note = |prefix: &str, name: &str, value: &str| (format!("{prefix}{name}"), value.to_owned());
    let annotations = vec![
        note(SIDECARSET_VERSION_PREFIX, &first, "1"),
        note(SIDECARSET_VERSION_ALT_PREFIX, &first, "0"),
        note(SIDECARSET_VERSION_PREFIX, &second, "0"),
        note(SIDECARSET_VERSION_ALT_PREFIX, &second, "1"),
    ];
    Built { containers: vec![twin(&first, &sidecar.image), twin(&second, empty)], annotations }
}

pub fn is_injected(container: &Value) -> bool {
    variable(container, env::IS_INJECTED).is_some_and(|one| text(one, "value") == "true")
}

fn variable<'a>(container: &'a Value, name: &str) -> Option<&'a Value> {
    list(container, "/env").into_iter().find(|one| text(one, "name") == name)
}

/// As mount or as device.
fn is_path_taken(fields: &Map<String, Value>, path: &str) -> bool {
    [("volumeMounts", "mountPath"), ("volumeDevices", "devicePath")]
        .into_iter()
        .any(|(field, key)| items(fields, field).any(|one| text(one, key) == path))
}

/// Names in `$(NAME)`, where a name is `[-._a-zA-Z][-._a-zA-Z0-9]*`.
fn expanded(path: &str) -> Vec<String> {
    let is_start = |c: char| c.is_ascii_alphabetic() || matches!(c, '-' | '.' | '_');
    let is_part = |c: char| is_start(c) || c.is_ascii_digit();
    let candidates = path.split("$(").skip(1).filter_map(|rest| rest.split_once(')')).map(|(name, _)| name);
    let is_name = |name: &&str| name.starts_with(is_start) && name.chars().all(is_part);
    candidates.filter(is_name).map(str::to_owned).collect()
}

pub fn list<'a>(object: &'a Value, path: &str) -> Vec<&'a Value> {
    object.pointer(path).and_then(Value::as_array).into_iter().flatten().collect()
}

pub fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Adds to the list in a field, which is made if it is absent.
pub fn push(fields: &mut Map<String, Value>, field: &str, item: Value) {
    match fields.get_mut(field) {
        Some(Value::Array(items)) => items.push(item),
        _ => {
            fields.insert(field.to_owned(), Value::Array(vec![item]));
        }
    }
}

/// Items of the list in a field.
pub fn items<'a>(fields: &'a Map<String, Value>, field: &str) -> impl Iterator<Item = &'a Value> {
    fields.get(field).and_then(Value::as_array).into_iter().flatten()
}
