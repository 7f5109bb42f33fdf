//! A NodePodProbe as caches hold it. Thousands of pods have the same probes, so each text is kept once.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::apps::nodepodprobe::NodePodProbe as Wire;
use kruise_api::{Kind, Resource};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::ids::Uid;
use crate::lookup::{Index, Slim};
use crate::object::{Key, ObjectRef};
use crate::podprobemarker::{Said, State};
use crate::revision::{canonical, gojson};
use crate::time;

/// By each marker that has a probe in it; see [`marker_key`].
pub const MARKER: Index = Index::Other("marker");

/// Under which entry lists with probes of this marker are found.
pub fn marker_key(namespace: &str, marker: &str) -> String {
    format!("{namespace}/{marker}")
}

#[derive(Debug)]
pub struct NodePodProbe {
    pub name: Arc<str>,
    pub uid: Uid,
    version: String,
    /// Of the spec: the agent's writes do not change it.
    pub generation: i64,
    pub has_spec: bool,
    pub pods: Box<[Listed]>,
    pub results: Box<[Results]>,
}

/// What is probed in one pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    pub uid: Arc<str>,
    pub ip: Arc<str>,
    pub probes: Vec<Entry>,
}

/// One probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// `<marker>#<probe>`.
    pub name: Arc<str>,
    pub container: Arc<str>,
    /// The check as compact JSON in the form of the original.
    pub check: Arc<str>,
}

/// What the agent says about one pod.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    pub uid: Arc<str>,
    /// By `<marker>#<probe>`, in the order of the wire (NC-4).
    pub states: Vec<(Arc<str>, Said)>,
}

impl NodePodProbe {
    pub fn read(object: &Value) -> Self {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        Self {
            name: text("/metadata/name").into(),
            uid: Uid::new(text("/metadata/uid")),
            version: text("/metadata/resourceVersion").to_owned(),
            generation: object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0),
            has_spec: object.get("spec").is_some_and(Value::is_object),
            pods: list(object.pointer("/spec/podProbes")).map(Listed::read).collect(),
            results: list(object.pointer("/status/podProbeStatuses")).map(Results::read).collect(),
        }
    }

    pub fn object(&self) -> ObjectRef {
        ObjectRef::new(Wire::RESOURCE, "", Arc::clone(&self.name))
    }

    /// Whether it has a probe of that marker for the pod.
    pub fn has(&self, uid: &str, marker: &str) -> bool {
        let mut probes = self.pods.iter().filter(|pod| *pod.uid == *uid).flat_map(|pod| &pod.probes);
        probes.any(|probe| probe.marker() == marker)
    }

    /// The markers that it has probes of, as [`marker_key`] writes them.
    pub fn markers(&self) -> BTreeSet<String> {
        let of = |pod: &Listed| -> Vec<String> {
            pod.probes.iter().map(|probe| marker_key(&pod.namespace, probe.marker())).collect()
        };
        self.pods.iter().flat_map(of).collect()
    }
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

fn text(object: &Value, field: &str) -> Arc<str> {
    object.get(field).and_then(Value::as_str).unwrap_or_default().into()
}

impl Listed {
    fn read(object: &Value) -> Self {
        Self {
            namespace: text(object, "namespace"),
            name: text(object, "name"),
            uid: text(object, "uid"),
            ip: text(object, "IP"),
            probes: list(object.get("probes")).map(Entry::read).collect(),
        }
    }
}

impl Entry {
    fn read(object: &Value) -> Self {
        let check = object.get("probe").unwrap_or(&Value::Null);
        // What is not a check at all is replaced.
        let check = canonical("Probe", check).map(|form| gojson::in_order(&form)).unwrap_or_default();
        Self { name: text(object, "name"), container: text(object, "containerName"), check: check.into() }
    }

    /// The part before the `#`, which no name of a marker has (2).
    pub fn marker(&self) -> &str {
        self.name.split_once('#').map_or("", |(marker, _)| marker)
    }
}

impl Results {
    fn read(object: &Value) -> Self {
        let states = list(object.get("probeStates"));
        Self { uid: text(object, "uid"), states: states.filter_map(said).collect() }
    }
}

/// `None` for an empty state (NC-4).
fn said(object: &Value) -> Option<(Arc<str>, Said)> {
    let at = |field: &str| -> Option<Timestamp> { time::read(object.get(field)?.as_str()?) };
    let said = Said {
        state: State::read(&text(object, "state"))?,
        message: Some(text(object, "message")).filter(|message| !message.is_empty()),
        probed: at("lastProbeTime"),
        since: at("lastTransitionTime"),
    };
    Some((text(object, "name"), said))
}

/// One copy of each text. What nobody else holds is dropped from time to time.
#[derive(Debug, Default)]
pub struct Pool {
    texts: HashSet<Arc<str>>,
    /// Number of texts at which the next sweep happens.
    sweep_at: usize,
}

/// Below this a sweep is not worth the walk.
const SWEEP_MIN: usize = 4_096;

impl Pool {
    fn keep(&mut self, text: &mut Arc<str>) {
        if let Some(known) = self.texts.get(text) {
            *text = Arc::clone(known);
        } else {
            self.texts.insert(Arc::clone(text));
        }
    }

    fn sweep(&mut self) {
        if self.texts.len() >= self.sweep_at.max(SWEEP_MIN) {
            self.texts.retain(|text| Arc::strong_count(text) > 1);
            self.sweep_at = self.texts.len() * 2;
        }
    }
}

impl<'de> Deserialize<'de> for NodePodProbe {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|object| Self::read(&object))
    }
}

impl Slim for NodePodProbe {
    type Shared = Pool;
    const RESOURCE: Resource = Wire::RESOURCE;

    fn key(&self) -> Key {
        Key::cluster(Arc::clone(&self.name))
    }

    fn uid(&self) -> &str {
        self.uid.as_str()
    }

    fn resource_version(&self) -> &str {
        &self.version
    }

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        for marker in self.markers() {
            put(MARKER, &marker);
        }
    }

    fn share(&mut self, pool: &mut Pool) {
        pool.sweep();
        for pod in &mut self.pods {
            pool.keep(&mut pod.namespace);
            pool.keep(&mut pod.uid);
            for probe in &mut pod.probes {
                pool.keep(&mut probe.name);
                pool.keep(&mut probe.container);
                pool.keep(&mut probe.check);
            }
        }
        for pod in &mut self.results {
            pool.keep(&mut pod.uid);
            for (name, said) in &mut pod.states {
                pool.keep(name);
                said.message.iter_mut().for_each(|message| pool.keep(message));
            }
        }
    }
}
