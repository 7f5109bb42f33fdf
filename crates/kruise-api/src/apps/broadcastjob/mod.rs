//! BroadcastJob: a pod to its end on every node. Specification: BJ-1 and following.

pub mod v1alpha1;
pub mod v1beta1;

pub use v1beta1::{
    BroadcastJob, BroadcastJobCompletionPolicy, BroadcastJobPhase, BroadcastJobSpec, BroadcastJobStatus,
    FailurePolicy, FailurePolicyType,
};
