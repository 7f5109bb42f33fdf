//! ContainerRecreateRequest: restarts containers of a running pod. Specification: CR-1 and CD-1 and following.

pub mod v1alpha1;
pub mod v1beta1;

pub use v1beta1::{
    ContainerPort, ContainerRecreateRequest, ContainerRecreateRequestSpec, ContainerRecreateRequestStatus,
    ContainerSnapshot, PreStopHandler, RecreateContainer, RecreateFailurePolicy, RecreatePhase,
    RecreateState, RecreateStrategy, StatusContext,
};
