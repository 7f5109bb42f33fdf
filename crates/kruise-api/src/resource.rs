//! Resource types and where the API server serves them. One constant per type, used by every crate.

use std::fmt;
use std::hash::{Hash, Hasher};

/// One resource type at one version, such as `apps.kruise.io/v1beta1 clonesets`. Small enough to be copied into every
/// reference to an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resource(&'static Description);

/// What a resource type is called.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Description {
    pub plural: &'static str,
    /// Empty for the core group.
    pub group: &'static str,
    pub version: &'static str,
    pub kind: &'static str,
    pub scope: Scope,
    pub detail: Detail,
}

/// How much of its objects is watched. The same type in another detail is another resource, with a cache of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Detail {
    Whole,
    /// Only metadata: what the objects contain stays on the server until one is read by name.
    Metadata,
}

/// Whether objects of a type live in namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    Namespaced,
    Cluster,
}

/// Describes a resource type: group, version, plural, kind, scope.
#[macro_export]
macro_rules! resource {
    ($group:expr, $version:expr, $plural:expr, $kind:expr, $scope:ident) => {
        $crate::Resource::described(&$crate::resource::Description {
            plural: $plural,
            group: $group,
            version: $version,
            kind: $kind,
            scope: $crate::Scope::$scope,
            detail: $crate::resource::Detail::Whole,
        })
    };
}

pub const PODS: Resource = resource!("", "v1", "pods", "Pod", Namespaced);
pub const CLAIMS: Resource =
    resource!("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", Namespaced);
pub const CONFIG_MAPS: Resource = resource!("", "v1", "configmaps", "ConfigMap", Namespaced);
pub const SECRETS: Resource = resource!("", "v1", "secrets", "Secret", Namespaced);
/// ConfigMaps of all namespaces, without what they contain.
pub const CONFIG_MAP_METADATA: Resource =
    Resource(&Description { detail: Detail::Metadata, ..*CONFIG_MAPS.0 });
/// Secrets of all namespaces, without what they contain.
pub const SECRET_METADATA: Resource = Resource(&Description { detail: Detail::Metadata, ..*SECRETS.0 });
pub const EVENTS: Resource = resource!("", "v1", "events", "Event", Namespaced);
pub const POD_TEMPLATES: Resource = resource!("", "v1", "podtemplates", "PodTemplate", Namespaced);
pub const NODES: Resource = resource!("", "v1", "nodes", "Node", Cluster);
pub const NAMESPACES: Resource = resource!("", "v1", "namespaces", "Namespace", Cluster);
pub const REVISIONS: Resource =
    resource!("apps", "v1", "controllerrevisions", "ControllerRevision", Namespaced);
pub const JOBS: Resource = resource!("batch", "v1", "jobs", "Job", Namespaced);
/// The StatefulSet of Kubernetes itself.
pub const NATIVE_STATEFULSETS: Resource = resource!("apps", "v1", "statefulsets", "StatefulSet", Namespaced);
pub const LEASES: Resource = resource!("coordination.k8s.io", "v1", "leases", "Lease", Namespaced);
pub const STORAGE_CLASSES: Resource =
    resource!("storage.k8s.io", "v1", "storageclasses", "StorageClass", Cluster);

impl Resource {
    /// See [`resource!`](crate::resource!).
    pub const fn described(description: &'static Description) -> Self {
        Self(description)
    }

    /// Empty for the core group.
    pub const fn group(self) -> &'static str {
        self.0.group
    }

    pub const fn version(self) -> &'static str {
        self.0.version
    }

    pub const fn plural(self) -> &'static str {
        self.0.plural
    }

    pub const fn kind(self) -> &'static str {
        self.0.kind
    }

    pub const fn scope(self) -> Scope {
        self.0.scope
    }

    pub const fn detail(self) -> Detail {
        self.0.detail
    }

    /// As objects and owner references write it.
    pub fn api_version(self) -> String {
        if self.group().is_empty() {
            self.version().to_owned()
        } else {
            format!("{}/{}", self.group(), self.version())
        }
    }

    /// `clonesets.apps.kruise.io`; for the core group only the plural.
    pub fn qualified(self) -> String {
        if self.group().is_empty() {
            self.plural().to_owned()
        } else {
            format!("{}.{}", self.plural(), self.group())
        }
    }

    /// The URL path of all objects, of one namespace if it is not empty.
    pub fn collection(self, namespace: &str) -> String {
        let root = if self.group().is_empty() {
            format!("/api/{}", self.version())
        } else {
            format!("/apis/{}", self.api_version())
        };
        if namespace.is_empty() {
            format!("{root}/{}", self.plural())
        } else {
            format!("{root}/namespaces/{namespace}/{}", self.plural())
        }
    }

    /// The URL path of one object; the namespace is empty for a cluster-scoped one.
    pub fn object(self, namespace: &str, name: &str) -> String {
        format!("{}/{name}", self.collection(namespace))
    }
}

/// Equal descriptions have equal plurals, and few types share one.
impl Hash for Resource {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.plural().hash(state);
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.qualified())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_core_group_and_of_others() {
        let clonesets = resource!("apps.kruise.io", "v1beta1", "clonesets", "CloneSet", Namespaced);

        assert_eq!(PODS.object("default", "a"), "/api/v1/namespaces/default/pods/a");
        assert_eq!(PODS.collection(""), "/api/v1/pods");
        assert_eq!(NODES.object("", "n1"), "/api/v1/nodes/n1");
        assert_eq!(clonesets.object("n", "web"), "/apis/apps.kruise.io/v1beta1/namespaces/n/clonesets/web");
        assert_eq!(clonesets.api_version(), "apps.kruise.io/v1beta1");
        assert_eq!(
            (clonesets.qualified().as_str(), PODS.qualified().as_str()),
            ("clonesets.apps.kruise.io", "pods")
        );
    }

    #[test]
    fn metadata_of_a_type_is_another_resource_at_the_same_place() {
        assert_ne!(SECRETS, SECRET_METADATA);
        assert_eq!(SECRETS.object("n", "a"), SECRET_METADATA.object("n", "a"));
        assert_eq!((SECRETS.detail(), SECRET_METADATA.detail()), (Detail::Whole, Detail::Metadata));
    }

    #[test]
    fn types_of_one_plural_in_two_groups_differ() {
        let advanced = resource!("apps.kruise.io", "v1beta1", "statefulsets", "StatefulSet", Namespaced);
        assert_ne!(advanced, NATIVE_STATEFULSETS);
    }
}
