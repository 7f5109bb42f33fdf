//! UnitedDeployment: one workload per subset of nodes. Specification: UD-1 and following.

pub mod v1alpha1;
pub mod v1beta1;

pub use v1beta1::{
    AdaptiveUnitedDeployment, AdvancedStatefulSetTemplate, CloneSetTemplate, ForeignTemplate, ManualUpdate,
    ScheduleStrategyType, Subset, SubsetTemplate, Topology, UnitedDeployment, UnitedDeploymentCondition,
    UnitedDeploymentScheduleStrategy, UnitedDeploymentSpec, UnitedDeploymentStatus,
    UnitedDeploymentSubsetStatus, UnitedDeploymentUpdateStrategy, UnitedDeploymentUpdateType,
};
