//! Which records there should be (PP-7 … PP-16).

use std::collections::BTreeMap;

use super::view::{Record, Retention, View, Workload};
use crate::pod::PodView;
use crate::statefulset::ordinals::Ordinal;

/// The records as they should be, and what stands in the way.
#[derive(Debug, Default)]
pub struct Wanted {
    pub records: BTreeMap<String, Record>,
    /// A ready pod runs on a node that is not known yet: look again (D10).
    pub is_early: bool,
    /// Pods whose record names a node that is gone (D2).
    pub lost: Vec<String>,
}

pub fn wanted(view: &View) -> Wanted {
    let Some(workload) = &view.workload else { return Wanted::default() };
    let mut wanted = Wanted { records: view.records.clone(), ..Wanted::default() };
    let pods: BTreeMap<&str, &PodView> = match workload.replicas {
        0 => BTreeMap::new(),
        _ => view.pods.iter().filter(|pod| pod.is_active()).map(|pod| (pod.name.as_str(), &**pod)).collect(),
    };
    for pod in pods.values().filter(|pod| pod.is_ready()) {
        let Some(node) = pod.node.as_deref() else { continue };
        match view.nodes.get(node) {
            Some(labels) => _ = wanted.records.insert(pod.name.to_string(), record(view, pod, node, labels)),
            None => wanted.is_early = true,
        }
    }
    if view.spec.retention == Retention::WhenScaled {
        wanted.records.retain(|name, _| is_wanted(workload, name) || pods.contains_key(name.as_str()));
    }
    let is_lost = |name: &str, record: &Record| {
        let runs = pods.get(name).is_some_and(|pod| pod.is_ready());
        !runs && !record.node.is_empty() && !view.nodes.contains_key(&record.node)
    };
    wanted.lost = wanted
        .records
        .iter()
        .filter(|(name, one)| is_lost(name, one))
        .map(|(name, _)| name.clone())
        .collect();
    if view.drops_lost {
        for name in &wanted.lost {
            wanted.records.remove(name);
        }
    }
    wanted
}

/// Replaced as a whole, never merged (PP-10); labels follow the node at every look (D11).
fn record(view: &View, pod: &PodView, node: &str, labels: &BTreeMap<String, String>) -> Record {
    let label = |key: &str| Some((key.to_owned(), labels.get(key)?.clone()));
    let annotation = |key: &String| Some((key.clone(), pod.annotations.get(key)?.to_owned()));
    Record {
        node: node.to_owned(),
        labels: view.spec.label_keys().filter_map(label).collect(),
        annotations: view.spec.annotations.iter().filter_map(annotation).collect(),
    }
}

/// A name without ordinal is nobody's to drop (PP-12).
fn is_wanted(workload: &Workload, name: &str) -> bool {
    Ordinal::split(name).is_none_or(|(_, ordinal)| workload.slots.contains(ordinal))
}
