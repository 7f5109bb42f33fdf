//! PodUnavailableBudget: how many pods may be unavailable at once. Specification: PUB-1 and following.

pub mod v1alpha1;
pub mod v1beta1;

pub use v1beta1::{
    PodUnavailableBudget, PodUnavailableBudgetSpec, PodUnavailableBudgetStatus, PubOperation,
    PubTargetReference,
};
