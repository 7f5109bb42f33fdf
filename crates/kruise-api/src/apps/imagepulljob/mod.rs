//! ImagePullJob: pulls one image on many nodes. Specification: PJ-1 and following.

pub mod v1alpha1;
pub mod v1beta1;

pub use v1beta1::{ImagePullJob, ImagePullJobSpec, ImagePullJobStatus};
