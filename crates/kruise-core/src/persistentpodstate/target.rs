//! What an object points to, and which kinds it may point to (PP-3, PP-30).

use kruise_api::{Kind, Resource, apps::statefulset::StatefulSet, names::APPS_GROUP};
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
pub struct Supported(Vec<CustomKind>);

/// A kind that the administrator lists. The version is the one to read its objects in; it says nothing about which kind it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CustomKind {
    pub group: String,
    pub version: String,
    pub kind: String,
}

impl CustomKind {
    pub fn is_of(&self, target: &Target) -> bool {
        self.group == target.group && self.kind == target.kind
    }

    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

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

impl Target {
    pub fn is_of(&self, resource: Resource) -> bool {
        resource.group() == self.group && resource.kind() == self.kind
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
        let kind = |one: &Value| CustomKind {
            group: word(one, "group"),
            version: word(one, "version"),
            kind: word(one, "kind"),
        };
        Ok(Self(workloads.map(kind).filter(|one| !is_statefulset(&one.group, &one.kind)).collect()))
    }

    pub fn of(kinds: impl IntoIterator<Item = CustomKind>) -> Self {
        Self(kinds.into_iter().collect())
    }

    /// Those that are listed, without the two that are always supported.
    pub fn custom(&self) -> impl Iterator<Item = &CustomKind> {
        self.0.iter()
    }

    pub fn has(&self, target: &Target) -> bool {
        is_statefulset(&target.group, &target.kind) || self.0.iter().any(|kind| kind.is_of(target))
    }
}

fn is_statefulset(group: &str, kind: &str) -> bool {
    kind == StatefulSet::RESOURCE.kind() && [NATIVE_GROUP, APPS_GROUP].contains(&group)
}

fn member<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.as_object()?.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}
