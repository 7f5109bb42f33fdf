//! What the views and specs of all workloads that roll out revisions have in common, and the first steps of their plans.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::gates::Gates;
use crate::ids::{PodName, ResourceVersion, Uid};
use crate::inplace::Resize;
use crate::lifecycle::Hooks;
use crate::order::Selector;
use crate::plan::Plan;
use crate::pod::{PodView, string_map};
use crate::reader::{Fault, Reader, fault};
use crate::reason::Reason;
use crate::revision::{Data, Found, Revision, Revisions, sort};
use crate::rollout::Kind;
use crate::workload::{Failures, PullJob, Workload};

/// The part of a view that every kind has.
#[derive(Debug, Clone)]
pub struct Base {
    pub name: String,
    pub namespace: String,
    pub uid: Uid,
    pub version: ResourceVersion,
    pub generation: i64,
    /// Copied onto new revisions (SM-4).
    pub annotations: BTreeMap<String, String>,
    /// Set while it is being deleted.
    pub deleted: Option<Timestamp>,
    /// As stored; what is already so is not written.
    pub status: Value,
    /// Matching the selector and owned by it or by nobody (SM-6), oldest first.
    pub revisions: Vec<Arc<Revision>>,
    /// All that its uid owns, also those being deleted and finished, sorted by name.
    pub pods: Vec<Arc<PodView>>,
    /// Pods of others that carry a name of ours.
    pub strangers: BTreeSet<PodName>,
    /// ImagePullJobs that it controls.
    pub pull_jobs: Vec<PullJob>,
    /// Nodes without our daemon, where environment cannot be renewed (M5).
    pub virtual_nodes: BTreeSet<String>,
    pub gates: Gates,
    pub resize: Resize,
    /// What failed since the last plan that went through (B5).
    pub failures: Failures,
}

/// The part of a spec that every kind has.
#[derive(Debug, Clone, PartialEq)]
pub struct BaseSpec {
    pub replicas: u32,
    pub selector: Selector,
    /// As written, for objects that select the same pods.
    pub selector_text: Value,
    pub match_labels: BTreeMap<String, String>,
    pub template: Data,
    pub claim_templates: Vec<Value>,
    pub kind: Kind,
    pub history_limit: u32,
    pub hooks: Option<Hooks>,
}

/// How every plan begins: with a spec that can be read and the revisions of its template. Else the reason for which no pod is
/// touched; the revision that is missing is stored by this plan.
pub fn begin<'a, S>(
    spec: &'a Result<Arc<S>, Fault>,
    find: impl FnOnce(&'a S) -> Found<'a>,
    plan: &mut Plan,
) -> Result<(&'a S, Revisions<'a>), Reason> {
    let spec = spec.as_ref().map_err(|fault| Reason::UnreadableSpec { field: fault.field.clone() })?;
    match find(spec) {
        Found::Stored(revisions, renumber) => {
            plan.act_if(renumber);
            Ok((spec, revisions))
        }
        Found::Missing(chain) => {
            plan.act(chain);
            Err(Reason::RevisionFirst)
        }
    }
}

impl Base {
    /// From the stored v1beta1 object; the rest is filled in by the caller.
    pub fn of(object: &Value) -> Self {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        Self {
            name: text("/metadata/name").to_owned(),
            namespace: text("/metadata/namespace").to_owned(),
            uid: Uid::new(text("/metadata/uid")),
            version: ResourceVersion::new(text("/metadata/resourceVersion")),
            generation: object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0),
            annotations: string_map(object.pointer("/metadata/annotations")),
            deleted: crate::time::read(text("/metadata/deletionTimestamp")),
            status: object.get("status").cloned().unwrap_or(Value::Null),
            revisions: Vec::new(),
            pods: Vec::new(),
            strangers: BTreeSet::new(),
            pull_jobs: Vec::new(),
            virtual_nodes: BTreeSet::new(),
            gates: Gates::default(),
            resize: Resize::Endpoint,
            failures: Failures::default(),
        }
    }

    /// Sets pods and revisions (owned or shared) in the order that planning relies on.
    pub fn set<R: Into<Arc<Revision>>>(&mut self, mut pods: Vec<Arc<PodView>>, revisions: Vec<R>) {
        let mut revisions: Vec<Arc<Revision>> = revisions.into_iter().map(Into::into).collect();
        pods.sort_by(|a, b| a.name.cmp(&b.name));
        sort(&mut revisions);
        self.pods = pods;
        self.revisions = revisions;
    }

    /// For what it shares with other kinds.
    pub fn workload(&self, kind: &'static str) -> Workload<'_> {
        Workload {
            kind,
            name: &self.name,
            namespace: &self.namespace,
            uid: &self.uid,
            generation: self.generation,
            annotations: &self.annotations,
            status: &self.status,
            revisions: &self.revisions,
            gates: &self.gates,
            resize: self.resize,
            virtual_nodes: &self.virtual_nodes,
        }
    }
}

impl BaseSpec {
    /// Reads `.spec` of a v1beta1 object.
    pub fn read(spec: &Value) -> Result<Self, Fault> {
        let read = Reader { object: spec, at: "spec" };
        Ok(Self {
            replicas: read.count("replicas")?.unwrap_or(1),
            selector: Selector::read(&spec["selector"]).map_err(|e| fault("spec.selector", &e))?,
            selector_text: spec["selector"].clone(),
            match_labels: string_map(spec.pointer("/selector/matchLabels")),
            template: Data::of(&spec["template"]).map_err(|e| fault("spec.template", &e))?,
            claim_templates: read.list("volumeClaimTemplates").to_vec(),
            kind: Kind::read(&read)?,
            history_limit: read.count("revisionHistoryLimit")?.unwrap_or(10),
            hooks: Hooks::read(spec.get("lifecycle")),
        })
    }
}
