//! What the planner sees of one object.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::annotations;
use kruise_api::apps::persistentpodstate::RetentionPolicy;
use kruise_api::labels::TRUE;
use serde_json::Value;

use super::object::{CustomWorkload, NativeStatefulSet, PersistentPodState, TARGET, target_entry};
use super::placement::chosen;
use super::target::{CustomKind, Target};
use crate::cluster::node::Node;
use crate::ids::Uid;
use crate::lookup::{Index, Lookup, Slim};
use crate::object::{Key, ObjectRef};
use crate::pod::{PodView, string_map};
use crate::statefulset::StatefulSet;
use crate::statefulset::ordinals::{Reserved, Slots};

/// One object and everything it is planned from.
#[derive(Debug, Clone)]
pub struct View {
    pub name: Arc<str>,
    pub namespace: Arc<str>,
    pub uid: Uid,
    pub generation: i64,
    pub created: Option<Timestamp>,
    pub spec: Spec,
    pub observed_generation: Option<i64>,
    pub records: BTreeMap<String, Record>,
    /// Whether records of nodes that are gone go with them (D2).
    pub drops_lost: bool,
    /// `None`: not there, or being deleted (PP-7).
    pub workload: Option<Workload>,
    /// Controlled by the workload.
    pub pods: Vec<Arc<PodView>>,
    /// Labels of the nodes that pods and records name; a node that is not there is gone.
    pub nodes: BTreeMap<String, BTreeMap<String, String>>,
    /// Another object of the same target that comes first (D13).
    pub superseded_by: Option<String>,
}

/// `spec`, read as far as it goes: an odd value of an old object must not keep its records from being written (D4).
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    pub target: Target,
    pub annotations: Vec<String>,
    pub required: Vec<String>,
    pub preferred: Vec<Preferred>,
    pub retention: Retention,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preferred {
    /// As given; placement clamps it (D3).
    pub weight: i64,
    pub keys: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    WhenScaled,
    WhenDeleted,
}

/// What is remembered about one pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    pub node: String,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
}

/// The workload, reduced to which ordinals it wants (PP-13, D1).
#[derive(Debug, Clone)]
pub struct Workload {
    pub replicas: u32,
    pub slots: Slots,
}

impl View {
    /// One indexed look-up per field; `None` while it is not known whether the workload exists: then its records stay as they are.
    pub fn assemble(
        object: &PersistentPodState,
        lookup: Lookup<'_>,
        custom: &dyn CustomKinds,
    ) -> Option<Self> {
        let mut view = Self::of(&object.object);
        let entry = target_entry(&object.meta.namespace, &view.spec.target);
        let rivals: Vec<Arc<PersistentPodState>> = lookup.by(TARGET, &entry);
        let first = chosen(rivals.iter().map(|rival| &rival.object));
        let first = first.and_then(|first| first.pointer("/metadata/name")?.as_str());
        view.superseded_by = first.filter(|first| **first != *view.name).map(str::to_owned);
        match Owner::find(&object.meta.namespace, &view.spec.target, lookup, custom) {
            Owner::Unknown => return None,
            Owner::Absent => {}
            Owner::There { uid, workload } => {
                let pods = lookup.by::<PodView>(Index::Owner, uid.as_str());
                let is_controlled =
                    |pod: &Arc<PodView>| pod.controller().is_some_and(|owner| owner.uid == uid);
                view.pods = pods.into_iter().filter(is_controlled).collect();
                view.workload = workload;
            }
        }
        let names: BTreeSet<&str> = view.nodes_to_look_up().collect();
        let labels = |name: &str| {
            let node = lookup.get::<Node>(&Key::cluster(name))?;
            Some((name.to_owned(), node.labels().clone()))
        };
        view.nodes = names.into_iter().filter_map(labels).collect();
        Some(view)
    }

    /// The object alone.
    pub fn of(object: &Value) -> Self {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let number = |path: &str| object.pointer(path).and_then(Value::as_i64);
        let records = object.pointer("/status/podStates").and_then(Value::as_object).into_iter().flatten();
        let annotation = object.pointer("/metadata/annotations");
        let drops = annotation.and_then(|all| all.get(annotations::PPS_DROP_LOST_NODES));
        Self {
            name: text("/metadata/name").into(),
            namespace: text("/metadata/namespace").into(),
            uid: Uid::new(text("/metadata/uid")),
            generation: number("/metadata/generation").unwrap_or(0),
            created: crate::time::read(text("/metadata/creationTimestamp")),
            spec: Spec::read(object.get("spec").unwrap_or(&Value::Null)),
            observed_generation: number("/status/observedGeneration"),
            records: records.map(|(pod, record)| (pod.clone(), Record::read(record))).collect(),
            drops_lost: drops.is_some_and(|value| value == TRUE),
            workload: None,
            pods: Vec::new(),
            nodes: BTreeMap::new(),
            superseded_by: None,
        }
    }

    pub fn object(&self) -> ObjectRef {
        ObjectRef::new(PersistentPodState::RESOURCE, Arc::clone(&self.namespace), Arc::clone(&self.name))
    }

    /// Nodes whose labels the plan depends on.
    pub fn nodes_to_look_up(&self) -> impl Iterator<Item = &str> {
        let of_pods = self.pods.iter().filter_map(|pod| pod.node.as_deref());
        of_pods.chain(self.records.values().map(|record| record.node.as_str()))
    }
}

