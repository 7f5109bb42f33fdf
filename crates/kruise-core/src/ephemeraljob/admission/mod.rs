//! What the schema cannot refuse (EJ-26 … EJ-28, E7, E11, E15). There are no defaults (EJ-26). Of an update only what it changes is judged:
//! whoever finalizes or pauses a job that was stored before these rules is not kept from it.

mod container;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::admission::workload::counts;
use crate::admission::{Answer, Denial, FaultKind, Faults, Known, Operation, Request};
use crate::order::Selector;

const NUMBERS: [&str; 4] =
    ["/replicas", "/parallelism", "/activeDeadlineSeconds", "/ttlSecondsAfterFinished"];

/// Always as a bad request, as the original.
pub fn admit(request: Request, _: &Known<'_>) -> Answer {
    let Request { operation, object, old: stored, .. } = request;
    match operation {
        Operation::Create | Operation::Update => {}
        Operation::Delete | Operation::Connect => return Answer::allowed(),
    }
    let (none, old) = (Value::Null, stored.get("spec"));
    let spec = object.get("spec").unwrap_or(&none);
    let faults = validate(spec, old);
    let denial = (!faults.is_empty()).then(|| Denial::bad_request(faults.to_string()));
    let has_started = stored.pointer("/status/startTime").is_some_and(Value::is_string);
    let warnings = old.filter(|_| has_started).map(|old| warn(spec, old)).unwrap_or_default();
    Answer { denial, warnings, patch: Vec::new() }
}

pub fn validate(spec: &Value, old: Option<&Value>) -> Faults {
    let mut faults = Faults::default();
    let is_new = |path: &str| old.is_none_or(|old| old.pointer(path) != spec.pointer(path));
    if is_new("/selector") {
        selector(spec.get("selector").unwrap_or(&Value::Null), &mut faults);
    }
    let numbers: Vec<&str> = NUMBERS.into_iter().filter(|path| is_new(path)).collect();
    counts(spec, &numbers, &mut faults);
    if is_new("/template") {
        containers(spec.pointer("/template/ephemeralContainers").unwrap_or(&Value::Null), &mut faults);
    }
    faults
}

/// E7.
fn selector(selector: &Value, faults: &mut Faults) {
    match Selector::read(selector) {
        Err(error) => faults.invalid("spec.selector", error.to_string()),
        Ok(read) if read.is_empty() => {
            faults.invalid("spec.selector", "must not be empty: it would select every pod of the namespace");
        }
        Ok(_) => {}
    }
}

/// E11, EJ-27.
fn containers(list: &Value, faults: &mut Faults) {
    let field = "spec.template.ephemeralContainers";
    let Some(list) = list.as_array().filter(|list| !list.is_empty()) else {
        faults.add(FaultKind::Required, field, "name at least one container to put into the pods");
        return;
    };
    let mut names = BTreeSet::new();
    for (i, one) in list.iter().enumerate() {
        let at = format!("{field}[{i}]");
        container::validate(one, &at, faults);
        let name = one.get("name").and_then(Value::as_str).unwrap_or_default();
        if !name.is_empty() && !names.insert(name) {
            let message = format!("{name:?}: another container of the job has this name");
            faults.add(FaultKind::Duplicate, format!("{at}.name"), message);
        }
    }
}

/// E15.
fn warn(spec: &Value, old: &Value) -> Vec<String> {
    let changed = ["selector", "template"].into_iter().filter(|field| spec.get(field) != old.get(field));
    let warning = |field: &str| {
        format!(
            "spec.{field}: the job has started; pods that it has touched keep their containers, and new names are injected again. Create another job instead"
        )
    };
    changed.map(warning).collect()
}
