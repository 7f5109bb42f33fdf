//! The slim pod.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::resource::PODS;
use kruise_api::{annotations, conditions, labels};
use serde::Deserialize;

use super::wire::Wire;
use super::{EphemeralContainer, JobSidecar, Texts};
use crate::cluster::quantity::Quantity;
use crate::ids::{InstanceId, PodName, ResourceVersion, RevisionHash, Uid};
use crate::object::{Item, ObjectRef};
use crate::time;

/// What planners read of a pod. Deserializes from the wire object.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "Wire")]
pub struct PodView {
    pub namespace: Arc<str>,
    pub name: PodName,
    pub uid: Uid,
    pub version: ResourceVersion,
    pub created: Option<Timestamp>,
    /// Set as soon as somebody asked for its deletion; the instant at which the grace period ends.
    pub deleted: Option<Timestamp>,
    pub labels: Texts,
    pub annotations: Texts,
    pub finalizers: Box<[Arc<str>]>,
    /// In wire order: a release removes one by position.
    pub owners: Arc<[Owner]>,
    pub phase: Phase,
    pub node: Option<Arc<str>>,
    /// The address that probes go to.
    pub ip: Option<IpAddr>,
    /// The only node that its affinity allows; known until it is bound.
    pub wanted_node: Option<Arc<str>>,
    pub restart_policy: RestartPolicy,
    /// Of all init containers.
    pub init_restarts: u32,
    pub readiness_gates: Arc<[Arc<str>]>,
    /// Names of the volumes that are claims.
    pub claim_volumes: Box<[Arc<str>]>,
    /// In wire order: patches address them by position.
    pub conditions: Box<[Condition]>,
    /// In wire order, without init containers; the same for most pods of a revision.
    pub containers: Arc<[Container]>,
    pub statuses: Box<[ContainerStatus]>,
    /// Of native sidecars: init containers that run as long as the pod. Most pods have none.
    pub sidecar_statuses: Box<[ContainerStatus]>,
    /// In wire order; most pods have none.
    pub ephemeral: Box<[EphemeralContainer]>,
}

#[derive(Debug, Clone, PartialEq, Hash)]
pub struct Owner {
    pub uid: Uid,
    pub kind: Arc<str>,
    pub is_controller: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Pending,
    Unknown,
    Running,
    Succeeded,
    Failed,
}

/// When the kubelet restarts containers that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestartPolicy {
    Always,
    OnFailure,
    Never,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    pub kind: Arc<str>,
    pub status: Status,
    since: Since,
    words: Option<Box<Words>>,
}

/// Unix seconds, as precise as the wire; a sixth of what an optional timestamp takes. What was before 1970 or is after 2105 is unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Since(u32);

impl Since {
    const UNKNOWN: Self = Self(u32::MAX);

    fn of(at: Option<Timestamp>) -> Self {
        at.and_then(|at| u32::try_from(at.as_second()).ok()).map_or(Self::UNKNOWN, Self)
    }
}

/// Most conditions have neither; thousands of pods have six conditions each.
#[derive(Debug, Clone, PartialEq)]
struct Words {
    reason: Option<Arc<str>>,
    message: Option<Arc<str>>,
}

/// Status of a condition; whatever is neither True nor False counts as unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    True,
    False,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Hash)]
pub struct Container {
    pub name: Arc<str>,
    pub image: Arc<str>,
    /// Environment taken from labels or annotations (SM-24).
    pub env: Vec<EnvRef>,
    /// Those that have a name, with their number.
    pub ports: Vec<(Arc<str>, u16)>,
    /// Launch priority out of the barrier's key (SM-25); malformed ones count as none (M9).
    pub priority: Option<i64>,
    pub resources: Resources,
    /// Resources (cpu, memory) whose resize restarts the container (SM-28).
    pub restarts_on_resize: Vec<Arc<str>>,
    /// Set if it is to end with the job that it stands beside (ST-1).
    pub job_sidecar: Option<Box<JobSidecar>>,
    /// Older form of the plain hash (SM-35); only read for pods that are being updated in place.
    pub full_hash: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EnvRef {
    pub name: Arc<str>,
    pub source: EnvSource,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EnvSource {
    Label(Arc<str>),
    Annotation(Arc<str>),
}

/// Limits and requests of a container, by resource name.
#[derive(Debug, Clone, Default, PartialEq, Hash)]
pub struct Resources {
    pub limits: BTreeMap<Arc<str>, Quantity>,
    pub requests: BTreeMap<Arc<str>, Quantity>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ContainerStatus {
    pub name: Arc<str>,
    pub image: Arc<str>,
    pub image_id: Arc<str>,
    pub container_id: Arc<str>,
    pub is_ready: bool,
    pub is_running: bool,
    /// Set if it has ended and is not started again for now.
    pub ended: Option<Ended>,
    pub restarts: u32,
    /// What the node has given it; absent on nodes that do not report it.
    pub resources: Option<Arc<Resources>>,
}

/// How a container ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With exit code 0.
    Well,
    Badly,
}

impl Condition {
    pub fn new(kind: Arc<str>, status: Status, since: Option<Timestamp>) -> Self {
        Self { kind, status, since: Since::of(since), words: None }
    }

    /// When it got this status, if the wire says so.
    pub fn since(&self) -> Option<Timestamp> {
        (self.since != Since::UNKNOWN).then(|| Timestamp::from_second(i64::from(self.since.0)).ok())?
    }

    /// Empty texts count as none.
    #[must_use]
    pub fn saying(self, reason: Option<Arc<str>>, message: Option<Arc<str>>) -> Self {
        let said = |text: Option<Arc<str>>| text.filter(|text| !text.is_empty());
        let words = Words { reason: said(reason), message: said(message) };
        let is_silent = words.reason.is_none() && words.message.is_none();
        Self { words: (!is_silent).then(|| Box::new(words)), ..self }
    }

    pub fn reason(&self) -> Option<&str> {
        self.words.as_ref()?.reason.as_deref()
    }

    pub fn message(&self) -> Option<&str> {
        self.words.as_ref()?.message.as_deref()
    }
}

impl From<&PodView> for Item {
    fn from(pod: &PodView) -> Self {
        Self::Object(pod.object())
    }
}

impl From<&&PodView> for Item {
    fn from(pod: &&PodView) -> Self {
        Self::Object(pod.object())
    }
}

impl From<&Arc<PodView>> for Item {
    fn from(pod: &Arc<PodView>) -> Self {
        Self::Object(pod.object())
    }
}

impl PodView {
    /// Neither finished nor being deleted; only such pods count as replicas (CS-6).
    pub fn is_active(&self) -> bool {
        self.deleted.is_none() && !matches!(self.phase, Phase::Succeeded | Phase::Failed)
    }

    /// The owner that manages it; an orphan has none.
    pub fn controller(&self) -> Option<&Owner> {
        self.owners.iter().find(|owner| owner.is_controller)
    }

    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|one| one.kind.as_ref() == kind)
    }

