//! What the planner looks at.

use std::sync::Arc;

use kruise_api::resource::SECRETS;
use serde_json::Value;

use super::object::ImagePullJob;
use super::order;
use super::secret::{REFERENCE, SOURCE, SecretCopy, Source, names};
use super::spec::{Nodes, Spec};
use crate::fault::Fault;
use crate::imagelistpulljob::ImageListPullJob;
use crate::lookup::{Index, Lookup, Slim};
use crate::nodeimage::{NodeImage, SecretRef};
use crate::object::{Key, ObjectRef};
use crate::turn::Turn;
use crate::workload::base::{Head, Sources};

/// What the manager's flags and environment say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where copies of pull secrets are.
    pub secrets: Arc<str>,
    /// Seconds that tags of jobs with an end stay in NodeImages beyond what the job says.
    pub extra_ttl: i64,
}

/// Everything that one plan depends on.
#[derive(Debug, Clone)]
pub struct View {
    pub head: Arc<Head>,
    pub finalizers: Arc<[String]>,
    pub spec: Result<Arc<Spec>, Fault>,
    /// In the order in which they are asked.
    pub nodes: Vec<Target>,
    pub secrets: Vec<Secret>,
    /// Copies that name this job.
    pub used: Vec<Arc<SecretCopy>>,
    pub settings: Settings,
    /// The list that it belongs to is not over (11).
    pub list: List,
    pub seed: u64,
}

/// Whether the job belongs to a list that still counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    Runs,
    /// Over, or there is none.
    IsOver,
}

/// A node that the job selects.
#[derive(Debug, Clone)]
pub struct Target {
    pub name: Arc<str>,
    pub object: Option<Arc<NodeImage>>,
}

/// A pull secret that the job names.
#[derive(Debug, Clone)]
pub struct Secret {
    pub source: Key,
    pub state: State,
}

#[derive(Debug, Clone)]
pub enum State {
    /// It is where agents can read it (PJ-11).
    Direct(SecretRef),
    /// There is a copy; the source is known if it was time to read it.
    Copied(Arc<SecretCopy>, Option<Source>),
    /// There is no copy yet; it gets this name.
    New(Source, Arc<str>),
    /// The source does not exist.
    Missing,
    /// There is no copy, and the source has not been read.
    Unread,
}

impl View {
    pub fn assemble(job: &ImagePullJob, settings: &Settings, from: Sources<'_>) -> Self {
        let (lookup, head) = (from.lookup, &job.head);
        let is_over = job.is_completed() || job.is_deleted();
        let spec = job.spec.as_ref().ok().filter(|_| !is_over);
        let lists = head.controller.iter().flat_map(|uid| lookup.by(Index::Uid, uid.as_str()));
        let runs = lists.into_iter().any(|list: Arc<ImageListPullJob>| list.runs());
        Self {
            head: Arc::clone(head),
            finalizers: Arc::clone(&job.finalizers),
            spec: job.spec.clone(),
            nodes: spec.map(|spec| targets(job, spec, lookup)).unwrap_or_default(),
            secrets: spec.map(|spec| secrets(job, spec, settings, from)).unwrap_or_default(),
            used: lookup.by(REFERENCE, &reference(head)),
            settings: settings.clone(),
            list: if runs { List::Runs } else { List::IsOver },
            seed: from.turn.seed,
        }
    }

    pub fn itself(&self) -> ObjectRef {
        let Head { namespace, name, .. } = self.head.as_ref();
        ObjectRef::new(ImagePullJob::RESOURCE, Arc::clone(namespace), Arc::clone(name))
    }

    /// As copies of secrets name it.
    pub fn reference(&self) -> String {
        reference(&self.head)
    }

    /// A time in the stored status.
    pub fn time(&self, field: &str) -> Option<jiff::Timestamp> {
        self.head.status.get(field).and_then(Value::as_str).and_then(crate::time::read)
    }
}

fn reference(head: &Head) -> String {
    format!("{}/{}", head.namespace, head.name)
}

/// The secrets of a job that would have to be read for a plan: `None` where copies are not needed.
pub fn sources(job: &ImagePullJob, settings: &Settings) -> Vec<ObjectRef> {
    let namespace = &job.head.namespace;
    let is_over = job.is_completed() || job.is_deleted();
    let spec = job.spec.as_ref().ok().filter(|_| !is_over && **namespace != *settings.secrets);
    let names = spec.iter().flat_map(|spec| &spec.secrets);
    names.map(|name| ObjectRef::new(SECRETS, Arc::clone(namespace), Arc::clone(name))).collect()
}

fn secrets(job: &ImagePullJob, spec: &Spec, settings: &Settings, from: Sources<'_>) -> Vec<Secret> {
    let namespace = &job.head.namespace;
    let one = |name: &Arc<str>| {
        let source = Key::new(Arc::clone(namespace), Arc::clone(name));
        let state = if **namespace == *settings.secrets {
            State::Direct(SecretRef {
                namespace: Arc::clone(namespace),
                name: Arc::clone(name),
                is_batch: false,
            })
        } else {
            state(job, &source, settings, from)
        };
        Secret { source, state }
    };
    spec.secrets.iter().map(one).collect()
}

fn state(job: &ImagePullJob, source: &Key, settings: &Settings, from: Sources<'_>) -> State {
    let live = read(source, from.turn);
    let mut copies: Vec<Arc<SecretCopy>> = from.lookup.by(SOURCE, &source.to_string());
    let job = reference(&job.head);
    // Sorted by name already.
    copies.sort_by_key(|copy| !copy.is_used_by(&job));
    match (copies.into_iter().next(), live) {
        (Some(copy), Live::There(live)) => State::Copied(copy, Some(live)),
        (Some(copy), Live::NotAsked | Live::Absent) => State::Copied(copy, None),
        (None, Live::NotAsked) => State::Unread,
        (None, Live::Absent) => State::Missing,
        (None, Live::There(live)) => {
            let is_free = |name: &Arc<str>| {
                let key = Key::new(Arc::clone(&settings.secrets), Arc::clone(name));
                from.lookup.get::<SecretCopy>(&key).is_none()
            };
            // There are more names than secrets.
            names(source).take(1_000).find(is_free).map_or(State::Unread, |name| State::New(live, name))
        }
    }
}

/// What a live read has found.
enum Live {
    NotAsked,
    Absent,
    There(Source),
}

fn read(source: &Key, turn: &Turn) -> Live {
    let object = ObjectRef { resource: SECRETS, key: source.clone() };
    match turn.live.get(&object) {
        None => Live::NotAsked,
        Some(live) => live.as_deref().and_then(Source::read).map_or(Live::Absent, Live::There),
    }
}

/// PJ-5.
fn targets(job: &ImagePullJob, spec: &Spec, lookup: Lookup<'_>) -> Vec<Target> {
    let named = |name: &Arc<str>| Target {
        name: Arc::clone(name),
        object: lookup.get(&Key::cluster(Arc::clone(name))),
    };
    match &spec.nodes {
        Nodes::Named(names) => names.iter().map(named).collect(),
        Nodes::OfPods(selector) => order::nodes(job, selector, lookup).iter().map(named).collect(),
        Nodes::All | Nodes::Labelled(_) => {
            let mut all: Vec<Arc<NodeImage>> = lookup.all();
            all.sort_by(|one, other| one.name().cmp(other.name()));
            let selected = all.into_iter().filter(|node| job.selects(node));
            selected.map(|node| Target { name: Arc::clone(node.name()), object: Some(node) }).collect()
        }
    }
}
