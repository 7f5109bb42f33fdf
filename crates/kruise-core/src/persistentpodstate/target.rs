//! What an object points to, and which kinds it may point to (PP-3, PP-30).

use kruise_api::{Kind, apps::statefulset::StatefulSet, names::APPS_GROUP};
use serde_json::Value;

/// A workload, by group, kind and name: its version says nothing about which one it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    pub group: String,
    pub kind: String,
    pub name: String,
}

/// The kinds whose pods are remembered: both StatefulSets always, others as the administrator lists them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Supported(Vec<(String, String)>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the list of workload kinds cannot be read: {0}")]
pub struct NotAWhitelist(String);

/// Group of Kubernetes' own workloads.
pub const NATIVE_GROUP: &str = "apps";

impl NotAWhitelist {
    /// The list could not even be asked for.
    pub fn unread(error: &impl ToString) -> Self {
        Self(error.to_string())
    }
}

impl Target {
    /// Out of a reference; `apps/v1` and `apps/v1beta1` are one.
    pub fn new(api_version: &str, kind: &str, name: &str) -> Self {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        Self { group: group.to_owned(), kind: kind.to_owned(), name: name.to_owned() }
    }

    /// Out of a `targetRef` or an owner reference.
    pub fn read(reference: &Value) -> Self {
        let text = |key: &str| reference.get(key).and_then(Value::as_str).unwrap_or_default();
        Self::new(text("apiVersion"), text("kind"), text("name"))
    }
}

impl Supported {
    /// Out of the configuration; no text is an empty list. Keys may be spelled in any case, as the original's library allows.
    pub fn read(text: Option<&str>) -> Result<Self, NotAWhitelist> {
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Ok(Self::default()) };
        let value: Value = serde_json::from_str(text).map_err(|error| NotAWhitelist(error.to_string()))?;
        if !value.is_object() {
            return Err(NotAWhitelist("write {\"workloads\":[{\"Group\":…,\"Kind\":…}]}".to_owned()));
        }
        let workloads = member(&value, "workloads").and_then(Value::as_array).into_iter().flatten();
        let word =
            |one: &Value, key: &str| member(one, key).and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Self(workloads.map(|one| (word(one, "group"), word(one, "kind"))).collect()))
    }

    pub fn has(&self, target: &Target) -> bool {
        let is_statefulset =
            target.kind == StatefulSet::KIND && [NATIVE_GROUP, APPS_GROUP].contains(&target.group.as_str());
        is_statefulset || self.0.iter().any(|(group, kind)| *group == target.group && *kind == target.kind)
    }
}

fn member<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.as_object()?.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}