    pub fn condition_is(&self, kind: &str, status: Status) -> bool {
        self.condition(kind).is_some_and(|one| one.status == status)
    }

    pub fn has_readiness_gate(&self, kind: &str) -> bool {
        self.readiness_gates.iter().any(|one| one.as_ref() == kind)
    }

    pub fn is_ready(&self) -> bool {
        self.condition_is(conditions::POD_READY, Status::True)
    }

    /// Update-ready for at least that many seconds (CS-20).
    pub fn is_update_ready(&self, seconds: u32, now: Timestamp) -> bool {
        self.update_ready_at(seconds).is_some_and(|at| seconds == 0 || at < now)
    }

    /// The instant after which the pod has been update-ready for that long; `None` while it is not ready at all.
    pub fn update_ready_at(&self, seconds: u32) -> Option<Timestamp> {
        let ready = self.condition(conditions::POD_READY).filter(|one| one.status == Status::True)?;
        let settled =
            self.condition(conditions::IN_PLACE_UPDATE_READY).is_none_or(|one| one.status == Status::True);
        if self.phase != Phase::Running || !settled {
            return None;
        }
        Some(ready.since().map_or(Timestamp::MIN, |since| time::after(since, i64::from(seconds))))
    }

    pub fn object(&self) -> ObjectRef {
        ObjectRef::new(PODS, Arc::clone(&self.namespace), self.name.shared())
    }

    /// The revision it is at, by hash (SM-8).
    pub fn revision(&self) -> Option<RevisionHash> {
        self.labels.get(labels::REVISION).map(RevisionHash::last_segment)
    }

    /// Whether it is at that revision, by hash (SM-8).
    pub fn is_at(&self, revision: &RevisionHash) -> bool {
        self.labels.get(labels::REVISION).and_then(|label| label.rsplit('-').next())
            == Some(revision.as_str())
    }

    pub fn instance_id(&self) -> Option<InstanceId> {
        self.labels.get(labels::CLONESET_INSTANCE_ID).map(InstanceId::new)
    }

    /// Presence counts, the value does not (SM-64).
    pub fn is_marked_for_deletion(&self) -> bool {
        self.labels.has(labels::SPECIFIED_DELETE)
    }

    pub fn restarts_max(&self) -> u32 {
        self.statuses.iter().map(|one| one.restarts).max().unwrap_or(0)
    }

    /// Deletion cost; anything that is not a plain decimal int32 counts as 0 (SM-65).
    pub fn deletion_cost(&self) -> i32 {
        let text = self.annotations.get(annotations::POD_DELETION_COST).unwrap_or("0");
        let is_plain = text == "0" || text.starts_with(|c: char| c == '-' || ('1'..='9').contains(&c));
        text.parse().ok().filter(|_| is_plain).unwrap_or(0)
    }

    pub fn container(&self, name: &str) -> Option<&Container> {
        self.containers.iter().find(|one| one.name.as_ref() == name)
    }

    pub fn status_of(&self, container: &str) -> Option<&ContainerStatus> {
        self.statuses.iter().find(|one| one.name.as_ref() == container)
    }

    /// Value that an environment variable of it takes from its metadata; absent keys read as empty.
    pub fn env_value(&self, source: &EnvSource) -> &str {
        match source {
            EnvSource::Label(key) => self.labels.get(key),
            EnvSource::Annotation(key) => self.annotations.get(key),
        }
        .unwrap_or_default()
    }
}
