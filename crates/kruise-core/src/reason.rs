//! Why something was left alone. One closed list that status conditions, events, `kubectl kruise why` and the dashboard read; what only
//! one kind can say is a closed list in the folder of that kind and becomes a [`KindReason`].

use std::fmt;

use jiff::Timestamp;
use kruise_api::reasons::waiting as names;

use crate::ids::{ClaimName, PodName};
use crate::inplace::Incomplete;
use crate::time;

/// Why nothing was done about an item in this plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// At the wanted revision and available: nothing to do.
    Done,
    /// At the wanted revision, ready, but not yet for minReadySeconds.
    MinReadySeconds {
        until: Timestamp,
    },
    /// At the wanted revision and not ready.
    NotReady {
        since: Option<Timestamp>,
    },
    /// No step of the plan has said anything about it: a defect of the planner, which tests look for.
    Unexplained,
    /// The owner is being deleted; its pods belong to the garbage collector.
    OwnerDeleted,
    /// The spec cannot be read, so nothing is touched.
    UnreadableSpec {
        field: String,
    },
    /// The revision of the template is being stored first.
    RevisionFirst,
    /// Pods are being created or deleted; updates come after that.
    ScalingFirst,
    /// To be deleted, but that would take more ready pods down than allowed.
    DeleteLimit {
        limit: u32,
    },
    /// To be deleted; other pods must be created first.
    CreationFirst,
    /// Kept at its revision by the partition.
    Partition {
        keep: u32,
    },
    Paused,
    /// Updated when somebody deletes it.
    OnDelete,
    /// Updating it would take more pods down than allowed.
    MaxUnavailable {
        down: u32,
        limit: u32,
    },
    /// So many pods of the wanted revision are not available that the next one waits for them.
    TargetUnavailable {
        down: u32,
        limit: u32,
    },
    /// A lifecycle hook holds it.
    HookHeld {
        hook: HookPoint,
    },
    /// New; waits for a node.
    WaitingForNode,
    /// Its in-place update waits.
    Updating {
        why: Incomplete,
        until: Option<Timestamp>,
    },
    /// InPlaceOnly, and this change is not possible in place.
    NotInPlace {
        field: String,
    },
    /// Its lifecycle state is a value of nobody we know.
    ForeignState,
    /// Its deletion is under way.
    Terminating,
    /// Pods are handled one after the other, and this one comes first.
    WaitsFor {
        pod: PodName,
    },
    /// OrderedReady, to be removed, and unhealthy while a pod with a lower ordinal is unhealthy, too.
    RemovalHalted {
        unhealthy: PodName,
    },
    /// A pod of somebody else has its name.
    NameTaken,
    /// Its claim of an earlier life must be gone first.
    ClaimTerminating {
        claim: ClaimName,
    },
    /// Its claim is growing; the pod follows when that is done.
    ClaimResizing {
        claim: ClaimName,
    },
    /// Its claim can never become what the template says.
    ClaimUnfit {
        claim: ClaimName,
    },
    OfKind(KindReason),
}

/// A reason that only one kind gives. Made from the closed list of that kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindReason {
    /// Stable, for conditions, metrics and scripts.
    pub name: &'static str,
    /// See [`Reason::weight`].
    pub weight: u8,
    /// What is the matter and, where a person has to act, what to do.
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookPoint {
    PreNormal,
    InPlaceUpdate,
    PreDelete,
}

