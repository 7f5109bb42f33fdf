//! References to objects of any type in any namespace.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

pub use kruise_api::{Resource, Scope, resource};

/// Namespace and name: what a queue deduplicates by and a cache looks up by. The namespace is empty for cluster-scoped objects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

/// One object, named in full.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectRef {
    pub resource: Resource,
    pub key: Key,
}

/// What a chain or a reason is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Item {
    Object(ObjectRef),
    /// A named part of the spec of the planned object, such as a subset.
    Subset(Arc<str>),
}

impl Key {
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// Of a cluster-scoped object.
    pub fn cluster(name: impl Into<Arc<str>>) -> Self {
        Self::new("", name)
    }
}

impl ObjectRef {
    pub fn new(resource: Resource, namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { resource, key: Key::new(namespace, name) }
    }

    pub fn name(&self) -> &str {
        &self.key.name
    }

    pub fn namespace(&self) -> &str {
        &self.key.namespace
    }

    /// The URL path that the API server serves it at.
    pub fn path(&self) -> String {
        self.resource.object(self.namespace(), self.name())
    }
}

impl Item {
    pub fn name(&self) -> &str {
        match self {
            Self::Object(object) => object.name(),
            Self::Subset(name) => name,
        }
    }
}

/// By name first: of thousands of references in one map most differ there, and people read them in that order.
impl Ord for ObjectRef {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_name = self.key.name.cmp(&other.key.name);
        by_name
            .then_with(|| self.key.namespace.cmp(&other.key.namespace))
            .then_with(|| self.resource.cmp(&other.resource))
    }
}

impl PartialOrd for ObjectRef {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<ObjectRef> for Item {
    fn from(object: ObjectRef) -> Self {
        Self::Object(object)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            return out.write_str(&self.name);
        }
        write!(out, "{}/{}", self.namespace, self.name)
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.resource.kind(), self.key)
    }
}

impl fmt::Display for Item {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::resource::{NODES, PODS};

    use super::*;

    #[test]
    fn objects_of_any_scope_are_named_in_full() {
        let pod = ObjectRef::new(PODS, "shop", "web-1");
        let node = ObjectRef::new(NODES, "", "n1");

        assert_eq!(
            (pod.path(), pod.to_string()),
            ("/api/v1/namespaces/shop/pods/web-1".into(), "Pod shop/web-1".into())
        );
        assert_eq!((node.path(), node.to_string()), ("/api/v1/nodes/n1".into(), "Node n1".into()));
    }

    #[test]
    fn objects_are_sorted_by_name() {
        let mut all = [ObjectRef::new(PODS, "a", "web-2"), ObjectRef::new(PODS, "b", "web-1")];
        all.sort();
        assert_eq!(all.map(|one| one.name().to_owned()), ["web-1", "web-2"]);
    }
}
