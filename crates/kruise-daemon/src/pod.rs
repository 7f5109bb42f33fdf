//! What the agent reads of a pod of its node (CM-1 … CM-9), and nothing else: everything below is kept in memory per pod.

use std::collections::BTreeMap;

use kruise_api::kubernetes::status;
use kruise_api::{annotations, conditions, env, names::APPS_GROUP};
use serde::{Deserialize, Deserializer};

use crate::api::{Key, Meta, Watched};

/// A pod, slim.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Pod {
    pub metadata: PodMeta,
    pub spec: PodSpec,
    pub status: PodStatus,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodMeta {
    #[serde(flatten)]
    pub meta: Meta,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub owner_references: Vec<Owner>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Owner {
    pub api_version: String,
    pub controller: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodSpec {
    pub containers: Vec<Container>,
    pub init_containers: Vec<Container>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Container {
    pub name: String,
    pub image: String,
    /// Only variables that come from labels and annotations (EH-1).
    #[serde(deserialize_with = "from_metadata")]
    pub env: Vec<Variable>,
}

/// An environment variable that comes from the pod's metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub source: Source,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Label(String),
    Annotation(String),
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodStatus {
    pub container_statuses: Vec<ContainerStatus>,
    pub conditions: Vec<Condition>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStatus {
    pub name: String,
    #[serde(rename = "containerID")]
    pub container_id: String,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Condition {
    pub r#type: String,
    pub status: String,
}

impl Watched for Pod {
    fn key(&self) -> Key {
        (self.metadata.meta.namespace.clone(), self.metadata.meta.name.clone())
    }

    fn version(&self) -> &str {
        &self.metadata.meta.resource_version
    }

    /// Of annotations and labels only those are kept that a container's environment or a decision reads.
    fn trimmed(mut self) -> Self {
        let mut wanted: Vec<&Source> = Vec::new();
        for container in self.spec.containers.iter().chain(&self.spec.init_containers) {
            wanted.extend(container.env.iter().map(|one| &one.source));
        }
        let is_read =
            |key: &str| [annotations::SIDECARSET_HASH, annotations::RUNTIME_CONTAINERS_META].contains(&key);
        self.metadata.annotations.retain(|key, _| {
            is_read(key) || wanted.iter().any(|one| matches!(one, Source::Annotation(other) if other == key))
        });
        self.metadata
            .labels
            .retain(|key, _| wanted.iter().any(|one| matches!(one, Source::Label(other) if other == key)));
        self
    }
}

impl Pod {
    /// CM-1: of a Kruise workload, or with injected sidecars.
    pub fn is_of_interest(&self) -> bool {
        let of_kruise = |owner: &Owner| {
            owner.controller
                && owner.api_version.split_once('/').is_some_and(|(group, _)| group == APPS_GROUP)
        };
        self.metadata.owner_references.iter().any(of_kruise)
            || self.metadata.annotations.contains_key(annotations::SIDECARSET_HASH)
    }

    pub fn is_deleting(&self) -> bool {
        self.metadata.meta.deletion_timestamp.is_some()
    }

    /// CM-9: an in-place update is under way, so a container may be stopped for it.
    pub fn is_being_updated(&self) -> bool {
        let condition = |one: &&Condition| one.r#type == conditions::IN_PLACE_UPDATE_READY;
        self.status.conditions.iter().find(condition).is_some_and(|one| one.status == status::FALSE)
    }

    /// An app container or an init container.
    pub fn container(&self, name: &str) -> Option<&Container> {
        self.spec.containers.iter().chain(&self.spec.init_containers).find(|one| one.name == name)
    }

    /// EH-2: what the variable should be now.
    pub fn value_of(&self, source: &Source) -> &str {
        let value = match source {
            Source::Label(key) => self.metadata.labels.get(key),
            Source::Annotation(key) => self.metadata.annotations.get(key),
        };
        value.map_or("", String::as_str)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireVariable {
    name: String,
    #[serde(default)]
    value: String,
    value_from: Option<WireSource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSource {
    field_ref: Option<WireField>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireField {
    #[serde(default)]
    field_path: String,
}

fn from_metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Variable>, D::Error> {
    let all = Option::<Vec<WireVariable>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(all.into_iter().filter_map(relevant).collect())
}

/// EH-1.
fn relevant(variable: WireVariable) -> Option<Variable> {
    let is_excluded =
        [env::SIDECARSET_VERSION, env::SIDECARSET_VERSION_ALT].contains(&variable.name.as_str());
    if is_excluded || !variable.value.is_empty() {
        return None;
    }
    let path = variable.value_from?.field_ref?.field_path;
    let (field, key) = path.strip_suffix("']")?.split_once("['")?;
    let source = match field {
        "metadata.labels" => Source::Label(key.to_owned()),
        "metadata.annotations" => Source::Annotation(key.to_owned()),
        _ => return None,
    };
    Some(Variable { name: variable.name, source })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(value: serde_json::Value) -> Pod {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn eh_1_only_variables_from_labels_and_annotations_count() {
        let field =
            |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}});
        let pod = pod(json!({"spec": {"containers": [{"name": "main", "env": [
            field("A", "metadata.annotations['a']"),
            field("L", "metadata.labels['x/y']"),
            field("N", "metadata.name"),
            field("SIDECARSET_VERSION", "metadata.annotations['v']"),
            field("SIDECARSET_VERSION_ALT", "metadata.annotations['v']"),
            field("odd", "metadata.labels['x'"),
            field("none", "['x']"),
            {"name": "plain", "value": "v"},
            {"name": "secret", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        ]}]}}));
        let names: Vec<_> = pod.spec.containers[0].env.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["A", "L"]);
        assert_eq!(pod.spec.containers[0].env[1].source, Source::Label("x/y".to_owned()));
    }

    #[test]
    fn cm_1_kruise_owner_or_injected_sidecars() {
        let owner = |version: &str, controller: bool| json!({"metadata": {"ownerReferences": [{"apiVersion": version, "controller": controller}]}});
        for (value, expected) in [
            (owner("apps.kruise.io/v1alpha1", true), true),
            (owner("apps.kruise.io/v1beta1", true), true),
            (owner("apps.kruise.io/v1beta1", false), false),
            (owner("apps/v1", true), false),
            (json!({"metadata": {"annotations": {"kruise.io/sidecarset-hash": "{}"}}}), true),
            (json!({"metadata": {}}), false),
        ] {
            assert_eq!(pod(value.clone()).is_of_interest(), expected, "{value}");
        }
    }
}
