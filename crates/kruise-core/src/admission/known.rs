//! What admission may use besides the request.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::Fault;
use crate::gates::Gates;
use crate::lookup::Lookup;
use crate::persistentpodstate::Supported;

/// Everything that a decision may depend on besides the request. The manager hands in its caches and what it has asked the API
/// server for; the simulator and tests hand in theirs.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    pub lookup: Lookup<'a>,
    pub gates: &'a Gates,
    /// The last list of kinds that could be read, whose pods may be remembered.
    pub supported: &'a Supported,
    /// The end of a name for a pod that has none yet (SM-96).
    pub suffix: &'a dyn Fn() -> String,
    pub now: Timestamp,
    pub live: &'a Live,
    /// Of the installation, where revisions of cluster-scoped objects are.
    pub namespace: &'a str,
}

/// What only the API server can say, asked before the decision. See [`Question`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Live {
    /// What is wrong with the pod template, or with the object that is distributed.
    pub template: Vec<Fault>,
    /// Data of the administrator's ConfigMap; the error says why it could not be read.
    pub configuration: Result<BTreeMap<String, String>, String>,
    /// The pod that `spec.podName` names; `None` if there is none. The error says why it could not be read.
    pub pod: Result<Option<Value>, String>,
    /// Whether the caches know every SidecarSet that was stored before the request; the error says why not.
    pub sidecarsets: Result<(), String>,
}

/// What has to be asked at the API server for a decision. It costs a request each time, so caches are used where being late
/// does no harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Whether it would take the pod template, by a dry run.
    Template,
    /// The administrator's ConfigMap, as it is now.
    Configuration,
    /// The pod that `spec.podName` names, as it is now.
    Pod,
    /// Whether it would take a pod of the containers and volumes of a SidecarSet, by a dry run.
    Sidecars,
    /// Whether it would take the object of a ResourceDistribution, by a dry run.
    Resource,
    /// That the caches know every SidecarSet that was stored before the request, and the namespace of the pod.
    SidecarSets,
}

/// The template is good, the administrator has configured nothing, and there is no pod.
impl Default for Live {
    fn default() -> Self {
        Self { template: Vec::new(), configuration: Ok(BTreeMap::new()), pod: Ok(None), sidecarsets: Ok(()) }
    }
}
