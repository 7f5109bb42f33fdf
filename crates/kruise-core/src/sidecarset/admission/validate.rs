//! The list of 6.2, on v1beta1.

use std::collections::BTreeMap;

use kruise_api::annotations::SIDECARSET_BASE;
use serde_json::Value;

use super::{conflict, containers, metadata, strategy};
use crate::admission::{FaultKind, Faults, Known};
use crate::object::Key;
use crate::order::Selector;
use crate::sidecarset::object::{SidecarSet, base};
use crate::sidecarset::spec::PinName;
use crate::sidecarset::stored::Stored;
use crate::template;

/// Of a DNS label.
const NAME_MAX: usize = 63;

/// One SidecarSet to be judged, and what is known besides.
pub struct Case<'a> {
    pub name: &'a str,
    pub uid: &'a str,
    pub labels: &'a BTreeMap<String, String>,
    pub annotations: &'a BTreeMap<String, String>,
    pub spec: &'a Value,
    /// The stored spec of an update.
    pub old: Option<&'a Value>,
    pub old_annotations: Option<&'a BTreeMap<String, String>>,
    pub known: &'a Known<'a>,
}

impl<'a> Case<'a> {
    pub fn at(&self, path: &str) -> &'a Value {
        self.spec.pointer(path).unwrap_or(&Value::Null)
    }

    pub fn old_at(&self, path: &str) -> &'a Value {
        self.old.and_then(|old| old.pointer(path)).unwrap_or(&Value::Null)
    }

    /// Whether an update leaves this as it was.
    pub fn is_kept(&self, path: &str) -> bool {
        self.old.is_some_and(|old| old.pointer(path) == self.spec.pointer(path))
    }

    pub fn is_rolling(&self) -> bool {
        ["", kruise_api::apps::sidecarset::SidecarSetUpdateType::RollingUpdate.as_str()]
            .contains(&self.at("/updateStrategy/type").as_str().unwrap_or_default())
    }
}

pub fn validate(case: &Case<'_>) -> Faults {
    let mut faults = Faults::default();
    name(case.name, &mut faults);
    canary(case, &mut faults);
    selector(case.at("/selector"), "spec.selector", &mut faults);
    if !case.at("/namespaceSelector").is_null() {
        selector(case.at("/namespaceSelector"), "spec.namespaceSelector", &mut faults);
    }
    strategy::update(case, &mut faults);
    revision(case, &mut faults);
    containers::validate(case, &mut faults);
    metadata::validate(case, &mut faults);
    custom_version(case, &mut faults);
    if faults.is_empty() {
        conflict::validate(case, &mut faults);
    }
    faults
}

/// B18.
pub fn warn(case: &Case<'_>) -> Vec<String> {
    let policy = |spec: &Value, list: &str, name: &Value| {
        let items = spec.get(list).and_then(Value::as_array).into_iter().flatten();
        let found = items.into_iter().find(|one| one.get("name") == Some(name))?;
        let text = |field: &str| found.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        Some((text("imagePullPolicy"), template::is_latest(&text("image"))))
    };
    let mut warnings = Vec::new();
    for one in case.at("/containers").as_array().into_iter().flatten() {
        let Some(name) = one.get("name") else { continue };
        let new = policy(case.spec, "containers", name);
        let old = case.old.and_then(|old| policy(old, "containers", name));
        if let (Some((new, is_latest)), Some((old, was_latest))) = (new, old)
            && new != old
            && is_latest != was_latest
        {
            warnings.push(format!(
                "container {name}: its imagePullPolicy became {new} because its tag changed from or to latest; pods that run cannot be upgraded in place then. Set imagePullPolicy: {old} to keep them upgradable"
            ));
        }
    }
    warnings
}

fn name(name: &str, faults: &mut Faults) {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if !is_plain || name.len() > NAME_MAX {
        let message = format!("{name:?}: use at most {NAME_MAX} letters, digits and dashes");
        faults.invalid("metadata.name", message);
    }
}

