//! One write, one HTTP request. Of the answer only version and uid are read.

use std::time::Duration;

use http::{Method, Request, header};
use kruise_core::chain::{Act, Allowance, Answer, Part, Patch, Write};
use kruise_core::ids::Uid;
use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ApplyError;
use super::error::{NoAnswer, Sent};
use crate::ObjectRef;
use crate::cache::Version;
use crate::client::Patience;
use crate::clock::Clock;

/// A write that has not been answered after this long may or may not have happened, but will not happen any more: API servers end
/// every request after a minute. Whoever gave up sooner could take a second pod out of service before the first write lands.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(65);

/// Our own deadline comes first: only it knows what a write without an answer means.
const PATIENCE: Duration = ANSWER_WITHIN.saturating_add(Duration::from_secs(5));

/// How often an allowance is asked for while others spend from the same one.
const PAYMENTS: u32 = 4;

/// Time for the others to get their turn.
const BETWEEN_PAYMENTS: Duration = Duration::from_millis(100);

/// Makes the requests of one controller.
#[derive(Clone)]
pub struct Caller {
    client: Client,
    /// `kruise-manager/<controller>`: by it the server's logs tell controllers apart.
    user_agent: String,
    clock: Clock,
}

/// What a write left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    At(Version),
    /// Deleted and gone.
    Removed {
        uid: String,
    },
    /// It was gone before.
    Nothing,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Object {
    metadata: Meta,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Meta {
    resource_version: String,
    uid: String,
    deletion_timestamp: Option<String>,
}

impl Caller {
    pub fn new(client: Client, user_agent: impl Into<String>, clock: Clock) -> Self {
        Self { client, user_agent: user_agent.into(), clock }
    }

    /// Carries out one write of a plan.
    pub async fn write(&self, write: &Write) -> Result<Written, ApplyError> {
        let (object, path) = (&write.object, write.object.path() + write.part.suffix());
        match &write.act {
            Act::Create(body) => {
                let path = match write.part {
                    Part::Object => object.resource.collection(object.namespace()),
                    Part::Status
                    | Part::Resize
                    | Part::EphemeralContainers
                    | Part::Scale
                    | Part::Eviction => path,
                };
                let call = Call { method: Method::POST, path, content: JSON, body: body.to_string() };
                self.versioned(object, call).await
            }
            Act::Patch(patch) => self.versioned(object, patch_call(path, patch)).await,
            Act::Delete { uid, version } => {
                let mut preconditions = json!({"uid": uid.as_str()});
                if let (Some(version), Some(map)) = (version, preconditions.as_object_mut()) {
                    map.insert("resourceVersion".to_owned(), version.as_str().into());
                }
                self.delete(object, path, uid.as_str(), preconditions).await
            }
        }
    }

    /// Reads the counting object, lets it answer, and pays; again from the start when somebody else paid meanwhile (PUB-32).
    pub async fn spend(&self, allowance: &Allowance) -> Result<(), ApplyError> {
        let object = &allowance.from;
        for _ in 0..PAYMENTS {
            let live = self.read(object).await?;
            let ops = match allowance.question.answer(live.as_deref(), self.clock.now()) {
                Answer::Allowed => return Ok(()),
                Answer::Denied(message) => return Err(ApplyError::Denied { message }),
                Answer::Spend(ops) => ops,
            };
            let path = object.path() + Part::Status.suffix();
            match self.versioned(object, patch_call(path, &Patch::Json(ops))).await {
                // Who is asked is read live each time: no cache has to see this write.
                Ok(_) => return Ok(()),
                Err(ApplyError::Conflict { .. }) => tokio::time::sleep(BETWEEN_PAYMENTS).await,
                Err(error) => return Err(error),
            }
        }
        let message = format!("{object} changed {PAYMENTS} times while its allowance was being spent");
        Err(ApplyError::Denied { message })
    }

    /// A live read: the object as JSON, or that there is none.
    pub async fn read(&self, object: &ObjectRef) -> Result<Option<String>, ApplyError> {
        let call = Call { method: Method::GET, path: object.path(), content: JSON, body: String::new() };
        match self.send(object, call).await {
            Ok(text) => Ok(Some(text)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(ApplyError::of(object, &error)),
        }
    }

    async fn delete(
        &self,
        object: &ObjectRef,
        path: String,
        uid: &str,
        preconditions: Value,
    ) -> Result<Written, ApplyError> {
        // Dependents go in the background, as they do when a user deletes something.
        let body = json!({"preconditions": preconditions, "propagationPolicy": "Background"}).to_string();
        match self.send(object, Call { method: Method::DELETE, path, content: JSON, body }).await {
            // A pod that ends gracefully is answered with its new version, what is gone at once with a status.
            Ok(text) => match version_of(&text) {
                Version(0) => Ok(Written::Removed { uid: uid.to_owned() }),
                version => Ok(Written::At(version)),
            },
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Written::Nothing),
            Err(error) => Err(ApplyError::of_write(object, Sent::Deletion, &error)),
        }
    }

    async fn versioned(&self, object: &ObjectRef, call: Call) -> Result<Written, ApplyError> {
        let sent = if call.method == Method::PATCH { Sent::Patch } else { Sent::Creation };
        let answer = self.send(object, call).await;
        let answer = answer.map(|text| Written::At(version_of(&text)));
        answer.map_err(|error| ApplyError::of_write(object, sent, &error))
    }

    async fn send(&self, object: &ObjectRef, call: Call) -> Result<String, kube::Error> {
        let mut request = Request::builder()
            .method(&call.method)
            .uri(&call.path)
            .header(header::CONTENT_TYPE, call.content)
            .header(header::ACCEPT, if call.method == Method::GET { JSON } else { METADATA_ONLY })
            .header(header::USER_AGENT, &self.user_agent)
            .body(call.body.into_bytes())
            .map_err(kube::Error::HttpError)?;
        request.extensions_mut().insert(Patience(PATIENCE));
        let answer = tokio::time::timeout(ANSWER_WITHIN, self.client.request_text(request)).await;
        let none = || NoAnswer { object: object.clone(), waited: ANSWER_WITHIN };
        answer.unwrap_or_else(|_| Err(kube::Error::Service(Box::new(none()))))
    }
}

const JSON: &str = "application/json";

/// Answers to writes without spec and status: less to encode for the server, less to read for us.
const METADATA_ONLY: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/// One HTTP request.
struct Call {
    method: Method,
    path: String,
    content: &'static str,
    body: String,
}

fn patch_call(path: String, patch: &Patch) -> Call {
    let (content, body) = match patch {
        Patch::Json(ops) => ("application/json-patch+json", json!(ops).to_string()),
        Patch::Strategic(body) => ("application/strategic-merge-patch+json", body.to_string()),
        Patch::Merge(body) => ("application/merge-patch+json", body.to_string()),
    };
    Call { method: Method::PATCH, path, content, body }
}

/// The version that an object's JSON carries; 0 for a status.
pub fn version_of(text: &str) -> Version {
    let object: Object = serde_json::from_str(text).unwrap_or_default();
    Version::read(&object.metadata.resource_version)
}

/// Whether an object's JSON is of that uid and nobody has asked for its deletion.
pub fn is_alive(text: &str, uid: &Uid) -> bool {
    let object: Object = serde_json::from_str(text).unwrap_or_default();
    object.metadata.uid == uid.as_str() && object.metadata.deletion_timestamp.is_none()
}
