//! A ResourceDistribution as caches hold it.

use std::sync::Arc;

use kruise_api::apps::resourcedistribution::ResourceDistribution as Wire;
use kruise_api::{Kind, Resource};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::content::Sort;
use super::spec::{Spec, Targets};
use crate::cluster::namespace::Namespace;
use crate::fault::Fault;
use crate::lookup::{Index, Slim};
use crate::object::ObjectRef;
use crate::order::Requirement;
use crate::workload::base::{Head, identified_by_head};

/// By what is distributed: see [`of_resource`].
pub const OF_RESOURCE: Index = Index::Other("resource");
/// By the narrowest thing that can be said of the namespaces: see [`of_namespace`].
pub const OF_TARGET: Index = Index::Other("target");

#[derive(Debug)]
pub struct ResourceDistribution {
    pub head: Arc<Head>,
    pub spec: Result<Arc<Spec>, Fault>,
}

impl ResourceDistribution {
    pub fn object(&self) -> ObjectRef {
        ObjectRef { resource: Self::RESOURCE, key: self.head.key() }
    }

    /// Whether a namespace is one of its targets; `None` for one that does not exist.
    pub fn wants(&self, name: &str, namespace: Option<&Namespace>) -> bool {
        self.spec.as_ref().is_ok_and(|spec| spec.targets.wants(name, namespace.map(Namespace::labels)))
    }
}

/// `Secret/name`.
pub fn of_resource(sort: Sort, name: &str) -> String {
    format!("{}/{name}", sort.resource().kind())
}

/// Under which entries distributions are found that may want this namespace.
pub fn of_namespace(namespace: &Namespace) -> impl Iterator<Item = String> {
    let labels = namespace.labels().iter().flat_map(|(key, value)| [key.clone(), labelled(key, value)]);
    [ANY.to_owned(), named(namespace.name())].into_iter().chain(labels)
}

const ANY: &str = "*";

fn named(name: &str) -> String {
    format!("={name}")
}

fn labelled(key: &str, value: &str) -> String {
    format!("{key}={value}")
}

/// Entries that every namespace which the selector matches is found under, if there are any: of one requirement that says what a namespace
/// has, not what it has not.
pub fn narrow(requirements: &[Requirement]) -> Option<Vec<String>> {
    requirements.iter().find_map(|one| match one {
        Requirement::In(key, values) => Some(values.iter().map(|value| labelled(key, value)).collect()),
        Requirement::Exists(key) => Some(vec![key.clone()]),
        Requirement::NotIn(..) | Requirement::DoesNotExist(_) => None,
    })
}

fn entries(targets: &Targets) -> Vec<String> {
    if targets.all {
        return vec![ANY.to_owned()];
    }
    let selected = targets.selector.as_ref().map(|one| narrow(one.requirements()));
    let selected = selected.map(|one| one.unwrap_or_else(|| vec![ANY.to_owned()])).unwrap_or_default();
    targets.included.iter().map(|name| named(name)).chain(selected).collect()
}

impl<'de> Deserialize<'de> for ResourceDistribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Stored {
            metadata: Value,
            spec: Option<Box<RawValue>>,
            status: Option<Value>,
        }
        let Stored { metadata, spec, status } = Stored::deserialize(deserializer)?;
        let head = Head::of(&json!({"metadata": metadata, "status": status.unwrap_or_default()}));
        Ok(Self { head: Arc::new(head), spec: Spec::read(spec.as_deref()).map(Arc::new) })
    }
}

impl Slim for ResourceDistribution {
    type Shared = ();
    const RESOURCE: Resource = Wire::RESOURCE;

    identified_by_head!();

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        put(Index::Uid, self.head.uid.as_str());
        let Ok(spec) = &self.spec else { return };
        put(OF_RESOURCE, &of_resource(spec.resource.sort, &spec.resource.name));
        for entry in entries(&spec.targets) {
            put(OF_TARGET, &entry);
        }
    }
}
