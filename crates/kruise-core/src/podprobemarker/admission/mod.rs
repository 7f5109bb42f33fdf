//! What a marker has to be (section 6). All faults are told at once, each with its field. There are no defaults, and one version. Of an
//! update only what it changes is judged: whoever finalizes a marker that was stored before these rules is not kept from it.

mod handler;

use std::collections::BTreeSet;

use kruise_api::apps::nodepodprobe::state;
use kruise_api::conditions::NATIVE;
use serde_json::Value;

use super::mark::is_reserved;
use crate::admission::{Answer, Denial, FaultKind, Faults, Known, Operation, Request};
use crate::gates::Gate;
use crate::order::Selector;

/// Of a qualified name and of a label value.
const NAME_MAX: usize = 63;
const PREFIX_MAX: usize = 253;
const STATES: [&str; 2] = [state::SUCCEEDED, state::FAILED];

/// Refusals are bad requests, as upstream; without the gate it is forbidden.
pub fn admit(request: Request, known: &Known<'_>) -> Answer {
    match request.operation {
        Operation::Create | Operation::Update => {}
        Operation::Delete | Operation::Connect => return Answer::allowed(),
    }
    let Request { object, old, .. } = request;
    let is_deleted = object.pointer("/metadata/deletionTimestamp").is_some_and(Value::is_string);
    let is_on = known.gates.on(Gate::PodProbeMarker) && known.gates.on(Gate::KruiseDaemon);
    if !is_on && !is_deleted {
        let message = "feature-gate PodProbeMarkerGate is not enabled: no node agent would probe";
        return Denial::new(403, message).into();
    }
    let faults = validate(object.get("spec").unwrap_or(&Value::Null), old.get("spec"));
    if faults.is_empty() { Answer::allowed() } else { Denial::bad_request(faults.to_string()).into() }
}

pub fn validate(spec: &Value, old: Option<&Value>) -> Faults {
    let mut faults = Faults::default();
    match old {
        Some(old) if old.get("selector") != spec.get("selector") => {
            faults.add(
                FaultKind::Forbidden,
                "spec.selector",
                "selector must be immutable: create another marker",
            );
        }
        Some(_) => {}
        None => selector(spec.get("selector").unwrap_or(&Value::Null), &mut faults),
    }
    if old.is_none_or(|old| old.get("probes") != spec.get("probes")) {
        probes(spec.get("probes").unwrap_or(&Value::Null), &mut faults);
    }
    faults
}

fn selector(selector: &Value, faults: &mut Faults) {
    match Selector::read(selector) {
        Err(error) => faults.invalid("spec.selector", error.to_string()),
        Ok(read) if read.is_empty() => {
            faults.add(FaultKind::Required, "spec.selector", "must not be empty: say which pods are probed");
        }
        Ok(_) => {}
    }
}

fn probes(list: &Value, faults: &mut Faults) {
    let Some(list) = list.as_array().filter(|list| !list.is_empty()) else {
        faults.add(FaultKind::Required, "spec.probes", "give at least one probe");
        return;
    };
    let (mut names, mut conditions) = (BTreeSet::new(), BTreeSet::new());
    for (i, one) in list.iter().enumerate() {
        let at = format!("spec.probes[{i}]");
        name(one, &at, &mut names, faults);
        if text(one, "containerName").is_empty() {
            faults.add(FaultKind::Required, format!("{at}.containerName"), "say which container is probed");
        }
        condition(one, &at, &mut conditions, faults);
        handler::validate(one.get("probe").unwrap_or(&Value::Null), &format!("{at}.probe"), faults);
        policies(one, &at, faults);
    }
}

fn name<'a>(probe: &'a Value, at: &str, names: &mut BTreeSet<&'a str>, faults: &mut Faults) {
    let (name, at) = (text(probe, "name"), format!("{at}.name"));
    if name.is_empty() {
        faults.add(FaultKind::Required, at, "give the probe a name");
    } else if name.contains('#') {
        faults.invalid(at, format!("{name:?} must not contain #, which joins it to the name of the marker"));
    } else if NATIVE.contains(&name) {
        faults.invalid(at, format!("{name:?} is the name of a condition that Kubernetes or Kruise writes"));
    } else if !names.insert(name) {
        faults.add(FaultKind::Duplicate, at, format!("{name:?}: another probe of the marker has this name"));
    }
}

/// 5: the type itself must not be one of others.
fn condition<'a>(probe: &'a Value, at: &str, conditions: &mut BTreeSet<&'a str>, faults: &mut Faults) {
    let kind = text(probe, "podConditionType");
    let has_policy = probe.get("markerPolicy").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let field = format!("{at}.podConditionType");
    if kind.is_empty() {
        if !has_policy {
            let message = "podConditionType and markerPolicy cannot be empty at the same time: the result must show somewhere";
            faults.add(FaultKind::Required, at, message);
        }
    } else if !is_qualified(kind) {
        faults.invalid(field, format!("{kind:?}: use a name as labels have, such as example.com/idle"));
    } else if is_reserved(kind) {
        faults
            .invalid(field, format!("{kind:?} belongs to Kubernetes or Kruise: use a condition of your own"));
    } else if !conditions.insert(kind) {
        faults.add(FaultKind::Duplicate, field, format!("{kind:?}: another probe of the marker writes it"));
    }
}

fn policies(probe: &Value, at: &str, faults: &mut Faults) {
    let mut states = BTreeSet::new();
    let list = probe.get("markerPolicy").and_then(Value::as_array).into_iter().flatten();
    for (i, policy) in list.enumerate() {
        let at = format!("{at}.markerPolicy[{i}]");
        let state = text(policy, "state");
        if !STATES.contains(&state) {
            let message = format!("{state:?}: use {}", STATES.join(" or "));
            faults.add(FaultKind::NotSupported, format!("{at}.state"), message);
        } else if !states.insert(state) {
            faults.add(
                FaultKind::Duplicate,
                format!("{at}.state"),
                format!("{state:?} has a policy already"),
            );
        }
        marks(policy, &at, faults);
    }
}

fn marks(policy: &Value, at: &str, faults: &mut Faults) {
    let map = |field: &str| policy.get(field).and_then(Value::as_object).into_iter().flatten();
    if map("labels").chain(map("annotations")).next().is_none() {
        faults.add(FaultKind::Required, at, "give labels or annotations");
    }
    for field in ["labels", "annotations"] {
        for (key, _) in map(field).filter(|(key, _)| !is_qualified(key)) {
            faults.invalid(
                format!("{at}.{field}"),
                format!("{key:?} cannot be the key of a label or annotation"),
            );
        }
    }
    for (key, value) in map("labels") {
        if !value.as_str().is_some_and(|value| value.is_empty() || is_name(value, NAME_MAX)) {
            faults.invalid(format!("{at}.labels"), format!("{value} cannot be the value of label {key:?}"));
        }
    }
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// As keys of labels are: a name, with or without a domain before it.
fn is_qualified(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => {
            is_name(prefix, PREFIX_MAX) && !prefix.contains('_') && is_name(name, NAME_MAX)
        }
        None => is_name(key, NAME_MAX),
    }
}

fn is_name(text: &str, max: usize) -> bool {
    let is_end = |c: char| c.is_ascii_alphanumeric();
    (1..=max).contains(&text.len())
        && text.starts_with(is_end)
        && text.ends_with(is_end)
        && text.chars().all(|c| is_end(c) || matches!(c, '-' | '_' | '.'))
}
