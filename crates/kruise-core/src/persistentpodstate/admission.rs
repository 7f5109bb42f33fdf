//! What the schema cannot refuse (section 6 of the specification), and the way of a new pod to the object that places it.

use std::collections::BTreeSet;

use kruise_api::convert;
use kruise_api::names::CONFIGURATION_PERSISTENT_POD_STATE;
use serde_json::Value;

use super::object::{PersistentPodState, TARGET, target_entry};
use super::placement::{chosen, place, target_of};
use super::target::{NotAWhitelist, Supported, Target};
use crate::admission::pod::{Order, PodStep, Run, SideEffects, When};
use crate::admission::selection::Concern;
use crate::admission::{Answer, Denial, FaultKind, Faults, Known, Operation, Request};
use crate::gates::Gates;
use crate::lookup::{Lookup, Slim};

/// What has to be known besides the object.
#[derive(Debug)]
pub struct Facts {
    /// Name of another object of the namespace with the same target.
    pub rival: Option<String>,
    pub supported: Result<Supported, NotAWhitelist>,
}

/// Refuses what the schema cannot, in either version, always as a bad request.
pub fn admit(request: Request, known: &Known<'_>) -> Answer {
    match request.operation {
        Operation::Create | Operation::Update => {}
        Operation::Delete | Operation::Connect => return Answer::allowed(),
    }
    let facts = Facts { rival: rival(&request, known.lookup), supported: listed(known) };
    match judged(request, &facts) {
        Ok(faults) if faults.is_empty() => Answer::allowed(),
        Ok(faults) => Denial::bad_request(faults.to_string()).into(),
        Err(error) => Denial::bad_request(error).into(),
    }
}

/// Steers a new pod to where it was ready last (PP-17 … PP-25): one look-up by its owner, nothing for all other pods.
pub fn pod_step() -> PodStep {
    PodStep {
        name: "persistent-pod-state",
        order: Order::PersistentPodState,
        when: &[When::CREATE],
        side_effects: SideEffects::None,
        concerns,
        adds,
        reads: &[PersistentPodState::RESOURCE],
        run: Run::Mutate(place_by_object),
    }
}

fn concerns(lookup: Lookup<'_>, _: &Gates) -> BTreeSet<Concern> {
    let owned = lookup.all::<PersistentPodState>().into_iter().map(|state| {
        let Target { kind, name, .. } = state.target();
        Concern::OwnedBy { namespace: state.meta.namespace.to_string(), kind, name }
    });
    owned.collect()
}

/// Both versions name the workload alike.
fn adds(request: &Request, _: &Gates) -> BTreeSet<Concern> {
    let resource = PersistentPodState::RESOURCE;
    let is_ours = request.resource.group == resource.group() && request.resource.plural == resource.plural();
    let Some(reference) = request.object.pointer("/spec/targetRef").filter(|_| is_ours) else {
        return BTreeSet::new();
    };
    let Target { kind, name, .. } = Target::read(reference);
    BTreeSet::from([Concern::OwnedBy { namespace: request.namespace.clone(), kind, name }])
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of a step")]
fn place_by_object(pod: &mut Value, request: &Request, known: &Known<'_>) -> Result<(), Denial> {
    let Some(target) = target_of(pod, known.supported) else { return Ok(()) };
    let entry = target_entry(&request.namespace, &target);
    let objects = known.lookup.by::<PersistentPodState>(TARGET, &entry);
    if let Some(object) = chosen(objects.iter().map(|state| &state.object)) {
        place(pod, object);
    }
    Ok(())
}

/// Another object of the namespace with the same target; which of two came first does not matter here.
fn rival(request: &Request, lookup: Lookup<'_>) -> Option<String> {
    let target = Target::read(request.object.pointer("/spec/targetRef").unwrap_or(&Value::Null));
    let found = lookup.by::<PersistentPodState>(TARGET, &target_entry(&request.namespace, &target));
    let mut names = found.iter().map(|one| one.meta.name.as_ref()).filter(|name| *name != request.name);
    names.next().map(str::to_owned)
}

/// The kinds that the administrator lists at this moment.
fn listed(known: &Known<'_>) -> Result<Supported, NotAWhitelist> {
    let data = known.live.configuration.as_ref().map_err(NotAWhitelist::unread)?;
    Supported::read(data.get(CONFIGURATION_PERSISTENT_POD_STATE).map(String::as_str))
}

fn judged(request: Request, facts: &Facts) -> Result<Faults, String> {
    let spec = |object: Value| -> Result<Value, String> {
        let stored = PersistentPodState::RESOURCE.version();
        let mut object = convert(object, stored).map_err(|error| error.to_string())?;
        Ok(object.get_mut("spec").map(Value::take).unwrap_or_default())
    };
    let old = if request.old.is_null() { None } else { Some(spec(request.old)?) };
    Ok(validate(&spec(request.object)?, old.as_ref(), facts))
}

/// Rules on v1beta1; `old` is the stored spec of an update.
pub fn validate(spec: &Value, old: Option<&Value>, facts: &Facts) -> Faults {
    let mut faults = Faults::default();
    let reference = spec.get("targetRef").unwrap_or(&Value::Null);
    for field in ["apiVersion", "kind", "name"] {
        if reference.get(field).and_then(Value::as_str).unwrap_or_default().is_empty() {
            faults.add(FaultKind::Required, format!("spec.targetRef.{field}"), "name the workload");
        }
    }
    if !faults.is_empty() {
        return faults;
    }
    supported(&Target::read(reference), &facts.supported, &mut faults);
    let is_given = |field: &str| spec.get(field).is_some_and(|value| !value.is_null());
    let preferred = spec.get("preferredPersistentTopology").and_then(Value::as_array);
    if !is_given("requiredPersistentTopology") && preferred.is_none_or(Vec::is_empty) {
        let message = "give requiredPersistentTopology or preferredPersistentTopology";
        faults.add(FaultKind::Required, "spec", message);
    }
    if old.is_some_and(|old| old.get("targetRef") != Some(reference)) {
        let message = "cannot be changed; delete the object and create it anew";
        faults.add(FaultKind::Forbidden, "spec.targetRef", message);
    }
    if let Some(rival) = &facts.rival {
        faults.add(
            FaultKind::Duplicate,
            "spec.targetRef",
            format!("{rival} already records the pods of this workload"),
        );
    }
    faults
}

/// A list that cannot be read hides only what it would have added (D6).
fn supported(target: &Target, known: &Result<Supported, NotAWhitelist>, faults: &mut Faults) {
    let none = Supported::default();
    if known.as_ref().unwrap_or(&none).has(target) {
        return;
    }
    let message = match known {
        Ok(_) => "use a StatefulSet, or a kind that the configuration lists".to_owned(),
        Err(error) => error.to_string(),
    };
    faults.add(FaultKind::NotSupported, "spec.targetRef", message);
}
