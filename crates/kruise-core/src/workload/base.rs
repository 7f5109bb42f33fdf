//! What the views and specs of all workloads that roll out revisions have in common, and the first steps of their plans.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::Resource;
use kruise_api::parts::{LabelSelector, Lifecycle, RawClaims, RawTemplate, UpdateType};
use serde_json::Value;

use crate::cluster::node::Node;
use crate::fault::{Fault, count};
use crate::gates::Gates;
use crate::ids::{PodName, ResourceVersion, Uid};
use crate::inplace::Resize;
use crate::lifecycle::Hooks;
use crate::lookup::{Index, Lookup};
use crate::object::Key;
use crate::order::Selector;
use crate::plan::Plan;
use crate::pod::{PodView, string_map};
use crate::predownload::PullJob;
use crate::reason::Reason;
use crate::revision::{Data, Found, OfWorkload, Revision, Revisions, sort};
use crate::rollout::Mode;
use crate::turn::{Failures, Setup, Turn};
use crate::workload::Workload;

/// What an object of any kind says about itself.
#[derive(Debug, Clone)]
pub struct Head {
    pub name: Arc<str>,
    pub namespace: Arc<str>,
    pub uid: Uid,
    pub version: ResourceVersion,
    pub generation: i64,
    /// Copied onto new revisions (SM-4).
    pub annotations: BTreeMap<String, String>,
    pub created: Option<Timestamp>,
    /// Set while it is being deleted.
    pub deleted: Option<Timestamp>,
    /// The owner that manages it.
    pub controller: Option<Uid>,
    /// As stored; what is already so is not written.
    pub status: Value,
}

/// The part of a view that every kind has.
#[derive(Debug, Clone)]
pub struct Base {
    /// Shared with the cache.
    pub head: Arc<Head>,
    /// Matching the selector and owned by it or by nobody (SM-6), oldest first.
    pub revisions: Vec<Arc<Revision>>,
    /// The name of the revision to be stored next belongs to another object (SM-5).
    pub is_name_taken: bool,
    /// All that its uid owns, also those being deleted and finished, sorted by name.
    pub pods: Vec<Arc<PodView>>,
    /// Pods of others that carry the name of a pod of this workload.
    pub strangers: BTreeSet<PodName>,
    /// ImagePullJobs that it controls.
    pub pull_jobs: Vec<Arc<PullJob>>,
    /// Nodes without the node agent, where environment cannot be renewed (M5).
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
    pub mode: Mode,
    pub history_limit: u32,
    pub hooks: Option<Hooks>,
}

/// How every plan begins: with a spec that can be read and the revisions of its template. Else the reason for which no pod is
/// touched: `unreadable` says what to correct, and a revision that is missing is stored by this plan.
pub fn begin<'a, S>(
    spec: &'a Result<Arc<S>, Fault>,
    plan: &mut Plan,
    unreadable: impl FnOnce(&Fault, &mut Plan),
    find: impl FnOnce(&'a S) -> Found<'a>,
) -> Result<(&'a S, Revisions<'a>), Reason> {
    let spec = match spec {
        Ok(spec) => spec,
        Err(fault) => {
            unreadable(fault, plan);
            return Err(Reason::UnreadableSpec { field: fault.field.clone() });
        }
    };
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

impl Head {
    /// From the stored object.
    pub fn of(object: &Value) -> Self {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        Self {
            name: text("/metadata/name").into(),
            namespace: text("/metadata/namespace").into(),
            uid: Uid::new(text("/metadata/uid")),
            version: ResourceVersion::new(text("/metadata/resourceVersion")),
            generation: object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0),
            annotations: string_map(object.pointer("/metadata/annotations")),
            created: crate::time::read(text("/metadata/creationTimestamp")),
            deleted: crate::time::read(text("/metadata/deletionTimestamp")),
            controller: controller(object),
            status: object.get("status").cloned().unwrap_or(Value::Null),
        }
    }

    pub fn key(&self) -> Key {
        Key { namespace: Arc::clone(&self.namespace), name: Arc::clone(&self.name) }
    }

    /// Names of revisions that were taken so far (SM-5).
    pub fn collisions(&self) -> i32 {
        let count = self.status.get("collisionCount").and_then(Value::as_i64);
        count.and_then(|count| i32::try_from(count).ok()).unwrap_or(0)
    }
}

fn controller(object: &Value) -> Option<Uid> {
    let mut owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array)?.iter();
    let owner = owners.find(|owner| owner.get("controller") == Some(&Value::Bool(true)))?;
    owner.get("uid").and_then(Value::as_str).map(Uid::new)
}

/// What every view of a workload that rolls out revisions is assembled from.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    pub lookup: Lookup<'a>,
    pub setup: &'a Setup,
    pub turn: &'a Turn,
}

/// Pods and revisions, which kinds find differently.
pub struct Dependents {
    pub pods: Vec<Arc<PodView>>,
    pub revisions: OfWorkload,
}

