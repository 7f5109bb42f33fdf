//! CloneSet: stateless pods with names of their own, updated in place where possible. Specification: CS-1 … CS-106.

pub mod v1alpha1;
pub mod v1beta1;

pub use v1beta1::{
    CloneSet, CloneSetCondition, CloneSetScaleStrategy, CloneSetSpec, CloneSetStatus, CloneSetUpdateStrategy,
    RollingUpdateCloneSet,
};
