//! Writes the selections of one webhook configuration, and the record of what they are made of, in one optimistic write.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::Context;
use kruise_api::annotations::POD_SELECTIONS;
use kruise_core::admission::pod::{Entry, PodSteps};
use kruise_core::admission::selection::{Concern, Pending, Place, Record, Recorded, Width};
use kruise_runtime::certs::{Selection, read_object, replace_object, selected};
use kruise_runtime::metrics::Metrics;
use kube::Client;
use serde_json::{Value, json};

use super::{Wanted, selections};
use crate::webhooks::entry::Sort;

/// Other replicas write at the same time, each for a batch of objects.
const RACES_MAX: usize = 20;

#[derive(Clone)]
pub struct Writer {
    pub client: Client,
    pub steps: Arc<PodSteps>,
    pub place: Place,
    pub metrics: Arc<Metrics>,
}

/// How a selection changes.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    /// Objects that are about to be stored need these.
    Widen(&'a Wanted),
    /// The leader's objects need these, and what has expired goes.
    Lead { needed: &'a Wanted, expired: &'a Expired },
}

/// What nothing needs for long enough, by the name of the entry.
pub type Expired = BTreeMap<String, BTreeSet<Pending>>;

/// A configuration and what has to become of it.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    /// Absent if nothing is to be written.
    pub write: Option<Value>,
    /// As it is then.
    pub record: Record,
    pub widths: BTreeMap<Entry, Width>,
}

pub const SORTS: [Sort; 2] = [Sort::Mutating, Sort::Validating];

impl Writer {
    /// Makes the change; says what the configuration selects then. Nothing where there is no configuration: it is made wide.
    pub async fn change(&self, sort: Sort, change: Change<'_>) -> anyhow::Result<Record> {
        let path = path(sort);
        for _ in 0..RACES_MAX {
            let Some(live) = read_object(&self.client, path).await.context(path)? else {
                return Ok(Record::default());
            };
            let outcome = changed(&live, sort, change, (&self.steps, &self.place));
            let Some(wanted) = outcome.write else {
                self.tell(&outcome.widths);
                return Ok(outcome.record);
            };
            if replace_object(&self.client, path, &wanted).await.context(path)? {
                tracing::info!(path, "pod selection written");
                self.tell(&outcome.widths);
                return Ok(outcome.record);
            }
        }
        Err(anyhow::anyhow!("{path}: others keep changing it"))
    }

    /// Says how widely pods are selected: in the log when that is new, in the metrics and on `/readyz` while it lasts.
    pub(super) fn tell(&self, widths: &BTreeMap<Entry, Width>) {
        for (entry, width) in widths {
            let is_new = self.metrics.pod_webhook_width(entry.name(), width.text());
            if is_new && *width > Width::Exact {
                tracing::warn!(
                    entry = entry.name(),
                    width = width.text(),
                    "too many objects select pods to be told apart: the pod webhook is asked about more pods than need it"
                );
            }
        }
    }
}

pub fn sort_of(entry: Entry) -> Sort {
    match entry {
        Entry::Mutating => Sort::Mutating,
        Entry::Validating | Entry::Evictions => Sort::Validating,
    }
}

/// The configuration after the change. Entries that it does not have are not selected for.
pub fn changed(live: &Value, sort: Sort, change: Change<'_>, with: (&PodSteps, &Place)) -> Outcome {
    let (steps, place) = with;
    let text = |at: &str| live.pointer(at).and_then(Value::as_str).unwrap_or_default();
    let stamp = text("/metadata/resourceVersion");
    let annotations = live.pointer("/metadata/annotations");
    let noted = annotations.and_then(|all| all.get(POD_SELECTIONS)).and_then(Value::as_str);
    let noted = noted.and_then(Record::read).unwrap_or_default();
    let (mut record, mut widths) = (Record::default(), BTreeMap::new());
    let mut chosen: BTreeMap<Entry, Selection> = BTreeMap::new();
    for entry in Entry::ALL.into_iter().filter(|entry| sort_of(*entry) == sort && has(live, *entry)) {
        let sight = steps.sight(entry);
        let select = |recorded: &Recorded| {
            let selection = recorded.selection(sight, place);
            Selection {
                namespace_selector: selection.namespace_selector,
                object_selector: selection.object_selector,
                match_conditions: selection.match_conditions,
            }
        };
        let before = noted.0.get(entry.name());
        let is_as_noted = before.is_some_and(|before| {
            let wanted = select(before);
            selected(live, &selections(|one| (one == entry).then(|| wanted.clone()))).is_none()
        });
        let Some(next) = next(before, change, (entry, stamp, is_as_noted)) else {
            // What others decide stays, with what is noted about it.
            record.0.extend(before.map(|before| (entry.name().to_owned(), before.clone())));
            continue;
        };
        let (next, width) = next.bounded(sight, place);
        widths.insert(entry, width);
        let kept = before.filter(|before| is_as_noted && before.is_same(&next)).cloned();
        let next = kept.unwrap_or(next);
        chosen.insert(entry, select(&next));
        record.0.insert(entry.name().to_owned(), next);
    }
    let wanted = selected(live, &selections(|entry| chosen.get(&entry).cloned()));
    let write = (wanted.is_some() || record != noted).then(|| {
        let mut wanted = wanted.unwrap_or_else(|| live.clone());
        note(&mut wanted, &record);
        wanted
    });
    Outcome { write, record, widths }
}

/// What is recorded of an entry after the change; absent if it does not concern the entry.
fn next(before: Option<&Recorded>, change: Change<'_>, at: (Entry, &str, bool)) -> Option<Recorded> {
    let (entry, stamp, is_as_noted) = at;
    let unknown = Recorded::default();
    let before = before.unwrap_or(&unknown);
    match change {
        Change::Widen(wanted) => {
            let adds = wanted.get(&entry).filter(|adds| !adds.is_empty())?;
            let wider = before.widened(adds, stamp);
            if is_as_noted {
                return Some(wider);
            }
            // Nobody knows what is selected now, so only everything is not less than that. The leader will know.
            Some(wider.widened(&BTreeSet::from([Concern::Everybody]), stamp))
        }
        Change::Lead { needed, expired } => {
            let none = BTreeSet::new();
            let expired = expired.get(entry.name());
            let nothing = BTreeSet::new();
            let needed = needed.get(&entry).unwrap_or(&nothing);
            Some(before.led(needed, expired.unwrap_or(&none), stamp))
        }
    }
}

fn has(live: &Value, entry: Entry) -> bool {
    let mut all = live.get("webhooks").and_then(Value::as_array).into_iter().flatten();
    all.any(|one| one.get("name").and_then(Value::as_str) == Some(entry.name()))
}

fn note(configuration: &mut Value, record: &Record) {
    let Some(metadata) = configuration.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(POD_SELECTIONS.to_owned(), json!(record.text()));
    }
}

fn path(sort: Sort) -> &'static str {
    match sort {
        Sort::Mutating => {
            "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/kruise-mutating-webhook-configuration"
        }
        Sort::Validating => {
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/kruise-validating-webhook-configuration"
        }
    }
}
