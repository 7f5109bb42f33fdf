//! What a copy is made of, and what has to change in one that is there (RD-11, RD-12, RD-B1, RD-B9).

use std::collections::BTreeMap;
use std::sync::Arc;

use kruise_api::annotations::{
    RESOURCEDISTRIBUTION_ANNOTATIONS, RESOURCEDISTRIBUTION_FROM, RESOURCEDISTRIBUTION_HASH,
    RESOURCEDISTRIBUTION_LABELS,
};
use serde_json::{Map, Value, json};

use super::content::{Content, Distributed};
use super::copy::{Copy, Owned};
use super::object::ResourceDistribution;
use crate::chain::{Op, Part, Patch, Write};
use crate::lookup::Slim;
use crate::workload::base::Head;

/// How a copy differs from what is distributed.
#[derive(Debug)]
pub enum Difference {
    None,
    Patch(Box<Write>),
    /// It differs, and the API server never lets it be changed (RD-B13).
    Forbidden(String),
}

/// A new copy.
pub fn body(head: &Head, resource: &Distributed, namespace: &Arc<str>) -> Value {
    let mut body = resource.body.clone();
    let Some(meta) = body.get_mut("metadata").and_then(Value::as_object_mut) else { return body };
    meta.insert("namespace".to_owned(), json!(namespace));
    meta.insert("annotations".to_owned(), json!(annotations(head, resource)));
    let owners = meta.entry("ownerReferences").or_insert_with(|| json!([]));
    if let Some(owners) = owners.as_array_mut() {
        owners.retain(|one| one.get("uid").and_then(Value::as_str) != Some(head.uid.as_str()));
        owners.push(json!({
            "apiVersion": ResourceDistribution::RESOURCE.api_version(), "kind": ResourceDistribution::RESOURCE.kind(),
            "name": head.name, "uid": head.uid.as_str(), "controller": true, "blockOwnerDeletion": true,
        }));
    }
    body
}

/// With equal content, labels and annotations are looked at only when the spec has changed since the copy was written: what users change
/// on a copy stays (RD-22), and so does a copy of another release (RD-24).
pub fn difference(head: &Head, resource: &Distributed, copy: &Copy, content: &Content) -> Difference {
    let Some(owned) = &copy.owned else { return Difference::None };
    let is_same = content.digest == resource.content.digest;
    let is_current =
        owned.annotations.get(RESOURCEDISTRIBUTION_HASH).map(String::as_str) == Some(&resource.hash);
    if is_same && (is_current || !is_metadata_stale(resource, owned)) {
        return Difference::None;
    }
    if let Some(why) = forbidden(resource, content).filter(|_| !is_same) {
        return Difference::Forbidden(why);
    }
    let mut ops = vec![
        Op::test("/metadata/uid", copy.uid.as_str()),
        Op::test("/metadata/resourceVersion", copy.version.as_str()),
    ];
    if !is_same {
        let set = |(field, value): (&String, &Value)| Op::add(format!("/{field}"), value.clone());
        ops.extend(resource.fields.iter().map(set));
    }
    ops.extend(metadata(head, resource, owned));
    Difference::Patch(Box::new(Write::patch(copy.object(resource.sort), Part::Object, Patch::Json(ops))))
}

fn forbidden(resource: &Distributed, content: &Content) -> Option<String> {
    if content.is_immutable {
        return Some("the copy is immutable: delete it, and it is created anew".to_owned());
    }
    (content.r#type != resource.content.r#type).then(|| {
        let (is, wanted) = (&content.r#type, &resource.content.r#type);
        format!("the type of a Secret cannot change from {is} to {wanted}: delete the copy, and it is created anew")
    })
}

/// Whether a label or annotation of the spec is missing or other, or one is there that the spec had and has no more.
fn is_metadata_stale(resource: &Distributed, owned: &Owned) -> bool {
    let differs = |wanted: &BTreeMap<String, String>, there: &BTreeMap<String, String>| {
        wanted.iter().any(|(key, value)| there.get(key) != Some(value))
    };
    differs(&resource.labels, &owned.labels)
        || differs(&resource.annotations, &owned.annotations)
        || dropped(owned, RESOURCEDISTRIBUTION_LABELS, &resource.labels, &owned.labels).next().is_some()
        || dropped(owned, RESOURCEDISTRIBUTION_ANNOTATIONS, &resource.annotations, &owned.annotations)
            .next()
            .is_some()
}

/// Keys that were distributed to this copy, that it still has, and that the spec does not have any more.
fn dropped<'a>(
    owned: &'a Owned,
    record: &str,
    wanted: &'a BTreeMap<String, String>,
    there: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = &'a str> {
    let written = owned.annotations.get(record).map(String::as_str).unwrap_or_default();
    written.split(',').filter(|key| there.contains_key(*key) && !wanted.contains_key(*key))
}

/// All of it, since the copy is written anyway. Finalizers are united.
fn metadata(head: &Head, resource: &Distributed, owned: &Owned) -> Vec<Op> {
    let mut ops = Vec::new();
    let labels = dropped(owned, RESOURCEDISTRIBUTION_LABELS, &resource.labels, &owned.labels);
    set("/metadata/labels", &resource.labels, (&owned.labels, labels.collect()), &mut ops);
    let wanted = annotations(head, resource);
    let gone = dropped(owned, RESOURCEDISTRIBUTION_ANNOTATIONS, &resource.annotations, &owned.annotations);
    let records = [RESOURCEDISTRIBUTION_LABELS, RESOURCEDISTRIBUTION_ANNOTATIONS].into_iter();
    let old = records.filter(|key| owned.annotations.contains_key(*key) && !wanted.contains_key(*key));
    set("/metadata/annotations", &wanted, (&owned.annotations, gone.chain(old).collect()), &mut ops);
    let mut finalizers = owned.finalizers.clone();
    finalizers.extend(resource.finalizers.iter().filter(|one| !owned.finalizers.contains(one)).cloned());
    if finalizers != owned.finalizers {
        ops.push(Op::add("/metadata/finalizers", json!(finalizers)));
    }
    ops
}

fn set(
    map: &str,
    wanted: &BTreeMap<String, String>,
    (there, gone): (&BTreeMap<String, String>, Vec<&str>),
    ops: &mut Vec<Op>,
) {
    if there.is_empty() && !wanted.is_empty() {
        ops.push(Op::add(map, Value::Object(Map::new())));
    }
    let changed = wanted.iter().filter(|(key, value)| there.get(*key) != Some(value));
    ops.extend(changed.map(|(key, value)| Op::add(Op::path(map, key), value.as_str())));
    ops.extend(gone.into_iter().map(|key| Op::Remove { path: Op::path(map, key) }));
}

/// Those of the spec, the two of every release, and which keys were distributed: how a key that the spec drops is found on a copy.
fn annotations(head: &Head, resource: &Distributed) -> BTreeMap<String, String> {
    let keys = |all: &BTreeMap<String, String>| all.keys().cloned().collect::<Vec<_>>().join(",");
    let mut all = resource.annotations.clone();
    all.insert(RESOURCEDISTRIBUTION_HASH.to_owned(), resource.hash.to_string());
    all.insert(RESOURCEDISTRIBUTION_FROM.to_owned(), head.name.to_string());
    for (record, of) in [
        (RESOURCEDISTRIBUTION_LABELS, &resource.labels),
        (RESOURCEDISTRIBUTION_ANNOTATIONS, &resource.annotations),
    ] {
        if !of.is_empty() {
            all.insert(record.to_owned(), keys(of));
        }
    }
    all
}
