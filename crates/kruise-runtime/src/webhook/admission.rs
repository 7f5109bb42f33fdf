//! AdmissionReview, v1 and v1beta1: what is asked, and the answer in the version of the question.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kruise_core::admission::{
    Answer, Denial, DryRun, GroupVersionKind, GroupVersionResource, Operation, Request, Subresource, User,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::review;

const KIND: &str = "AdmissionReview";
const VERSIONS: [&str; 2] = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"];

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
    #[serde(default)]
    sub_resource: String,
    /// Absent in reviews of API servers before 1.16.
    request_resource: Option<WireResource>,
    operation: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    user_info: WireUser,
    dry_run: Option<bool>,
    #[serde(default)]
    options: Value,
    #[serde(default)]
    object: Value,
    #[serde(default)]
    old_object: Value,
}

#[derive(Deserialize)]
struct WireKind {
    #[serde(default)]
    group: String,
    version: String,
    kind: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireResource {
    group: String,
    version: String,
    resource: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireUser {
    username: String,
    uid: String,
    groups: Vec<String>,
}

impl From<WireResource> for GroupVersionResource {
    fn from(WireResource { group, version, resource }: WireResource) -> Self {
        Self { group, version, plural: resource }
    }
}

impl WireRequest {
    fn read(self) -> Result<(String, Request), String> {
        let operation = Operation::read(&self.operation)
            .ok_or_else(|| format!("{:?} is no operation of an {KIND}", self.operation))?;
        let WireKind { group, version, kind } = self.kind;
        let resource = GroupVersionResource::from(self.resource);
        let WireUser { username, uid, groups } = self.user_info;
        let request = Request {
            operation,
            subresource: Subresource::read(&self.sub_resource),
            kind: GroupVersionKind { group, version, kind },
            requested: self.request_resource.map_or_else(|| resource.clone(), Into::into),
            resource,
            namespace: self.namespace,
            name: self.name,
            user: User { name: username, uid, groups },
            dry_run: if self.dry_run == Some(true) { DryRun::Yes } else { DryRun::No },
            options: self.options,
            object: self.object,
            old: self.old_object,
        };
        Ok((self.uid, request))
    }
}

/// The review that goes back.
pub(super) fn review(answer: &Answer, asker: &Asker) -> Value {
    let mut response = json!({"uid": asker.uid, "allowed": answer.denial.is_none()});
    if let Some(fields) = response.as_object_mut() {
        if let Some(denial) = &answer.denial {
            fields.insert("status".to_owned(), status(denial));
        } else if !answer.patch.is_empty() {
            let patch = STANDARD.encode(serde_json::to_vec(&answer.patch).unwrap_or_default());
            fields.insert("patchType".to_owned(), json!("JSONPatch"));
            fields.insert("patch".to_owned(), json!(patch));
        }
        if !answer.warnings.is_empty() {
            fields.insert("warnings".to_owned(), json!(answer.warnings));
        }
    }
    json!({"apiVersion": asker.api_version, "kind": KIND, "response": response})
}

fn status(denial: &Denial) -> Value {
    let Denial { code, message, causes } = denial;
    let mut status =
        json!({"status": "Failure", "code": code, "reason": denial.reason(), "message": message});
    if let Some(fields) = status.as_object_mut().filter(|_| !causes.is_empty()) {
        let causes: Vec<Value> = causes
            .iter()
            .map(|cause| json!({"reason": cause.reason, "field": cause.field, "message": cause.message}))
            .collect();
        fields.insert("details".to_owned(), json!({"causes": causes}));
    }
    status
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
    let (api_version, wire): (String, WireRequest) = review::read(body, KIND, &VERSIONS)?;
    let (uid, request) = wire.read()?;
    let (resource, operation) = (request.resource.plural.clone(), request.operation.text());
    Ok((Asker { api_version, uid, resource, operation }, request))
}

#[cfg(test)]
mod tests {
    use kruise_core::admission::Cause;
    use kruise_core::chain::Op;

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

            let review = review(&Answer::patched(vec![Op::add("/b", 1)]), &asker);

            assert_eq!(review["apiVersion"], version);
            assert_eq!(review["response"]["uid"], "u1");
            let text = STANDARD.decode(review["response"]["patch"].as_str().unwrap()).unwrap();
            let patch = json!([{"op": "add", "path": "/b", "value": 1}]);
            assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), patch);
        }
    }

    /// PUB-26, PUB-33: who asks, whether it is only tried and what was sent to which endpoint.
    #[test]
    fn question_is_read_to_the_end() {
        let gvr = |version: &str| json!({"group": "", "version": version, "resource": "pods"});
        let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web-1"}});
        let options = json!({"kind": "CreateOptions", "dryRun": ["All"]});
        let review = json!({
            "apiVersion": VERSIONS[0], "kind": "AdmissionReview",
            "request": {
                "uid": "u1", "operation": "CREATE", "namespace": "shop", "name": "web-1", "dryRun": true,
                "kind": {"group": "policy", "version": "v1", "kind": "Eviction"}, "subResource": "eviction",
                "resource": gvr("v1"), "requestResource": gvr("v2"), "options": options, "object": eviction, "oldObject": null,
                "userInfo": {"username": "drainer", "uid": "u2", "groups": ["system:nodes"], "extra": {"a": ["b"]}},
            },
        });

        let (_, read) = read(review.to_string().as_bytes()).unwrap();

        let pods = |version: &str| GroupVersionResource {
            group: String::new(),
            version: version.into(),
            plural: "pods".into(),
        };
        let user = User { name: "drainer".into(), uid: "u2".into(), groups: vec!["system:nodes".into()] };
        let wanted = Request { options, requested: pods("v2"), ..Request::create(eviction) };
        assert_eq!(
            read,
            Request { resource: pods("v1"), ..wanted }
                .to(Subresource::Eviction)
                .at("shop", "web-1")
                .by(user)
                .tried()
        );
    }

    #[test]
    fn denial_names_the_fields() {
        let cause = Cause { reason: "FieldValueInvalid", field: "spec.x".into(), message: "no".into() };
        let denial = Denial { causes: vec![cause], ..Denial::new(422, "spec.x: no") };

        let response = review(&denial.into(), &Asker::unknown())["response"].clone();

        assert_eq!((&response["allowed"], &response["status"]["reason"]), (&json!(false), &json!("Invalid")));
        assert_eq!(response["status"]["details"]["causes"][0]["field"], "spec.x");
    }

    #[test]
    fn what_is_no_review_is_said_so() {
        assert!(read(b"{").unwrap_err().contains("no AdmissionReview"));
        assert!(read(&body("admission.k8s.io/v2")).unwrap_err().contains("admission.k8s.io/v1beta1"));
        assert!(read(br#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}"#).is_err());
        let odd = String::from_utf8(body(VERSIONS[0])).unwrap().replace("UPDATE", "STEAL");
        assert!(read(odd.as_bytes()).unwrap_err().contains("no operation"));
    }
}
