//! What the simulator knows about each kind that the manager registers: scenarios, safety rules, goal.
//!
//! A new kind needs a file here and a line in [`ALL`]. Crash points, drawn plans, rules, the comparison of ends, planted bugs and replay
//! commands are derived from the list. Actors belong to the cluster, not to a kind: they do what Kubernetes does for any object.

pub mod advancedcronjob;
pub mod broadcastjob;
pub mod cloneset;
pub mod containerrecreaterequest;
pub mod daemonset;
pub mod ephemeraljob;
pub mod imagelistpulljob;
pub mod imagepulljob;
pub mod launch_priority;
pub mod nodeimage;
pub mod nodepodprobe;
pub mod persistentpodstate;
pub mod pod_readiness;
pub mod podprobemarker;
pub mod resourcedistribution;
pub mod sidecarset;
pub mod sidecarterminator;
pub mod statefulset;
pub mod workload;

use std::fmt;

use serde_json::Value;

use crate::rng::Rng;
use crate::server::Store;
use crate::world::rules::SafetyRules;
use crate::world::scenario::Scenario;
use workload::{Names, Workload};

/// One registered kind in the simulator.
pub struct SimulatedKind {
    /// As the manager registers it: `cloneset`.
    pub registered: &'static str,
    /// As runs are called: `CloneSet` in `CloneSet/in-place`.
    pub title: &'static str,
    pub scenarios: fn() -> Vec<Scenario>,
    /// A scenario by lot.
    pub random: Option<fn(&mut Rng) -> Scenario>,
    /// For kinds that have pods and a rollout: how they differ from each other.
    pub workload: Option<&'static Workload>,
    /// Whether its pods keep their names, for kinds that are no workload.
    pub pod_names: Names,
    /// Rules of its own, checked at every write of every run.
    pub rules: Option<fn() -> Box<dyn SafetyRules>>,
    /// Whether the end of a run is what its user wants; if not, what is missing.
    pub goal: fn(&Store, &Scenario) -> Result<(), String>,
    /// What else must be equal at the end of two runs of one scenario.
    pub end: fn(&Store) -> Value,
}

/// All kinds, in the order in which runs are made.
pub static ALL: [&SimulatedKind; 18] = [
    &cloneset::KIND,
    &statefulset::KIND,
    &daemonset::KIND,
    &broadcastjob::KIND,
    &ephemeraljob::KIND,
    &containerrecreaterequest::KIND,
    &nodeimage::KIND,
    &imagepulljob::KIND,
    &imagelistpulljob::KIND,
    &advancedcronjob::KIND,
    &sidecarset::KIND,
    &sidecarterminator::KIND,
    &persistentpodstate::KIND,
    &podprobemarker::KIND,
    &nodepodprobe::KIND,
    &resourcedistribution::KIND,
    &pod_readiness::KIND,
    &launch_priority::KIND,
];

/// Every scenario of every kind.
pub fn scenarios() -> Vec<Scenario> {
    ALL.iter().flat_map(|kind| (kind.scenarios)()).collect()
}

/// The scenario of this title, such as `CloneSet/in-place`.
pub fn titled(title: &str) -> Option<Scenario> {
    scenarios().into_iter().find(|scenario| scenario.title() == title)
}

/// Scenarios of this title, or those of this name of all kinds that have one.
pub fn called(name: &str) -> Vec<Scenario> {
    scenarios().into_iter().filter(|one| one.name == name || one.title() == name).collect()
}

/// The rules of all kinds. Each holds in every run: a scenario of one kind has objects of others.
pub fn rules() -> Vec<Box<dyn SafetyRules>> {
    let workloads: Vec<_> = ALL.iter().filter_map(|kind| kind.workload).collect();
    let shared: Box<dyn SafetyRules> = Box::new(workload::Rules::new(&workloads));
    let own = ALL.iter().filter_map(|kind| kind.rules).map(|rules| rules());
    std::iter::once(shared).chain(own).collect()
}

/// For kinds that nothing else has to be equal of.
fn nothing(_: &Store) -> Value {
    Value::Null
}

impl PartialEq for SimulatedKind {
    fn eq(&self, other: &Self) -> bool {
        self.title == other.title
    }
}

impl fmt::Debug for SimulatedKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.title)
    }
}

#[cfg(test)]
pub(crate) mod tests;
