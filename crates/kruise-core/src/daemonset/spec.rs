//! `spec`, read once: defaults applied, amounts parsed, tolerations added.

use std::ops::Deref;

use kruise_api::apps::daemonset::{DaemonSetSpec, RollingUpdateDaemonSet, RollingUpdateType};
use kruise_api::parts::IntOrString;
use serde_json::{Value, json};

use crate::amount::{Amount, Bare, Rounding};
use crate::eligibility::{Needs, with_daemon_tolerations};
use crate::fault::{Fault, amount, count};
use crate::order::Selector;
use crate::rollout::{Mode, Policy, ROLLING};
use crate::workload::base::{BaseSpec, Fields};

/// What the user wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    pub base: BaseSpec,
    /// With the tolerations that every pod gets (DS-3).
    pub needs: Needs,
    pub rolling: Rolling,
    pub min_ready_seconds: u32,
    burst: Amount,
    pub scaling: Scaling,
}

/// How an update proceeds; the defaults where the object has no rollingUpdate (B7).
#[derive(Debug, Clone, PartialEq)]
pub struct Rolling {
    partition: Amount,
    max_unavailable: Amount,
    max_surge: Amount,
    pub policy: Policy,
    pub is_paused: bool,
    /// Of the nodes whose pods may be updated.
    pub selector: Option<Selector>,
}

/// Whether the partition holds back the creation of pods, too (DS-18).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    Partitioned,
    Everywhere,
}

/// How far an update may go at once (DS-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub unavailable: u32,
    pub surge: u32,
}

impl Deref for Spec {
    type Target = BaseSpec;

    fn deref(&self) -> &BaseSpec {
        &self.base
    }
}

impl Spec {
    /// Out of an object that has not been read yet.
    pub fn read(spec: &Value) -> Result<Self, Fault> {
        let wire = kruise_api::read_part::<DaemonSetSpec>(spec.clone());
        wire.map_err(|error| Fault::of_spec(&error)).and_then(|wire| Self::of(&wire))
    }

    fn of(wire: &DaemonSetSpec) -> Result<Self, Fault> {
        let strategy = wire.update_strategy.as_ref();
        let base = BaseSpec::of(&Fields {
            replicas: None,
            selector: &wire.selector,
            template: &wire.template,
            claim_templates: None,
            update_type: strategy.and_then(|strategy| strategy.r#type.as_ref()),
            history_limit: wire.revision_history_limit,
            lifecycle: wire.lifecycle.as_ref(),
        })?;
        let scale = wire.scale_strategy.as_ref().and_then(|scale| scale.partitioned_scaling);
        Ok(Self {
            needs: Needs::of(&tolerant(&base.template.template)),
            base,
            rolling: Rolling::of(strategy.and_then(|strategy| strategy.rolling_update.as_ref()))?,
            min_ready_seconds: count("spec.minReadySeconds", wire.min_ready_seconds)?.unwrap_or(0),
            burst: amount("spec.burstReplicas", wire.burst_replicas.as_ref(), Bare::Refused)?
                .unwrap_or(Amount::Pods(defaults::BURST_REPLICAS)),
            scaling: if scale == Some(true) { Scaling::Partitioned } else { Scaling::Everywhere },
        })
    }

    /// DS-20: how many pods are created, deleted or updated in place at once; at least one, however small the cluster (B5).
    pub fn burst(&self, desired: u32) -> usize {
        usize::try_from(self.burst.of(desired, Rounding::Down).max(1)).unwrap_or(usize::MAX)
    }

    /// Nodes that stay at the old revision, of those that there are now (B4).
    pub fn partition(&self, desired: u32) -> u32 {
        match self.mode {
            Mode::RollingUpdate => self.rolling.partition.of(desired, Rounding::Down),
            Mode::OnDelete => 0,
        }
    }

    /// DS-28: rounded up; an update that could never move gets one pod.
    pub fn limits(&self, desired: u32) -> Limits {
        let unavailable = self.rolling.max_unavailable.of(desired, Rounding::Up);
        let surge = self.rolling.max_surge.of(desired, Rounding::Up);
        let is_stuck = unavailable == 0 && surge == 0 && desired > 0;
        Limits { unavailable: if is_stuck { 1 } else { unavailable }, surge }
    }

    /// DS-15: whether a node may have an old and a new pod at once.
    pub fn surges(&self) -> bool {
        self.mode == Mode::RollingUpdate && self.rolling.max_surge.of(1, Rounding::Up) > 0
    }
}

impl Rolling {
    fn of(wire: Option<&RollingUpdateDaemonSet>) -> Result<Self, Fault> {
        let absent = RollingUpdateDaemonSet::default();
        let wire = wire.unwrap_or(&absent);
        let number = |field: &str, value: Option<&IntOrString>| {
            amount(&format!("{ROLLING}.{field}"), value, Bare::Refused)
        };
        let none = Amount::Pods(0);
        let (unavailable, surge) = (wire.max_unavailable.as_ref(), wire.max_surge.as_ref());
        let selector = wire.selector.as_ref().map(Selector::of).transpose();
        Ok(Self {
            partition: number("partition", wire.partition.as_ref())?.unwrap_or(none),
            max_unavailable: number("maxUnavailable", unavailable)?.unwrap_or(none),
            max_surge: number("maxSurge", surge)?.unwrap_or(none),
            policy: match wire.rolling_update_type {
                Some(RollingUpdateType::InPlaceIfPossible) => Policy::InPlaceIfPossible,
                // Any other word works as Standard does.
                Some(RollingUpdateType::Standard | RollingUpdateType::Other(_)) | None => Policy::ReCreate,
            },
            is_paused: wire.paused == Some(true),
            selector: selector.map_err(|error| Fault::new(format!("{ROLLING}.selector"), &error))?,
        })
    }
}

/// The template with what every pod tolerates (DS-3).
fn tolerant(template: &Value) -> Value {
    let tolerations = with_daemon_tolerations(template.get("spec").unwrap_or(&Value::Null));
    let mut template = template.clone();
    if let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert("tolerations".to_owned(), json!(tolerations));
    }
    template
}

/// What an absent field means, for admission as for planners.
pub mod defaults {
    pub const BURST_REPLICAS: u32 = 250;
    pub const MAX_UNAVAILABLE: u32 = 1;
}
