//! `spec`, read once: selectors ready, containers apart from what only Kruise knows about them.

use kruise_api::apps::sidecarset::{
    InjectRevision, RevisionPolicy, SidecarSetSpec, SidecarSetUpdateStrategy, SidecarSetUpdateType,
};
use serde_json::Value;

use super::data::Data;
use super::sidecar::Sidecars;
use crate::amount::{Amount, Bare};
use crate::fault::{Fault, amount, count};
use crate::order::{Priority, ScatterTerm, Selector};
use crate::workload::base::defaults;

/// One sidecar after the other (2.2).
const MAX_UNAVAILABLE: Amount = Amount::Pods(1);

/// What the user wants.
#[derive(Debug)]
pub struct Spec {
    /// An empty one selects no pod (SS-23).
    pub selector: Selector,
    /// All namespaces without one.
    pub namespaces: Option<Selector>,
    pub sidecars: Sidecars,
    /// What a revision of it holds.
    pub data: Data,
    pub update: Update,
    pub is_injection_paused: bool,
    pub pin: Option<Pin>,
    pub history_limit: u32,
    pub custom_version: Option<String>,
}

/// How pods that run are upgraded.
#[derive(Debug)]
pub struct Update {
    pub kind: UpdateKind,
    pub is_paused: bool,
    pub selector: Option<Selector>,
    pub partition: Option<Amount>,
    pub max_unavailable: Amount,
    pub priority: Option<Priority>,
    pub scatter: Vec<ScatterTerm>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateKind {
    Rolling,
    /// Pods keep what they were created with.
    Not,
}

/// The revision that new pods get (SS-26).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    pub name: PinName,
    pub reach: Reach,
}

/// How a pinned revision is named; the name of the object wins (2.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PinName {
    Revision(String),
    CustomVersion(String),
}

/// How far a pin goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Always,
    /// As far as the update strategy keeps pods back.
    Partial,
}

impl Spec {
    pub fn read(spec: &Value) -> Result<Self, Fault> {
        let wire: SidecarSetSpec =
            kruise_api::read_part(spec.clone()).map_err(|error| Fault::of_spec(&error))?;
        let selector = wire.selector.as_ref().map(Selector::of).transpose();
        let selector = selector.map_err(|error| Fault::new("spec.selector", &error))?.unwrap_or_default();
        let namespaces = wire.namespace_selector.as_ref().map(Selector::of).transpose();
        let namespaces = namespaces.map_err(|error| Fault::new("spec.namespaceSelector", &error))?;
        let injection = wire.injection_strategy.unwrap_or_default();
        Ok(Self {
            selector,
            namespaces,
            sidecars: Sidecars::read(spec)?,
            data: Data::of(spec)
                .map_err(|error| Fault::new(format!("spec.{}", error.path), &error.problem))?,
            update: Update::of(wire.update_strategy.unwrap_or_default())?,
            is_injection_paused: injection.paused == Some(true),
            pin: injection.revision.and_then(Pin::of),
            history_limit: count("spec.revisionHistoryLimit", wire.revision_history_limit)?
                .unwrap_or(defaults::HISTORY_LIMIT),
            custom_version: wire.custom_version.filter(|version| !version.is_empty()),
        })
    }
}

impl Update {
    fn of(wire: SidecarSetUpdateStrategy) -> Result<Self, Fault> {
        let field = |name: &str| format!("spec.updateStrategy.{name}");
        let kind = match wire.r#type {
            Some(SidecarSetUpdateType::NotUpdate) => UpdateKind::Not,
            // A word that nobody knows upgrades nothing.
            Some(SidecarSetUpdateType::Other(word)) if !word.is_empty() => UpdateKind::Not,
            None | Some(SidecarSetUpdateType::RollingUpdate | SidecarSetUpdateType::Other(_)) => {
                UpdateKind::Rolling
            }
        };
        let selector = wire.selector.as_ref().map(Selector::of).transpose();
        let priority = wire.priority_strategy.as_ref();
        let priority = priority.map(|one| Priority::of(one, &field("priorityStrategy"))).transpose()?;
        let scatter = wire.scatter_strategy.into_iter().flatten();
        Ok(Self {
            kind,
            is_paused: wire.paused == Some(true),
            selector: selector.map_err(|error| Fault::new(field("selector"), &error))?,
            partition: amount(&field("partition"), wire.partition.as_ref(), Bare::Refused)?,
            max_unavailable: amount(&field("maxUnavailable"), wire.max_unavailable.as_ref(), Bare::Refused)?
                .unwrap_or(MAX_UNAVAILABLE),
            priority: priority.flatten(),
            scatter: scatter.map(|term| ScatterTerm { key: term.key, value: term.value }).collect(),
        })
    }
}

impl Pin {
    /// SS-26: none without a name.
    fn of(wire: InjectRevision) -> Option<Self> {
        let reach = match wire.policy {
            Some(RevisionPolicy::Partial) => Reach::Partial,
            None | Some(RevisionPolicy::Always | RevisionPolicy::Other(_)) => Reach::Always,
        };
        let name = match (wire.revision_name, wire.custom_version) {
            (Some(name), _) => PinName::Revision(name),
            (None, Some(version)) => PinName::CustomVersion(version),
            (None, None) => return None,
        };
        Some(Self { name, reach })
    }
}
