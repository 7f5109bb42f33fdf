//! NodeImage: what one node should pull. Specification: NI-1 and following.

pub mod v1alpha1;
pub mod v1beta1;

pub use v1beta1::{
    ImageSpec, ImageStatus, ImageTagPullPolicy, ImageTagSpec, ImageTagStatus, NodeImage, NodeImageSpec,
    NodeImageStatus, ReferenceObject, SyncStatus,
};
