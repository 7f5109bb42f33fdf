//! StatefulSet: pods with fixed names and claims, updated in place where possible. Specification: AS-1 and following.

pub mod v1alpha1;
pub mod v1beta1;

pub use v1beta1::{
    ClaimRetention, ClaimRetentionPolicy, ClaimStatus, ClaimUpdateStrategy, ClaimUpdateType,
    PodManagementPolicy, RollingUpdateStatefulSet, StatefulSet, StatefulSetOrdinals,
    StatefulSetScaleStrategy, StatefulSetSpec, StatefulSetStatus, StatefulSetUpdateStrategy, UnorderedUpdate,
};
