//! Stopping one container (KC-1 … KC-8): an event, its pre-stop hook within the grace period, then the runtime's stop.
//!
//! `plan` says what and how long, `hook` runs pre-stop hooks, `perform` puts them together.
//! Deviations: an HTTP hook without a host goes to the pod's address, a sleep is slept, and what cannot be run is left out
//! without an event (daemon, problems 9 and 10).

mod hook;
mod perform;
mod plan;

pub use hook::Hook;
pub use perform::{Killer, restored};
pub use plan::{CONTAINER_NAME, POD_NAME, POD_NAMESPACE, POD_UID, PodOf, Port, Target, message_of};
