//! Feature gates that planners read. The runtime resolves flags and dependencies; planners get the result.

use std::collections::BTreeSet;

/// Gates of the specification that change what a planner does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gate {
    CloneSetShortHash,
    CloneSetPartitionRollback,
    PreparingUpdateAsUpdate,
    RecreatePodWhenChangeVct,
    PreDownloadImage,
    VerticalScaling,
    EnvFromMetadata,
    PodUnavailableBudgetUpdate,
    TemplateNoDefaults,
    DefaultHostPorts,
    StatefulSetStartOrdinal,
    StatefulSetAutoDeleteClaims,
    StatefulSetAutoResizeClaims,
    PodIndexLabel,
    PodReadinessGate,
}

/// The gates that are on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gates(BTreeSet<Gate>);

impl Gates {
    pub fn on(&self, gate: Gate) -> bool {
        self.0.contains(&gate)
    }

    #[must_use]
    pub fn with(mut self, gate: Gate) -> Self {
        self.0.insert(gate);
        self
    }

    #[must_use]
    pub fn without(mut self, gate: Gate) -> Self {
        self.0.remove(&gate);
        self
    }
}

/// Upstream's defaults.
impl Default for Gates {
    fn default() -> Self {
        Self(BTreeSet::from([Gate::EnvFromMetadata, Gate::StatefulSetAutoDeleteClaims, Gate::PodIndexLabel]))
    }
}
