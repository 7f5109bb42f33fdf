//! A pod as planners see it: decoded straight from the wire, holding only what some planner reads.
//!
//! `view.rs` what a pod is; `wire.rs` how it is read; `edit.rs` how a change of it becomes one patch; `body.rs` how a new
//! one is made; `ephemeral.rs` its ephemeral containers; `slim.rs` how caches hold it.

mod body;
mod edit;
mod ephemeral;
mod shared;
mod slim;
mod texts;
mod view;
mod wire;

pub use body::Body;
pub use edit::{Edit, Guard};
pub use ephemeral::{EphemeralContainer, EphemeralState};
pub use shared::SharedParts;
pub use slim::{NAMESPACE, ORPHAN, orphan_of};
pub use texts::{Texts, string_map};
pub use view::{
    Condition, Container, ContainerStatus, EnvRef, EnvSource, Owner, Phase, PodView, Resources,
    RestartPolicy, Status,
};
