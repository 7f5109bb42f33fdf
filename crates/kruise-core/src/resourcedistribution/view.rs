//! What the planner looks at.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kruise_api::resource::NAMESPACES;
use serde_json::Value;

use super::content::{Content, of_copy};
use super::copy::Copy;
use super::object::{ResourceDistribution, narrow};
use super::plan::most_at_once;
use super::spec::{Spec, Targets};
use crate::cluster::namespace::{BY_LABEL, Namespace};
use crate::fault::Fault;
use crate::lookup::Lookup;
use crate::object::{Item, Key, ObjectRef};
use crate::turn::{Failed, Turn};
use crate::workload::base::{Head, Sources};

/// What is known of the content of copies, by namespace: the version that was written or read, and what it contains. Lost with the process;
/// a copy is read again then.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Checked(BTreeMap<Arc<str>, (Arc<str>, Content)>);

/// Everything that one plan depends on.
#[derive(Debug, Clone)]
pub struct View {
    pub head: Arc<Head>,
    pub spec: Result<Arc<Spec>, Fault>,
    /// Sorted by namespace (RD-7).
    pub targets: Vec<Target>,
    /// Copies in namespaces that are no target and can still be written to.
    pub leftovers: Vec<Arc<Copy>>,
    pub failed: BTreeMap<Item, Failed>,
}

/// A namespace that should have a copy.
#[derive(Debug, Clone)]
pub struct Target {
    pub namespace: Arc<str>,
    pub place: Place,
}

/// What is there.
#[derive(Debug, Clone)]
pub enum Place {
    /// The namespace does not exist, or ends.
    NoNamespace,
    Free,
    /// An object of that name which this distribution does not control.
    Taken,
    Own(Arc<Copy>, Known),
}

/// What is known of the content of a copy.
#[derive(Debug, Clone)]
pub enum Known {
    Content(Content),
    NotYet,
    /// It could not be read.
    Failed(String),
}

impl Checked {
    pub fn add(&mut self, namespace: &Arc<str>, version: &str, content: &Content) {
        self.0.insert(Arc::clone(namespace), (version.into(), content.clone()));
    }

    fn of(&self, copy: &Copy) -> Option<&Content> {
        let (version, content) = self.0.get(&copy.key.namespace)?;
        (**version == *copy.version).then_some(content)
    }
}

impl View {
    pub fn assemble(object: &ResourceDistribution, checked: &Checked, from: Sources<'_>) -> Self {
        let (head, lookup) = (&object.head, from.lookup);
        let mut view = Self {
            head: Arc::clone(head),
            spec: object.spec.clone(),
            targets: Vec::new(),
            leftovers: Vec::new(),
            failed: from.turn.failed.clone(),
        };
        let Some(spec) = object.spec.as_ref().ok().filter(|_| head.deleted.is_none()) else { return view };
        let wanted = wanted(&spec.targets, lookup);
        let left = Copy::of_owner(spec.resource.sort, head.uid.as_str(), lookup);
        view.leftovers = left
            .into_iter()
            .filter(|copy| copy.key.name == spec.resource.name && !wanted.contains(&copy.key.namespace))
            .filter(|copy| is_open(&copy.key.namespace, lookup))
            .collect();
        let target = |namespace: Arc<str>| {
            let key = Key { namespace: Arc::clone(&namespace), name: Arc::clone(&spec.resource.name) };
            let place = if is_open(&namespace, lookup) {
                place(head, spec, &key, (checked, from))
            } else {
                Place::NoNamespace
            };
            Target { namespace, place }
        };
        view.targets = wanted.into_iter().map(target).collect();
        view
    }

    pub fn itself(&self) -> ObjectRef {
        ObjectRef { resource: <ResourceDistribution as crate::lookup::Slim>::RESOURCE, key: self.head.key() }
    }

    /// What is known of contents now: that of copies which are still there.
    pub fn checked(&self) -> Checked {
        let mut checked = Checked::default();
        for target in &self.targets {
            if let Place::Own(copy, Known::Content(content)) = &target.place {
                checked.add(&target.namespace, &copy.version, content);
            }
        }
        checked
    }
}

/// Copies whose content has to be read before the next plan; as many as fit into memory together.
pub fn to_read(object: &ResourceDistribution, checked: &Checked, lookup: Lookup<'_>) -> Vec<ObjectRef> {
    let (head, Ok(spec)) = (&object.head, &object.spec) else { return Vec::new() };
    if head.deleted.is_some() {
        return Vec::new();
    }
    let sort = spec.resource.sort;
    let copies = Copy::of_owner(sort, head.uid.as_str(), lookup).into_iter();
    let unknown = copies.filter(|copy| copy.key.name == spec.resource.name && checked.of(copy).is_none());
    let wanted = unknown.filter(|copy| {
        let namespace = lookup.get::<Namespace>(&Key::cluster(Arc::clone(&copy.key.namespace)));
        namespace.is_some_and(|one| !one.is_terminating() && object.wants(one.name(), Some(&one)))
    });
    wanted.take(most_at_once(&spec.resource)).map(|copy| copy.object(sort)).collect()
}

/// As reasons and failures name it.
pub fn item(namespace: &Arc<str>) -> Item {
    ObjectRef::new(NAMESPACES, "", Arc::clone(namespace)).into()
}

/// RD-5.
fn wanted(targets: &Targets, lookup: Lookup<'_>) -> BTreeSet<Arc<str>> {
    let found: Vec<Arc<Namespace>> = match &targets.selector {
        _ if targets.all => lookup.all(),
        None => Vec::new(),
        Some(selector) => match narrow(selector.requirements()) {
            Some(entries) => entries.iter().flat_map(|entry| lookup.by(BY_LABEL, entry)).collect(),
            None => lookup.all(),
        },
    };
    let listed = targets.included.iter().filter(|name| targets.wants(name, None));
    let found = found.iter().filter(|one| targets.wants(one.name(), Some(one.labels())));
    found.map(|one| one.name().into()).chain(listed.cloned()).collect()
}

/// Whether something can be created there.
fn is_open(namespace: &Arc<str>, lookup: Lookup<'_>) -> bool {
    lookup.get::<Namespace>(&Key::cluster(Arc::clone(namespace))).is_some_and(|one| !one.is_terminating())
}

fn place(head: &Head, spec: &Spec, key: &Key, (checked, from): (&Checked, Sources<'_>)) -> Place {
    let sort = spec.resource.sort;
    let Some(cached) = Copy::find(sort, key, from.lookup) else { return Place::Free };
    let (copy, known) = match read(&ObjectRef { resource: sort.resource(), key: key.clone() }, from.turn) {
        // Newer than the cache, and all that counts.
        Some(Ok((copy, object))) => (Arc::new(copy), Known::Content(of_copy(sort, &object))),
        Some(Err(why)) => (cached, Known::Failed(why)),
        None => {
            let known = checked.of(&cached).cloned().map_or(Known::NotYet, Known::Content);
            (cached, known)
        }
    };
    if copy.is_controlled_by(head) { Place::Own(copy, known) } else { Place::Taken }
}

/// What a live read has found; nothing if the object was not asked for, or went meanwhile.
fn read(object: &ObjectRef, turn: &Turn) -> Option<Result<(Copy, Value), String>> {
    if let Some(why) = turn.unread.get(object) {
        return Some(Err(why.clone()));
    }
    let text = turn.live.get(object)?.as_deref()?;
    let value: Value = serde_json::from_str(text).ok()?;
    serde_json::from_str(text).ok().map(|copy| Ok((copy, value)))
}
