//! Writes as data: what the runtime carries out, one chain beside the other, the writes of a chain in order.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::{kubernetes::event_type, reasons};
use serde::Serialize;
use serde_json::Value;

use crate::ids::{ResourceVersion, Uid};
use crate::object::{Item, ObjectRef};

/// A short sequence of writes that belong together. If one fails, the rest is not made; the next plan starts from
/// whatever is there.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    pub purpose: Purpose,
    /// What it is about, if it is about one thing.
    pub item: Option<Item>,
    pub writes: Vec<Write>,
    pub pace: Pace,
    /// A live read must find this very object, and not being deleted, before the first write.
    pub confirm: Option<Identity>,
    /// Must be granted before the first write.
    pub allowance: Option<Allowance>,
    /// The condition that reports a failure.
    pub blame: Blame,
    /// Told to the user when the last write has succeeded.
    pub done: Option<Event>,
    /// Event reason to report a failure with.
    pub failed: Option<&'static str>,
}

/// What a chain is for. Planners ask for it; carrying out a chain does not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    Create,
    Delete,
    /// Starts an in-place update, or its next step.
    UpdateInPlace,
    /// Deletes a pod so that it comes back at another revision.
    Recreate,
    /// Asks for a larger volume.
    GrowClaim,
    /// Readiness conditions and lifecycle states of pods that move by themselves; also the status of the planned object.
    Refresh,
    /// Takes the owner reference off a pod that is no longer selected.
    Release,
    /// Gives a pod or revision without owner to the planned object.
    Adopt,
    Claims,
    Revision,
    /// Deletes revisions beyond the limit.
    History,
    PreDownload,
    /// Changes the spec of the planned object: removes names that are done, pauses it.
    EditSpec,
    /// Makes, changes or deletes an object that annotations of another one ask for.
    Generate,
    /// Lets the next containers of a pod start.
    Launch,
}

/// How chains of a plan are begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Beside all others.
    Free,
    /// After the free ones: one, two, four, … at once, because a failure may say something about the others.
    SlowStart(Siblings),
}

/// What the failure of one chain says about the others of a slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Siblings {
    /// All of one sort: where one cannot be created, the others cannot either (CS-42).
    Alike,
    /// Each has a name and claims of its own: one that cannot be created says nothing about the next (B18).
    Independent,
}

/// Which condition of the planned object reports the failure of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blame {
    Scale,
    Update,
    /// What the chain is about is told by name: the next plan learns which ones failed, and why.
    Item,
    /// It is retried and logged, but is no state of the object.
    None,
}

/// What a failure belongs to: the condition that reports it, then what the chain was for.
pub type Charge = (Blame, Purpose);

/// One object and no successor of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub object: ObjectRef,
    pub uid: Uid,
}

/// A grant that is counted in the status of another object, such as a budget. Asked for with a live read when the chain begins; a
/// refusal ends this chain only (B10).
#[derive(Debug, Clone)]
pub struct Allowance {
    /// The object that counts.
    pub from: ObjectRef,
    pub question: Arc<dyn Question>,
}

/// The rule behind an [`Allowance`]: pure, so that it gives the same answer wherever it is asked.
pub trait Question: fmt::Debug + Send + Sync {
    /// From the counting object as it is stored now; `None` if there is none.
    fn answer(&self, stored: Option<&str>, now: Timestamp) -> Answer;
}

/// What the counting object says.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Allowed,
    /// Allowed once this patch of its status is stored; it fails if somebody else was faster.
    Spend(Vec<Op>),
    Denied(String),
}

/// One API call.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    pub object: ObjectRef,
    pub part: Part,
    pub act: Act,
    /// Left out, without a failure, if a live read finds this object (B7).
    pub unless: Option<ObjectRef>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// The whole object as JSON. Text, because a plan may create thousands, and a tree of small strings is larger and has to be
    /// written out in the end anyway.
    Create(Box<str>),
    Patch(Patch),
    Delete {
        uid: Uid,
        /// Set where the decision depends on more than the object's identity (B17).
        version: Option<ResourceVersion>,
    },
}

