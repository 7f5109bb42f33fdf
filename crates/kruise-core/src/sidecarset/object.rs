//! A SidecarSet as caches hold it: read once when it arrives, with its selectors ready for every pod (B21).

use std::collections::BTreeMap;
use std::sync::Arc;

use kruise_api::annotations::{
    SIDECARSET_BASE, SIDECARSET_CANARY, SIDECARSET_HASH, SIDECARSET_HASH_WITHOUT_IMAGE,
};
use kruise_api::apps::sidecarset::SidecarSet as Wire;
use kruise_api::labels::NAMESPACE_NAME;
use kruise_api::{Kind, Resource};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::data::Hashes;
use super::spec::Spec;
use crate::cluster::namespace::{Namespace, name_label};
use crate::fault::Fault;
use crate::lookup::{Index, Lookup, Slim};
use crate::object::Key;
use crate::order::{Requirement, Selector};
use crate::pod::{PodView, string_map};
use crate::workload::base::{Head, identified_by_head};

/// By the namespaces that its namespaceSelector names, or under [`EVERYWHERE`] (SS-22).
pub const NAMESPACED: Index = Index::Other("namespace");
/// No namespace has this name.
pub const EVERYWHERE: &str = "";

#[derive(Debug)]
pub struct SidecarSet {
    pub head: Arc<Head>,
    /// Copied onto new revisions (SS-16).
    pub labels: Arc<BTreeMap<String, String>>,
    pub spec: Result<Arc<Spec>, Fault>,
}

/// Whether a set is for the pods of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selected {
    Yes,
    No,
    /// Only the labels of the namespace can tell, and they are not known.
    Unknown,
}

impl SidecarSet {
    pub fn read(object: &Value) -> Self {
        let spec = Spec::read(object.get("spec").unwrap_or(&Value::Null)).map(Arc::new);
        let labels = string_map(object.pointer("/metadata/labels"));
        Self { head: Arc::new(Head::of(object)), labels: Arc::new(labels), spec }
    }

    pub fn name(&self) -> &Arc<str> {
        &self.head.name
    }

    /// SS-13: as admission wrote them.
    pub fn hashes(&self) -> Hashes {
        hashes(&self.head.annotations)
    }

    /// The set that it stands in for (SS-24).
    pub fn base(&self) -> Option<&str> {
        base(&self.head.annotations)
    }

    /// B3: what the name alone can tell needs no Namespace object.
    pub fn is_for(&self, lookup: Lookup<'_>, namespace: &str) -> Selected {
        let Ok(spec) = &self.spec else { return Selected::No };
        let Some(selector) = &spec.namespaces else { return Selected::Yes };
        selects_namespace(selector, lookup, namespace)
    }

    /// SS-23, SS-52: by its labels alone.
    pub fn selects(&self, pod: &PodView) -> bool {
        self.spec.as_ref().is_ok_and(|spec| !spec.selector.is_empty() && spec.selector.matches(&pod.labels))
    }

    /// Whether the pod should have its sidecars.
    pub fn wants(&self, lookup: Lookup<'_>, pod: &PodView) -> bool {
        self.selects(pod) && self.is_for(lookup, &pod.namespace) == Selected::Yes
    }
}

pub fn hashes(annotations: &BTreeMap<String, String>) -> Hashes {
    let text = |key: &str| annotations.get(key).cloned().unwrap_or_default();
    Hashes { whole: text(SIDECARSET_HASH), without_image: text(SIDECARSET_HASH_WITHOUT_IMAGE) }
}

pub fn base(annotations: &BTreeMap<String, String>) -> Option<&str> {
    let is_canary = annotations.get(SIDECARSET_CANARY).is_some_and(|value| value == "true");
    annotations.get(SIDECARSET_BASE).map(String::as_str).filter(|base| is_canary && !base.is_empty())
}

fn selects_namespace(selector: &Selector, lookup: Lookup<'_>, namespace: &str) -> Selected {
    let verdict = |labels: &BTreeMap<String, String>| {
        if selector.matches_map(labels) { Selected::Yes } else { Selected::No }
    };
    if selector.requirements().iter().all(|one| one.key() == NAMESPACE_NAME) {
        return verdict(&name_label(namespace));
    }
    match lookup.get::<Namespace>(&Key::cluster(namespace)) {
        Some(found) => {
            let mut labels = found.labels().clone();
            labels.extend(name_label(namespace));
            verdict(&labels)
        }
        None => Selected::Unknown,
    }
}

/// SS-22: the namespaces that a selector names; `None` for one that can select any.
pub fn named_namespaces(selector: Option<&Selector>) -> Option<&[String]> {
    let requirements = selector?.requirements();
    requirements.iter().find_map(|one| match one {
        Requirement::In(key, names) if key == NAMESPACE_NAME => Some(names.as_slice()),
        Requirement::In(..)
        | Requirement::NotIn(..)
        | Requirement::Exists(_)
        | Requirement::DoesNotExist(_) => None,
    })
}

impl<'de> Deserialize<'de> for SidecarSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|object| Self::read(&object))
    }
}

impl Slim for SidecarSet {
    type Shared = ();
    const RESOURCE: Resource = Wire::RESOURCE;

    identified_by_head!();

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        put(Index::Uid, self.uid());
        let Ok(spec) = &self.spec else { return };
        match named_namespaces(spec.namespaces.as_ref()) {
            Some(names) => names.iter().for_each(|name| put(NAMESPACED, name)),
            None => put(NAMESPACED, EVERYWHERE),
        }
    }
}
