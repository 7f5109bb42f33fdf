//! `spec.patchPodMetadata` and the administrator's whitelist (6.2 no. 8, 6.3).

use std::collections::{BTreeMap, BTreeSet};

use kruise_api::names::{CONFIGURATION, CONFIGURATION_SIDECARSET};
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::Case;
use crate::admission::{FaultKind, Faults};
use crate::gates::Gate;
use crate::order::Selector;
use crate::pod::string_map;

#[derive(Deserialize)]
struct Whitelist {
    #[serde(default)]
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    #[serde(default)]
    selector: Value,
    #[serde(default)]
    allowed_annotation_key_exprs: Vec<String>,
}

pub fn validate(case: &Case<'_>, faults: &mut Faults) {
    let list = case.at("/patchPodMetadata").as_array().map_or(&[][..], Vec::as_slice);
    if list.is_empty() || case.is_kept("/patchPodMetadata") {
        return;
    }
    let mut keys = BTreeSet::new();
    for (i, patch) in list.iter().enumerate() {
        let field = format!("spec.patchPodMetadata[{i}]");
        let policy = patch.get("patchPolicy").and_then(Value::as_str).unwrap_or_default();
        if !policy.is_empty() && !kruise_api::apps::sidecarset::PatchPolicy::WORDS.contains(&policy) {
            let message = format!("{policy:?}: use Retain, Overwrite or MergePatchJson"); // B7
            faults.add(FaultKind::NotSupported, format!("{field}.patchPolicy"), message);
        }
        let annotations = string_map(patch.get("annotations"));
        if annotations.is_empty() {
            faults.add(FaultKind::Required, format!("{field}.annotations"), "name at least one annotation");
        }
        for key in annotations.into_keys() {
            let at = format!("{field}.annotations[{key}]");
            if !is_qualified(&key) {
                faults.invalid(&at, "is no name for an annotation: use letters, digits, '-', '_', '.', and at most one prefix before a '/'");
            }
            if !keys.insert(key) {
                faults.add(FaultKind::Duplicate, &at, "another entry patches the same annotation");
            }
        }
    }
    if let Err(why) = allowed(case, &keys) {
        faults.add(FaultKind::Forbidden, "spec.patchPodMetadata", why);
    }
}

/// 6.3.
fn allowed(case: &Case<'_>, keys: &BTreeSet<String>) -> Result<(), String> {
    let is_open = case.known.gates.on(Gate::SidecarSetPatchPodMetadataDefaultsAllowed);
    let ask = format!("list the keys in {CONFIGURATION_SIDECARSET} of ConfigMap {CONFIGURATION}");
    let data = case.known.live.configuration.as_ref().map_err(|error| {
        format!("ConfigMap {CONFIGURATION}, which lists the allowed annotations, cannot be read: {error}")
    })?;
    let Some(text) = data.get(CONFIGURATION_SIDECARSET) else {
        return if is_open { Ok(()) } else { Err(format!("no annotation may be patched: {ask}")) };
    };
    let expressions = expressions(text, case.labels).map_err(|why| {
        format!("{CONFIGURATION_SIDECARSET} of ConfigMap {CONFIGURATION} cannot be read: {why}")
    })?;
    if expressions.is_empty() {
        return if is_open { Ok(()) } else { Err(format!("no annotation may be patched: {ask}")) };
    }
    let is_listed = |key: &&String| expressions.iter().any(|one| one.is_match(key));
    match keys.iter().find(|key| !is_listed(key)) {
        None => Ok(()),
        Some(key) => Err(format!("annotation {key:?} may not be patched: {ask}")),
    }
}

fn expressions(text: &str, labels: &BTreeMap<String, String>) -> Result<Vec<Regex>, String> {
    let list: Whitelist = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    for rule in list.rules {
        let selector = Selector::read(&rule.selector).map_err(|error| error.to_string())?;
        if selector.matches_map(labels) {
            for one in rule.allowed_annotation_key_exprs {
                all.push(Regex::new(&one).map_err(|_| format!("{one:?} is not a regular expression"))?);
            }
        }
    }
    Ok(all)
}

fn is_qualified(key: &str) -> bool {
    let is_end = |c: char| c.is_ascii_alphanumeric();
    let is_name = |name: &str, max: usize| {
        (1..=max).contains(&name.len())
            && name.starts_with(is_end)
            && name.ends_with(is_end)
            && name.chars().all(|c| is_end(c) || matches!(c, '-' | '_' | '.'))
    };
    match key.split_once('/') {
        Some((prefix, name)) => is_name(prefix, 253) && !prefix.contains('_') && is_name(name, 63),
        None => is_name(key, 63),
    }
}
