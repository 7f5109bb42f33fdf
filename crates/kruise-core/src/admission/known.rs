//! What admission may use besides the request.

use std::collections::BTreeMap;

use jiff::Timestamp;

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
}

/// What only the API server can say, asked before the decision. See [`Question`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Live {
    /// What is wrong with the pod template.
    pub template: Vec<Fault>,
    /// Data of the administrator's ConfigMap; the error says why it could not be read.
    pub configuration: Result<BTreeMap<String, String>, String>,
}

/// What has to be asked at the API server for a decision. It costs a request each time, so caches are used where being late
/// does no harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Whether it would take the pod template, by a dry run.
    Template,
    /// The administrator's ConfigMap, as it is now.
    Configuration,
}

/// The template is good, and the administrator has configured nothing.
impl Default for Live {
    fn default() -> Self {
        Self { template: Vec::new(), configuration: Ok(BTreeMap::new()) }
    }
}
