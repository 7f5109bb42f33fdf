//! Scenarios: objects, and what their user does with them. Each kind has its own in [`crate::kinds`].

use std::sync::Arc;
use std::time::Duration;

use kruise_api::{Resource, Scope};
use serde_json::Value;

use crate::kinds::SimulatedKind;
use crate::server::{Object, Store, resources};

#[derive(Debug, Clone)]
pub struct Scenario {
    pub kind: &'static SimulatedKind,
    pub name: &'static str,
    /// Created at the beginning, in this order.
    pub objects: Vec<(Target, Value)>,
    /// The workload that users edit and autoscalers scale, if there is one.
    pub subject: Option<Target>,
    pub steps: Vec<Step>,
}

/// One object of a scenario, of any scope; namespaced ones are all in one namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    pub resource: Resource,
    pub name: &'static str,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Wait until nothing moves any more.
    Settle,
    /// A merge patch of the subject.
    Edit(Value),
    Wait(Duration),
    /// Marks one pod as to be deleted.
    SpecifyDelete,
    /// Somebody adds an object: a node, another workload.
    Create(Target, Value),
    /// A merge patch of any object.
    Patch(Target, Value),
    /// A merge patch of the status of any object, as a node agent makes it.
    Status(Target, Value),
    Delete(Target),
}

impl Step {
    /// Whether pods change because of it.
    pub fn is_rollout(&self) -> bool {
        match self {
            Self::Edit(_)
            | Self::SpecifyDelete
            | Self::Create(_, _)
            | Self::Patch(_, _)
            | Self::Status(_, _)
            | Self::Delete(_) => true,
            Self::Settle | Self::Wait(_) => false,
        }
    }
}

/// The image that no node can pull.
pub const BAD_IMAGE: &str = "bad:1";

/// The image whose program ends well after a few seconds.
pub const ENDING_IMAGE: &str = "ends:0";

/// The image whose program fails after a few seconds.
pub const FAILING_IMAGE: &str = "ends:1";

impl Scenario {
    /// Nothing but its name.
    pub fn new(kind: &'static SimulatedKind, name: &'static str) -> Self {
        Self { kind, name, objects: Vec::new(), subject: None, steps: Vec::new() }
    }

    #[must_use]
    pub fn with(mut self, target: Target, object: Value) -> Self {
        self.objects.push((target, object));
        self
    }

    #[must_use]
    pub fn then(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.steps.extend(steps);
        self
    }

    /// `CloneSet/in-place`.
    pub fn title(&self) -> String {
        format!("{}/{}", self.kind.title, self.name)
    }
}

impl Target {
    pub const fn new(resource: Resource, name: &'static str) -> Self {
        Self { resource, name }
    }

    /// Empty for objects of the whole cluster.
    pub fn namespace(self) -> &'static str {
        match self.resource.scope() {
            Scope::Namespaced => "default",
            Scope::Cluster => "",
        }
    }

    pub fn find(self, store: &Store) -> Option<&Arc<Object>> {
        let kind = resources::of(self.resource)?;
        store.get(kind.id, &(self.namespace().into(), self.name.into()))
    }
}

/// A JSON merge patch.
pub fn merge(target: &mut Value, patch: &Value) {
    json_patch::merge(target, patch);
}
