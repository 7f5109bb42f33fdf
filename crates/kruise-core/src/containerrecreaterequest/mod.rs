//! Decides the next writes for one ContainerRecreateRequest: the manager's half of a restart that the node agent carries out.
//! Specification: CR-1 … CR-9; the agent's half is CD-1 … CD-13.
//!
//! view → end of a deleted or completed request (CR-2) → ways to end (CR-3 … CR-5) → snapshot for the agent (CR-7) → readiness of the
//! pod (CR-8). Writes: one per change of a named container's status; three to take the pod out of service, two to put it back.
//! Deviations from upstream: a new container is told by its id and restart count, not by the node's clock (2); requests are found by the
//! uid of their pod and no request is polled (9); without the gate KruiseDaemon a request that is being deleted still lets go of its pod (11);
//! a request ends when its pod has ended and none of its containers will come back (14). The deadline leaves the states of containers as
//! they are, because agents go on writing them and programs compare them; an event names the containers that were not done (3).
//! Never: the readiness of another pod of the same name is touched.

pub mod admission;
mod end;
mod object;
mod plan;
mod reason;
mod snapshot;
mod spec;
mod unready;
mod view;

pub use object::{ContainerRecreateRequest, OF_POD, is_woken_by};
pub use plan::plan;
pub use spec::Spec;
pub use view::View;

#[cfg(test)]
mod tests;
