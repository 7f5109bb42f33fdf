//! DaemonSet: one pod per node, with partitions, surge and in-place updates. Specification: DS-1 and following.

pub mod v1alpha1;
pub mod v1beta1;

pub use v1beta1::{
    DaemonSet, DaemonSetScaleStrategy, DaemonSetSpec, DaemonSetStatus, DaemonSetUpdateStrategy,
    RollingUpdateDaemonSet, RollingUpdateType,
};
