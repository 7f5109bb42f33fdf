//! NodeImage: what one node should pull. Specification: NI-1 and following.

/// Where a tag stands. Written by the node agent; read by the NodeImage and ImagePullJob controllers.
pub mod phase {
    /// For a slot.
    pub const WAITING: &str = "Waiting";
    /// Being pulled.
    pub const PULLING: &str = "Pulling";
    /// It is there.
    pub const SUCCEEDED: &str = "Succeeded";
    /// It could not be pulled.
    pub const FAILED: &str = "Failed";
}
pub mod v1alpha1;
pub mod v1beta1;

pub use v1beta1::{
    ImageSpec, ImageStatus, ImageTagPullPolicy, ImageTagSpec, ImageTagStatus, NodeImage, NodeImageSpec,
    NodeImageStatus, ReferenceObject, SyncStatus,
};