/// The kinds that the administrator lists, and their objects.
pub trait CustomKinds {
    /// The workload that an object points to.
    fn look_up(&self, namespace: &str, target: &Target) -> Owner;

    /// All workloads of that name, with the `apiVersion` and kind that they are listed under.
    fn named(&self, key: &Key) -> Vec<(CustomKind, Arc<CustomWorkload>)>;
}

/// The workload that an object points to, as far as it is known.
#[derive(Debug)]
pub enum Owner {
    /// Its kind is not listed, not installed, or not listed to the end yet; or its spec cannot be read.
    Unknown,
    Absent,
    /// With what the plan reads of it; nothing while it is being deleted.
    There {
        uid: Uid,
        workload: Option<Workload>,
    },
}

impl Owner {
    fn find(namespace: &Arc<str>, target: &Target, lookup: Lookup<'_>, custom: &dyn CustomKinds) -> Self {
        let key = Key::new(Arc::clone(namespace), target.name.as_str());
        if target.is_of(NativeStatefulSet::RESOURCE) {
            let set = lookup.get::<NativeStatefulSet>(&key);
            return Self::of(set.map(|set| (set.head.uid.clone(), set.workload.clone())), || {
                lookup.is_complete::<NativeStatefulSet>()
            });
        }
        if target.is_of(StatefulSet::RESOURCE) {
            let set = lookup.get::<StatefulSet>(&key);
            if set.as_ref().is_some_and(|set| set.spec.is_err()) {
                return Self::Unknown;
            }
            return Self::of(set.map(|set| (set.head.uid.clone(), Workload::of(&set))), || {
                lookup.is_complete::<StatefulSet>()
            });
        }
        custom.look_up(namespace, target)
    }

    fn of(found: Option<(Uid, Option<Workload>)>, is_complete: impl Fn() -> bool) -> Self {
        match found {
            Some((uid, workload)) => Self::There { uid, workload },
            None if is_complete() => Self::Absent,
            None => Self::Unknown,
        }
    }
}

impl Spec {
    pub fn read(spec: &Value) -> Self {
        let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
        let keys = |term: Option<&Value>| -> Vec<String> {
            list(term.and_then(|term| term.get("keys")))
                .iter()
                .filter_map(|key| key.as_str().map(str::to_owned))
                .collect()
        };
        let policy =
            spec.get("persistentPodStateRetentionPolicy").and_then(Value::as_str).unwrap_or_default();
        Self {
            target: Target::read(spec.get("targetRef").unwrap_or(&Value::Null)),
            annotations: list(spec.get("persistentPodAnnotations"))
                .iter()
                .filter_map(|one| one.get("key")?.as_str().map(str::to_owned))
                .collect(),
            required: keys(spec.get("requiredPersistentTopology")),
            preferred: list(spec.get("preferredPersistentTopology"))
                .iter()
                .map(|term| Preferred {
                    weight: term.get("weight").and_then(Value::as_i64).unwrap_or(0),
                    keys: keys(term.get("preference")),
                })
                .collect(),
            // Anything else behaves as the default (PP-12).
            retention: match RetentionPolicy::from(policy) {
                RetentionPolicy::WhenDeleted => Retention::WhenDeleted,
                RetentionPolicy::WhenScaled | RetentionPolicy::Other(_) => Retention::WhenScaled,
            },
        }
    }

    /// Node labels to remember: required keys and all preferred ones (PP-9).
    pub fn label_keys(&self) -> impl Iterator<Item = &str> {
        self.required.iter().chain(self.preferred.iter().flat_map(|term| &term.keys)).map(String::as_str)
    }
}

impl Record {
    pub fn read(record: &Value) -> Self {
        Self {
            node: record.get("nodeName").and_then(Value::as_str).unwrap_or_default().to_owned(),
            labels: string_map(record.get("nodeTopologyLabels")),
            annotations: string_map(record.get("annotations")),
        }
    }
}

impl Workload {
    /// Out of an Advanced StatefulSet; `None` while it is being deleted or cannot be read.
    pub fn of(set: &StatefulSet) -> Option<Self> {
        let spec = set.spec.as_ref().ok().filter(|_| set.head.deleted.is_none())?;
        let slots = Slots::of(spec.start, spec.replicas, &spec.reserved);
        Some(Self { replicas: spec.replicas, slots })
    }

    /// Out of a StatefulSet of Kubernetes itself; `None` while it is being deleted. Absent replicas are one.
    pub fn of_statefulset(object: &Value) -> Option<Self> {
        let number =
            |path: &str| object.pointer(path).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
        let replicas = number("/spec/replicas").unwrap_or(1);
        let is_deleted = object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null());
        let start = number("/spec/ordinals/start").unwrap_or(0);
        (!is_deleted).then(|| Self { replicas, slots: Slots::of(start, replicas, &Reserved::default()) })
    }

    /// Out of a kind that the administrator listed: its size is in `spec.replicas`, none if it is not there (PP-30).
    pub fn of_custom(object: &Value) -> Option<Self> {
        let replicas = object.pointer("/spec/replicas").and_then(Value::as_u64).unwrap_or(0);
        let replicas = u32::try_from(replicas).unwrap_or(0);
        let is_deleted = object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null());
        (!is_deleted).then(|| Self { replicas, slots: Slots::of(0, replicas, &Reserved::default()) })
    }
}
