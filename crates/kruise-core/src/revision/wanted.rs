//! Which revision is wanted, which is current, and what must be stored for that (SM-4 … SM-7, SM-11).

use std::collections::{BTreeMap, BTreeSet};

use kruise_api::resource::REVISIONS;
use kruise_api::{annotations, labels};
use serde_json::{Value, json};

use super::history::{Choice, choose, surplus};
use super::same::Writer;
use super::stored::{Data, Revision};
use crate::chain::{Chain, Op, Part, Patch, Purpose, Write};
use crate::ids::{RevisionHash, RevisionName};
use crate::pod::string_map;
use crate::workload::Workload;

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

/// What a new revision carries besides the template.
#[derive(Debug, Clone, Copy)]
pub struct Stamp<'a> {
    /// The label that its hash is written to (SM-4, DS-42).
    pub hash_label: &'a str,
    /// Of the volume claim templates, for kinds that compare them (SM-12).
    pub claim_hash: Option<&'a str>,
}

/// `claim_hash` is recorded by kinds that compare claim templates (SM-12).
pub fn find<'a>(workload: &Workload<'a>, data: &Data, claim_hash: Option<&str>) -> Found<'a> {
    find_stamped(workload, data, Stamp { hash_label: labels::REVISION_HASH, claim_hash })
}

/// As [`find`], for kinds whose revisions have labels of their own.
pub fn find_stamped<'a>(workload: &Workload<'a>, data: &Data, stamp: Stamp<'_>) -> Found<'a> {
    let claim_hash = stamp.claim_hash;
    let choice = choose(workload.revisions, &data.template, |one| writer(workload, one));
    let (update, renumber) = match choice {
        Choice::Newest(revision) => (revision, None),
        Choice::Older { revision, number } => {
            (revision, Some(renumber(workload, revision, number, claim_hash)))
        }
        Choice::Create { number } => return Found::Missing(create(workload, data, stamp, number)),
    };
    let named = workload.status.get("currentRevision").and_then(Value::as_str);
    let mut stored = workload.revisions.iter().map(AsRef::as_ref);
    let current = stored.find(|one: &&Revision| Some(one.name.as_str()) == named).unwrap_or(update);
    Found::Stored(Revisions { current, update }, renumber)
}

/// Deletes dead revisions beyond the limit (SM-11).
pub fn truncate(
    workload: &Workload<'_>,
    revisions: Revisions<'_>,
    in_use: &BTreeSet<RevisionHash>,
    limit: u32,
) -> Option<Chain> {
    let used = workload.revisions.iter().filter(|one| in_use.contains(&one.name.hash()));
    let mut live: BTreeSet<RevisionName> = used.map(|one| one.name.clone()).collect();
    live.extend([revisions.current.name.clone(), revisions.update.name.clone()]);
    let dead = surplus(workload.revisions, &live, limit);
    let writes: Vec<Write> = dead
        .into_iter()
        .map(|one| Write::delete(workload.object(REVISIONS, one.name.as_str()), &one.uid))
        .collect();
    (!writes.is_empty()).then(|| Chain::other(Purpose::History, writes))
}

/// A revision that the status names for this very generation was made from this template (SM-10).
fn writer(workload: &Workload<'_>, revision: &Revision) -> Writer {
    let status = &workload.status;
    let observed = status.get("observedGeneration").and_then(Value::as_i64) == Some(workload.generation);
    // By hash: a DaemonSet writes nothing else (DS-38).
    let named = status.get("updateRevision").and_then(Value::as_str);
    let named = named.is_some_and(|name| RevisionHash::last_segment(name) == revision.name.hash());
    if observed && named { Writer::OfThisTemplate } else { Writer::Unknown }
}

fn create(workload: &Workload<'_>, data: &Data, stamp: Stamp<'_>, number: i64) -> Chain {
    if workload.is_name_taken {
        return Chain::other(Purpose::Revision, vec![workload.collided()]);
    }
    let name = data.name(&workload.name, workload.collisions());
    // The label keeps the hash without collisions (SM-5).
    let hash = data.name(&workload.name, 0).hash();
    let mut labels = string_map(data.template.pointer("/metadata/labels"));
    labels.insert(stamp.hash_label.to_owned(), hash.to_string());
    let mut annotations: BTreeMap<String, String> = workload.annotations.clone();
    if let Some(claim_hash) = stamp.claim_hash {
        annotations.insert(annotations::CLONESET_CLAIM_TEMPLATE_HASH.to_owned(), claim_hash.to_owned());
    }
    // Parsed from the exact text, so that the keys keep the stored order.
    let stored: Value = serde_json::from_str(data.text()).unwrap_or_default();
    let body = json!({
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": name.as_str(), "namespace": workload.namespace, "labels": labels, "annotations": annotations,
            "ownerReferences": [workload.owner_reference()],
        },
        "data": stored,
        "revision": number,
    });
    Chain::other(Purpose::Revision, vec![Write::create(workload.object(REVISIONS, name.as_str()), &body)])
}

/// A rollback reuses the old name under a new number, and the new claim hash where one is kept (CS-11).
fn renumber(workload: &Workload<'_>, revision: &Revision, number: i64, claim_hash: Option<&str>) -> Chain {
    let mut ops = vec![
        Op::test("/metadata/resourceVersion", revision.version.as_str()),
        Op::Replace { path: "/revision".to_owned(), value: Value::from(number) },
    ];
    // Without the annotation the map itself may be absent; a missing hash allows in-place anyway (SM-13).
    if let (Some(there), Some(wanted)) = (revision.claim_hash.as_deref(), claim_hash)
        && there != wanted
    {
        ops.push(Op::add(
            Op::path("/metadata/annotations", annotations::CLONESET_CLAIM_TEMPLATE_HASH),
            wanted,
        ));
    }
    Chain::other(
        Purpose::Revision,
        vec![Write::patch(
            workload.object(REVISIONS, revision.name.as_str()),
            Part::Object,
            Patch::Json(ops),
        )],
    )
}