impl Reason {
    /// Stable name, for conditions, metrics and scripts.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Done => names::DONE,
            Self::MinReadySeconds { .. } => names::MIN_READY_SECONDS,
            Self::NotReady { .. } => names::NOT_READY,
            Self::Unexplained => names::UNEXPLAINED,
            Self::OwnerDeleted => names::OWNER_DELETED,
            Self::UnreadableSpec { .. } => names::UNREADABLE_SPEC,
            Self::RevisionFirst => names::REVISION_FIRST,
            Self::ScalingFirst => names::SCALING_FIRST,
            Self::DeleteLimit { .. } => names::DELETE_LIMIT,
            Self::CreationFirst => names::CREATION_FIRST,
            Self::Partition { .. } => names::PARTITION,
            Self::Paused => names::PAUSED,
            Self::OnDelete => names::ON_DELETE,
            Self::MaxUnavailable { .. } => names::MAX_UNAVAILABLE,
            Self::TargetUnavailable { .. } => names::TARGET_UNAVAILABLE,
            Self::HookHeld { .. } => names::HOOK_HELD,
            Self::WaitingForNode => names::WAITING_FOR_NODE,
            Self::Updating { .. } => names::UPDATING,
            Self::NotInPlace { .. } => names::NOT_IN_PLACE,
            Self::ForeignState => names::FOREIGN_STATE,
            Self::Terminating => names::TERMINATING,
            Self::WaitsFor { .. } => names::WAITS_FOR,
            Self::RemovalHalted { .. } => names::REMOVAL_HALTED,
            Self::NameTaken => names::NAME_TAKEN,
            Self::ClaimTerminating { .. } => names::CLAIM_TERMINATING,
            Self::ClaimResizing { .. } => names::CLAIM_RESIZING,
            Self::ClaimUnfit { .. } => names::CLAIM_UNFIT,
            Self::OfKind(reason) => reason.name,
        }
    }

    /// How much a user should care when everything stands still; 0 = this is what was asked for.
    pub fn weight(&self) -> u8 {
        match self {
            Self::Done
            | Self::Partition { .. }
            | Self::Paused
            | Self::OnDelete
            | Self::OwnerDeleted
            | Self::RevisionFirst
            | Self::ScalingFirst
            | Self::CreationFirst
            | Self::MinReadySeconds { .. } => 0,
            Self::DeleteLimit { .. }
            | Self::MaxUnavailable { .. }
            | Self::TargetUnavailable { .. }
            | Self::WaitsFor { .. } => 1,
            Self::WaitingForNode | Self::NotReady { .. } | Self::Terminating => 2,
            Self::Updating { .. }
            | Self::HookHeld { .. }
            | Self::ClaimResizing { .. }
            | Self::ClaimTerminating { .. } => 3,
            Self::NotInPlace { .. }
            | Self::ForeignState
            | Self::UnreadableSpec { .. }
            | Self::RemovalHalted { .. }
            | Self::NameTaken
            | Self::ClaimUnfit { .. } => 4,
            Self::Unexplained => 5,
            Self::OfKind(reason) => reason.weight,
        }
    }

    /// Whether other pods wait for this one because only so many may be down.
    pub fn is_down(&self) -> bool {
        match self {
            Self::MinReadySeconds { .. }
            | Self::NotReady { .. }
            | Self::WaitingForNode
            | Self::Updating { .. }
            | Self::Terminating => true,
            Self::Done
            | Self::Unexplained
            | Self::OwnerDeleted
            | Self::UnreadableSpec { .. }
            | Self::RevisionFirst
            | Self::ScalingFirst
            | Self::DeleteLimit { .. }
            | Self::CreationFirst
            | Self::Partition { .. }
            | Self::Paused
            | Self::OnDelete
            | Self::MaxUnavailable { .. }
            | Self::TargetUnavailable { .. }
            | Self::HookHeld { .. }
            | Self::NotInPlace { .. }
            | Self::ForeignState
            | Self::WaitsFor { .. }
            | Self::RemovalHalted { .. }
            | Self::NameTaken
            | Self::ClaimTerminating { .. }
            | Self::ClaimResizing { .. }
            | Self::ClaimUnfit { .. }
            | Self::OfKind(_) => false,
        }
    }
}

