//! Writes as data: what the runtime carries out, one chain beside the other, the writes of a chain in order.

use kruise_api::{kubernetes::event_type, reasons};
use serde::Serialize;
use serde_json::Value;

use crate::ids::{PodName, ResourceVersion, Uid};
pub use crate::podunavailablebudget::{Answer, Question};

/// A short sequence of writes that belong together. If one fails, the rest is not made; the next plan starts from
/// whatever is there.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    pub purpose: Purpose,
    /// The pod it is about, if it is about one.
    pub pod: Option<PodName>,
    pub writes: Vec<Write>,
    /// Told to the user when the last write has succeeded.
    pub done: Option<Event>,
    /// Event reason to report a failure with.
    pub failed: Option<&'static str>,
}

/// What a chain is for: decides concurrency (creations start slowly) and which condition a failure belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    Create,
    Delete,
    /// Starts an in-place update, or its next step.
    UpdateInPlace,
    /// Deletes a pod so that it comes back at another revision.
    Recreate,
    /// Readiness conditions and lifecycle states of pods that move by themselves.
    Refresh,
    /// Takes the owner reference off a pod that is no longer selected.
    Release,
    /// Makes a pod or revision without owner ours.
    Adopt,
    Claims,
    /// Asks for a larger volume.
    GrowClaim,
    Revision,
    /// Deletes revisions beyond the limit.
    History,
    PreDownload,
    /// Takes names that are done out of the list of pods to delete.
    TrimSpec,
    /// Makes, changes or deletes an object that annotations of another one ask for.
    Generate,
    /// Lets the next containers of a pod start.
    Launch,
}

/// One API call.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    pub resource: Resource,
    pub name: String,
    pub act: Act,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    Pod,
    Claim,
    Revision,
    ImagePullJob,
    /// PodUnavailableBudget.
    Budget,
    /// The barrier of a pod whose containers start one after the other.
    ConfigMap,
    /// The workload that the plan is for.
    Workload,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// The whole object as JSON; namespace is that of the workload. Text, because a plan may create thousands, and a tree of
    /// small strings is larger and has to be written out in the end anyway.
    Create(Box<str>),
    Patch {
        part: Part,
        patch: Patch,
    },
    Delete {
        uid: Uid,
        /// Set where the decision depends on more than the pod's identity (B17).
        version: Option<ResourceVersion>,
    },
    /// Delete a claim unless a live read finds a pod of that name (B7).
    DeleteUnlessPodExists {
        uid: Uid,
        pod: PodName,
    },
    /// Asks the named budget whether a pod may be disturbed, and pays. A refusal ends this chain only (B10).
    Ask(Question),
}

impl Act {
    /// The object, if this creates one.
    pub fn created(&self) -> Option<Value> {
        match self {
            Self::Create(body) => serde_json::from_str(body).ok(),
            Self::Patch { .. } | Self::Delete { .. } | Self::DeleteUnlessPodExists { .. } | Self::Ask(_) => {
                None
            }
        }
    }
}

/// Which endpoint of an object a patch goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Object,
    Status,
    Resize,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Patch {
    /// Starts with tests on identity or version: a failed test means "plan again", not an error.
    Json(Vec<Op>),
    /// Carries the uid in its metadata, so that a successor of the same name is not touched.
    Strategic(Value),
    Merge(Value),
}

/// One operation of a JSON patch.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Op {
    Test { path: String, value: Value },
    Add { path: String, value: Value },
    Replace { path: String, value: Value },
    Remove { path: String },
}

/// Something to tell the user, on the workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub kind: EventKind,
    pub reason: &'static str,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    Normal,
    Warning,
}

impl EventKind {
    /// The word on the wire.
    pub fn text(self) -> &'static str {
        match self {
            Self::Normal => event_type::NORMAL,
            Self::Warning => event_type::WARNING,
        }
    }
}

impl Event {
    /// What a user is told when planning or carrying out a plan panicked.
    pub fn of_a_defect(message: String) -> Self {
        Self { kind: EventKind::Warning, reason: reasons::event::PLANNER_PANIC, message }
    }
}

impl Chain {
    /// A chain about one pod.
    pub fn pod(purpose: Purpose, pod: &PodName, writes: Vec<Write>) -> Self {
        Self { purpose, pod: Some(pod.clone()), writes, done: None, failed: None }
    }

    /// A chain about something else.
    pub fn other(purpose: Purpose, writes: Vec<Write>) -> Self {
        Self { purpose, pod: None, writes, done: None, failed: None }
    }

    /// Tells the user about success and failure.
    #[must_use]
    pub fn telling(self, reason: &'static str, message: String, failed: &'static str) -> Self {
        Self { done: Some(Event { kind: EventKind::Normal, reason, message }), failed: Some(failed), ..self }
    }
}

impl Write {
    pub fn create(resource: Resource, name: &str, body: &Value) -> Self {
        Self { resource, name: name.to_owned(), act: Act::Create(body.to_string().into_boxed_str()) }
    }

    pub fn patch(resource: Resource, name: &str, part: Part, patch: Patch) -> Self {
        Self { resource, name: name.to_owned(), act: Act::Patch { part, patch } }
    }

    pub fn delete(resource: Resource, name: &str, uid: &Uid) -> Self {
        Self { resource, name: name.to_owned(), act: Act::Delete { uid: uid.clone(), version: None } }
    }
}

impl Op {
    pub fn test(path: &str, value: impl Into<Value>) -> Self {
        Self::Test { path: path.to_owned(), value: value.into() }
    }

    /// Sets a member of an object, there or not.
    pub fn add(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::Add { path: path.into(), value: value.into() }
    }

    /// Path of one key in a map: `/` and `~` in the key are escaped.
    pub fn path(map: &str, key: &str) -> String {
        format!("{map}/{}", key.replace('~', "~0").replace('/', "~1"))
    }
}
