//! WorkloadSpread: pods of a workload over subsets of nodes. Specification: WS-1 and following.

pub mod v1alpha1;
pub mod v1beta1;

pub use v1beta1::{
    AdaptiveWorkloadSpread, ScheduleStrategyType, SubsetStatus, TargetFilter, WorkloadSpread,
    WorkloadSpreadScheduleStrategy, WorkloadSpreadSpec, WorkloadSpreadStatus, WorkloadSpreadSubset,
};
