//! Namespace and name: what a queue deduplicates by and a cache looks up by.

use std::fmt;
use std::sync::Arc;

/// Identifies one object of one resource type. The namespace is empty for cluster-wide objects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl Key {
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
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