impl Base {
    /// One indexed look-up per field.
    pub fn assemble(head: &Arc<Head>, spec: Option<&BaseSpec>, found: Dependents, from: Sources<'_>) -> Self {
        let lookup = from.lookup;
        let wanted = spec.map(|spec| spec.template.name(&head.name, head.collisions()));
        let is_name_taken = wanted.is_some_and(|name| OfWorkload::is_taken(lookup, &head.namespace, &name));
        let mut base = Self {
            head: Arc::clone(head),
            revisions: Vec::new(),
            is_name_taken,
            pods: Vec::new(),
            strangers: BTreeSet::new(),
            pull_jobs: lookup.by(Index::Owner, head.uid.as_str()),
            virtual_nodes: virtual_nodes(lookup, &found.pods),
            gates: from.setup.gates.clone(),
            resize: from.setup.resize,
            failures: from.turn.failures(),
        };
        let OfWorkload { owned, orphans } = found.revisions;
        base.set(found.pods, owned.into_iter().chain(orphans).collect());
        base
    }

    /// The object alone, for tests.
    #[cfg(test)]
    pub fn alone(object: &Value) -> Self {
        let turn = Turn::first(Timestamp::UNIX_EPOCH, 0);
        let setup =
            Setup { gates: Gates::default(), resize: Resize::Endpoint, namespace: "kruise-system".into() };
        let found = Dependents { pods: Vec::new(), revisions: OfWorkload::default() };
        let memory = crate::lookup::Memory::default();
        let from = Sources { lookup: Lookup::new(&memory), setup: &setup, turn: &turn };
        Self::assemble(&Arc::new(Head::of(object)), None, found, from)
    }

    /// Sets pods and revisions in the order that planning relies on.
    pub fn set(&mut self, mut pods: Vec<Arc<PodView>>, mut revisions: Vec<Arc<Revision>>) {
        pods.sort_by(|a, b| a.name.cmp(&b.name));
        sort(&mut revisions);
        self.pods = pods;
        self.revisions = revisions;
    }

    /// What to say of pods that no step of a plan has explained.
    pub fn leftover(&self) -> Reason {
        if self.deleted.is_some() { Reason::OwnerDeleted } else { Reason::Unexplained }
    }

    /// For what it shares with other kinds.
    pub fn workload(&self, resource: Resource) -> Workload<'_> {
        Workload {
            resource,
            head: &self.head,
            revisions: &self.revisions,
            is_name_taken: self.is_name_taken,
            gates: &self.gates,
            resize: self.resize,
            virtual_nodes: &self.virtual_nodes,
        }
    }
}

/// What the object says about itself is part of it.
impl Deref for Base {
    type Target = Head;

    fn deref(&self) -> &Head {
        &self.head
    }
}

#[cfg(test)]
impl std::ops::DerefMut for Base {
    fn deref_mut(&mut self) -> &mut Head {
        Arc::make_mut(&mut self.head)
    }
}

/// Nodes of these pods that the node agent cannot run on.
fn virtual_nodes(lookup: Lookup<'_>, pods: &[Arc<PodView>]) -> BTreeSet<String> {
    let names: BTreeSet<&Arc<str>> = pods.iter().filter_map(|pod| pod.node.as_ref()).collect();
    let is_virtual = |name: &&Arc<str>| {
        lookup.get::<Node>(&Key::cluster(Arc::clone(name))).is_some_and(|node| node.is_virtual())
    };
    names.into_iter().filter(is_virtual).map(ToString::to_string).collect()
}

/// The fields that every workload spec has, as they stand on the wire.
pub struct Fields<'a> {
    pub replicas: Option<i32>,
    pub selector: &'a LabelSelector,
    pub template: &'a RawTemplate,
    pub claim_templates: Option<&'a RawClaims>,
    pub update_type: Option<&'a UpdateType>,
    pub history_limit: Option<i32>,
    pub lifecycle: Option<&'a Lifecycle>,
}

impl BaseSpec {
    pub fn of(fields: &Fields<'_>) -> Result<Self, Fault> {
        let claims = fields.claim_templates.and_then(|claims| claims.0.as_array());
        Ok(Self {
            replicas: count("spec.replicas", fields.replicas)?.unwrap_or(defaults::REPLICAS),
            selector: Selector::of(fields.selector).map_err(|e| Fault::new("spec.selector", &e))?,
            selector_text: serde_json::to_value(fields.selector).unwrap_or_default(),
            match_labels: fields.selector.match_labels.clone().unwrap_or_default(),
            template: Data::of(&fields.template.0).map_err(|e| Fault::new("spec.template", &e))?,
            claim_templates: claims.cloned().unwrap_or_default(),
            mode: Mode::of(fields.update_type)?,
            history_limit: count("spec.revisionHistoryLimit", fields.history_limit)?
                .unwrap_or(defaults::HISTORY_LIMIT),
            hooks: fields.lifecycle.map(Hooks::of),
        })
    }
}

/// What an absent field means, for admission as for planners.
pub mod defaults {
    pub const REPLICAS: u32 = 1;
    pub const HISTORY_LIMIT: u32 = 10;
}

/// Three methods of [`Slim`](crate::lookup::Slim) for a kind that keeps its [`Head`].
macro_rules! identified_by_head {
    () => {
        fn key(&self) -> crate::object::Key {
            self.head.key()
        }

        fn uid(&self) -> &str {
            self.head.uid.as_str()
        }

        fn resource_version(&self) -> &str {
            self.head.version.as_str()
        }
    };
}

pub(crate) use identified_by_head;
