//! ImageListPullJob: pulls several images on many nodes. Specification: LJ-1 and following.

pub mod v1alpha1;
pub mod v1beta1;

pub use v1beta1::{FailedImageStatus, ImageListPullJob, ImageListPullJobSpec, ImageListPullJobStatus};
