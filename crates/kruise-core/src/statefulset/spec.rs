//! `spec`, read once: defaults applied, amounts parsed. Behind it nobody compares strings or rounds.

use std::ops::Deref;

use kruise_api::apps::statefulset::{
    ClaimRetention, ClaimRetentionPolicy, ClaimUpdateType, PodManagementPolicy, RollingUpdateStatefulSet,
    StatefulSetSpec,
};
use serde_json::Value;

use super::ordinals::{Reserved, Slots};
use crate::amount::{Amount, Bare, Rounding};
use crate::fault::{Fault, amount, count};
use crate::gates::{Gate, Gates};
use crate::order::Priority;
use crate::rollout::{Policy, ROLLING};
use crate::workload::base::{BaseSpec, Fields};

const PRIORITY: &str = "spec.updateStrategy.rollingUpdate.unorderedUpdate.priorityStrategy";

/// What the user wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    pub base: BaseSpec,
    pub claim_update: ClaimUpdate,
    pub service_name: String,
    pub management: Management,
    pub rolling: Rolling,
    /// Acts only with its gate (AS-16).
    pub start: u32,
    pub reserved: Reserved,
    /// Absent: unlimited.
    pub scale_max_unavailable: Option<Amount>,
    pub retention: Retention,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Management {
    OrderedReady,
    Parallel,
}

/// How existing claims follow a changed claim template (AS-86, AS-90).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimUpdate {
    OnPodRollingUpdate,
    OnDelete,
}

/// What becomes of claims (AS-82).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    pub when_deleted: Keep,
    pub when_scaled: Keep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    Retain,
    Delete,
}

/// How an update proceeds; the defaults where the object has no rollingUpdate.
#[derive(Debug, Clone, PartialEq)]
pub struct Rolling {
    /// Pods that stay at the old revision (AS-49).
    pub partition: u32,
    pub max_unavailable: Amount,
    pub policy: Policy,
    pub is_paused: bool,
    pub min_ready_seconds: u32,
    pub order: Order,
    pub grace_seconds: u32,
}

