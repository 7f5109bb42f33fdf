//! What the agent's results do to pods (NC-4 … NC-7).

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::object::{Entry, Listed, Results};
use super::view::View;
use crate::chain::{Chain, Purpose};
use crate::plan::Plan;
use crate::pod::{Edit, Guard, PodView};
use crate::podprobemarker::{Marks, NoCondition, PodProbeMarker, Probe, Said, Unknowns, reason};
use crate::reason::Reason;

/// One patch per pod that differs. Results count for probes that are wanted, of the very pod that they are about.
pub fn settle(view: &View, wanted: &[Listed], now: Timestamp, plan: &mut Plan) {
    let results = view.list.as_ref().map(|list| list.results.as_ref()).unwrap_or_default();
    let results: BTreeMap<&str, &Results> = results.iter().map(|one| (&*one.uid, one)).collect();
    let pods: BTreeMap<&str, &PodView> = view.pods.iter().map(|pod| (pod.uid.as_str(), &**pod)).collect();
    for entry in wanted {
        let Some(pod) = pods.get(&*entry.uid) else { continue };
        let Some(results) = results.get(&*entry.uid) else {
            plan.hold(pod, reason::no_result(&view.name));
            continue;
        };
        let (marks, refused) = marks(view, pod, entry, results);
        let mut edit = Edit::of(pod);
        marks.apply(&mut edit, now);
        if let Some(write) = edit.write(Guard::Identity) {
            plan.act(Chain::about(Purpose::Refresh, *pod, vec![write]));
        }
        plan.hold(pod, refused.unwrap_or_else(|| reason::probed(&view.name)));
    }
}

/// NC-4: the states in order, each with what its marker says now. The first condition that is not written is the reason to tell.
fn marks(view: &View, pod: &PodView, wanted: &Listed, results: &Results) -> (Marks, Option<Reason>) {
    let (mut marks, mut refused) = (Marks::default(), None);
    let is_wanted = |name: &str| wanted.probes.iter().any(|probe: &Entry| *probe.name == *name);
    for (name, said) in results.states.iter().filter(|(name, _)| is_wanted(name)) {
        let Some((marker, probe)) = find(view, pod, name) else { continue };
        let condition = probe.condition.as_deref().unwrap_or_default();
        let why = match add(&mut marks, marker, probe, said) {
            Ok(()) => continue,
            Err(NoCondition::Taken) => reason::condition_conflict(name, condition),
            Err(NoCondition::Reserved) => reason::reserved_condition(name, condition),
        };
        refused.get_or_insert(why);
    }
    (marks, refused)
}

fn add(marks: &mut Marks, marker: &PodProbeMarker, probe: &Probe, said: &Said) -> Result<(), NoCondition> {
    let unknowns = if marker.keeps_unknown() { Unknowns::Kept } else { Unknowns::Failed };
    marks.add(probe, said, unknowns)
}

/// The probe as its marker has it now; `None` if marker or probe are gone.
fn find<'a>(view: &'a View, pod: &PodView, name: &str) -> Option<(&'a PodProbeMarker, &'a Probe)> {
    let (marker_name, probe) = name.split_once('#')?;
    let marker = view.markers_of(pod).find(|marker| *marker.head.name == *marker_name)?;
    Some((marker, marker.spec.as_ref().ok()?.probe(probe)?))
}
