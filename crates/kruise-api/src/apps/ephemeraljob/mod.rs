//! EphemeralJob: ephemeral containers for running pods. Specification: EJ-1 and following. One version only.

pub mod v1alpha1;

pub use v1alpha1::{
    EphemeralContainerTemplate, EphemeralJob, EphemeralJobPhase, EphemeralJobSpec, EphemeralJobStatus,
};
