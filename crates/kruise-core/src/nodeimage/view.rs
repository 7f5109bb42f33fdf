//! What the planner looks at.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::object::{NodeImage, SecretRef, TagOwner};
use crate::cluster::node::Node;
use crate::imagepulljob::{ImagePullJob, SecretCopy};
use crate::lookup::{Lookup, Slim};
use crate::object::{Key, ObjectRef};

/// Everything that one plan depends on.
#[derive(Debug)]
pub struct View {
    pub name: Arc<str>,
    pub node: Existence,
    pub object: Option<Arc<NodeImage>>,
    /// Uids of jobs in its tags that do not exist any more.
    pub gone_jobs: BTreeSet<Arc<str>>,
    /// Pull secrets of its images that do not exist any more.
    pub gone_secrets: BTreeSet<Key>,
    /// Seconds that a node must have been ready before it gets a NodeImage.
    pub delay_seconds: i64,
}

/// The node of that name.
#[derive(Debug, Clone)]
pub enum Existence {
    There(Arc<Node>),
    /// It does not exist or is being deleted.
    Gone,
    /// Not all nodes are known.
    Unknown,
}

impl View {
    /// `secrets` is the namespace that copies of pull secrets are in. `None` where there is neither a node nor a NodeImage.
    pub fn assemble(name: &Arc<str>, secrets: &str, delay_seconds: i64, lookup: Lookup<'_>) -> Option<Self> {
        let key = Key::cluster(Arc::clone(name));
        let (node, object) = (lookup.get::<Node>(&key), lookup.get::<NodeImage>(&key));
        if node.is_none() && object.is_none() {
            return None;
        }
        let node = match node.filter(|node| node.deleted().is_none()) {
            Some(node) => Existence::There(node),
            None if lookup.is_complete::<Node>() => Existence::Gone,
            None => Existence::Unknown,
        };
        let images = || object.iter().flat_map(|one| one.images()).map(|(_, image)| image);
        let owners = images().flat_map(|image| &image.tags).flat_map(|tag| &tag.owner_references);
        let refs = images().flat_map(|image| image.pull_secrets.iter().flatten());
        Some(Self {
            name: Arc::clone(name),
            node,
            gone_jobs: gone_jobs(owners, lookup),
            gone_secrets: gone_secrets(refs, secrets, lookup),
            object: object.clone(),
            delay_seconds,
        })
    }

    pub fn itself(&self) -> ObjectRef {
        ObjectRef::new(NodeImage::RESOURCE, "", Arc::clone(&self.name))
    }
}

/// NI-5. What is not certain is kept: without the gate of jobs, none is known.
fn gone_jobs<'a>(owners: impl Iterator<Item = &'a TagOwner>, lookup: Lookup<'_>) -> BTreeSet<Arc<str>> {
    if !lookup.is_complete::<ImagePullJob>() {
        return BTreeSet::new();
    }
    let exists = |owner: &TagOwner| {
        lookup.get::<ImagePullJob>(&owner.key()).is_some_and(|job| job.head.uid.as_str() == &*owner.uid)
    };
    owners.filter(|owner| owner.is_job() && !exists(owner)).map(|owner| Arc::clone(&owner.uid)).collect()
}

/// Only secrets of that namespace are known.
fn gone_secrets<'a>(
    refs: impl Iterator<Item = &'a SecretRef>,
    namespace: &str,
    lookup: Lookup<'_>,
) -> BTreeSet<Key> {
    if !lookup.is_complete::<SecretCopy>() {
        return BTreeSet::new();
    }
    let keys = refs.filter(|one| *one.namespace == *namespace).map(SecretRef::key);
    keys.filter(|key| lookup.get::<SecretCopy>(key).is_none()).collect()
}

impl SecretRef {
    pub fn key(&self) -> Key {
        Key { namespace: Arc::clone(&self.namespace), name: Arc::clone(&self.name) }
    }
}
