//! AdmissionReview, v1 and v1beta1: what is asked, and the answer in the version of the question.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kruise_core::chain::Op;
use serde::Deserialize;
use serde_json::{Value, json};

use super::review;

const KIND: &str = "AdmissionReview";
const VERSIONS: [&str; 2] = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"];

/// What is to be done with the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

/// One question of the API server.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub operation: Operation,
    /// Version in which the objects are written, `v1beta1`.
    pub version: String,
    pub kind: String,
    pub namespace: String,
    /// Empty where the API server will generate one.
    pub name: String,
    /// Null on deletion.
    pub object: Value,
    /// What is stored; null on creation.
    pub old: Value,
}

/// What a handler says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// Absent: the request may pass.
    pub denial: Option<Denial>,
    /// JSON patch operations; empty for none.
    pub patch: Vec<Op>,
    /// Shown to the user by kubectl; the API server cuts each at 256 characters.
    pub warnings: Vec<String>,
}

/// Why a request may not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    pub code: u16,
    pub message: String,
    /// One for each field, for programs.
    pub causes: Vec<Cause>,
}

/// One field that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The Kubernetes name, `FieldValueInvalid`.
    pub reason: &'static str,
    pub field: String,
    pub message: String,
}

/// Who has to be answered, and in which version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asker {
    api_version: String,
    uid: String,
    /// Plural, for the counts.
    pub resource: String,
    pub operation: &'static str,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireRequest {
    uid: String,
    kind: WireKind,
    #[serde(default)]
    resource: WireResource,
    operation: Operation,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    object: Value,
    #[serde(default)]
    old_object: Value,
}

#[derive(Deserialize)]
struct WireKind {
    version: String,
    kind: String,
}

#[derive(Deserialize, Default)]
struct WireResource {
    #[serde(default)]
    resource: String,
}

impl Operation {
    fn text(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

impl Answer {
    pub fn allowed() -> Self {
        Self::default()
    }

    pub fn patched(patch: Vec<Op>) -> Self {
        Self { patch, ..Self::default() }
    }

    pub fn denied(code: u16, message: impl Into<String>) -> Self {
        Self { denial: Some(Denial { code, message: message.into(), causes: Vec::new() }), ..Self::default() }
    }

    /// The code for the count of answers.
    pub(super) fn code(&self) -> u16 {
        self.denial.as_ref().map_or(200, |denial| denial.code)
    }

    /// The review that goes back.
    pub(super) fn review(self, asker: &Asker) -> Value {
        let mut response = json!({"uid": asker.uid, "allowed": self.denial.is_none()});
        let Some(fields) = response.as_object_mut() else { return response };
        if let Some(denial) = &self.denial {
            fields.insert("status".to_owned(), denial.status());
        } else if !self.patch.is_empty() {
            fields.insert("patchType".to_owned(), json!("JSONPatch"));
            fields.insert(
                "patch".to_owned(),
                json!(STANDARD.encode(serde_json::to_vec(&self.patch).unwrap_or_default())),
            );
        }
        if !self.warnings.is_empty() {
            fields.insert("warnings".to_owned(), json!(self.warnings));
        }
        json!({"apiVersion": asker.api_version, "kind": KIND, "response": response})
    }
}

impl Denial {
    fn status(&self) -> Value {
        let reason = match self.code {
            400 => "BadRequest",
            403 => "Forbidden",
            413 => "RequestEntityTooLarge",
            422 => "Invalid",
            _ => "InternalError",
        };
        let mut status =
            json!({"status": "Failure", "code": self.code, "reason": reason, "message": self.message});
        if let Some(fields) = status.as_object_mut().filter(|_| !self.causes.is_empty()) {
            let causes: Vec<Value> = self
                .causes
                .iter()
                .map(|cause| json!({"reason": cause.reason, "field": cause.field, "message": cause.message}))
                .collect();
            fields.insert("details".to_owned(), json!({"causes": causes}));
        }
        status
    }
}

impl Asker {
    /// Somebody whose question could not be read.
    pub(super) fn unknown() -> Self {
        Self {
            api_version: "admission.k8s.io/v1".to_owned(),
            uid: String::new(),
            resource: String::new(),
            operation: "",
        }
    }
}

/// Reads the body of a review.
pub(super) fn read(body: &[u8]) -> Result<(Asker, Request), String> {
    let (api_version, request): (String, WireRequest) = review::read(body, KIND, &VERSIONS)?;
    let asker = Asker {
        api_version,
        uid: request.uid,
        resource: request.resource.resource,
        operation: request.operation.text(),
    };
    let request = Request {
        operation: request.operation,
        version: request.kind.version,
        kind: request.kind.kind,
        namespace: request.namespace,
        name: request.name,
        object: request.object,
        old: request.old_object,
    };
    Ok((asker, request))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(api_version: &str) -> Vec<u8> {
        let review = json!({
            "apiVersion": api_version, "kind": "AdmissionReview",
            "request": {
                "uid": "u1", "operation": "UPDATE", "namespace": "ns", "name": "x",
                "kind": {"group": "g", "version": "v1", "kind": "Thing"},
                "object": {"a": 1}, "oldObject": {"a": 2},
            },
        });
        review.to_string().into_bytes()
    }

    #[test]
    fn question_is_answered_in_its_own_version_and_uid() {
        for version in VERSIONS {
            let (asker, request) = read(&body(version)).unwrap();
            assert_eq!((request.operation, request.old), (Operation::Update, json!({"a": 2})));

            let review = Answer::patched(vec![Op::add("/b", 1)]).review(&asker);

            assert_eq!(review["apiVersion"], version);
            assert_eq!(review["response"]["uid"], "u1");
            let text = STANDARD.decode(review["response"]["patch"].as_str().unwrap()).unwrap();
            let patch = json!([{"op": "add", "path": "/b", "value": 1}]);
            assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), patch);
        }
    }

    #[test]
    fn denial_names_the_fields() {
        let cause = Cause { reason: "FieldValueInvalid", field: "spec.x".into(), message: "no".into() };
        let denial = Denial { code: 422, message: "spec.x: no".into(), causes: vec![cause] };
        let answer = Answer { denial: Some(denial), ..Answer::default() };

        let response = answer.review(&Asker::unknown())["response"].clone();

        assert_eq!((&response["allowed"], &response["status"]["reason"]), (&json!(false), &json!("Invalid")));
        assert_eq!(response["status"]["details"]["causes"][0]["field"], "spec.x");
    }

    #[test]
    fn what_is_no_review_is_said_so() {
        assert!(read(b"{").unwrap_err().contains("no AdmissionReview"));
        assert!(read(&body("admission.k8s.io/v2")).unwrap_err().contains("admission.k8s.io/v1beta1"));
        assert!(read(br#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}"#).is_err());
    }
}
