//! Two sets that select the same pod must not bring the same things (6.2 no. 10 and 11). Whether they can select the same pod is decided
//! exactly (B15).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Case;
use crate::admission::Faults;
use crate::order::{Requirement, Selector};
use crate::sidecarset::object::{SidecarSet, base};
use crate::sidecarset::sidecar::{MetadataPatch, Patching, Sidecars};
use crate::sidecarset::spec::Spec;

pub fn validate(case: &Case<'_>, faults: &mut Faults) {
    let Ok(own) = Sidecars::read(case.spec) else { return };
    let selector = |path: &str| Selector::read(case.at(path)).unwrap_or_default();
    let (pods, namespaces) = (selector("/selector"), selector("/namespaceSelector"));
    for other in case.known.lookup.all::<SidecarSet>() {
        let Ok(spec) = &other.spec else { continue };
        let is_pair = base(case.annotations) == Some(other.name()) || other.base() == Some(case.name); // B2
        if other.name().as_ref() == case.name || is_pair || !overlaps(spec, &pods, &namespaces) {
            continue;
        }
        compare(&own, &spec.sidecars, other.name(), faults);
    }
}

fn overlaps(other: &Spec, pods: &Selector, namespaces: &Selector) -> bool {
    let everywhere = Selector::default();
    let theirs = other.namespaces.as_ref().unwrap_or(&everywhere);
    can_both_hold(&other.selector, pods) && can_both_hold(theirs, namespaces)
}

/// Whether some labels fulfil both: no key may be asked for what it cannot be.
pub fn can_both_hold(one: &Selector, other: &Selector) -> bool {
    let mut keys: BTreeMap<&str, Key<'_>> = BTreeMap::new();
    for requirement in one.requirements().iter().chain(other.requirements()) {
        let key = keys.entry(requirement.key()).or_default();
        match requirement {
            Requirement::In(_, values) => key.narrow(values),
            Requirement::NotIn(_, values) => key.not.extend(values.iter().map(String::as_str)),
            Requirement::Exists(_) => key.must_be = true,
            Requirement::DoesNotExist(_) => key.must_not_be = true,
        }
    }
    keys.values().all(Key::is_possible)
}

/// What is asked of one label.
#[derive(Default)]
struct Key<'a> {
    one_of: Option<BTreeSet<&'a str>>,
    not: BTreeSet<&'a str>,
    must_be: bool,
    must_not_be: bool,
}

impl<'a> Key<'a> {
    fn narrow(&mut self, values: &'a [String]) {
        let values: BTreeSet<&str> = values.iter().map(String::as_str).collect();
        self.one_of = Some(match self.one_of.take() {
            None => values,
            Some(before) => &before & &values,
        });
    }

    fn is_possible(&self) -> bool {
        match &self.one_of {
            Some(values) => !self.must_not_be && values.iter().any(|value| !self.not.contains(value)),
            None => !(self.must_be && self.must_not_be),
        }
    }
}

fn compare(own: &Sidecars, other: &Sidecars, name: &str, faults: &mut Faults) {
    let theirs: BTreeSet<String> = other.pod_names().collect();
    for (list, field) in [(&own.containers, "spec.containers"), (&own.init, "spec.initContainers")] {
        for (i, sidecar) in list.iter().enumerate() {
            if sidecar.pod_names().iter().any(|one| theirs.contains(one)) {
                let message = format!(
                    "container {:?} is in SidecarSet {name:?}, too, and both can select the same pod: rename it, or change a selector",
                    sidecar.name
                );
                faults.invalid(format!("{field}[{i}].name"), message);
            }
        }
    }
    for (i, volume) in own.volumes.iter().enumerate() {
        let same = |one: &&Value| one.get("name") == volume.get("name");
        if other.volumes.iter().find(same).is_some_and(|there| there != volume) {
            let message = format!(
                "SidecarSet {name:?} has another volume of this name, and both can select the same pod: rename it, or change a selector"
            );
            faults.invalid(format!("spec.volumes[{i}].name"), message);
        }
    }
    for (i, patch) in own.patches.iter().enumerate() {
        if let Some(key) = clash(patch, &other.patches) {
            let message = format!(
                "SidecarSet {name:?} patches this annotation, too, and both can select the same pod: at least one of them would be lost"
            );
            faults.invalid(format!("spec.patchPodMetadata[{i}].annotations[{key}]"), message);
        }
    }
}

/// A key that one of both overwrites.
fn clash<'a>(patch: &'a MetadataPatch, others: &[MetadataPatch]) -> Option<&'a str> {
    let is_strong = |policy: Patching| match policy {
        Patching::Overwrite | Patching::MergeJson => true,
        Patching::Retain | Patching::Unknown => false,
    };
    let overwrites = |a: Patching, b: Patching| {
        is_strong(a) && is_strong(b) && (a == Patching::Overwrite || b == Patching::Overwrite)
    };
    let is_lost = |key: &str| {
        others.iter().any(|other| {
            overwrites(patch.policy, other.policy) && other.annotations.iter().any(|(one, _)| one == key)
        })
    };
    patch.annotations.iter().map(|(key, _)| key.as_str()).find(|key| is_lost(key))
}
