//! A NodeImage as caches hold it: what jobs and the planner read of it. There is one per node, so what many have in common is kept once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::apps::nodeimage::{NodeImage as Wire, phase};
use kruise_api::labels::FAKE_NODEIMAGE;
use kruise_api::names::APPS_GROUP;
use kruise_api::{Kind, Resource};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::pool::Pool;
use crate::cluster::meta::{Meta, identified_by};
use crate::ids::{ResourceVersion, Uid};
use crate::lookup::{Index, Slim};
use crate::object::{Key, ObjectRef};

/// By the uid of each job that wants one of its tags.
pub const JOB: Index = Index::Other("job");

const BATCH: &str = "batch";

#[derive(Debug, Deserialize)]
pub struct NodeImage {
    metadata: NodeImageMeta,
    #[serde(default)]
    spec: Spec,
    status: Option<Status>,
}

#[derive(Debug, Deserialize)]
struct NodeImageMeta {
    #[serde(flatten)]
    meta: Meta,
    labels: Option<BTreeMap<Arc<str>, Arc<str>>>,
}

#[derive(Debug, Default, Deserialize)]
struct Spec {
    images: Option<BTreeMap<Arc<str>, Image>>,
}

/// What is pulled from one repository.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Image {
    pub pull_secrets: Option<Vec<SecretRef>>,
    pub sandbox_config: Option<Arc<Value>>,
    #[serde(deserialize_with = "list")]
    pub tags: Vec<Tag>,
}

/// A secret with credentials.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SecretRef {
    #[serde(default)]
    pub namespace: Arc<str>,
    #[serde(default)]
    pub name: Arc<str>,
    #[serde(default, rename = "mode", deserialize_with = "is_batch")]
    pub is_batch: bool,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tag {
    pub tag: Arc<str>,
    pub version: Option<i64>,
    pub created_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "list")]
    pub owner_references: Vec<TagOwner>,
    #[serde(default)]
    pub pull_policy: Limits,
}

/// What ends a tag.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    pub active_deadline_seconds: Option<i64>,
    pub ttl_seconds_after_finished: Option<i64>,
}

/// Who wants a tag.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TagOwner {
    pub api_version: Arc<str>,
    pub kind: Arc<str>,
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    pub uid: Arc<str>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    image_statuses: Option<BTreeMap<Arc<str>, ImageStatus>>,
    desired: i64,
    pulling: i64,
    succeeded: i64,
    failed: i64,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct ImageStatus {
    #[serde(deserialize_with = "list")]
    tags: Vec<TagStatus>,
}

/// What the agent says about a tag.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TagStatus {
    pub tag: Arc<str>,
    #[serde(default)]
    pub version: i64,
    #[serde(default)]
    pub phase: Phase,
    pub completion_time: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Phase {
    /// Also what is not known here.
    #[default]
    Waiting,
    Pulling,
    Succeeded,
    Failed,
}

/// Counts of tags as the status has them: desired, pulling, succeeded, failed.
pub type Counts = [i64; 4];

impl NodeImage {
    pub fn name(&self) -> &Arc<str> {
        &self.metadata.meta.name
    }

    pub fn object(&self) -> ObjectRef {
        ObjectRef { resource: Self::RESOURCE, key: self.metadata.meta.key() }
    }

    pub fn identity(&self) -> (Uid, ResourceVersion) {
        (Uid::new(self.uid()), ResourceVersion::new(self.resource_version()))
    }

    pub fn is_deleted(&self) -> bool {
        self.metadata.meta.deletion_timestamp.is_some()
    }

    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata.labels.as_ref()?.get(key).map(AsRef::as_ref)
    }

    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.metadata.labels.iter().flatten().map(|(key, value)| (&**key, &**value))
    }

    pub fn has_labels(&self, labels: &BTreeMap<String, String>) -> bool {
        self.labels().eq(labels.iter().map(|(key, value)| (key.as_str(), value.as_str())))
    }

    pub fn has_same_labels_as(&self, other: &Self) -> bool {
        self.metadata.labels == other.metadata.labels
    }

    /// One that tests keep without a node.
    pub fn is_fake(&self) -> bool {
        self.label(FAKE_NODEIMAGE).is_some()
    }

    /// Whether the field is there at all.
    pub fn has_images(&self) -> bool {
        self.spec.images.is_some()
    }

    pub fn images(&self) -> impl Iterator<Item = (&Arc<str>, &Image)> {
        self.spec.images.iter().flatten()
    }

    pub fn image(&self, name: &str) -> Option<&Image> {
        self.spec.images.as_ref()?.get(name)
    }

    pub fn tag(&self, name: &str, tag: &str) -> Option<&Tag> {
        self.image(name)?.tags.iter().find(|one| *one.tag == *tag)
    }

    pub fn has_status(&self) -> bool {
        self.status.is_some()
    }

    /// What the agent has said about images; `None` if the field is not there at all.
    fn reports(&self) -> Option<&BTreeMap<Arc<str>, ImageStatus>> {
        self.status.as_ref()?.image_statuses.as_ref()
    }

    pub fn has_statuses(&self) -> bool {
        self.reports().is_some()
    }

    pub fn statuses(&self) -> impl Iterator<Item = (&Arc<str>, &[TagStatus])> {
        self.reports().into_iter().flatten().map(|(name, one)| (name, one.tags.as_slice()))
    }

    pub fn statuses_of(&self, name: &str) -> Option<&[TagStatus]> {
        Some(self.reports()?.get(name)?.tags.as_slice())
    }

    /// Whatever version it is about.
    pub fn last_said(&self, name: &str, tag: &str) -> Option<&TagStatus> {
        self.statuses_of(name)?.iter().find(|one| *one.tag == *tag)
    }

    /// About this version of the tag.
    pub fn said(&self, name: &str, tag: &Tag) -> Option<&TagStatus> {
        self.last_said(name, &tag.tag).filter(|one| one.version == tag.number())
    }

    pub fn counts(&self) -> Counts {
        let count = |of: fn(&Status) -> i64| self.status.as_ref().map_or(0, of);
        [
            count(|one| one.desired),
            count(|one| one.pulling),
            count(|one| one.succeeded),
            count(|one| one.failed),
        ]
    }

    /// Repositories whose entry or report differs between two versions; `None` in the second place where more than single tags differ.
    pub fn differences<'a>(&'a self, other: &'a Self) -> BTreeSet<(&'a str, Option<&'a str>)> {
        let mut all = BTreeSet::new();
        let names = self.images().chain(other.images()).map(|(name, _)| name);
        let said = self.statuses().chain(other.statuses()).map(|(name, _)| name);
        let names: BTreeSet<&Arc<str>> = names.chain(said).collect();
        for name in names {
            let (old, new) = (self.image(name), other.image(name));
            let (old_said, new_said) = (self.statuses_of(name), other.statuses_of(name));
            if old == new && old_said == new_said {
                continue;
            }
            let parts =
                |image: Option<&'a Image>| image.map(|image| (&image.pull_secrets, &image.sandbox_config));
            if parts(old) != parts(new) {
                all.insert((&**name, None));
                continue;
            }
            let tags = old.into_iter().chain(new).flat_map(|image| &image.tags).map(|one| &one.tag);
            let reported = old_said.into_iter().chain(new_said).flatten().map(|one| &one.tag);
            for tag in tags.chain(reported) {
                let is_same = self.tag(name, tag) == other.tag(name, tag)
                    && self.last_said(name, tag) == other.last_said(name, tag);
                if !is_same {
                    all.insert((&**name, Some(&**tag)));
                }
            }
        }
        all
    }
}

