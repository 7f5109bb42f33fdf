//! What an update changes, and whether that is possible in place.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::gates::{Gate, Gates};
use crate::merge::{self, Difference, MetadataPatch, differences};
use crate::pod::{Container, EnvSource, Resources};
use crate::revision::canonical;

/// All changes that one update makes to one pod, by container where they concern one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Change {
    pub images: BTreeMap<String, String>,
    pub resources: BTreeMap<String, ResourceDelta>,
    /// Labels and annotations that a container reads as environment: it restarts with them.
    pub ref_metadata: BTreeMap<String, RefMetadata>,
    /// Everything else in the metadata: nobody restarts.
    pub metadata: MetadataPatch,
}

/// Changed quantities of one container.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceDelta {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<String, String>,
}

/// Labels and annotations for one container, in the shape of an object's metadata.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RefMetadata {
    /// Always null on the wire.
    creation_timestamp: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// Why an update cannot be made in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocked {
    /// This field of the template cannot be changed on a running pod.
    Field(String),
    /// The resource change would alter the quality-of-service class (SM-21).
    QosClass,
    /// A template cannot be decoded.
    Unreadable(String),
}

impl Change {
    /// From one template to another (SM-20 … SM-24).
    pub fn between(old: &Value, new: &Value, gates: &Gates) -> Result<Self, Blocked> {
        let read = |template: &Value| {
            canonical("PodTemplateSpec", template).map_err(|error| Blocked::Unreadable(error.to_string()))
        };
        let (old, new) = (read(old)?, read(new)?);
        let mut change = Self::default();
        for difference in differences(&old, &new) {
            if difference.path.first().map(String::as_str) != Some("metadata") {
                change.add_spec(&difference, &old, gates)?;
            }
        }
        if !change.resources.is_empty() && qos(&old) != qos(&new) {
            return Err(Blocked::QosClass);
        }
        change.metadata = MetadataPatch::between(&old, &new);
        if gates.on(Gate::InPlaceUpdateEnvFromMetadata) {
            change.take_env_metadata(&new);
        }
        Ok(change)
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Every container that this touches.
    pub fn containers(&self) -> BTreeSet<&str> {
        let names = self.images.keys().chain(self.resources.keys()).chain(self.ref_metadata.keys());
        names.map(String::as_str).collect()
    }

    /// Nothing but quantities (SM-28).
    pub fn is_resources_only(&self) -> bool {
        self.images.is_empty() && self.ref_metadata.is_empty() && !self.resources.is_empty()
    }

    /// This change followed by another, made at once: nobody restarts twice (acceptance 17).
    #[must_use]
    pub fn then(mut self, later: Self) -> Self {
        self.images.extend(later.images);
        for (container, delta) in later.resources {
            let here = self.resources.entry(container).or_default();
            here.limits.extend(delta.limits);
            here.requests.extend(delta.requests);
        }
        for (container, metadata) in later.ref_metadata {
            let here = self.ref_metadata.entry(container).or_default();
            here.labels.extend(metadata.labels);
            here.annotations.extend(metadata.annotations);
        }
        self.metadata = self.metadata.then(&later.metadata);
        self
    }

    /// One difference below spec: an image, or with the gate a quantity of cpu or memory; anything else blocks.
    fn add_spec(&mut self, difference: &Difference, old: &Value, gates: &Gates) -> Result<(), Blocked> {
        let blocked = || Blocked::Field(difference.path.join("."));
        let merge::Change::Replace(value) = &difference.change else {
            return Err(blocked());
        };
        let text = value.as_str().ok_or_else(blocked)?.to_owned();
        let path: Vec<&str> = difference.path.iter().map(String::as_str).collect();
        // The name at that position comes from the old template (SM-22).
        let name = |position: &str| {
            let at = format!("/spec/containers/{position}/name");
            old.pointer(&at).and_then(Value::as_str).map(str::to_owned).ok_or_else(blocked)
        };
        match path.as_slice() {
            ["spec", "containers", position, "image"] => {
                self.images.insert(name(position)?, text);
            }
            ["spec", "containers", position, "resources", side, resource @ ("cpu" | "memory")]
                if gates.on(Gate::InPlaceWorkloadVerticalScaling) =>
            {
                let delta = self.resources.entry(name(position)?).or_default();
                let side = if *side == "limits" { &mut delta.limits } else { &mut delta.requests };
                side.insert((*resource).to_owned(), text);
            }
            _ => return Err(blocked()),
        }
        Ok(())
    }

    /// Moves changed keys that containers read as environment out of the metadata patch (SM-24). Keys are compared, not
    /// patch paths, so that the very first label or annotation is seen too (M4).
    fn take_env_metadata(&mut self, new: &Value) {
        let containers = new.pointer("/spec/containers").and_then(Value::as_array).into_iter().flatten();
        let mut taken = BTreeSet::new();
        for container in containers.map(Container::read) {
            for variable in &container.env {
                let value = match &variable.source {
                    EnvSource::Label(key) => self.metadata.labels.get(key.as_ref()),
                    EnvSource::Annotation(key) => self.metadata.annotations.get(key.as_ref()),
                };
                let Some(Some(value)) = value else { continue };
                let metadata = self.ref_metadata.entry(container.name.to_string()).or_default();
                match &variable.source {
                    EnvSource::Label(key) => metadata.labels.insert(key.to_string(), value.clone()),
                    EnvSource::Annotation(key) => metadata.annotations.insert(key.to_string(), value.clone()),
                };
                taken.insert(variable.source.clone());
            }
        }
        for source in taken {
            match source {
                EnvSource::Label(key) => self.metadata.labels.remove(key.as_ref()),
                EnvSource::Annotation(key) => self.metadata.annotations.remove(key.as_ref()),
            };
        }
    }
}

impl RefMetadata {
    /// Whether both change the same label or annotation: then they must change together (SM-25).
    pub fn shares_a_key_with(&self, other: &Self) -> bool {
        self.labels.keys().any(|key| other.labels.contains_key(key))
            || self.annotations.keys().any(|key| other.annotations.contains_key(key))
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Qos {
    BestEffort,
    Burstable,
    Guaranteed,
}

/// The class that a pod of this template would have, over containers and init containers.
fn qos(template: &Value) -> Qos {
    let list = |name: &str| {
        template.pointer(&format!("/spec/{name}")).and_then(Value::as_array).into_iter().flatten()
    };
    let all: Vec<Resources> =
        list("containers").chain(list("initContainers")).map(|one| Container::read(one).resources).collect();
    let counts = |name: &str, quantity: &crate::cluster::quantity::Quantity| {
        matches!(name, "cpu" | "memory") && !quantity.is_zero()
    };
    let is_set = |one: &Resources| {
        one.limits.iter().chain(&one.requests).any(|(name, quantity)| counts(name, quantity))
    };
    let is_guaranteed = |one: &Resources| {
        ["cpu", "memory"].iter().all(|name| {
            let limit = one.limits.get(*name).filter(|quantity| !quantity.is_zero());
            // A request that is not written is taken from the limit.
            limit.is_some_and(|limit| one.requests.get(*name).is_none_or(|request| request == limit))
        })
    };
    match all.iter().any(is_set) {
        false => Qos::BestEffort,
        true if all.iter().all(is_guaranteed) => Qos::Guaranteed,
        true => Qos::Burstable,
    }
}
