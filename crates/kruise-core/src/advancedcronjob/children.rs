//! Children as they are stored: Jobs, BroadcastJobs and ImageListPullJobs (ACJ-2).

use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::Resource;
use kruise_api::annotations::SCHEDULED_AT;
use kruise_api::conditions::{JOB_COMPLETE, JOB_FAILED};
use kruise_api::kubernetes::status::TRUE;
use kruise_api::resource::JOBS;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::spec::Template;
use crate::broadcastjob::BroadcastJob;
use crate::ids::{ResourceVersion, Uid};
use crate::imagelistpulljob::ImageListPullJob;
use crate::lookup::{Index, Lookup, Slim};
use crate::object::{Key, ObjectRef};
use crate::time;
use crate::workload::base::Head;

/// A child, whatever its kind.
#[derive(Debug, Clone)]
pub struct Child {
    pub object: ObjectRef,
    pub uid: Uid,
    pub version: ResourceVersion,
    /// The planned time that it was created for.
    pub planned: Option<Timestamp>,
    pub started: Option<Timestamp>,
    pub state: State,
    pub is_going: bool,
}

/// How a child stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Active,
    Succeeded,
    Failed,
}

/// A Job of Kubernetes, as far as it matters here.
#[derive(Debug)]
pub struct Job(Head);

/// All children of this owner (B5, B6: by uid), sorted by planned time and name (B8).
pub fn of(lookup: Lookup<'_>, owner: &Uid, template: Template) -> Vec<Child> {
    let uid = owner.as_str();
    let mut all: Vec<Child> = match template {
        Template::Job => lookup
            .by::<Job>(Index::Owner, uid)
            .iter()
            .map(|job| Child::of(Job::RESOURCE, &job.0, of_conditions))
            .collect(),
        Template::BroadcastJob => {
            let found = lookup.by::<BroadcastJob>(Index::Owner, uid);
            found.iter().map(|job| Child::of(BroadcastJob::RESOURCE, &job.head, of_conditions)).collect()
        }
        Template::ImageListPullJob => {
            let found = lookup.by::<ImageListPullJob>(Index::Owner, uid);
            found.iter().map(|job| Child::of(ImageListPullJob::RESOURCE, &job.head, of_counts)).collect()
        }
    };
    all.sort_by(|one, other| (one.planned, one.object.name()).cmp(&(other.planned, other.object.name())));
    all
}

impl Child {
    fn of(resource: Resource, head: &Head, state: fn(&Value) -> State) -> Self {
        let time = |text: Option<&str>| text.and_then(time::read);
        Self {
            object: ObjectRef::new(resource, Arc::clone(&head.namespace), Arc::clone(&head.name)),
            uid: head.uid.clone(),
            version: head.version.clone(),
            planned: time(head.annotations.get(SCHEDULED_AT).map(String::as_str)),
            started: time(head.status.get("startTime").and_then(Value::as_str)),
            state: state(&head.status),
            is_going: head.deleted.is_some(),
        }
    }
}

/// The first of the two results that holds decides.
fn of_conditions(status: &Value) -> State {
    let conditions = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
    let text =
        |one: &Value, field: &str| one.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut holding = conditions.filter(|one| text(one, "status") == TRUE).map(|one| text(one, "type"));
    match holding.find(|kind| [JOB_COMPLETE, JOB_FAILED].contains(&kind.as_str())).as_deref() {
        Some(JOB_COMPLETE) => State::Succeeded,
        Some(_) => State::Failed,
        None => State::Active,
    }
}

/// An image list has no conditions.
fn of_counts(status: &Value) -> State {
    let number = |field: &str| status.get(field).and_then(Value::as_i64).unwrap_or(0);
    if status.get("completionTime").is_none_or(Value::is_null) {
        State::Active
    } else if number("succeeded") == number("desired") {
        State::Succeeded
    } else {
        State::Failed
    }
}

impl<'de> Deserialize<'de> for Job {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|object| Self(Head::of(&object)))
    }
}

impl Slim for Job {
    type Shared = ();
    const RESOURCE: Resource = JOBS;

    fn key(&self) -> Key {
        self.0.key()
    }

    fn uid(&self) -> &str {
        self.0.uid.as_str()
    }

    fn resource_version(&self) -> &str {
        self.0.version.as_str()
    }

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        if let Some(owner) = &self.0.controller {
            put(Index::Owner, owner.as_str());
        }
    }
}
