//! Pods on virtual nodes: a new pod is told its probes by an annotation (SL-1), its provider writes conditions (SL-2), and marks follow
//! from those (SL-3). Which node a new pod will be on is not known, so that every pod that a marker selects is told (22).

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::annotations::{POD_PROBE, POD_PROBE_MARKER_LIST};
use kruise_api::kubernetes::RESTART_ALWAYS;
use serde_json::{Map, Value, json};

use super::mark::Marks;
use super::object::PodProbeMarker;
use super::spec::{Probe, Spec, State};
use crate::admission::pod::{Order, PodStep, Run, SideEffects, When};
use crate::admission::selection::{Concern, Namespaces};
use crate::admission::{Denial, Known, Request};
use crate::chain::{Chain, Purpose};
use crate::gates::{Gate, Gates};
use crate::lookup::{Lookup, Slim};
use crate::order::Selector;
use crate::pod::{Edit, Guard, NAMESPACE, PodView, Status, Texts, string_map};
use crate::revision::gojson;

pub fn pod_step() -> PodStep {
    PodStep {
        name: "podprobemarker",
        order: Order::PodProbeMarker,
        when: &[When::CREATE],
        side_effects: SideEffects::None,
        concerns,
        adds,
        reads: &[PodProbeMarker::RESOURCE],
        run: Run::Mutate(tell),
    }
}

fn is_on(gates: &Gates) -> bool {
    gates.on(Gate::EnablePodProbeMarkerOnServerless) && gates.on(Gate::PodProbeMarker)
}

fn concerns(lookup: Lookup<'_>, gates: &Gates) -> BTreeSet<Concern> {
    if !is_on(gates) {
        return BTreeSet::new();
    }
    let all = lookup.all::<PodProbeMarker>();
    let read = all.iter().filter_map(|marker| Some((&marker.head.namespace, marker.spec.as_ref().ok()?)));
    read.filter_map(|(namespace, spec)| concern(namespace, &spec.selector)).collect()
}

fn adds(request: &Request, gates: &Gates) -> BTreeSet<Concern> {
    let resource = PodProbeMarker::RESOURCE;
    let is_ours = request.resource.group == resource.group() && request.resource.plural == resource.plural();
    if !is_ours || !is_on(gates) {
        return BTreeSet::new();
    }
    let selector = request.object.pointer("/spec/selector").unwrap_or(&Value::Null);
    let Ok(selector) = Selector::read(selector) else { return BTreeSet::new() };
    concern(&request.namespace, &selector).into_iter().collect()
}

fn concern(namespace: &str, selector: &Selector) -> Option<Concern> {
    let namespaces = Namespaces::Named(BTreeSet::from([namespace.to_owned()]));
    (!selector.is_empty()).then(|| Concern::Labelled { namespaces, selector: selector.clone() })
}

/// SL-1.
#[expect(clippy::unnecessary_wraps, reason = "the signature of a step")]
fn tell(pod: &mut Value, request: &Request, known: &Known<'_>) -> Result<(), Denial> {
    if !is_on(known.gates) {
        return Ok(());
    }
    let labels: Texts = string_map(pod.pointer("/metadata/labels")).into_iter().collect();
    let mut markers = known.lookup.by::<PodProbeMarker>(NAMESPACE, &request.namespace);
    markers.retain(|marker| {
        !marker.is_deleted() && marker.spec.as_ref().is_ok_and(|spec| spec.selects(&labels))
    });
    let told = chosen(&markers, &containers(pod));
    let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) else { return Ok(()) };
    if told.is_empty() {
        return Ok(());
    }
    let names: BTreeSet<&str> = markers.iter().map(|marker| marker.head.name.as_ref()).collect();
    let names = names.into_iter().collect::<Vec<_>>().join(",");
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if annotations.is_null() {
        *annotations = json!({});
    }
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(POD_PROBE.to_owned(), gojson::in_order(&Value::Array(told)).into());
        annotations.insert(POD_PROBE_MARKER_LIST.to_owned(), names.into());
    }
    Ok(())
}

/// Containers that run as long as the pod.
fn containers(pod: &Value) -> BTreeSet<String> {
    let list = |path: &str| pod.pointer(path).and_then(Value::as_array).into_iter().flatten();
    let stays = |one: &&Value| one.get("restartPolicy").and_then(Value::as_str) == Some(RESTART_ALWAYS);
    let all = list("/spec/containers").chain(list("/spec/initContainers").filter(stays));
    all.filter_map(|one| one.get("name").and_then(Value::as_str).map(str::to_owned)).collect()
}

/// Probes with a condition and a container, each condition and each name of a container's probe once.
fn chosen(markers: &[Arc<PodProbeMarker>], containers: &BTreeSet<String>) -> Vec<Value> {
    let (mut conditions, mut names) = (BTreeSet::new(), BTreeSet::new());
    let mut told = Vec::new();
    for probe in markers.iter().filter_map(|marker| marker.spec.as_ref().ok()).flat_map(|spec| &spec.probes) {
        let Some(condition) = &probe.condition else { continue };
        let name = (&probe.container, &probe.name);
        let is_taken = conditions.contains(condition) || names.contains(&name);
        if is_taken || !containers.contains(&*probe.container) {
            continue;
        }
        conditions.insert(condition);
        names.insert(name);
        told.push(entry(probe, condition));
    }
    told
}

/// In the order of the original's type.
fn entry(probe: &Probe, condition: &str) -> Value {
    let mut out = Map::new();
    out.insert("name".to_owned(), json!(*probe.name));
    out.insert("containerName".to_owned(), json!(*probe.container));
    out.insert("probe".to_owned(), probe.check.as_written().clone());
    out.insert("podConditionType".to_owned(), json!(condition));
    Value::Object(out)
}

/// SL-3: keys of the other result stay, as upstream (22): a provider may write marks of its own.
pub fn mark(pod: &PodView, spec: &Spec, now: Timestamp) -> Option<Chain> {
    let mut marks = Marks::default();
    for probe in &spec.probes {
        let condition = probe.condition.as_deref().and_then(|kind| pod.condition(kind));
        let state = condition.map_or(State::Unknown, |condition| match condition.status {
            Status::True => State::Succeeded,
            Status::False => State::Failed,
            Status::Unknown => State::Unknown,
        });
        marks.set(&probe.policies, state);
    }
    let mut edit = Edit::of(pod);
    marks.apply(&mut edit, now);
    Some(Chain::about(Purpose::Refresh, pod, vec![edit.write(Guard::Identity)?]))
}
