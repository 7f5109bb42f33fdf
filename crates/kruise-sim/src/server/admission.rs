//! Admission by our own webhooks: their handlers are called directly, and what they look up is taken from the store, so that
//! they are never behind. Where a cluster has no such webhooks, none is asked.

use kruise_core::admission::pod::Steps;
use kruise_core::cloneset::admission::Named;
use kruise_core::gates::{Gate, Gates};
use kruise_core::persistentpodstate::placement::{chosen, place, target_of};
use kruise_core::persistentpodstate::{Supported, Target};
use kruise_manager::admission::{self, Facts, pods_to_look_up};
use kruise_runtime::webhook::{Answer, Operation, Request};
use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::resources::{self, Kind, Rules};
use super::state::State;
use super::store::{Name, Object};
use crate::rng::Rng;

/// Whom the server asks before it stores an object.
#[derive(Debug, Clone)]
pub enum Admission {
    Nobody,
    Ours(Box<Gates>),
}

impl State {
    /// From now on our webhooks are asked.
    pub fn admit_by_ours(&mut self) {
        let gates = Gates::default().with(Gate::StatefulSetStartOrdinal).with(Gate::VerticalScaling);
        self.admission = Admission::Ours(Box::new(gates));
    }

    /// Changes a new object, or a new state of one, as our webhooks ask for it.
    pub(super) fn mutate(
        &self,
        kind: &Kind,
        at: &Name,
        object: &mut Value,
        old: Option<&Object>,
    ) -> Result<(), Failure> {
        let Some((gates, request)) = self.asked(kind, at, object, old) else { return Ok(()) };
        let suffix = || Rng::new(self.store.version()).suffix();
        let put = |pod: &mut Value| self.place(at, pod);
        let steps = Steps { suffix: &suffix, place: Some(&put) };
        let Answer { denial, patch, .. } = admission::mutate(request, gates, steps);
        if let Some(denial) = denial {
            return Err(refusal(&format!("m{}", kind.kind.to_lowercase()), &denial));
        }
        if patch.is_empty() {
            return Ok(());
        }
        let operations = serde_json::to_value(&patch).and_then(serde_json::from_value::<json_patch::Patch>);
        let operations = operations.map_err(|error| Failure::bad_patch(error.to_string()))?;
        json_patch::patch(object, &operations).map_err(|error| Failure::bad_patch(error.to_string()))
    }

    /// Whether our webhooks let it pass.
    pub(super) fn judge(
        &self,
        kind: &Kind,
        at: &Name,
        object: &Value,
        old: Option<&Object>,
    ) -> Result<(), Failure> {
        let Some((gates, request)) = self.asked(kind, at, object, old) else { return Ok(()) };
        let facts =
            Facts { named: self.named(at, &request), rival: self.rival(at, object), ..Facts::default() };
        match admission::validate(request, facts, gates).denial {
            Some(denial) => Err(refusal(&format!("v{}", kind.kind.to_lowercase()), &denial)),
            None => Ok(()),
        }
    }

    /// The question, if anybody is to be asked about such an object.
    fn asked(
        &self,
        kind: &Kind,
        at: &Name,
        object: &Value,
        old: Option<&Object>,
    ) -> Option<(&Gates, Request)> {
        let Admission::Ours(gates) = &self.admission else { return None };
        match &kind.rules {
            Rules::Pod if old.is_none() => {}
            Rules::Custom(_) => {}
            Rules::Pod | Rules::Claim | Rules::Revision | Rules::Plain => return None,
        }
        let request = Request {
            operation: if old.is_none() { Operation::Create } else { Operation::Update },
            version: kind.version.clone(),
            kind: kind.kind.clone(),
            namespace: at.0.to_string(),
            name: at.1.to_string(),
            object: object.clone(),
            old: old.map(|old| old.value.clone()).unwrap_or_default(),
        };
        Some((gates, request))
    }

    fn named(&self, at: &Name, request: &Request) -> Named {
        let Some(pods) = resources::find("", "v1", "pods") else { return Named::default() };
        let uid = request.old.pointer("/metadata/uid");
        let is_own = |name: &String| {
            let pod = self.store.get(pods.id, &(at.0.clone(), name.as_str().into()));
            pod.is_some_and(|pod| {
                let owners = pod.value.pointer("/metadata/ownerReferences").and_then(Value::as_array);
                let mut owners = owners.into_iter().flatten();
                !pod.is_deleting() && uid.is_some() && owners.any(|owner| owner.get("uid") == uid)
            })
        };
        Named { owned: pods_to_look_up(request).into_iter().filter(is_own).collect() }
    }

    fn rival(&self, at: &Name, object: &Value) -> Option<String> {
        let target = Target::read(object.pointer("/spec/targetRef")?);
        let same = self.pod_states(&at.0, &target);
        same.into_iter()
            .map(|state| state.str("/metadata/name"))
            .find(|name| **name != *at.1)
            .map(str::to_owned)
    }

    fn place(&self, at: &Name, pod: &mut Value) {
        let Some(target) = target_of(pod, &Supported::default()) else { return };
        if let Some(object) = chosen(self.pod_states(&at.0, &target).into_iter().map(|state| &state.value)) {
            place(pod, object);
        }
    }

    /// Objects that remember the pods of this workload.
    fn pod_states(&self, namespace: &str, target: &Target) -> Vec<&Object> {
        let kind = resources::of_kind(kruise_api::names::APPS_GROUP, "PersistentPodState");
        let all = kind.into_iter().flat_map(|kind| self.store.list(kind.id, namespace));
        let is_it = |state: &Object| {
            state.value.pointer("/spec/targetRef").is_some_and(|wire| Target::read(wire) == *target)
        };
        all.map(|(_, state)| &**state).filter(|state| is_it(state)).collect()
    }
}

/// As a server words what a webhook denies.
fn refusal(webhook: &str, denial: &kruise_runtime::webhook::Denial) -> Failure {
    let reason = match denial.code {
        400 => "BadRequest",
        403 => "Forbidden",
        422 => "Invalid",
        _ => "InternalError",
    };
    let message = format!("admission webhook \"{webhook}.kb.io\" denied the request: {}", denial.message);
    let causes = denial.causes.iter();
    let causes: Vec<Value> =
        causes.map(|one| json!({"reason": one.reason, "message": one.message, "field": one.field})).collect();
    let mut details = Map::new();
    if !causes.is_empty() {
        details.insert("causes".into(), causes.into());
    }
    Failure { details, ..Failure::new(denial.code, reason, message) }
}
