//! Which sets a new pod gets, in which revision (SS-22 … SS-30), and which pods the API server has to ask about.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kruise_api::convert;
use serde_json::Value;

use super::Chosen;
use crate::admission::selection::{Concern, Namespaces};
use crate::admission::{Known, Request};
use crate::amount::{Amount, Rounding};
use crate::gates::Gates;
use crate::lookup::{Lookup, Slim};
use crate::order::Selector;
use crate::pod::string_map;
use crate::sidecarset::canary::without_bases;
use crate::sidecarset::object::{EVERYWHERE, NAMESPACED, Selected, SidecarSet, named_namespaces};
use crate::sidecarset::spec::{Pin, PinName, Reach, Spec};
use crate::sidecarset::stored::Stored;

type Labels = BTreeMap<String, String>;

/// The sets of a pod, in the order of their containers: those that name its namespace, then all others, each by name (B1). The
/// error says why the pod cannot be created.
pub fn chosen(pod: &Value, namespace: &str, known: &Known<'_>) -> Result<Vec<Chosen>, String> {
    let lookup = known.lookup;
    if !lookup.is_settled::<SidecarSet>() {
        return Err("this manager has not read all SidecarSets yet; try again".to_owned());
    }
    if let Err(why) = &known.live.sidecarsets {
        return Err(format!("whether a SidecarSet selects this pod cannot be told: {why}; try again"));
    }
    let labels = string_map(pod.pointer("/metadata/labels"));
    let here = lookup.by::<SidecarSet>(NAMESPACED, namespace).into_iter();
    let mut matched = Vec::new();
    for set in here.chain(lookup.by(NAMESPACED, EVERYWHERE)) {
        if matches(&set, &labels, namespace, lookup)? {
            matched.push(set);
        }
    }
    without_bases(matched).into_iter().map(|set| choose(set, &labels, known)).collect()
}

/// SS-23. B3: what cannot be known denies the pod rather than to leave its sidecars out.
fn matches(set: &SidecarSet, labels: &Labels, namespace: &str, lookup: Lookup<'_>) -> Result<bool, String> {
    let Ok(spec) = &set.spec else { return Ok(false) };
    let is_selected = !spec.selector.is_empty() && spec.selector.matches_map(labels);
    if !is_selected || spec.is_injection_paused || set.head.deleted.is_some() {
        return Ok(false);
    }
    match set.is_for(lookup, namespace) {
        Selected::Yes => Ok(true),
        Selected::No => Ok(false),
        Selected::Unknown => Err(format!(
            "SidecarSet {:?} selects namespaces by their labels, and those of namespace {namespace:?} are not known yet; try again",
            set.name()
        )),
    }
}

/// SS-26 … SS-30.
fn choose(set: Arc<SidecarSet>, labels: &Labels, known: &Known<'_>) -> Result<Chosen, String> {
    let Ok(spec) = set.spec.clone() else {
        return Err(format!("SidecarSet {:?} cannot be read", set.name()));
    };
    if let Some(pin) = spec.pin.as_ref().filter(|pin| is_pinned(&spec, pin, labels, known)) {
        let stored = pinned(&set, pin, known.lookup, known.namespace).ok_or_else(|| lost(&set, pin))?;
        let sidecars = stored.sidecars().map_err(|fault| {
            format!("revision {} of SidecarSet {:?} cannot be read: {fault}", stored.name, set.name())
        })?;
        let (hashes, revision) = (stored.hashes(), stored.name.to_string());
        return Ok(Chosen { set, sidecars: Arc::new(sidecars), hashes, revision });
    }
    let latest = set.head.status.get("latestRevision").and_then(Value::as_str).unwrap_or_default();
    Ok(Chosen {
        sidecars: Arc::new(spec.sidecars.clone()),
        hashes: set.hashes(),
        revision: latest.to_owned(),
        set,
    })
}

/// SS-28, SS-29.
fn is_pinned(spec: &Spec, pin: &Pin, labels: &Labels, known: &Known<'_>) -> bool {
    let update = &spec.update;
    if update.is_paused || pin.reach == Reach::Always {
        return true;
    }
    if update.selector.as_ref().is_some_and(|selector| !selector.matches_map(labels)) {
        return true;
    }
    match update.partition {
        None | Some(Amount::Pods(_)) => false,
        Some(percent @ Amount::Percent(_)) => draw(&(known.suffix)()) <= percent.of(100, Rounding::Up),
    }
}

/// 1 to 100 out of random letters.
fn draw(letters: &str) -> u32 {
    let number = letters.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    number % 100 + 1
}

/// SS-27; B4: only a revision of this very set.
pub fn pinned(set: &SidecarSet, pin: &Pin, lookup: Lookup<'_>, namespace: &str) -> Option<Arc<Stored>> {
    let all = Stored::of_set(lookup, namespace, set.name(), &set.head.uid);
    let mut newest_first = all.into_iter().rev();
    newest_first.find(|one| match &pin.name {
        PinName::Revision(name) => one.name.as_str() == name,
        PinName::CustomVersion(version) => one.custom_version() == Some(version),
    })
}

/// B5.
fn lost(set: &SidecarSet, pin: &Pin) -> String {
    let what = match &pin.name {
        PinName::Revision(name) => format!("revision {name:?}"),
        PinName::CustomVersion(version) => format!("a revision with customVersion {version:?}"),
    };
    format!(
        "SidecarSet {:?} pins new pods to {what}, which does not exist: change or remove spec.injectionStrategy.revision",
        set.name()
    )
}

/// The pods of all sets that inject.
pub fn concerns(lookup: Lookup<'_>, _: &Gates) -> BTreeSet<Concern> {
    let all = lookup.all::<SidecarSet>();
    let injecting =
        all.iter().filter_map(|set| set.spec.as_ref().ok()).filter(|spec| !spec.is_injection_paused);
    injecting.filter_map(|spec| concern(&spec.selector, spec.namespaces.as_ref())).collect()
}

/// In either version. A set that is not paused any more selects again.
pub fn adds(request: &Request, _: &Gates) -> BTreeSet<Concern> {
    let resource = SidecarSet::RESOURCE;
    let is_ours = request.resource.group == resource.group() && request.resource.plural == resource.plural();
    if !is_ours {
        return BTreeSet::new();
    }
    let Ok(object) = convert(request.object.clone(), resource.version()) else { return BTreeSet::new() };
    let at = |path: &str| object.pointer(path).unwrap_or(&Value::Null);
    if at("/spec/injectionStrategy/paused").as_bool() == Some(true) {
        return BTreeSet::new();
    }
    let Ok(selector) = Selector::read(at("/spec/selector")) else { return BTreeSet::new() };
    let namespaces = at("/spec/namespaceSelector");
    let namespaces = if namespaces.is_null() { None } else { Selector::read(namespaces).ok() };
    concern(&selector, namespaces.as_ref()).into_iter().collect()
}

/// None for an empty selector, which selects no pod.
fn concern(selector: &Selector, namespaces: Option<&Selector>) -> Option<Concern> {
    let namespaces = match named_namespaces(namespaces) {
        Some(names) => Namespaces::Named(names.iter().cloned().collect()),
        None => Namespaces::All,
    };
    (!selector.is_empty()).then(|| Concern::Labelled { namespaces, selector: selector.clone() })
}
