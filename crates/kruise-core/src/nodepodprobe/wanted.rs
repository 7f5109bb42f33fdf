//! The full set of probes of a node (PM-6, PM-7, NC-3; 3, 9). Entries and probes keep their places, so that what is right already is not
//! written again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::object::{Entry, Listed};
use super::view::View;
use crate::plan::Plan;
use crate::pod::PodView;
use crate::podprobemarker::{PodProbeMarker, UnknownPort, reason};

/// What the probes of one node may take (18). An object may have a mebibyte and a half, and the agent's results go into the same object.
pub const BYTES_MAX: usize = 640 << 10;

/// What one entry takes besides its texts: field names, quotes, braces.
const ENTRY_BYTES: usize = 80;

/// The wanted list, in the order of the stored one; new pods come last, by name. Pods that get less than they should have a reason.
pub fn wanted(view: &View, plan: &mut Plan) -> Vec<Listed> {
    let stored = view.list.as_ref().map(|list| list.pods.as_ref()).unwrap_or_default();
    let by_uid: BTreeMap<&str, &Arc<PodView>> = view.pods.iter().map(|pod| (pod.uid.as_str(), pod)).collect();
    let mut out = Out { all: Vec::new(), bytes: 0 };
    let mut seen = BTreeSet::new();
    for there in stored {
        // NC-3: another pod of the same name has another uid.
        let pod = by_uid.get(&*there.uid).filter(|pod| is_of(there, pod));
        if let Some(pod) = pod.filter(|_| seen.insert(Arc::clone(&there.uid))) {
            out.add(pod, of_pod(view, pod, Some(there), plan), plan);
        }
    }
    for pod in view.pods.iter().filter(|pod| !seen.contains(pod.uid.as_str())) {
        out.add(pod, of_pod(view, pod, None, plan), plan);
    }
    out.all
}

fn is_of(there: &Listed, pod: &PodView) -> bool {
    *there.namespace == *pod.namespace && *there.name == *pod.name.as_str()
}

struct Out {
    all: Vec<Listed>,
    bytes: usize,
}

impl Out {
    fn add(&mut self, pod: &PodView, entry: Listed, plan: &mut Plan) {
        if entry.probes.is_empty() {
            return;
        }
        let bytes = bytes(&entry);
        if self.bytes + bytes > BYTES_MAX {
            plan.hold(pod, reason::full(self.bytes));
            return;
        }
        self.bytes += bytes;
        self.all.push(entry);
    }
}

fn bytes(entry: &Listed) -> usize {
    let texts = entry.namespace.len() + entry.name.len() + entry.uid.len() + entry.ip.len();
    let probe = |one: &Entry| one.name.len() + one.container.len() + one.check.len() + ENTRY_BYTES;
    texts + ENTRY_BYTES + entry.probes.iter().map(probe).sum::<usize>()
}

/// PM-6: an entry of this very pod is kept up to date, its address too (9).
fn of_pod(view: &View, pod: &PodView, there: Option<&Listed>, plan: &mut Plan) -> Listed {
    let old = there.map(|there| there.probes.as_slice()).unwrap_or_default();
    let mut fresh = Vec::new();
    let mut kept = BTreeSet::new();
    for marker in view.markers_of(pod) {
        add(marker, pod, &mut fresh, &mut kept, plan);
    }
    let stays =
        |entry: &&Entry| kept.contains(&*entry.name) || kept.contains(&format!("{}#", entry.marker()));
    let mut probes: Vec<Entry> = Vec::new();
    for entry in old {
        let place = fresh.iter().position(|one: &Entry| one.name == entry.name);
        let next = place.map(|place| fresh.remove(place));
        probes.extend(next.or_else(|| Some(entry).filter(stays).cloned()));
    }
    probes.append(&mut fresh);
    let ip = pod.ip.map(|ip| ip.to_string().into());
    Listed {
        namespace: Arc::clone(&pod.namespace),
        name: pod.name.shared(),
        uid: pod.uid.shared(),
        ip: ip.or_else(|| there.map(|there| Arc::clone(&there.ip))).unwrap_or_default(),
        probes,
    }
}

/// The probes that one marker wants for a pod, and the names of those whose older form stays: of a port that is not there (PM-7), or all
/// of a marker that cannot be read.
fn add(
    marker: &PodProbeMarker,
    pod: &PodView,
    fresh: &mut Vec<Entry>,
    kept: &mut BTreeSet<String>,
    plan: &mut Plan,
) {
    let Ok(spec) = &marker.spec else {
        kept.insert(format!("{}#", marker.head.name));
        return;
    };
    if !marker.selects(pod) {
        return;
    }
    for probe in &spec.probes {
        let name = format!("{}#{}", marker.head.name, probe.name);
        match probe.check.of_pod(pod, &probe.container) {
            Ok(check) => {
                fresh.push(Entry { name: name.into(), container: Arc::clone(&probe.container), check });
            }
            Err(UnknownPort(port)) => {
                plan.hold(pod, reason::unknown_port(&name, &port));
                kept.insert(name);
            }
        }
    }
}

/// As the original's types write it.
pub fn wire(entries: &[Listed]) -> Value {
    let probe = |one: &Entry| {
        let check: Value = serde_json::from_str(&one.check).unwrap_or_else(|_| Value::Object(Map::new()));
        json!({"name": *one.name, "containerName": *one.container, "probe": check})
    };
    let pod = |one: &Listed| {
        let probes: Vec<Value> = one.probes.iter().map(probe).collect();
        json!({"name": *one.name, "namespace": *one.namespace, "uid": *one.uid, "IP": *one.ip, "probes": probes})
    };
    entries.iter().map(pod).collect()
}
