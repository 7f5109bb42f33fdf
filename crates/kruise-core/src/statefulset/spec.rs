//! `spec`, read once: defaults applied, amounts parsed. Behind it nobody compares strings or rounds.

use std::ops::Deref;

use kruise_api::apps::statefulset::{ClaimRetention, ClaimUpdateType, PodManagementPolicy};
use serde_json::Value;

use super::ordinals::{Reserved, Slots};
use crate::amount::{Amount, Bare, Rounding};
use crate::base::BaseSpec;
use crate::gates::{Gate, Gates};
use crate::order::Priority;
use crate::reader::{self, Fault, Reader};
use crate::rollout::{Policy, ROLLING};

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
    /// Reads `.spec` of a v1beta1 object.
    pub fn read(spec: &Value) -> Result<Self, Fault> {
        let read = Reader { object: spec, at: "spec" };
        Ok(Self {
            base: BaseSpec::read(spec)?,
            claim_update: match ClaimUpdateType::from(read.text("volumeClaimUpdateStrategy/type")) {
                ClaimUpdateType::OnPodRollingUpdate => ClaimUpdate::OnPodRollingUpdate,
                ClaimUpdateType::OnDelete | ClaimUpdateType::Other(_) => ClaimUpdate::OnDelete,
            },
            service_name: read.text("serviceName").to_owned(),
            management: match PodManagementPolicy::from(read.text("podManagementPolicy")) {
                PodManagementPolicy::OrderedReady => Management::OrderedReady,
                PodManagementPolicy::Parallel => Management::Parallel,
                PodManagementPolicy::Other(none) if none.is_empty() => Management::OrderedReady,
                PodManagementPolicy::Other(other) => {
                    return Err(read.fault("podManagementPolicy", &format!("{other:?} is no policy")));
                }
            },
            rolling: Rolling::read(read.at("updateStrategy/rollingUpdate"))?,
            start: read.count("ordinals/start")?.unwrap_or(0),
            reserved: Reserved::read(read.list("reserveOrdinals")),
            scale_max_unavailable: read.amount("scaleStrategy/maxUnavailable", Bare::Refused)?,
            retention: Retention::read(read.at("persistentVolumeClaimRetentionPolicy")),
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

impl Rolling {
    fn read(rolling: &Value) -> Result<Self, Fault> {
        let read = Reader { object: rolling, at: ROLLING };
        let unordered = read.at("unorderedUpdate");
        Ok(Self {
            partition: read.count("partition")?.unwrap_or(0),
            max_unavailable: read.amount("maxUnavailable", Bare::Refused)?.unwrap_or(Amount::Pods(1)),
            policy: Policy::read(&read)?,
            is_paused: read.flag("paused") == Some(true),
            min_ready_seconds: read.count("minReadySeconds")?.unwrap_or(0),
            order: if unordered.is_object() {
                Order::Unordered(reader::priority(&unordered["priorityStrategy"], PRIORITY)?)
            } else {
                Order::Ordinal
            },
            grace_seconds: read.count("inPlaceUpdateStrategy/gracePeriodSeconds")?.unwrap_or(0),
        })
    }
}

impl Retention {
    pub const KEEP_ALL: Self = Self { when_deleted: Keep::Retain, when_scaled: Keep::Retain };

    /// An absent field keeps; an unknown word keeps everything (AS-82).
    fn read(policy: &Value) -> Self {
        let keep = |key: &str| match policy.get(key).and_then(Value::as_str).map(ClaimRetention::from) {
            None | Some(ClaimRetention::Retain) => Some(Keep::Retain),
            Some(ClaimRetention::Delete) => Some(Keep::Delete),
            Some(ClaimRetention::Other(word)) => word.is_empty().then_some(Keep::Retain),
        };
        match (keep("whenDeleted"), keep("whenScaled")) {
            (Some(when_deleted), Some(when_scaled)) => Self { when_deleted, when_scaled },
            _ => Self::KEEP_ALL,
        }
    }
}