impl Image {
    pub fn has_secret(&self, wanted: &SecretRef) -> bool {
        let is_it = |one: &SecretRef| one.namespace == wanted.namespace && one.name == wanted.name;
        self.pull_secrets.iter().flatten().any(is_it)
    }
}

impl Tag {
    /// Its version; absent is 0.
    pub fn number(&self) -> i64 {
        self.version.unwrap_or(0)
    }

    pub fn has_owner(&self, uid: &str) -> bool {
        self.owner_references.iter().any(|one| *one.uid == *uid)
    }
}

impl TagOwner {
    /// Whether it is an ImagePullJob, of whatever version.
    pub fn is_job(&self) -> bool {
        let group = self.api_version.split_once('/').map_or("", |(group, _)| group);
        group == APPS_GROUP && *self.kind == *kruise_api::apps::imagepulljob::ImagePullJob::RESOURCE.kind()
    }

    pub fn key(&self) -> Key {
        Key { namespace: Arc::clone(&self.namespace), name: Arc::clone(&self.name) }
    }
}

impl Phase {
    pub fn is_over(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

impl<'de> Deserialize<'de> for Phase {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match String::deserialize(deserializer)?.as_str() {
            phase::PULLING => Self::Pulling,
            phase::SUCCEEDED => Self::Succeeded,
            phase::FAILED => Self::Failed,
            _ => Self::Waiting,
        })
    }
}

/// Null is an empty list.
fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn is_batch<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.is_some_and(|mode| mode == BATCH))
}

impl SecretRef {
    pub fn wire(&self) -> Value {
        let mut all = serde_json::json!({"namespace": self.namespace, "name": self.name});
        if let (true, Some(fields)) = (self.is_batch, all.as_object_mut()) {
            fields.insert("mode".to_owned(), BATCH.into());
        }
        all
    }
}

impl Slim for NodeImage {
    type Shared = Pool;
    const RESOURCE: Resource = Wire::RESOURCE;

    identified_by!(metadata.meta);

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        let tags = self.images().flat_map(|(_, image)| &image.tags);
        let uids: BTreeSet<&Arc<str>> =
            tags.flat_map(|tag| &tag.owner_references).map(|owner| &owner.uid).collect();
        for uid in uids {
            put(JOB, uid);
        }
    }

    fn share(&mut self, pool: &mut Pool) {
        pool.sweep();
        // Keys of a map cannot be replaced in place.
        let labels = self.metadata.labels.take().into_iter().flatten();
        let mut shared = BTreeMap::new();
        for (mut key, mut value) in labels {
            pool.text(&mut key);
            pool.text(&mut value);
            shared.insert(key, value);
        }
        self.metadata.labels = Some(shared);
        for image in self.spec.images.iter_mut().flat_map(BTreeMap::values_mut) {
            if let Some(one) = &mut image.sandbox_config {
                pool.configuration(one);
            }
            for secret in image.pull_secrets.iter_mut().flatten() {
                pool.text(&mut secret.namespace);
                pool.text(&mut secret.name);
            }
            for tag in &mut image.tags {
                pool.text(&mut tag.tag);
                for owner in &mut tag.owner_references {
                    let TagOwner { api_version, kind, namespace, name, uid } = owner;
                    for text in [api_version, kind, namespace, name, uid] {
                        pool.text(text);
                    }
                }
            }
        }
        let reports = self.status.iter_mut().flat_map(|status| &mut status.image_statuses);
        for image in reports.flat_map(BTreeMap::values_mut) {
            image.tags.iter_mut().for_each(|one| pool.text(&mut one.tag));
        }
    }
}
