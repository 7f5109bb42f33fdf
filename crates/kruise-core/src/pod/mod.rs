//! A pod as planners see it: decoded straight from the wire, holding only what some planner reads.
//!
//! `view.rs` what a pod is; `wire.rs` how it is read; `edit.rs` how a change of it becomes one patch; `body.rs` how a new
//! one is made; `ephemeral.rs` its ephemeral containers; `job_sidecar.rs` which containers end with a job; `slim.rs` how caches hold it.

mod assign;
mod body;
mod edit;
mod ephemeral;
mod job_sidecar;
mod shared;
mod slim;
mod texts;
mod view;
mod wire;

pub use assign::{Assign, pin};
pub use body::Body;
pub use edit::{Edit, Guard};
pub use ephemeral::{EphemeralContainer, EphemeralState};
pub use job_sidecar::{By, JobSidecar};
pub use shared::SharedParts;
pub use slim::{
    INJECTED, LABEL, LOOSE, NAMESPACE, NODE, OF_ONE_POD_OR_REVISION, ORPHAN, labelled, orphan_of,
};
pub use texts::{Texts, string_map};
pub use view::{
    Condition, Container, ContainerStatus, Ended, EnvRef, EnvSource, Owner, Phase, PodView, Resources,
    RestartPolicy, Status,
};