/// The sentence for a human.
impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => out.write_str("nothing to do: at the wanted revision and available"),
            Self::MinReadySeconds { until } => {
                write!(out, "ready; becomes available at {}", time::seconds(*until))
            }
            Self::NotReady { since: Some(since) } => write!(out, "not ready since {}", time::seconds(*since)),
            Self::NotReady { since: None } => out.write_str("not ready yet"),
            Self::Unexplained => {
                out.write_str("left alone without a reason: this is a bug in the manager, please report it")
            }
            Self::OwnerDeleted => out.write_str("its owner is being deleted"),
            Self::UnreadableSpec { field } => {
                write!(out, "{field} cannot be parsed: no pod is touched until it is corrected")
            }
            Self::RevisionFirst => out.write_str("waits until the revision of the new template is stored"),
            Self::ScalingFirst => out.write_str("waits until scaling is done"),
            Self::DeleteLimit { limit } => {
                write!(out, "to be deleted, but the limit for ready pods is {limit} now")
            }
            Self::CreationFirst => out.write_str("to be deleted when its replacement exists"),
            Self::Partition { keep } => write!(out, "stays at its revision: partition keeps {keep}"),
            Self::Paused => out.write_str("updates are paused"),
            Self::OnDelete => out.write_str("will be updated when it is deleted (OnDelete)"),
            Self::MaxUnavailable { down, limit } => {
                write!(out, "{down} unavailable, at most {limit} allowed")
            }
            Self::TargetUnavailable { down, limit } => {
                write!(out, "{down} unavailable at the new revision, at most {limit} allowed")
            }
            Self::HookHeld { hook } => write!(out, "held by the {hook} hook"),
            Self::WaitingForNode => out.write_str("waits for a node"),
            Self::Updating { why, until } => {
                write!(out, "in-place update waits for {why}")?;
                until.map_or(Ok(()), |until| write!(out, " until {}", time::seconds(until)))
            }
            Self::NotInPlace { field } => {
                write!(
                    out,
                    "{field} cannot change in place, and InPlaceOnly does not allow recreating the pod"
                )
            }
            Self::ForeignState => out.write_str("its lifecycle state is unknown to Kruise"),
            Self::Terminating => out.write_str("its deletion is under way"),
            Self::WaitsFor { pod } => write!(out, "waits for {pod}: pods are processed in order"),
            Self::RemovalHalted { unhealthy } => write!(
                out,
                "to be removed, but scale-in halts while it and {unhealthy} are unhealthy (OrderedReady): repair them, or label it {}=true to remove it now",
                kruise_api::labels::SPECIFIED_DELETE
            ),
            Self::NameTaken => out.write_str("another pod, which this workload does not own, has its name"),
            Self::ClaimTerminating { claim } => {
                write!(out, "waits until PVC {claim} of its predecessor is deleted")
            }
            Self::ClaimResizing { claim } => write!(out, "PVC {claim} is being resized"),
            Self::ClaimUnfit { claim } => {
                write!(out, "PVC {claim} can never match its template: delete it or change the template")
            }
            Self::OfKind(reason) => out.write_str(&reason.text),
        }
    }
}

impl fmt::Display for HookPoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::PreNormal => "preNormal",
            Self::InPlaceUpdate => "inPlaceUpdate",
            Self::PreDelete => "preDelete",
        })
    }
}

impl fmt::Display for Incomplete {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Environment => "the node daemon to report the new environment",
            Self::Resources => "the node to grant the new resources",
            Self::Image => "containers with the new image",
            Self::UnreadableState => "its containers; the update record cannot be parsed",
            Self::NextBatch => "containers of higher launch priority",
            Self::Grace => "the end of its grace period",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::t0;

    #[test]
    fn every_reason_has_a_stable_name_and_a_sentence() {
        let since = Some(t0());
        let all = [
            (Reason::Done, "Done", "nothing to do: at the wanted revision and available"),
            (
                Reason::MinReadySeconds { until: t0() },
                "MinReadySeconds",
                "ready; becomes available at 2026-06-01T12:00:00Z",
            ),
            (Reason::NotReady { since }, "NotReady", "not ready since 2026-06-01T12:00:00Z"),
            (
                Reason::MaxUnavailable { down: 2, limit: 1 },
                "MaxUnavailable",
                "2 unavailable, at most 1 allowed",
            ),
            (Reason::Partition { keep: 3 }, "Partition", "stays at its revision: partition keeps 3"),
            (Reason::HookHeld { hook: HookPoint::PreDelete }, "HookHeld", "held by the preDelete hook"),
            (
                Reason::Updating { why: Incomplete::Grace, until: since },
                "Updating",
                "in-place update waits for the end of its grace period until 2026-06-01T12:00:00Z",
            ),
            (
                Reason::DeleteLimit { limit: 0 },
                "DeleteLimit",
                "to be deleted, but the limit for ready pods is 0 now",
            ),
        ];
        for (reason, name, sentence) in all {
            assert_eq!((reason.name(), reason.to_string().as_str()), (name, sentence));
        }
    }
}
