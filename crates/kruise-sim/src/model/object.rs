//! A stored object that can be part of a state: equal and hashed by its text, read once.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

use kruise_core::pod::PodView;
use kruise_core::revision::Known;
use serde_json::Value;

use crate::kubelet;

#[derive(Clone)]
pub struct Object(Arc<Parsed>);

struct Parsed {
    value: Value,
    text: String,
    hash: u64,
    pod: OnceLock<Option<Arc<PodView>>>,
    node: OnceLock<Option<kubelet::Pod>>,
    revision: OnceLock<Option<Arc<Known>>>,
}

impl Object {
    pub fn new(value: Value) -> Self {
        let text = value.to_string();
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let hash = hasher.finish();
        let (pod, node, revision) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self(Arc::new(Parsed { value, text, hash, pod, node, revision }))
    }

    pub fn value(&self) -> &Value {
        &self.0.value
    }

    pub fn text(&self, pointer: &str) -> &str {
        self.0.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// As planners see it.
    pub fn pod(&self) -> Option<Arc<PodView>> {
        self.0.pod.get_or_init(|| serde_json::from_value(self.0.value.clone()).ok().map(Arc::new)).clone()
    }

    /// As the kubelet sees it.
    pub fn on_node(&self) -> Option<&kubelet::Pod> {
        self.0.node.get_or_init(|| serde_json::from_value(self.0.value.clone()).ok()).as_ref()
    }

    pub fn revision(&self) -> Option<Arc<Known>> {
        self.0
            .revision
            .get_or_init(|| serde_json::from_value(self.0.value.clone()).ok().map(Arc::new))
            .clone()
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.0.hash == other.0.hash && self.0.text == other.0.text
    }
}

impl Eq for Object {}

impl Hash for Object {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash.hash(state);
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = |pointer: &str| self.text(pointer).to_owned();
        write!(out, "{}@{}", about("/metadata/name"), about("/metadata/resourceVersion"))
    }
}
