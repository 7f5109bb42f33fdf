//! The kinds that are served: those of Kubernetes that managers use, and those of Kruise with their structural schemas. What a type is
//! called and where it is served is described once, by [`Resource`].

use std::sync::LazyLock;

use kruise_api::resource::{
    CLAIMS, CONFIG_MAPS, Description, Detail, EVENTS, JOBS, LEASES, NAMESPACES, NATIVE_STATEFULSETS, NODES,
    POD_TEMPLATES, PODS, REVISIONS, SECRETS, STORAGE_CLASSES,
};
use kruise_api::{Resource, Scope};
use serde_json::Value;

use super::schema::Schema;

/// How objects of one type are served.
#[derive(Debug)]
pub struct Kind {
    pub id: KindId,
    pub resource: Resource,
    pub rules: Rules,
    /// Whether `metadata.generation` counts changes of the spec.
    pub generation: Generation,
    pub status: StatusPart,
}

/// Position in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId(pub usize);

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
    /// `CloneSet.apps.kruise.io`.
    pub fn singular(&self) -> String {
        let (kind, group) = (self.resource.kind(), self.resource.group());
        if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") }
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
    let is_it = |one: Resource| one.plural() == plural && one.group() == group && one.version() == version;
    all().iter().find(|kind| is_it(kind.resource))
}

/// The kind that a description is about.
pub fn of(resource: Resource) -> Option<&'static Kind> {
    all().iter().find(|kind| kind.resource == resource)
}

/// By group and kind, as owner references name it.
pub fn of_kind(group: &str, name: &str) -> Option<&'static Kind> {
    all().iter().find(|kind| kind.resource.kind() == name && kind.resource.group() == group)
}

pub fn get(id: KindId) -> Option<&'static Kind> {
    all().get(id.0)
}

fn table() -> Vec<Kind> {
    use Generation::Counted;
    use StatusPart::Separate;
    let mut kinds = vec![
        Kind { rules: Rules::Pod, generation: Counted, status: Separate, ..builtin(PODS) },
        Kind { rules: Rules::Claim, status: Separate, ..builtin(CLAIMS) },
        builtin(EVENTS),
        Kind { status: Separate, ..builtin(NODES) },
        Kind { status: Separate, ..builtin(NAMESPACES) },
        builtin(CONFIG_MAPS),
        builtin(SECRETS),
        Kind { generation: Counted, ..builtin(POD_TEMPLATES) },
        Kind { rules: Rules::Revision, ..builtin(REVISIONS) },
        Kind { generation: Counted, status: Separate, ..builtin(NATIVE_STATEFULSETS) },
        builtin(LEASES),
        builtin(STORAGE_CLASSES),
        Kind { generation: Counted, status: Separate, ..builtin(JOBS) },
    ];
    kinds.extend(kruise_api::crd::all_crds().iter().filter_map(custom));
    for (position, kind) in kinds.iter_mut().enumerate() {
        kind.id = KindId(position);
    }
    kinds
}

fn builtin(resource: Resource) -> Kind {
    Kind {
        id: KindId(0),
        resource,
        rules: Rules::Plain,
        generation: Generation::Absent,
        status: StatusPart::Together,
    }
}

/// What a CRD says about one of its versions. Kept for ever, as the constants of other types are: the table is built once.
fn described(manifest: &Value, version: &Value) -> Option<Resource> {
    let text = |from: &Value, pointer: &str| -> Option<&'static str> {
        Some(Box::leak(from.pointer(pointer)?.as_str()?.to_owned().into_boxed_str()))
    };
    let scope = match text(manifest, "/spec/scope")? {
        "Namespaced" => Scope::Namespaced,
        _ => Scope::Cluster,
    };
    Some(Resource::described(Box::leak(Box::new(Description {
        plural: text(manifest, "/spec/names/plural")?,
        group: text(manifest, "/spec/group")?,
        version: text(version, "/name")?,
        kind: text(manifest, "/spec/names/kind")?,
        scope,
        detail: Detail::Whole,
    }))))
}

/// A Kruise kind at its storage version; older versions would need conversion and are not served.
fn custom(manifest: &Value) -> Option<Kind> {
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
    Some(Kind {
        id: KindId(0),
        resource: described(manifest, stored)?,
        rules: Rules::Custom(Box::new(Custom { schema, scale })),
        generation: Generation::Counted,
        status: if has_status { StatusPart::Separate } else { StatusPart::Together },
    })
}

/// `.spec.replicas` as a JSON pointer.
fn pointer(path: &str) -> String {
    path.replace('.', "/")
}
