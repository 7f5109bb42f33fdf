//! `spec`, read once: the selector ready, checks in the form that nodes get.

use std::collections::BTreeMap;
use std::sync::Arc;

use kruise_api::apps::nodepodprobe::state;
use kruise_api::apps::podprobemarker::{
    PodContainerProbe, PodProbeMarkerSpec, ProbeMarkerPolicy, ProbeState,
};
use serde_json::Value;

use super::check::Check;
use crate::fault::Fault;
use crate::order::Selector;
use crate::pod::Texts;

/// What the user wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    pub selector: Selector,
    pub probes: Vec<Probe>,
}

/// One probe, and what its result does to the pod.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    pub name: Arc<str>,
    pub container: Arc<str>,
    pub check: Check,
    /// The condition that shows the result.
    pub condition: Option<Arc<str>>,
    pub policies: Vec<Policy>,
}

/// The marks of one result.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    pub state: State,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
}

/// What a probe says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Succeeded,
    Failed,
    Unknown,
}

impl State {
    /// `None` for an empty state, which says nothing (NC-4). What a newer agent says is unknown here.
    pub fn read(text: &str) -> Option<Self> {
        match text {
            "" => None,
            state::SUCCEEDED => Some(Self::Succeeded),
            state::FAILED => Some(Self::Failed),
            _ => Some(Self::Unknown),
        }
    }
}

impl Spec {
    pub fn read(spec: &Value) -> Result<Self, Fault> {
        let wire = kruise_api::read_part::<PodProbeMarkerSpec>(spec.clone())
            .map_err(|error| Fault::of_spec(&error))?;
        let selector = Selector::of(&wire.selector).map_err(|error| Fault::new("spec.selector", &error))?;
        let raw = spec.get("probes").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let probes = wire.probes.into_iter().zip(raw).enumerate();
        let probes = probes.map(|(i, (probe, written))| Probe::of(probe, written.get("probe"), i));
        Ok(Self { selector, probes: probes.collect::<Result<_, _>>()? })
    }

    /// PM-2: an empty selector selects nothing.
    pub fn selects(&self, labels: &Texts) -> bool {
        !self.selector.is_empty() && self.selector.matches(labels)
    }

    pub fn probe(&self, name: &str) -> Option<&Probe> {
        self.probes.iter().find(|probe| *probe.name == *name)
    }
}

impl Probe {
    fn of(wire: PodContainerProbe, check: Option<&Value>, i: usize) -> Result<Self, Fault> {
        let fault = |problem: String| Fault::new(format!("spec.probes[{i}].probe"), &problem);
        let policies = wire.marker_policy.into_iter().flatten().filter_map(Policy::of);
        Ok(Self {
            name: wire.name.into(),
            container: wire.container_name.into(),
            check: Check::read(check.unwrap_or(&Value::Null)).map_err(fault)?,
            condition: wire.pod_condition_type.filter(|kind| !kind.is_empty()).map(Arc::from),
            policies: policies.collect(),
        })
    }
}

impl Policy {
    /// Admission lets no other state in: it would match no result.
    fn of(wire: ProbeMarkerPolicy) -> Option<Self> {
        let state = match wire.state {
            ProbeState::Succeeded => State::Succeeded,
            ProbeState::Failed => State::Failed,
            ProbeState::Other(_) => return None,
        };
        let (labels, annotations) = (wire.labels.unwrap_or_default(), wire.annotations.unwrap_or_default());
        Some(Self { state, labels, annotations })
    }
}
