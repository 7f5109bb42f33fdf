//! What the API server asks before it stores, changes or removes an object. Pure data: the runtime reads the wire into it, the
//! simulated API server and tests build it with [`Request::create`], [`Request::update`] and [`Request::delete`].

use serde_json::Value;

/// One question of the API server.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub operation: Operation,
    pub subresource: Subresource,
    /// Of the objects as they are written here.
    pub kind: GroupVersionKind,
    /// Of the objects as they are written here.
    pub resource: GroupVersionResource,
    /// What the user addressed: another version of the resource if the API server converted the objects for us.
    pub requested: GroupVersionResource,
    /// Empty for an object of the cluster.
    pub namespace: String,
    /// Empty where the API server will generate one.
    pub name: String,
    pub user: User,
    pub dry_run: DryRun,
    /// CreateOptions, UpdateOptions or DeleteOptions; null if there are none.
    pub options: Value,
    /// Null on deletion. Of a subresource, what was sent to it: an Eviction, not the pod.
    pub object: Value,
    /// What is stored; null on creation.
    pub old: Value,
}

/// What is to be done with the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

/// Which part of the object is addressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subresource {
    /// The object itself.
    Whole,
    Status,
    Scale,
    Eviction,
    Resize,
    EphemeralContainers,
    Binding,
    /// One that nothing here tells apart: exec, proxy and the like.
    Other,
}

/// Whether the request is only tried: then nothing may be written or spent for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DryRun {
    Yes,
    No,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupVersionKind {
    /// Empty for the core group.
    pub group: String,
    pub version: String,
    pub kind: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupVersionResource {
    /// Empty for the core group.
    pub group: String,
    pub version: String,
    pub plural: String,
}

/// Who asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub uid: String,
    pub groups: Vec<String>,
}

impl Request {
    /// A new object. Kind, resource, namespace and name are those that it states; a resource with an odd plural is set by
    /// [`Request::of`].
    pub fn create(object: Value) -> Self {
        Self::about(Operation::Create, object, Value::Null)
    }

    /// A change of a stored object.
    pub fn update(old: Value, object: Value) -> Self {
        Self::about(Operation::Update, object, old)
    }

    /// The end of a stored object.
    pub fn delete(old: Value) -> Self {
        Self::about(Operation::Delete, Value::Null, old)
    }

    #[must_use]
    pub fn of(self, resource: GroupVersionResource) -> Self {
        Self { requested: resource.clone(), resource, ..self }
    }

    #[must_use]
    pub fn to(self, subresource: Subresource) -> Self {
        Self { subresource, ..self }
    }

    #[must_use]
    pub fn at(self, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into(), ..self }
    }

    #[must_use]
    pub fn by(self, user: User) -> Self {
        Self { user, ..self }
    }

    #[must_use]
    pub fn tried(self) -> Self {
        Self { dry_run: DryRun::Yes, ..self }
    }

    fn about(operation: Operation, object: Value, old: Value) -> Self {
        let stated = if object.is_null() { &old } else { &object };
        let text = |at: &str| stated.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (api_version, word) = (text("/apiVersion"), text("/kind"));
        let (group, version) = match api_version.split_once('/') {
            Some((group, version)) => (group.to_owned(), version.to_owned()),
            None => (String::new(), api_version),
        };
        let plural = format!("{}s", word.to_lowercase());
        let resource = GroupVersionResource { group: group.clone(), version: version.clone(), plural };
        Self {
            operation,
            subresource: Subresource::Whole,
            kind: GroupVersionKind { group, version, kind: word },
            requested: resource.clone(),
            resource,
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
            user: User::default(),
            dry_run: DryRun::No,
            options: Value::Null,
            object,
            old,
        }
    }
}

impl Operation {
    pub const ALL: [Self; 4] = [Self::Create, Self::Update, Self::Delete, Self::Connect];

    /// The word on the wire.
    pub fn text(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }

    pub fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.text() == word)
    }
}

impl Subresource {
    const NAMED: [Self; 6] =
        [Self::Status, Self::Scale, Self::Eviction, Self::Resize, Self::EphemeralContainers, Self::Binding];

    /// The word on the wire; empty for the object itself.
    pub fn text(self) -> &'static str {
        match self {
            Self::Whole => "",
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Eviction => "eviction",
            Self::Resize => "resize",
            Self::EphemeralContainers => "ephemeralcontainers",
            Self::Binding => "binding",
            Self::Other => "*",
        }
    }

    pub fn read(word: &str) -> Self {
        if word.is_empty() {
            return Self::Whole;
        }
        Self::NAMED.into_iter().find(|one| one.text() == word).unwrap_or(Self::Other)
    }

    /// `pods`, or `pods/eviction`, as rules of a webhook configuration name it.
    pub fn of(self, plural: &str) -> String {
        match self.text() {
            "" => plural.to_owned(),
            word => format!("{plural}/{word}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn request_is_about_what_the_object_states() {
        let object = json!({
            "apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "metadata": {"name": "web", "namespace": "shop"},
        });
        for request in [
            Request::create(object.clone()),
            Request::update(object.clone(), object.clone()),
            Request::delete(object.clone()),
        ] {
            let GroupVersionResource { group, version, plural } = &request.resource;
            assert_eq!([group, version, plural], ["apps.kruise.io", "v1beta1", "clonesets"]);
            assert_eq!((request.kind.kind.as_str(), request.namespace.as_str()), ("CloneSet", "shop"));
            assert_eq!((request.name.as_str(), request.dry_run), ("web", DryRun::No));
            assert_eq!(request.object.is_null(), request.operation == Operation::Delete);
            assert_eq!(request.old.is_null(), request.operation == Operation::Create);
        }
        let pod = Request::create(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}}));
        assert_eq!((pod.resource.group.as_str(), pod.resource.version.as_str()), ("", "v1"));
    }

    #[test]
    fn words_of_the_wire_are_read_back() {
        for operation in Operation::ALL {
            assert_eq!(Operation::read(operation.text()), Some(operation));
        }
        assert_eq!(Operation::read("create"), None);
        for one in Subresource::NAMED {
            assert_eq!(Subresource::read(one.text()), one);
        }
        assert_eq!(
            (Subresource::read(""), Subresource::read("exec")),
            (Subresource::Whole, Subresource::Other)
        );
        assert_eq!(Subresource::Eviction.of("pods"), "pods/eviction");
        assert_eq!(Subresource::Whole.of("pods"), "pods");
    }
}
