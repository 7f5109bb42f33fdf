//! `spec`, read once: defaults applied, amounts parsed. Behind it nobody compares strings or rounds.

use std::collections::BTreeSet;
use std::ops::Deref;

use serde_json::Value;

use crate::amount::{Amount, Bare};
use crate::base::BaseSpec;
use crate::ids::PodName;
use crate::order::{Priority, ScatterTerm};
use crate::predownload::PreDownload;
use crate::reader::{self, Fault, Reader, fault};
use crate::revision::hash;
use crate::rollout::{Policy, ROLLING};

const IN_PLACE: &str = "spec.updateStrategy.rollingUpdate.inPlaceUpdateStrategy";
const PRIORITY: &str = "spec.updateStrategy.rollingUpdate.priorityStrategy";

/// What the user wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    pub base: BaseSpec,
    /// Of the claim templates (SM-12).
    pub claim_hash: String,
    pub pods_to_delete: Vec<PodName>,
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

    /// Reads `.spec` of a v1beta1 object. `excluded` is the manager's flag for CS-35.
    pub fn read(spec: &Value, excluded: PreparingDelete) -> Result<Self, Fault> {
        let read = Reader { object: spec, at: "spec" };
        let base = BaseSpec::read(spec)?;
        let leaves_out = read.flag("scaleStrategy/excludePreparingDelete") == Some(true);
        let deadline = read.count("progressDeadlineSeconds")?;
        Ok(Self {
            claim_hash: hash::of_claim_templates(&base.claim_templates)
                .map_err(|e| fault("spec.volumeClaimTemplates", &e))?,
            base,
            pods_to_delete: unique(read.list("scaleStrategy/podsToDelete")),
            scale_max_unavailable: read.amount("scaleStrategy/maxUnavailable", Bare::Percent)?,
            claim_reuse: match read.flag("scaleStrategy/enablePVCReuse") {
                Some(true) => ClaimReuse::On,
                _ => ClaimReuse::Off,
            },
            preparing_delete: if leaves_out { PreparingDelete::Excluded } else { excluded },
            rolling: Rolling::read(read.at("updateStrategy/rollingUpdate"))?,
            min_ready_seconds: read.count("minReadySeconds")?.unwrap_or(0),
            progress_deadline: deadline.filter(|seconds| *seconds < i32::MAX.unsigned_abs()),
        })
    }
}

impl Rolling {
    fn read(rolling: &Value) -> Result<Self, Fault> {
        let read = Reader { object: rolling, at: ROLLING };
        let in_place = Reader { object: read.at("inPlaceUpdateStrategy"), at: IN_PLACE };
        Ok(Self {
            partition: read.amount("partition", Bare::Refused)?.unwrap_or(Amount::Pods(0)),
            max_unavailable: read.amount("maxUnavailable", Bare::Percent)?.unwrap_or(Amount::percent(20)),
            max_surge: read.amount("maxSurge", Bare::Percent)?.unwrap_or(Amount::Pods(0)),
            policy: Policy::read(&read)?,
            is_paused: read.flag("paused") == Some(true),
            priority: reader::priority(&rolling["priorityStrategy"], PRIORITY)?,
            scatter: read.list("scatterStrategy").iter().map(term).collect(),
            grace_seconds: in_place.count("gracePeriodSeconds")?.unwrap_or(0),
            pre_download: PreDownload {
                parallelism: Some(in_place.at("imagePreDownloadParallelism"))
                    .filter(|value| !value.is_null())
                    .map_or_else(|| Value::from(1), Clone::clone),
                timeout_seconds: in_place
                    .count("imagePreDownloadTimeoutSeconds")?
                    .unwrap_or(PreDownload::default().timeout_seconds),
                min_updated_ready: in_place.count("imagePreDownloadMinUpdatedReadyPods")?.unwrap_or(0),
            },
        })
    }
}

fn term(value: &Value) -> ScatterTerm {
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    ScatterTerm { key: text("key"), value: text("value") }
}

fn unique(names: &[Value]) -> Vec<PodName> {
    let mut seen = BTreeSet::new();
    let texts = names.iter().filter_map(Value::as_str).filter(|name| seen.insert(*name));
    texts.map(PodName::new).collect()
}
