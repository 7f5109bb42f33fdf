//! `spec`, read once: defaults applied, the selector ready.

use std::sync::Arc;

use kruise_api::apps::ephemeraljob::EphemeralJobSpec;
use serde_json::{Value, json};

use crate::fault::Fault;
use crate::order::Selector;
use crate::pod::PodView;

/// Half an hour to look at the result.
const TTL_SECONDS: i64 = 1_800;

/// What the user wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// No pod without one (EJ-10).
    pub selector: Option<Selector>,
    pub containers: Vec<Template>,
    /// All pods that match without one.
    pub replicas: Option<usize>,
    pub parallelism: usize,
    pub is_paused: bool,
    /// Seconds from its start to a bad end.
    pub deadline: Option<i64>,
    /// Seconds from its end to its deletion.
    pub ttl: i64,
}

/// One container to put into pods.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    pub name: Arc<str>,
    pub container: Value,
}

impl Spec {
    pub fn read(spec: &Value) -> Result<Self, Fault> {
        let mut whole = spec.clone();
        let has_selector = spec.get("selector").is_some_and(|selector| !selector.is_null());
        if let (false, Some(fields)) = (has_selector, whole.as_object_mut()) {
            fields.insert("selector".to_owned(), json!({}));
        }
        let wire =
            kruise_api::read_part::<EphemeralJobSpec>(whole).map_err(|error| Fault::of_spec(&error))?;
        let selector = Selector::of(&wire.selector).map_err(|error| Fault::new("spec.selector", &error))?;
        let list = wire.template.ephemeral_containers.0;
        let containers = list.as_array().into_iter().flatten().map(Template::of);
        Ok(Self {
            selector: has_selector.then_some(selector),
            containers: containers.collect(),
            replicas: wire.replicas.map(count),
            parallelism: wire.parallelism.map_or(1, count),
            is_paused: wire.paused == Some(true),
            deadline: wire.active_deadline_seconds,
            ttl: wire.ttl_seconds_after_finished.map_or(TTL_SECONDS, i64::from),
        })
    }

    pub fn selects(&self, pod: &PodView) -> bool {
        self.selector.as_ref().is_some_and(|selector| selector.matches(&pod.labels))
    }

    /// E7: every pod of the namespace.
    pub fn selects_everything(&self) -> bool {
        self.selector.as_ref().is_some_and(Selector::is_empty)
    }
}

/// A stored negative number means nothing at all.
fn count(number: i32) -> usize {
    usize::try_from(number).unwrap_or(0)
}

impl Template {
    fn of(container: &Value) -> Self {
        let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
        Self { name: name.into(), container: container.clone() }
    }
}
