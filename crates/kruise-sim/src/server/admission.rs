//! Admission by our own webhooks: the entries of the manager are asked as a real API server asks them, directly, and what they
//! look up is taken from the store, so that they are never behind. Where a cluster has no such webhooks, none is asked.

use kruise_api::resource::PODS;
use kruise_core::admission::{
    Answer, Denial, DryRun, GroupVersionKind, GroupVersionResource, Known, Live, Operation, Request,
    Subresource, User,
};
use kruise_core::gates::{Gate, Gates};
use kruise_core::lookup::Lookup;
use kruise_core::persistentpodstate::Supported;
use kruise_manager::admission::{Entry, Sort, Webhooks};
use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::lookup::Objects;
use super::request::{Call, Part, Trial, Verb};
use super::resources::{self, Kind};
use super::state::State;
use super::store::{Name, Object};
use crate::rng::Rng;

/// What workloads of simulated worlds may use besides what is on by default: managers and admission know the same.
pub const GATES: [Gate; 5] = [
    Gate::StatefulSetStartOrdinal,
    Gate::InPlaceWorkloadVerticalScaling,
    Gate::ImagePullJob,
    Gate::SidecarTerminator,
    Gate::ResourceDistribution,
];

/// Whom the server asks before it stores an object.
pub enum Admission {
    Nobody,
    Ours(Box<Ours>),
}

/// The webhooks of a manager with these gates.
pub struct Ours {
    gates: Gates,
    webhooks: Webhooks,
}

/// One write, as far as admission sees it.
pub(super) struct Written<'a> {
    pub call: &'a Call,
    pub at: &'a Name,
    /// What is stored; absent on creation.
    pub old: Option<&'a Object>,
}

impl State {
    /// From now on our webhooks are asked.
    pub fn admit_by_ours(&mut self) {
        let gates = GATES.into_iter().fold(Gates::default(), Gates::with);
        self.admission = Admission::Ours(Box::new(Ours { gates, webhooks: Webhooks::default() }));
    }

    /// Changes a new object, or a new state of one, as our webhooks ask for it.
    pub(super) fn mutate(&self, written: &Written<'_>, object: &mut Value) -> Result<(), Failure> {
        let Admission::Ours(ours) = &self.admission else { return Ok(()) };
        let request = self.question(written);
        for entry in ours.asked(Sort::Mutating, &request)? {
            let about = about(&request, Some(object), written.old);
            let answer = self.ask(ours, entry, about);
            if let Some(denial) = &answer.denial {
                return Err(refusal(&entry.name, denial));
            }
            patch(object, &answer)?;
        }
        Ok(())
    }

    /// Whether our webhooks let it pass. Without an object it is a deletion.
    pub(super) fn judge(&self, written: &Written<'_>, object: Option<&Value>) -> Result<(), Failure> {
        let Admission::Ours(ours) = &self.admission else { return Ok(()) };
        let request = self.question(written);
        for entry in ours.asked(Sort::Validating, &request)? {
            let about = about(&request, object, written.old);
            if let Some(denial) = self.ask(ours, entry, about).denial {
                return Err(refusal(&entry.name, &denial));
            }
        }
        Ok(())
    }
}

impl State {
    /// The question without its objects: most writes have no webhook, and objects are large.
    fn question(&self, written: &Written<'_>) -> Request {
        let Written { call, at, old } = written;
        let kind = call.kind;
        let (group, version) = (kind.resource.group().to_owned(), kind.resource.version().to_owned());
        let resource = GroupVersionResource { group, version, plural: kind.resource.plural().to_owned() };
        let (operation, kind) = match (call.part, call.verb) {
            (Part::Eviction, _) => (Operation::Create, eviction()),
            (_, Verb::Delete) => (Operation::Delete, kind_of(kind)),
            (_, _) if old.is_none() => (Operation::Create, kind_of(kind)),
            (_, _) => (Operation::Update, kind_of(kind)),
        };
        let user = User { name: self.who.to_owned(), ..User::default() };
        let dry_run = if self.trial == Trial::Dry { DryRun::Yes } else { DryRun::No };
        let options = if operation == Operation::Delete { call.body.clone() } else { Value::Null };
        let empty = Request { operation, kind, dry_run, options, ..Request::create(Value::Null) };
        empty
            .of(resource)
            .to(Subresource::read(call.part.word().trim_start_matches('/')))
            .at(&*at.0, &*at.1)
            .by(user)
    }

    fn ask(&self, ours: &Ours, entry: &Entry, request: Request) -> Answer {
        let suffix = || Rng::new(self.store.version()).suffix();
        let objects = Objects(&self.store);
        let known = Known {
            lookup: Lookup::new(&objects),
            gates: &ours.gates,
            supported: &Supported::default(),
            suffix: &suffix,
            now: self.now(),
            live: &Live { pod: Ok(self.named_pod(&request)), ..Live::default() },
            namespace: "kruise-system",
        };
        (entry.judge)(request, &known)
    }

    /// The pod that `spec.podName` names.
    fn named_pod(&self, request: &Request) -> Option<Value> {
        let name = request.object.pointer("/spec/podName")?.as_str()?;
        let at = (request.namespace.as_str().into(), name.into());
        self.store.get(resources::of(PODS)?.id, &at).map(|pod| pod.value.clone())
    }
}

impl Ours {
    /// A kind that nobody thought of is a failure of the server: no scenario goes on with it unseen.
    fn asked(&self, sort: Sort, request: &Request) -> Result<Vec<&Entry>, Failure> {
        let asked = self.webhooks.asked(sort, request);
        asked.map_err(|forgotten| Failure::new(500, "InternalError", forgotten.to_string()))
    }
}

fn about(request: &Request, object: Option<&Value>, old: Option<&Object>) -> Request {
    let object = object.cloned().unwrap_or_default();
    Request { object, old: old.map(|old| old.value.clone()).unwrap_or_default(), ..request.clone() }
}

fn patch(object: &mut Value, answer: &Answer) -> Result<(), Failure> {
    if answer.patch.is_empty() {
        return Ok(());
    }
    let operations =
        serde_json::to_value(&answer.patch).and_then(serde_json::from_value::<json_patch::Patch>);
    let operations = operations.map_err(|error| Failure::bad_patch(error.to_string()))?;
    json_patch::patch(object, &operations).map_err(|error| Failure::bad_patch(error.to_string()))
}

fn kind_of(kind: &Kind) -> GroupVersionKind {
    GroupVersionKind {
        group: kind.resource.group().to_owned(),
        version: kind.resource.version().to_owned(),
        kind: kind.resource.kind().to_owned(),
    }
}

fn eviction() -> GroupVersionKind {
    GroupVersionKind { group: "policy".to_owned(), version: "v1".to_owned(), kind: "Eviction".to_owned() }
}

/// As a server words what a webhook denies.
fn refusal(webhook: &str, denial: &Denial) -> Failure {
    let message = format!("admission webhook \"{webhook}\" denied the request: {}", denial.message);
    let causes = denial.causes.iter();
    let causes: Vec<Value> =
        causes.map(|one| json!({"reason": one.reason, "message": one.message, "field": one.field})).collect();
    let mut details = Map::new();
    if !causes.is_empty() {
        details.insert("causes".into(), causes.into());
    }
    Failure { details, ..Failure::new(denial.code, denial.reason(), message) }
}
