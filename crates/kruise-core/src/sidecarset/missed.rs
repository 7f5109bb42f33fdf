//! Pods that a set selects and that do not have its sidecars, and why: nobody should find out weeks later.

use std::collections::BTreeMap;
use std::sync::Arc;

use kruise_api::annotations::INJECTION_FAILURE_POLICY;

use super::object::SidecarSet;
use super::records::list_of;
use crate::lookup::{Lookup, Slim};
use crate::object::Key;
use crate::order::Requirement;
use crate::pod::{LABEL, NAMESPACE, OF_ONE_POD_OR_REVISION, PodView, labelled};

/// A few names are enough to look further; a status must not grow with the pods.
const EXAMPLES: usize = 3;

/// A pod without sidecars that it should have.
#[derive(Debug, Clone)]
pub struct Missed {
    pub pod: Arc<PodView>,
    pub why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// Pods get sidecars only when they are created.
    CreatedBefore,
    /// `injectionStrategy.paused`.
    Paused,
    /// Its annotation lets pods through while no manager answers.
    CreatedWhileIgnored,
    /// Labels came later, the webhook was away, or the namespace is one that never depends on Kruise.
    NotAsked,
}

impl Why {
    fn text(self) -> &'static str {
        match self {
            Self::CreatedBefore => "created before the SidecarSet",
            Self::Paused => "injectionStrategy.paused",
            Self::CreatedWhileIgnored => {
                "created while no manager answered (injection-failure-policy: Ignore)"
            }
            Self::NotAsked => {
                "created while the webhook did not select them: labels changed later, the webhook was removed, or an excluded namespace"
            }
        }
    }
}

impl Missed {
    /// By one label of the selector, so that only pods with that label are looked at.
    pub fn find(set: &SidecarSet, lookup: Lookup<'_>) -> Vec<Self> {
        let found = candidates(set, lookup).into_iter();
        let missed = found.filter(|pod| is_missed(set, pod, lookup));
        missed.map(|pod| Self { why: why(set, &pod), pod }).collect()
    }
}

/// Whether a pod should have the sidecars of this set and has not. One that a canary took over has its own.
pub fn is_missed(set: &SidecarSet, pod: &PodView, lookup: Lookup<'_>) -> bool {
    pod.is_active()
        && set.selects(pod)
        && !has(set, pod, lookup)
        && set.is_for(lookup, &pod.namespace) == super::object::Selected::Yes
}

fn has(set: &SidecarSet, pod: &PodView, lookup: Lookup<'_>) -> bool {
    let is_canary_of = |name: &str| {
        lookup.get::<SidecarSet>(&Key::cluster(name)).is_some_and(|other| other.base() == Some(set.name()))
    };
    list_of(&pod.annotations).any(|name| name == set.name().as_ref() || is_canary_of(name))
}

fn why(set: &SidecarSet, pod: &PodView) -> Why {
    let is_paused = set.spec.as_ref().is_ok_and(|spec| spec.is_injection_paused);
    let is_ignoring = set.head.annotations.get(INJECTION_FAILURE_POLICY).is_some_and(|word| word == "Ignore");
    if pod.created < set.head.created {
        Why::CreatedBefore
    } else if is_paused {
        Why::Paused
    } else if is_ignoring {
        Why::CreatedWhileIgnored
    } else {
        Why::NotAsked
    }
}

fn candidates(set: &SidecarSet, lookup: Lookup<'_>) -> Vec<Arc<PodView>> {
    let Ok(spec) = &set.spec else { return Vec::new() };
    if spec.selector.is_empty() {
        return Vec::new();
    }
    let usable = spec.selector.requirements().iter().find_map(|one| match one {
        Requirement::In(key, values) if !OF_ONE_POD_OR_REVISION.contains(&key.as_str()) => {
            Some((key, values))
        }
        Requirement::In(..)
        | Requirement::NotIn(..)
        | Requirement::Exists(_)
        | Requirement::DoesNotExist(_) => None,
    });
    if let Some((key, values)) = usable {
        return values.iter().flat_map(|value| lookup.by::<PodView>(LABEL, &labelled(key, value))).collect();
    }
    // Only an odd selector, without any In, comes here.
    match super::object::named_namespaces(spec.namespaces.as_ref()) {
        Some(names) => names.iter().flat_map(|name| lookup.by::<PodView>(NAMESPACE, name)).collect(),
        None => lookup.all(),
    }
}

/// How many, why, and a few of them; absent if there is none.
pub fn summary(missed: &[Missed]) -> Option<String> {
    if missed.is_empty() {
        return None;
    }
    let mut by_reason: BTreeMap<Why, Vec<&PodView>> = BTreeMap::new();
    for one in missed {
        by_reason.entry(one.why).or_default().push(&one.pod);
    }
    let parts = by_reason.into_iter().map(|(why, pods)| {
        let names =
            pods.iter().take(EXAMPLES).map(|pod| pod.key().to_string()).collect::<Vec<_>>().join(", ");
        format!("{} {} ({names})", pods.len(), why.text())
    });
    let parts = parts.collect::<Vec<_>>().join("; ");
    Some(format!(
        "{} pods match but do not have the sidecars: {parts}. Recreate them to inject",
        missed.len()
    ))
}