/// Which endpoint of an object a write goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Object,
    Status,
    Resize,
    EphemeralContainers,
    Scale,
    Eviction,
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

/// Something to tell the user, on the planned object.
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

impl Purpose {
    /// The condition that a failure belongs to, unless the planner says otherwise.
    fn blame(self) -> Blame {
        match self {
            Self::Create | Self::Delete | Self::Claims => Blame::Scale,
            Self::UpdateInPlace | Self::Recreate | Self::GrowClaim | Self::Refresh | Self::Revision => {
                Blame::Update
            }
            Self::Release
            | Self::Adopt
            | Self::History
            | Self::PreDownload
            | Self::EditSpec
            | Self::Generate
            | Self::Launch => Blame::None,
        }
    }
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

/// The rules behind them are compared by what they print: that is all their data.
impl PartialEq for Allowance {
    fn eq(&self, other: &Self) -> bool {
        self.from == other.from && format!("{:?}", self.question) == format!("{:?}", other.question)
    }
}

impl Chain {
    /// A chain about one thing.
    pub fn about(purpose: Purpose, item: impl Into<Item>, writes: Vec<Write>) -> Self {
        Self { item: Some(item.into()), ..Self::other(purpose, writes) }
    }

    /// A chain about nothing in particular.
    pub fn other(purpose: Purpose, writes: Vec<Write>) -> Self {
        Self {
            purpose,
            item: None,
            writes,
            pace: Pace::Free,
            confirm: None,
            allowance: None,
            blame: purpose.blame(),
            done: None,
            failed: None,
        }
    }

    /// The next plan learns whether it failed, by what it is about.
    #[must_use]
    pub fn reported_by_item(self) -> Self {
        Self { blame: Blame::Item, ..self }
    }

    /// Begun with a slow start.
    #[must_use]
    pub fn slowly(self, siblings: Siblings) -> Self {
        Self { pace: Pace::SlowStart(siblings), ..self }
    }

    /// Tells the user about success and failure.
    #[must_use]
    pub fn telling(self, reason: &'static str, message: String, failed: &'static str) -> Self {
        Self { done: Some(Event { kind: EventKind::Normal, reason, message }), failed: Some(failed), ..self }
    }

    /// Tells the user about a failure.
    #[must_use]
    pub fn or_tell(self, failed: &'static str) -> Self {
        Self { failed: Some(failed), ..self }
    }
}

impl Write {
    pub fn create(object: ObjectRef, body: &Value) -> Self {
        Self { object, part: Part::Object, act: Act::Create(body.to_string().into_boxed_str()), unless: None }
    }

    pub fn patch(object: ObjectRef, part: Part, patch: Patch) -> Self {
        Self { object, part, act: Act::Patch(patch), unless: None }
    }

    pub fn delete(object: ObjectRef, uid: &Uid) -> Self {
        Self::delete_version(object, uid, None)
    }

    /// Deletes exactly this version, if one is given.
    pub fn delete_version(object: ObjectRef, uid: &Uid, version: Option<ResourceVersion>) -> Self {
        Self { object, part: Part::Object, act: Act::Delete { uid: uid.clone(), version }, unless: None }
    }

    /// Left out if a live read finds that object.
    #[must_use]
    pub fn unless(self, exists: ObjectRef) -> Self {
        Self { unless: Some(exists), ..self }
    }

    /// What the body of a creation takes.
    pub fn created_bytes(&self) -> usize {
        match &self.act {
            Act::Create(body) => body.len(),
            Act::Patch(_) | Act::Delete { .. } => 0,
        }
    }

    /// The object, if this creates one.
    pub fn created(&self) -> Option<Value> {
        match &self.act {
            Act::Create(body) => serde_json::from_str(body).ok(),
            Act::Patch(_) | Act::Delete { .. } => None,
        }
    }
}

impl Part {
    /// What follows the path of the object.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Object => "",
            Self::Status => "/status",
            Self::Resize => "/resize",
            Self::EphemeralContainers => "/ephemeralcontainers",
            Self::Scale => "/scale",
            Self::Eviction => "/eviction",
        }
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
