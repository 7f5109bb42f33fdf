//! A stored revision and the data of one that would be stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::annotations;
use serde_json::{Value, json};

use super::canonical::{Unreadable, canonical};
use super::{gojson, hash};
use crate::ids::{ResourceVersion, RevisionName, Uid};
use crate::time;

/// Workload names are cut to this length in a revision name, so that the whole stays a valid object name (SM-4).
const NAME_BYTES_MAX: usize = 223;

/// A template in the form in which revisions hold it.
#[derive(Debug, Clone, PartialEq)]
pub struct Data {
    /// Canonical, without the patch directive.
    pub template: Arc<Value>,
    text: String,
}

/// A ControllerRevision, reduced to what planners read.
#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    pub name: RevisionName,
    pub uid: Uid,
    pub version: ResourceVersion,
    pub number: i64,
    pub created: Option<Timestamp>,
    pub labels: BTreeMap<String, String>,
    /// Hash of the volume claim templates it was created with; absent on old ones (SM-13).
    pub claim_hash: Option<String>,
    /// The pod template in canonical form, without the patch directive; as stored where it cannot be decoded.
    pub template: Arc<Value>,
}

impl Data {
    /// Fails where the original could not decode the template either.
    pub fn of(template: &Value) -> Result<Self, Unreadable> {
        let template = canonical("PodTemplateSpec", template)?;
        let mut directed = template.clone();
        if let Some(object) = directed.as_object_mut() {
            object.insert("$patch".to_owned(), Value::from("replace"));
        }
        let text = gojson::sorted(&json!({"spec": {"template": directed}}));
        Ok(Self { template: Arc::new(template), text })
    }

    /// The exact bytes to store.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The name under which a workload stores this (SM-3, SM-4).
    pub fn name(&self, workload: &str, collisions: i32) -> RevisionName {
        let mut end = workload.len().min(NAME_BYTES_MAX);
        while !workload.is_char_boundary(end) {
            end -= 1;
        }
        let cut = workload.get(..end).unwrap_or(workload);
        RevisionName::new(format!("{cut}-{}", hash::of_data(&self.text, collisions)))
    }
}

impl Revision {
    /// Reads a ControllerRevision; `None` if it is not one of a pod template.
    pub fn read(object: &Value) -> Option<Self> {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str);
        let mut template = object.pointer("/data/spec/template")?.clone();
        template.as_object_mut()?.shift_remove("$patch");
        Some(Self {
            name: RevisionName::new(text("/metadata/name")?),
            uid: Uid::new(text("/metadata/uid").unwrap_or_default()),
            version: ResourceVersion::new(text("/metadata/resourceVersion").unwrap_or_default()),
            number: object.get("revision").and_then(Value::as_i64).unwrap_or(0),
            created: text("/metadata/creationTimestamp").and_then(time::read),
            labels: crate::pod::string_map(object.pointer("/metadata/labels")),
            claim_hash: object
                .pointer("/metadata/annotations")
                .and_then(|all| all.get(annotations::CLONESET_CLAIM_TEMPLATE_HASH))
                .and_then(Value::as_str)
                .map(str::to_owned),
            template: Arc::new(canonical("PodTemplateSpec", &template).unwrap_or(template)),
        })
    }
}
