//! PersistentPodState: pods come back to where they ran. Specification: PP-1 and following.

pub mod v1alpha1;
pub mod v1beta1;

pub use v1beta1::{
    PersistentPodAnnotation, PersistentPodState, PersistentPodStateSpec, PersistentPodStateStatus, PodState,
    PreferredTopologyTerm, RetentionPolicy, TopologyTerm,
};
