//! What is noted on pods (3.1): which sets they have, at which hash, what an upgrade changed, and which twin works.

use std::collections::{BTreeMap, BTreeSet};

use kruise_api::annotations::{
    SIDECARSET_HASH, SIDECARSET_HASH_WITHOUT_IMAGE, SIDECARSET_INJECTED_LIST,
    SIDECARSET_INPLACE_UPDATE_STATE, SIDECARSET_WORKING_HOTUPGRADE_CONTAINER,
};
use serde::{Deserialize, Serialize};

use crate::pod::Texts;

/// By SidecarSet.
pub type Noted = BTreeMap<String, Note>;

/// One entry of a hash annotation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Note {
    pub update_timestamp: Option<String>,
    pub hash: String,
    pub sidecar_set_name: String,
    pub sidecar_list: Option<Vec<String>>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub controller_revision: String,
}

/// Either form of an entry.
#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    /// Of the first releases.
    Hash(String),
    Note(Note),
}

/// What an upgrade in place changed, by SidecarSet (SS-80).
pub type States = BTreeMap<String, State>;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct State {
    pub revision: String,
    pub update_timestamp: Option<String>,
    pub last_container_statuses: BTreeMap<String, LastStatus>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LastStatus {
    #[serde(rename = "imageID")]
    pub image_id: String,
}

/// Which twin works, by the name of the sidecar.
pub type Working = BTreeMap<String, String>;

/// Which of the two hash annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    Whole,
    WithoutImage,
}

impl Which {
    pub fn key(self) -> &'static str {
        match self {
            Self::Whole => SIDECARSET_HASH,
            Self::WithoutImage => SIDECARSET_HASH_WITHOUT_IMAGE,
        }
    }
}

/// An annotation that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("annotation {key} is not what Kruise writes there: {problem}")]
pub struct Unreadable {
    key: &'static str,
    problem: String,
}

/// A hash annotation in either form; an entry of the older form was written when the pod was created.
pub fn notes(text: Option<&str>, which: Which, created: Option<&str>) -> Result<Noted, Unreadable> {
    let entries: BTreeMap<String, Entry> = read(text, which.key())?;
    let note = |(name, entry): (String, Entry)| {
        let note = match entry {
            Entry::Note(note) => note,
            Entry::Hash(hash) => Note {
                update_timestamp: created.map(str::to_owned),
                hash,
                sidecar_set_name: name.clone(),
                ..Note::default()
            },
        };
        (name, note)
    };
    Ok(entries.into_iter().map(note).collect())
}

pub fn states(text: Option<&str>) -> Result<States, Unreadable> {
    read(text, SIDECARSET_INPLACE_UPDATE_STATE)
}

pub fn working(text: Option<&str>) -> Result<Working, Unreadable> {
    read(text, SIDECARSET_WORKING_HOTUPGRADE_CONTAINER)
}

/// The sets of the injected-list.
pub fn listed(text: Option<&str>) -> impl Iterator<Item = &str> {
    text.unwrap_or_default().split(',').filter(|name| !name.is_empty())
}

pub fn list_of(annotations: &Texts) -> impl Iterator<Item = &str> {
    listed(annotations.get(SIDECARSET_INJECTED_LIST))
}

pub fn joined(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(",")
}

/// As the original's encoder writes it: keys sorted, fields in order, HTML escaped.
pub fn text<T: Serialize>(record: &T) -> String {
    serde_json::to_value(record).map(|value| crate::revision::gojson::in_order(&value)).unwrap_or_default()
}

fn read<T: Default + for<'de> Deserialize<'de>>(
    text: Option<&str>,
    key: &'static str,
) -> Result<T, Unreadable> {
    match text.filter(|text| !text.is_empty()) {
        None => Ok(T::default()),
        Some(text) => {
            serde_json::from_str(text).map_err(|error| Unreadable { key, problem: error.to_string() })
        }
    }
}