/// 6.2 no. 2; B2: an update that keeps the base needs no base any more.
fn canary(case: &Case<'_>, faults: &mut Faults) {
    let field = format!("metadata.annotations[{SIDECARSET_BASE}]");
    let before = case.old_annotations.and_then(|old| old.get(SIDECARSET_BASE));
    if case.old_annotations.is_some() && before != case.annotations.get(SIDECARSET_BASE) {
        faults.add(
            FaultKind::Forbidden,
            &field,
            "cannot be changed: delete the SidecarSet and create it anew",
        );
        return;
    }
    let Some(base_name) = base(case.annotations) else { return };
    if base_name == case.name {
        faults.invalid(&field, "a canary cannot be its own base: name another SidecarSet");
        return;
    }
    if case.is_rolling()
        || case.at("/updateStrategy/type").as_str()
            != Some(kruise_api::apps::sidecarset::SidecarSetUpdateType::NotUpdate.as_str())
    {
        faults.invalid("spec.updateStrategy.type", "a canary must say NotUpdate: it only injects");
    }
    if before.is_some() {
        return;
    }
    match case.known.lookup.get::<SidecarSet>(&Key::cluster(base_name)) {
        None => faults.invalid(&field, format!("there is no SidecarSet {base_name:?}")),
        Some(found) if found.base().is_some() => {
            faults.invalid(&field, format!("{base_name:?} is a canary itself: name its base"));
        }
        Some(_) => {}
    }
}

fn selector(value: &Value, field: &str, faults: &mut Faults) {
    match Selector::read(value) {
        _ if value.is_null() => faults.add(FaultKind::Required, field, "say which pods get the containers"),
        Err(error) => faults.invalid(field, error.to_string()),
        Ok(selector) if selector.is_empty() => {
            faults.invalid(field, "must not be empty: give matchLabels or matchExpressions");
        }
        Ok(_) => {}
    }
}

/// 6.2 no. 5, B4.
fn revision(case: &Case<'_>, faults: &mut Faults) {
    let field = "spec.injectionStrategy.revision";
    let revision = case.at("/injectionStrategy/revision");
    if revision.is_null() || case.is_kept("/injectionStrategy/revision") {
        return;
    }
    let text = |name: &str| revision.get(name).and_then(Value::as_str).map(str::to_owned);
    let policy = text("policy").unwrap_or_default();
    if !policy.is_empty() && !kruise_api::apps::sidecarset::RevisionPolicy::WORDS.contains(&policy.as_str()) {
        faults.add(
            FaultKind::NotSupported,
            format!("{field}.policy"),
            format!("{policy:?}: use Always or Partial"),
        );
    }
    let name = match (text("revisionName"), text("customVersion")) {
        (Some(name), _) => PinName::Revision(name),
        (None, Some(version)) => PinName::CustomVersion(version),
        (None, None) => {
            faults.add(FaultKind::Required, field, "give revisionName or customVersion");
            return;
        }
    };
    let uid = crate::ids::Uid::new(case.uid);
    let stored = Stored::of_set(case.known.lookup, case.known.namespace, case.name, &uid);
    let is_there = stored.iter().any(|one| match &name {
        PinName::Revision(name) => one.name.as_str() == name,
        PinName::CustomVersion(version) => one.custom_version() == Some(version),
    });
    if !is_there {
        let what = match name {
            PinName::Revision(name) => format!("revision {name:?}"),
            PinName::CustomVersion(version) => format!("revision with customVersion {version:?}"),
        };
        let message = format!(
            "this SidecarSet has no {what}: list its ControllerRevisions by the label {}={}",
            kruise_api::labels::SIDECARSET_NAME,
            case.name
        );
        faults.invalid(field, message);
    }
}

/// B23.
fn custom_version(case: &Case<'_>, faults: &mut Faults) {
    let version = case.at("/customVersion").as_str().unwrap_or_default();
    let is_end = |c: char| c.is_ascii_alphanumeric();
    let is_label = version.len() <= NAME_MAX
        && version.chars().all(|c| is_end(c) || matches!(c, '-' | '_' | '.'))
        && version.starts_with(is_end)
        && version.ends_with(is_end);
    if !version.is_empty() && !is_label && !case.is_kept("/customVersion") {
        let message = format!(
            "{version:?} cannot be the value of a label: use at most {NAME_MAX} letters, digits, '-', '_' and '.', with a letter or digit at both ends"
        );
        faults.invalid("spec.customVersion", message);
    }
}
