//! How caches hold pods and what they are found by.

use std::sync::Arc;

use kruise_api::labels;
use kruise_api::{Resource, resource::PODS};

use super::{PodView, SharedParts};
use crate::lookup::{Index, Slim};
use crate::object::Key;
use crate::sidecarset::list_of;
use crate::statefulset::Ordinal;

/// Pods without an owner, by the StatefulSet that their name speaks of; see [`orphan_of`].
pub const ORPHAN: Index = Index::Other("orphan");

/// By namespace, for kinds that select pods by labels and do not own them. Costs one key per pod (two shared texts, 32 bytes and its
/// place in a tree); a reader pays for all pods of one namespace, not of the cluster.
pub const NAMESPACE: Index = Index::Other("namespace");

/// Pods without a controller, by namespace: few, and a workload that selects by labels alone may adopt them (DS-9).
pub const LOOSE: Index = Index::Other("loose");
/// By each label, for kinds that select pods in many namespaces: a reader pays for the pods with one label, not for those of the
/// cluster. Costs one key per pod and label.
pub const LABEL: Index = Index::Other("label");

/// By the node that they are bound to, for what is done per node. Costs one key per pod, of texts that are shared.
pub const NODE: Index = Index::Other("node");

/// By the SidecarSets that they have.
pub const INJECTED: Index = Index::Other("injected");

/// Labels that tell single pods or revisions apart. No selector that is worth an index names them.
pub const OF_ONE_POD_OR_REVISION: [&str; 8] = [
    labels::REVISION,
    labels::CLONESET_INSTANCE_ID,
    labels::LIFECYCLE_STATE,
    labels::POD_TEMPLATE_HASH,
    labels::POD_TEMPLATE_GENERATION,
    labels::STATEFULSET_POD_NAME,
    labels::POD_INDEX,
    labels::BROADCASTJOB_CONTROLLER_UID,
];

/// Under which entry pods with this label are found.
pub fn labelled(key: &str, value: &str) -> String {
    format!("{key}={value}")
}

/// Under which entry an orphan is found that has the name of a pod of this StatefulSet (AS-4).
pub fn orphan_of(namespace: &str, set: &str) -> String {
    format!("{namespace}/{set}")
}

impl Slim for PodView {
    type Shared = SharedParts;
    const RESOURCE: Resource = PODS;

    fn key(&self) -> Key {
        Key::new(Arc::clone(&self.namespace), self.name.shared())
    }

    fn uid(&self) -> &str {
        self.uid.as_str()
    }

    fn resource_version(&self) -> &str {
        self.version.as_str()
    }

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        put(NAMESPACE, &self.namespace);
        for (key, value) in self.labels.iter().filter(|(key, _)| !OF_ONE_POD_OR_REVISION.contains(key)) {
            put(LABEL, &labelled(key, value));
        }
        if let Some(node) = &self.node {
            put(NODE, node);
        }
        for set in list_of(&self.annotations) {
            put(INJECTED, set);
        }
        for owner in self.owners.iter() {
            put(Index::Owner, owner.uid.as_str());
        }
        if self.controller().is_none() {
            put(LOOSE, &self.namespace);
        }
        if let (None, Some((set, _))) = (self.controller(), Ordinal::split(self.name.as_str())) {
            put(ORPHAN, &orphan_of(&self.namespace, set));
        }
    }

    fn share(&mut self, shared: &mut SharedParts) {
        shared.share(self);
    }
}
