//! Pull secrets: those that users name, read live, and their copies in the namespace that node agents may read (PJ-12, PJ-13).

use std::collections::BTreeMap;
use std::sync::Arc;

use kruise_api::annotations::{
    LAST_APPLIED, PULL_SECRET_MODE, PULL_SECRET_REFERENCES, PULL_SECRET_SOURCE_KEY,
};
use kruise_api::{Resource, resource::SECRETS};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::cluster::meta::{Meta, identified_by};
use crate::ids::{ResourceVersion, Uid};
use crate::lookup::{Index, Slim};
use crate::nodeimage::SecretRef;
use crate::object::{Key, ObjectRef};

/// Copies by `namespace/name` of their source.
pub const SOURCE: Index = Index::Other("source");
/// Copies by `namespace/name` of each job that uses them.
pub const REFERENCE: Index = Index::Other("reference");

const BATCH: &str = "batch";
const NAME_MAX: usize = 253;
/// A dash and six hexadecimal digits.
const SUFFIX: usize = 7;

/// A secret in the namespace of copies. What is in it is not kept, only what tells whether it changed.
#[derive(Debug)]
pub struct SecretCopy {
    meta: Meta,
    /// Of its source; empty if it is not a copy.
    pub source: Arc<str>,
    /// Jobs that use it, sorted.
    pub references: Vec<String>,
    is_batch: bool,
    pub digest: u64,
}

/// A secret that a job names, as it is now.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Source {
    metadata: SourceMeta,
    r#type: Option<String>,
    data: Option<BTreeMap<String, Value>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct SourceMeta {
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
}

impl Source {
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub fn digest(&self) -> u64 {
        digest(self.data.as_ref())
    }

    pub fn data(&self) -> Value {
        json!(self.data.clone().unwrap_or_default())
    }

    /// A copy for one job.
    pub fn copy(&self, object: &ObjectRef, source: &str, job: &str) -> Value {
        let mut annotations = self.metadata.annotations.clone().unwrap_or_default();
        annotations.remove(LAST_APPLIED); // Holds the whole object once more.
        annotations.insert(PULL_SECRET_SOURCE_KEY.to_owned(), source.to_owned());
        annotations.insert(PULL_SECRET_REFERENCES.to_owned(), job.to_owned());
        annotations.insert(PULL_SECRET_MODE.to_owned(), BATCH.to_owned());
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": self.r#type, "data": self.data(),
            "metadata": {
                "name": object.name(), "namespace": object.namespace(), "annotations": annotations,
                "labels": self.metadata.labels.clone().unwrap_or_default(),
            },
        })
    }
}

/// FNV-1a: the same in every process. Nobody gains by forging it: who can write the secret need not.
fn digest(data: Option<&BTreeMap<String, Value>>) -> u64 {
    let text = json!(data.cloned().unwrap_or_default()).to_string();
    fnv(text.as_bytes())
}

fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The names that the copy of a source may have, in the order in which they are tried: another source may have the first one.
pub fn names(source: &Key) -> impl Iterator<Item = Arc<str>> + '_ {
    let kept: String = source.name.chars().take(NAME_MAX - SUFFIX).collect();
    (0_u32..).map(move |salt| {
        let hash = fnv(format!("{source}#{salt}").as_bytes()) & 0xff_ffff;
        format!("{}-{hash:06x}", kept.trim_end_matches(['-', '.'])).into()
    })
}

impl SecretCopy {
    pub fn object(&self) -> ObjectRef {
        ObjectRef { resource: SECRETS, key: self.meta.key() }
    }

    pub fn identity(&self) -> (Uid, ResourceVersion) {
        (Uid::new(self.meta.uid.as_str()), ResourceVersion::new(self.meta.resource_version.as_str()))
    }

    pub fn is_used_by(&self, job: &str) -> bool {
        self.references.iter().any(|one| one == job)
    }

    /// As images name it.
    pub fn reference(&self) -> SecretRef {
        let Key { namespace, name } = self.meta.key();
        SecretRef { namespace, name, is_batch: self.is_batch }
    }
}

impl<'de> Deserialize<'de> for SecretCopy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Stored {
            metadata: StoredMeta,
            data: Option<BTreeMap<String, Value>>,
        }
        #[derive(Deserialize)]
        struct StoredMeta {
            #[serde(flatten)]
            meta: Meta,
            annotations: Option<BTreeMap<String, String>>,
        }
        let Stored { metadata, data } = Stored::deserialize(deserializer)?;
        let annotations = metadata.annotations.unwrap_or_default();
        let text = |key: &str| annotations.get(key).map(String::as_str).unwrap_or_default();
        let references = text(PULL_SECRET_REFERENCES).split(',').map(str::trim);
        Ok(Self {
            meta: metadata.meta,
            source: text(PULL_SECRET_SOURCE_KEY).into(),
            references: references.filter(|one| !one.is_empty()).map(str::to_owned).collect(),
            is_batch: text(PULL_SECRET_MODE) == BATCH,
            digest: digest(data.as_ref()),
        })
    }
}

impl Slim for SecretCopy {
    type Shared = ();
    const RESOURCE: Resource = SECRETS;

    identified_by!(meta);

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        if !self.source.is_empty() {
            put(SOURCE, &self.source);
        }
        self.references.iter().for_each(|job| put(REFERENCE, job));
    }
}
