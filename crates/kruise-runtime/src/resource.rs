//! Resource types and where the API server serves them.

/// One resource type at one version, `apps.kruise.io/v1beta1 clonesets`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    /// Empty for the core group.
    pub group: &'static str,
    pub version: &'static str,
    pub plural: &'static str,
    pub kind: &'static str,
    pub scope: Scope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    Namespaced,
    Cluster,
}

impl Resource {
    pub const fn core(plural: &'static str, kind: &'static str, scope: Scope) -> Self {
        Self { group: "", version: "v1", plural, kind, scope }
    }

    pub const fn namespaced(
        group: &'static str,
        version: &'static str,
        plural: &'static str,
        kind: &'static str,
    ) -> Self {
        Self { group, version, plural, kind, scope: Scope::Namespaced }
    }

    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// All objects, of one namespace if it is not empty.
    pub fn collection(&self, namespace: &str) -> String {
        let root = if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        };
        if namespace.is_empty() {
            format!("{root}/{}", self.plural)
        } else {
            format!("{root}/namespaces/{namespace}/{}", self.plural)
        }
    }

    pub fn object(&self, namespace: &str, name: &str) -> String {
        format!("{}/{name}", self.collection(namespace))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_core_group_and_of_others() {
        let pods = Resource::core("pods", "Pod", Scope::Namespaced);
        let clonesets = Resource::namespaced("apps.kruise.io", "v1beta1", "clonesets", "CloneSet");

        assert_eq!(pods.object("default", "a"), "/api/v1/namespaces/default/pods/a");
        assert_eq!(pods.collection(""), "/api/v1/pods");
        assert_eq!(clonesets.object("n", "web"), "/apis/apps.kruise.io/v1beta1/namespaces/n/clonesets/web");
        assert_eq!(clonesets.api_version(), "apps.kruise.io/v1beta1");
    }
}
