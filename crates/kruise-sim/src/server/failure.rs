//! Refusals, as the API server words them for programs: code, reason, details with causes.

use serde_json::{Map, Value, json};

use super::resources::Kind;

/// A `Status` in the making.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    pub code: u16,
    pub reason: &'static str,
    pub message: String,
    pub details: Map<String, Value>,
}

/// One field that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause {
    pub reason: &'static str,
    pub field: String,
    pub message: String,
}

impl Cause {
    pub fn new(reason: &'static str, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason, field: field.into(), message: message.into() }
    }
}

impl Failure {
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: Map::new() }
    }

    /// About one object: who names it by resource, as most answers do.
    fn about(mut self, kind: &Kind, name: &str) -> Self {
        if !name.is_empty() {
            self.details.insert("name".into(), name.into());
        }
        if !kind.resource.group().is_empty() {
            self.details.insert("group".into(), kind.resource.group().into());
        }
        self.details.insert("kind".into(), kind.resource.plural().into());
        self
    }

    pub fn not_found(kind: &Kind, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} \"{name}\" not found", kind.resource.qualified()))
            .about(kind, name)
    }

    pub fn exists(kind: &Kind, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", kind.resource.qualified());
        Self::new(409, "AlreadyExists", message).about(kind, name)
    }

    pub fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let message =
            format!("Operation cannot be fulfilled on {} \"{name}\": {why}", kind.resource.qualified());
        Self::new(409, "Conflict", message).about(kind, name)
    }

    /// A precondition of a deletion does not hold; the answer names the kind instead of the resource.
    pub fn precondition(kind: &Kind, name: &str, why: &str) -> Self {
        Self::conflict(kind, name, why).named(kind.resource.kind())
    }

    /// Says otherwise what it is about.
    #[must_use]
    pub fn named(mut self, kind: &str) -> Self {
        self.details.insert("kind".into(), kind.into());
        self
    }

    /// The options of a list or watch do not fit together.
    pub fn bad_options(cause: &Cause) -> Self {
        let message = format!("ListOptions.meta.k8s.io \"\" is invalid: {}", cause.message);
        let mut failure = Self::new(422, "Invalid", message).named("ListOptions");
        failure.details.insert("group".into(), "meta.k8s.io".into());
        let cause = json!({"reason": cause.reason, "message": cause.message, "field": cause.field});
        failure.details.insert("causes".into(), vec![cause].into());
        failure
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// The whole server does not know the path; it says so without a `Status`.
    pub fn no_such_path() -> Self {
        Self::new(404, "", "404 page not found\n")
    }

    pub fn forbidden(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("{} \"{name}\" is forbidden: {why}", kind.resource.qualified());
        Self::new(403, "Forbidden", message).about(kind, name)
    }

    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// A patch that cannot be carried out: like an invalid object, but it names no field.
    pub fn bad_patch(message: impl Into<String>) -> Self {
        Self::new(422, "Invalid", message)
    }

    pub fn invalid(kind: &Kind, name: &str, causes: Vec<Cause>) -> Self {
        let texts: Vec<String> =
            causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let message = format!("{} \"{name}\" is invalid: {}", kind.singular(), texts.join(", "));
        let mut failure = Self::new(422, "Invalid", message).about(kind, name).named(kind.resource.kind());
        let causes: Vec<Value> = causes
            .into_iter()
            .map(|cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field}))
            .collect();
        failure.details.insert("causes".into(), causes.into());
        failure
    }

    pub fn busy(seconds: u64) -> Self {
        let mut failure = Self::new(429, "TooManyRequests", "too many requests, please try again later");
        failure.details.insert("retryAfterSeconds".into(), seconds.into());
        failure
    }

    /// The server has not come to this version; it waits for a while and says so then.
    pub fn too_large(asked: u64, newest: u64) -> Self {
        let mut failure =
            Self::new(504, "Timeout", format!("Too large resource version: {asked}, current: {newest}"));
        let cause = json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
        failure.details.insert("causes".into(), vec![cause].into());
        failure.details.insert("retryAfterSeconds".into(), 1.into());
        failure
    }

    /// History before this version is gone.
    pub fn expired(asked: u64, oldest: u64) -> Self {
        Self::new(410, "Expired", format!("too old resource version: {asked} ({oldest})"))
    }

    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason,
        });
        if let Some(status) = status.as_object_mut() {
            if !self.details.is_empty() {
                status.insert("details".into(), Value::Object(self.details.clone()));
            }
            status.insert("code".into(), self.code.into());
        }
        status
    }
}
