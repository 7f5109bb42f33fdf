//! ResourceDistribution: one Secret or ConfigMap in many namespaces. Specification: RD-1 and following.

pub mod v1alpha1;
pub mod v1beta1;

pub use v1beta1::{
    DistributionCondition, DistributionTargets, NamespaceList, NamespaceName, ResourceDistribution,
    ResourceDistributionSpec, ResourceDistributionStatus,
};
