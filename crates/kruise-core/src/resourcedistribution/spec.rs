//! `spec`, read once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kruise_api::apps::resourcedistribution::{DistributionTargets, NamespaceList};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::content::Distributed;
use crate::fault::Fault;
use crate::order::Selector;

/// Namespaces that never get a copy, whoever names them (RD-5).
pub const PROTECTED: [&str; 2] = ["kube-system", "kube-public"];

/// What the user wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    pub resource: Distributed,
    pub targets: Targets,
}

/// Which namespaces.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Targets {
    pub all: bool,
    pub included: BTreeSet<Arc<str>>,
    pub excluded: BTreeSet<Arc<str>>,
    /// An empty one selects nothing and is not kept.
    pub selector: Option<Selector>,
}

impl Spec {
    pub fn read(raw: Option<&RawValue>) -> Result<Self, Fault> {
        #[derive(Deserialize)]
        struct Parts<'a> {
            #[serde(borrow)]
            resource: Option<&'a RawValue>,
            targets: Option<Value>,
        }
        let raw = raw.map_or("{}", RawValue::get);
        let parts: Parts<'_> = serde_json::from_str(raw).map_err(|error| Fault::new("spec", &error))?;
        let resource = parts.resource.ok_or_else(|| Fault::new("spec.resource", &"it is missing"))?;
        let targets = parts.targets.unwrap_or_default();
        Ok(Self { resource: Distributed::read(resource.get())?, targets: Targets::read(targets)? })
    }
}

impl Targets {
    fn read(targets: Value) -> Result<Self, Fault> {
        if targets.is_null() {
            return Ok(Self::default());
        }
        let wire: DistributionTargets = kruise_api::read_part(targets)
            .map_err(|error| Fault::new(format!("spec.targets.{}", error.path), &error.problem))?;
        let selector = wire.namespace_selector.as_ref().map(Selector::of).transpose();
        let selector = selector.map_err(|error| Fault::new("spec.targets.namespaceSelector", &error))?;
        Ok(Self {
            all: wire.all_namespaces.unwrap_or(false),
            included: names(wire.included_namespaces),
            excluded: names(wire.excluded_namespaces),
            selector: selector.filter(|one| !one.is_empty()),
        })
    }

    /// RD-5, of a namespace that exists with these labels, or does not exist.
    pub fn wants(&self, namespace: &str, labels: Option<&BTreeMap<String, String>>) -> bool {
        if PROTECTED.contains(&namespace) || self.excluded.contains(namespace) {
            return false;
        }
        if self.all {
            return labels.is_some();
        }
        let is_selected =
            || self.selector.as_ref().zip(labels).is_some_and(|(one, labels)| one.matches_map(labels));
        self.included.contains(namespace) || is_selected()
    }
}

fn names(list: Option<NamespaceList>) -> BTreeSet<Arc<str>> {
    let all = list.and_then(|list| list.list).into_iter().flatten();
    all.filter_map(|one| one.name).map(Arc::from).collect()
}
