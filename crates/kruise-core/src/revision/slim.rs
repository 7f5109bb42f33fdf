//! How caches hold ControllerRevisions. Those of other people's workloads are known by name only.

use std::sync::Arc;

use kruise_api::{Resource, names::APPS_GROUP, resource::REVISIONS};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::Revision;
use crate::cluster::meta::{Meta, identified_by};
use crate::ids::{RevisionName, Uid};
use crate::lookup::{Index, Lookup, Slim};
use crate::object::Key;
use crate::order::Selector;
use crate::sidecarset;

/// A ControllerRevision of any workload.
#[derive(Debug)]
pub struct Known {
    pub meta: Meta,
    /// `None` for one that cannot belong to a Kruise workload.
    pub revision: Option<Arc<Revision>>,
    /// What it records of a SidecarSet, if it is one of those.
    pub sidecars: Option<Arc<sidecarset::Stored>>,
}

/// Revisions without an owner, by namespace.
const ORPHAN: Index = Index::Other("orphan");

/// The revisions of one workload.
#[derive(Debug, Default)]
pub struct OfWorkload {
    pub owned: Vec<Arc<Revision>>,
    /// Without owner, with labels that the selector matches (SM-6, AS-3).
    pub orphans: Vec<Arc<Revision>>,
}

impl OfWorkload {
    pub fn find(lookup: Lookup<'_>, namespace: &str, uid: &Uid, selector: Option<&Selector>) -> Self {
        let views = |found: Vec<Arc<Known>>| found.into_iter().filter_map(|one| one.revision.clone());
        let is_selected =
            |one: &Arc<Revision>| selector.is_some_and(|selector| selector.matches_map(&one.labels));
        Self {
            owned: views(lookup.by(Index::Owner, uid.as_str())).collect(),
            orphans: views(lookup.by(ORPHAN, namespace)).filter(is_selected).collect(),
        }
    }

    /// Whether there is a revision of this name, so that no other one can be stored under it (SM-5).
    pub fn is_taken(lookup: Lookup<'_>, namespace: &Arc<str>, name: &RevisionName) -> bool {
        lookup.get::<Known>(&Key::new(Arc::clone(namespace), name.shared())).is_some()
    }
}

impl<'de> Deserialize<'de> for Known {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        let meta = Meta::deserialize(object.get("metadata").unwrap_or(&Value::Null))
            .map_err(serde::de::Error::custom)?;
        let is_of_kruise = meta.owner_references.iter().any(|owner| has_kruise_group(&owner.api_version));
        let may_matter = is_of_kruise || !meta.has_controller();
        let revision = if may_matter { Revision::read(&object).map(Arc::new) } else { None };
        let sidecars = if may_matter { sidecarset::Stored::read(&object).map(Arc::new) } else { None };
        Ok(Self { meta, revision, sidecars })
    }
}

/// Any version of the group counts (SM-10a).
fn has_kruise_group(api_version: &str) -> bool {
    api_version.split_once('/').is_some_and(|(group, _)| group == APPS_GROUP)
}

impl Slim for Known {
    type Shared = ();
    const RESOURCE: Resource = REVISIONS;

    identified_by!(meta);

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        for owner in &self.meta.owner_references {
            put(Index::Owner, &owner.uid);
        }
        if !self.meta.has_controller() {
            put(ORPHAN, &self.meta.namespace);
        }
        if let Some(sidecars) = &self.sidecars {
            put(sidecarset::REVISIONS_OF, &sidecars.set);
        }
    }
}