/// Which pod is updated first.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// The highest ordinal (AS-50).
    Ordinal,
    /// By priority, if there is one, then the highest ordinal (AS-51).
    Unordered(Option<Priority>),
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
        let wire = kruise_api::read_part::<StatefulSetSpec>(spec.clone());
        wire.map_err(|error| Fault::of_spec(&error)).and_then(|wire| Self::of(&wire))
    }

    pub fn of(wire: &StatefulSetSpec) -> Result<Self, Fault> {
        let strategy = wire.update_strategy.as_ref();
        let base = BaseSpec::of(&Fields {
            replicas: wire.replicas,
            selector: &wire.selector,
            template: &wire.template,
            claim_templates: wire.volume_claim_templates.as_ref(),
            update_type: strategy.and_then(|strategy| strategy.r#type.as_ref()),
            history_limit: wire.revision_history_limit,
            lifecycle: wire.lifecycle.as_ref(),
        })?;
        let claim_update = wire.volume_claim_update_strategy.as_ref().and_then(|one| one.r#type.as_ref());
        let start = wire.ordinals.as_ref().and_then(|ordinals| ordinals.start);
        let scale = wire.scale_strategy.as_ref().and_then(|scale| scale.max_unavailable.as_ref());
        Ok(Self {
            base,
            claim_update: match claim_update {
                Some(ClaimUpdateType::OnPodRollingUpdate) => ClaimUpdate::OnPodRollingUpdate,
                None | Some(ClaimUpdateType::OnDelete | ClaimUpdateType::Other(_)) => ClaimUpdate::OnDelete,
            },
            service_name: wire.service_name.clone().unwrap_or_default(),
            management: Management::of(wire.pod_management_policy.as_ref())?,
            rolling: Rolling::of(strategy.and_then(|strategy| strategy.rolling_update.as_ref()))?,
            start: count("spec.ordinals.start", start)?.unwrap_or(0),
            reserved: Reserved::of(wire.reserve_ordinals.as_deref().unwrap_or_default()),
            scale_max_unavailable: amount("spec.scaleStrategy.maxUnavailable", scale, Bare::Refused)?,
            retention: Retention::of(wire.persistent_volume_claim_retention_policy.as_ref()),
        })
    }

    pub fn slots(&self, gates: &Gates) -> Slots {
        let start = if gates.on(Gate::StatefulSetStartOrdinal) { self.start } else { 0 };
        Slots::of(start, self.replicas, &self.reserved)
    }

    /// Pods that an update may take down (AS-46).
    pub fn update_limit(&self) -> u32 {
        self.rolling.max_unavailable.of(self.replicas, Rounding::Down).max(1)
    }

    /// Pods that may be missing or down while more are created (AS-37); unlimited when absent.
    pub fn scale_limit(&self) -> Option<u32> {
        self.scale_max_unavailable.map(|amount| amount.of(self.replicas, Rounding::Down).max(1))
    }
}

impl Management {
    fn of(wire: Option<&PodManagementPolicy>) -> Result<Self, Fault> {
        match wire {
            None | Some(PodManagementPolicy::OrderedReady) => Ok(Self::OrderedReady),
            Some(PodManagementPolicy::Parallel) => Ok(Self::Parallel),
            Some(PodManagementPolicy::Other(none)) if none.is_empty() => Ok(Self::OrderedReady),
            Some(PodManagementPolicy::Other(other)) => {
                let words = PodManagementPolicy::WORDS.join(" or ");
                let problem = format!("unknown pod management policy {other:?}: use {words}");
                Err(Fault::new("spec.podManagementPolicy", &problem))
            }
        }
    }
}

impl Rolling {
    fn of(wire: Option<&RollingUpdateStatefulSet>) -> Result<Self, Fault> {
        let absent = RollingUpdateStatefulSet::default();
        let wire = wire.unwrap_or(&absent);
        let number = |field: &str, value: Option<i32>| {
            count(&format!("{ROLLING}.{field}"), value).map(|read| read.unwrap_or(0))
        };
        let max_unavailable = wire.max_unavailable.as_ref();
        let grace = wire.in_place_update_strategy.as_ref().and_then(|one| one.grace_period_seconds);
        Ok(Self {
            partition: number("partition", wire.partition)?,
            max_unavailable: amount(&format!("{ROLLING}.maxUnavailable"), max_unavailable, Bare::Refused)?
                .unwrap_or(Amount::Pods(defaults::MAX_UNAVAILABLE)),
            policy: Policy::of(wire.pod_update_policy.as_ref())?,
            is_paused: wire.paused == Some(true),
            min_ready_seconds: number("minReadySeconds", wire.min_ready_seconds)?,
            order: match &wire.unordered_update {
                None => Order::Ordinal,
                Some(unordered) => {
                    let priority = unordered.priority_strategy.as_ref();
                    Order::Unordered(priority.map(|one| Priority::of(one, PRIORITY)).transpose()?.flatten())
                }
            },
            grace_seconds: number("inPlaceUpdateStrategy.gracePeriodSeconds", grace)?,
        })
    }
}

/// What an absent field means, for admission as for planners.
pub mod defaults {
    pub const MAX_UNAVAILABLE: u32 = 1;
}

impl Retention {
    pub const KEEP_ALL: Self = Self { when_deleted: Keep::Retain, when_scaled: Keep::Retain };

    /// An absent field keeps; an unknown word keeps everything (AS-82).
    fn of(wire: Option<&ClaimRetentionPolicy>) -> Self {
        let keep = |word: Option<&ClaimRetention>| match word {
            None | Some(ClaimRetention::Retain) => Some(Keep::Retain),
            Some(ClaimRetention::Delete) => Some(Keep::Delete),
            Some(ClaimRetention::Other(word)) => word.is_empty().then_some(Keep::Retain),
        };
        let Some(wire) = wire else { return Self::KEEP_ALL };
        match (keep(wire.when_deleted.as_ref()), keep(wire.when_scaled.as_ref())) {
            (Some(when_deleted), Some(when_scaled)) => Self { when_deleted, when_scaled },
            (_, _) => Self::KEEP_ALL,
        }
    }
}
