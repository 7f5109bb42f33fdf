//! `spec`, read once: defaults applied, amounts parsed. Behind it nobody compares strings or rounds.

use std::collections::BTreeSet;
use std::ops::Deref;

use kruise_api::apps::cloneset::{CloneSetSpec, RollingUpdateCloneSet};
use kruise_api::parts::{InPlaceUpdateStrategy, IntOrString};
use serde_json::{Value, json};

use crate::amount::{Amount, Bare};
use crate::fault::{Fault, amount, count};
use crate::ids::PodName;
use crate::order::{Priority, ScatterTerm};
use crate::predownload::PreDownload;
use crate::revision::hash;
use crate::rollout::{Policy, ROLLING};
use crate::workload::base::{BaseSpec, Fields};

const SCALE_LIMIT: &str = "spec.scaleStrategy.maxUnavailable";
const IN_PLACE: &str = "spec.updateStrategy.rollingUpdate.inPlaceUpdateStrategy";
const PRIORITY: &str = "spec.updateStrategy.rollingUpdate.priorityStrategy";

/// What the user wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    pub base: BaseSpec,
    /// Of the claim templates (SM-12).
    pub claim_hash: String,
    /// In the order of the list.
    pub pods_to_delete: Vec<PodName>,
    /// The same, for look-ups: a list may be as long as an object can be.
    pub named_to_delete: BTreeSet<PodName>,
    pub scale_max_unavailable: Option<Amount>,
    pub claim_reuse: ClaimReuse,
    pub preparing_delete: PreparingDelete,
    pub rolling: Rolling,
    pub min_ready_seconds: u32,
    /// Seconds; off when absent or the largest int32 (CS-90).
    pub progress_deadline: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimReuse {
    On,
    Off,
}

/// Whether pods that a hook keeps from being deleted count as replicas (CS-35).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreparingDelete {
    Counted,
    Excluded,
}

/// How an update proceeds; the defaults where the object has no rollingUpdate.
#[derive(Debug, Clone, PartialEq)]
pub struct Rolling {
    pub partition: Amount,
    pub max_unavailable: Amount,
    pub max_surge: Amount,
    pub policy: Policy,
    pub is_paused: bool,
    pub priority: Option<Priority>,
    pub scatter: Vec<ScatterTerm>,
    pub grace_seconds: u32,
    pub pre_download: PreDownload,
}

impl Deref for Spec {
    type Target = BaseSpec;

    fn deref(&self) -> &BaseSpec {
        &self.base
    }
}

impl Spec {
    /// The keys of the template's topology spread constraints: which node labels matter (CS-52).
    pub fn topology_keys(&self) -> BTreeSet<&str> {
        let list =
            self.template.template.pointer("/spec/topologySpreadConstraints").and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|one| one.get("topologyKey")?.as_str()).collect()
    }

    /// Out of an object that has not been read yet.
    pub fn read(spec: &Value) -> Result<Self, Fault> {
        let wire = kruise_api::read_part::<CloneSetSpec>(spec.clone());
        wire.map_err(|error| Fault::of_spec(&error)).and_then(|wire| Self::of(&wire))
    }

    pub fn of(wire: &CloneSetSpec) -> Result<Self, Fault> {
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
        let scale = wire.scale_strategy.clone().unwrap_or_default();
        let leaves_out = scale.exclude_preparing_delete == Some(true);
        let deadline = count("spec.progressDeadlineSeconds", wire.progress_deadline_seconds)?;
        let max_unavailable = scale.max_unavailable.as_ref();
        let pods_to_delete = unique(scale.pods_to_delete.as_deref().unwrap_or_default());
        Ok(Self {
            claim_hash: hash::of_claim_templates(&base.claim_templates)
                .map_err(|e| Fault::new("spec.volumeClaimTemplates", &e))?,
            base,
            named_to_delete: pods_to_delete.iter().cloned().collect(),
            pods_to_delete,
            scale_max_unavailable: amount(SCALE_LIMIT, max_unavailable, Bare::Percent)?,
            claim_reuse: match scale.enable_pvc_reuse {
                Some(true) => ClaimReuse::On,
                Some(false) | None => ClaimReuse::Off,
            },
            preparing_delete: if leaves_out { PreparingDelete::Excluded } else { PreparingDelete::Counted },
            rolling: Rolling::of(strategy.and_then(|strategy| strategy.rolling_update.as_ref()))?,
            min_ready_seconds: count("spec.minReadySeconds", wire.min_ready_seconds)?.unwrap_or(0),
            progress_deadline: deadline.filter(|seconds| *seconds < i32::MAX.unsigned_abs()),
        })
    }
}

impl Rolling {
    fn of(wire: Option<&RollingUpdateCloneSet>) -> Result<Self, Fault> {
        let absent = RollingUpdateCloneSet::default();
        let wire = wire.unwrap_or(&absent);
        let number = |field: &str, value: Option<&IntOrString>, bare, default: Amount| {
            amount(&format!("{ROLLING}.{field}"), value, bare).map(|read| read.unwrap_or(default))
        };
        let (max_unavailable, max_surge) = (wire.max_unavailable.as_ref(), wire.max_surge.as_ref());
        let none = Amount::Pods(0);
        let priority = wire.priority_strategy.as_ref();
        let in_place = wire.in_place_update_strategy.clone().unwrap_or_default();
        let scatter = wire.scatter_strategy.iter().flatten();
        Ok(Self {
            partition: number("partition", wire.partition.as_ref(), Bare::Refused, none)?,
            max_unavailable: number(
                "maxUnavailable",
                max_unavailable,
                Bare::Percent,
                Amount::percent(defaults::MAX_UNAVAILABLE_PERCENT),
            )?,
            max_surge: number("maxSurge", max_surge, Bare::Percent, none)?,
            policy: Policy::of(wire.pod_update_policy.as_ref())?,
            is_paused: wire.paused == Some(true),
            priority: priority.map(|one| Priority::of(one, PRIORITY)).transpose()?.flatten(),
            scatter: scatter
                .map(|term| ScatterTerm { key: term.key.clone(), value: term.value.clone() })
                .collect(),
            grace_seconds: count(&format!("{IN_PLACE}.gracePeriodSeconds"), in_place.grace_period_seconds)?
                .unwrap_or(0),
            pre_download: pre_download(&in_place)?,
        })
    }
}

fn pre_download(wire: &InPlaceUpdateStrategy) -> Result<PreDownload, Fault> {
    let number = |field: &str, value: Option<i32>| count(&format!("{IN_PLACE}.{field}"), value);
    let default = PreDownload::default();
    let parallelism = wire.image_pre_download_parallelism.as_ref();
    let timeout = number("imagePreDownloadTimeoutSeconds", wire.image_pre_download_timeout_seconds)?;
    let ready =
        number("imagePreDownloadMinUpdatedReadyPods", wire.image_pre_download_min_updated_ready_pods)?;
    Ok(PreDownload {
        parallelism: parallelism.map_or(default.parallelism, |value| json!(value)),
        timeout_seconds: timeout.unwrap_or(default.timeout_seconds),
        min_updated_ready: ready.unwrap_or(0),
    })
}

/// What an absent field means, for admission as for planners.
pub mod defaults {
    pub const MAX_UNAVAILABLE_PERCENT: u32 = 20;
}

fn unique(names: &[String]) -> Vec<PodName> {
    let mut seen = BTreeSet::new();
    names.iter().filter(|name| seen.insert(*name)).map(|name| PodName::new(name.as_str())).collect()
}
