//! What the planner looks at.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::children::{self, Child};
use super::object::AdvancedCronJob;
use super::spec::Spec;
use crate::fault::Fault;
use crate::gates::Gates;
use crate::inplace::Resize;
use crate::lookup::Slim;
use crate::time;
use crate::workload::Workload;
use crate::workload::base::{Head, Sources};

/// Everything that one plan depends on.
#[derive(Debug, Clone)]
pub struct View {
    pub head: Arc<Head>,
    pub spec: Result<Arc<Spec>, Fault>,
    /// Of the kind of its template, by planned time and name.
    pub children: Vec<Child>,
    /// The manager's own zone, for schedules without one.
    pub local: TimeZone,
    gates: Gates,
    resize: Resize,
    no_nodes: BTreeSet<String>,
}

impl View {
    pub fn assemble(object: &AdvancedCronJob, local: TimeZone, from: Sources<'_>) -> Self {
        let template = object.spec.as_ref().ok().map(|spec| spec.template);
        let found = template.map(|template| children::of(from.lookup, &object.head.uid, template));
        Self {
            children: found.unwrap_or_default(),
            head: Arc::clone(&object.head),
            spec: object.spec.clone(),
            local,
            gates: from.setup.gates.clone(),
            resize: from.setup.resize,
            no_nodes: BTreeSet::new(),
        }
    }

    /// For what it shares with other kinds.
    pub fn workload(&self) -> Workload<'_> {
        Workload {
            resource: AdvancedCronJob::RESOURCE,
            head: &self.head,
            revisions: &[],
            is_name_taken: false,
            gates: &self.gates,
            resize: self.resize,
            virtual_nodes: &self.no_nodes,
        }
    }

    /// The last planned time that a child was created for, also if it is gone: never earlier than what the status says (B1, ACJ-23).
    pub fn last_planned(&self) -> Option<Timestamp> {
        let stored = self.head.status.get("lastScheduleTime").and_then(Value::as_str).and_then(time::read);
        self.children.iter().filter_map(|child| child.planned).chain(stored).max()
    }
}
