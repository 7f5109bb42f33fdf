//! The kinds that are served: those of Kubernetes that we use, and ours with their structural schemas.

use std::sync::LazyLock;

use serde_json::Value;

use super::schema::Schema;

/// One kind at the version it is stored in.
#[derive(Debug)]
pub struct Kind {
    pub id: KindId,
    pub group: String,
    pub version: String,
    pub plural: String,
    pub kind: String,
    pub scope: Scope,
    pub rules: Rules,
    /// Whether `metadata.generation` counts changes of the spec.
    pub generation: Generation,
    pub status: StatusPart,
}

/// Position in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId(pub usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Namespaced,
    Cluster,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    Counted,
    Absent,
}

/// Whether status has an endpoint of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusPart {
    Separate,
    Together,
}

/// What is special about writing an object.
#[derive(Debug)]
pub enum Rules {
    Pod,
    Claim,
    Revision,
    Plain,
    /// One of ours.
    Custom(Box<Custom>),
}

#[derive(Debug)]
pub struct Custom {
    pub schema: Schema,
    /// Paths of the scale endpoint, if there is one: wanted replicas, counted replicas, selector.
    pub scale: Option<[String; 3]>,
}

impl Kind {
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// `clonesets.apps.kruise.io`; for the core group only the plural.
    pub fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// `CloneSet.apps.kruise.io`.
    pub fn singular(&self) -> String {
        if self.group.is_empty() { self.kind.clone() } else { format!("{}.{}", self.kind, self.group) }
    }

    pub fn is_custom(&self) -> bool {
        matches!(self.rules, Rules::Custom(_))
    }

    pub fn custom(&self) -> Option<&Custom> {
        match &self.rules {
            Rules::Custom(custom) => Some(custom),
            Rules::Pod | Rules::Claim | Rules::Revision | Rules::Plain => None,
        }
    }
}

/// All kinds. Built once: reading the schemas takes longer than many simulated rollouts.
pub fn all() -> &'static [Kind] {
    static ALL: LazyLock<Vec<Kind>> = LazyLock::new(table);
    &ALL
}

pub fn find(group: &str, version: &str, plural: &str) -> Option<&'static Kind> {
    all().iter().find(|kind| kind.plural == plural && kind.group == group && kind.version == version)
}

/// By group and kind, as owner references name it.
pub fn of_kind(group: &str, name: &str) -> Option<&'static Kind> {
    all().iter().find(|kind| kind.kind == name && kind.group == group)
}

pub fn get(id: KindId) -> Option<&'static Kind> {
    all().get(id.0)
}

fn table() -> Vec<Kind> {
    use Generation::{Absent, Counted};
    use Scope::{Cluster, Namespaced};
    use StatusPart::{Separate, Together};
    let core = |plural, kind, scope| builtin("", plural, kind, scope);
    let mut kinds = vec![
        Kind { rules: Rules::Pod, generation: Counted, status: Separate, ..core("pods", "Pod", Namespaced) },
        Kind {
            rules: Rules::Claim,
            status: Separate,
            ..core("persistentvolumeclaims", "PersistentVolumeClaim", Namespaced)
        },
        core("events", "Event", Namespaced),
        Kind { status: Separate, ..core("nodes", "Node", Cluster) },
        Kind { status: Separate, ..core("namespaces", "Namespace", Cluster) },
        core("configmaps", "ConfigMap", Namespaced),
        core("secrets", "Secret", Namespaced),
        Kind { generation: Counted, ..core("podtemplates", "PodTemplate", Namespaced) },
        Kind {
            rules: Rules::Revision,
            ..builtin("apps", "controllerrevisions", "ControllerRevision", Namespaced)
        },
        Kind {
            generation: Counted,
            status: Separate,
            ..builtin("apps", "statefulsets", "StatefulSet", Namespaced)
        },
        builtin("coordination.k8s.io", "leases", "Lease", Namespaced),
        Kind {
            generation: Absent,
            status: Together,
            ..builtin("storage.k8s.io", "storageclasses", "StorageClass", Cluster)
        },
    ];
    kinds.extend(kruise_api::crd::all_crds().iter().filter_map(custom));
    for (position, kind) in kinds.iter_mut().enumerate() {
        kind.id = KindId(position);
    }
    kinds
}

fn builtin(group: &str, plural: &str, kind: &str, scope: Scope) -> Kind {
    Kind {
        id: KindId(0),
        group: group.to_owned(),
        version: "v1".to_owned(),
        plural: plural.to_owned(),
        kind: kind.to_owned(),
        scope,
        rules: Rules::Plain,
        generation: Generation::Absent,
        status: StatusPart::Together,
    }
}

/// A kind of ours at its storage version; older versions would need conversion and are not served.
fn custom(manifest: &Value) -> Option<Kind> {
    let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let versions = manifest.pointer("/spec/versions").and_then(Value::as_array)?;
    let stored = versions.iter().find(|one| one.get("storage") == Some(&Value::Bool(true)))?;
    let schema = Schema::read(stored.pointer("/schema/openAPIV3Schema")?);
    let has_status = stored.pointer("/subresources/status").is_some();
    let path = |field: &str| {
        stored.pointer(&format!("/subresources/scale/{field}")).and_then(Value::as_str).map(pointer)
    };
    let scale = match (path("specReplicasPath"), path("statusReplicasPath"), path("labelSelectorPath")) {
        (Some(spec), Some(status), selector) => Some([spec, status, selector.unwrap_or_default()]),
        (_, _, _) => None,
    };
    let scope = match text("/spec/scope")?.as_str() {
        "Namespaced" => Scope::Namespaced,
        _ => Scope::Cluster,
    };
    Some(Kind {
        id: KindId(0),
        group: text("/spec/group")?,
        version: stored.get("name")?.as_str()?.to_owned(),
        plural: text("/spec/names/plural")?,
        kind: text("/spec/names/kind")?,
        scope,
        rules: Rules::Custom(Box::new(Custom { schema, scale })),
        generation: Generation::Counted,
        status: if has_status { StatusPart::Separate } else { StatusPart::Together },
    })
}

/// `.spec.replicas` as a JSON pointer.
fn pointer(path: &str) -> String {
    path.replace('.', "/")
}
