//! Which revision is wanted, which is current, and what must be stored for that (CS-10 … CS-12, SM-4 … SM-7).

use std::collections::{BTreeMap, BTreeSet};

use kruise_api::{annotations, labels, names};
use serde_json::{Value, json};

use super::spec::Spec;
use super::view::View;
use crate::chain::{Chain, Op, Part, Patch, Purpose, Resource, Write};
use crate::ids::{RevisionHash, RevisionName};
use crate::pod::{PodView, string_map};
use crate::revision::{Choice, Revision, Writer, choose, surplus};

/// The two revisions that everything is about.
#[derive(Debug, Clone, Copy)]
pub struct Revisions<'a> {
    pub current: &'a Revision,
    pub update: &'a Revision,
}

/// The outcome of looking for them.
#[derive(Debug)]
pub enum Found<'a> {
    /// Both are stored; with the write that gives an older one its new number, if it is a rollback.
    Stored(Revisions<'a>, Option<Chain>),
    /// The wanted one must be stored first.
    Missing(Chain),
}

impl Revisions<'_> {
    pub fn are_same(&self) -> bool {
        self.current.name == self.update.name
    }
}

pub fn find<'a>(view: &'a View, spec: &Spec) -> Found<'a> {
    let choice = choose(&view.revisions, &spec.template.template, |one| writer(view, one));
    let (update, renumber) = match choice {
        Choice::Newest(revision) => (revision, None),
        Choice::Older { revision, number } => (revision, Some(renumber(revision, number, spec))),
        Choice::Create { number } => return Found::Missing(create(view, spec, number)),
    };
    let named = view.status.get("currentRevision").and_then(Value::as_str);
    let mut stored = view.revisions.iter().map(AsRef::as_ref);
    let current = stored.find(|one: &&Revision| Some(one.name.as_str()) == named).unwrap_or(update);
    Found::Stored(Revisions { current, update }, renumber)
}

/// A revision that the status names for this very generation was made from this template (SM-10).
fn writer(view: &View, revision: &Revision) -> Writer {
    let observed = view.status.get("observedGeneration").and_then(Value::as_i64) == Some(view.generation);
    let named = view.status.get("updateRevision").and_then(Value::as_str) == Some(revision.name.as_str());
    if observed && named { Writer::OfThisTemplate } else { Writer::Unknown }
}

pub fn collisions(view: &View) -> i32 {
    view.status
        .get("collisionCount")
        .and_then(Value::as_i64)
        .and_then(|count| i32::try_from(count).ok())
        .unwrap_or(0)
}

/// Reference that makes an object ours.
pub fn owner_reference(view: &View) -> Value {
    json!({
        "apiVersion": format!("{}/v1beta1", names::APPS_GROUP),
        "kind": "CloneSet",
        "name": view.name,
        "uid": view.uid.as_str(),
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

fn create(view: &View, spec: &Spec, number: i64) -> Chain {
    let data = &spec.template;
    let name = data.name(&view.name, collisions(view));
    // The label keeps the hash without collisions (SM-5).
    let hash = data.name(&view.name, 0).hash();
    let mut labels = string_map(data.template.pointer("/metadata/labels"));
    labels.insert(labels::REVISION_HASH.to_owned(), hash.to_string());
    let mut annotations: BTreeMap<String, String> = view.annotations.clone();
    annotations.insert(annotations::CLONESET_CLAIM_TEMPLATE_HASH.to_owned(), spec.claim_hash.clone());
    // Parsed from the exact text, so that the keys keep the stored order.
    let stored: Value = serde_json::from_str(data.text()).unwrap_or_default();
    let body = json!({
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": name.as_str(), "namespace": view.namespace, "labels": labels, "annotations": annotations,
            "ownerReferences": [owner_reference(view)],
        },
        "data": stored,
        "revision": number,
    });
    Chain::other(Purpose::Revision, vec![Write::create(Resource::Revision, name.as_str(), body)])
}

/// A rollback reuses the old name under a new number and the new claim hash (CS-11).
fn renumber(revision: &Revision, number: i64, spec: &Spec) -> Chain {
    let mut ops = vec![
        Op::test("/metadata/resourceVersion", revision.version.as_str()),
        Op::Replace { path: "/revision".to_owned(), value: Value::from(number) },
    ];
    let path = Op::path("/metadata/annotations", annotations::CLONESET_CLAIM_TEMPLATE_HASH);
    match revision.claim_hash.as_deref() {
        Some(there) if there != spec.claim_hash => ops.push(Op::add(path, spec.claim_hash.as_str())),
        // Without the annotation the map itself may be absent; a missing hash allows in-place anyway (SM-13).
        Some(_) | None => {}
    }
    Chain::other(
        Purpose::Revision,
        vec![Write::patch(Resource::Revision, revision.name.as_str(), Part::Object, Patch::Json(ops))],
    )
}

/// Deletes dead revisions beyond the limit (SM-11).
pub fn truncate(view: &View, spec: &Spec, revisions: Revisions<'_>) -> Option<Chain> {
    let in_use: BTreeSet<RevisionHash> = view.active().filter_map(PodView::revision).collect();
    let mut live: BTreeSet<RevisionName> = view
        .revisions
        .iter()
        .filter(|one| in_use.contains(&one.name.hash()))
        .map(|one| one.name.clone())
        .collect();
    live.extend([revisions.current.name.clone(), revisions.update.name.clone()]);
    let dead = surplus(&view.revisions, &live, spec.history_limit);
    let writes: Vec<Write> =
        dead.into_iter().map(|one| Write::delete(Resource::Revision, one.name.as_str(), &one.uid)).collect();
    (!writes.is_empty()).then(|| Chain::other(Purpose::History, writes))
}
