//! Decides the next writes for one ImageListPullJob: one ImagePullJob per image. Specification: LJ-1 … LJ-7.
//!
//! view → hash of the template (LJ-1, LJ-2) → end (LJ-3) → children to create and delete (LJ-4, LJ-5) → status (LJ-6).
//! Writes: one per image, one for the label, one per change of the status.
//! Deviations from upstream: children that a release up to 1.8 has made are current (LJ-4); of two children for one image the later one is
//! deleted; a child that has finished is not made again, because it stays until the list is over (11, see `imagepulljob`).
//! Never: two children for one image at the same template, once the first is in sight.

pub mod admission;
mod children;
mod object;
mod plan;
mod reason;
mod status;
pub mod template;
mod view;

pub use object::{ImageListPullJob, Spec};
pub use plan::plan;
pub use view::View;

#[cfg(test)]
mod tests;
