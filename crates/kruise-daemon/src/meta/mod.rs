//! What containers of Kruise pods really are, written on the pod (CM-1 … CM-11): the second witness of in-place updates.
//!
//! `decide` looks and says, `report` asks the runtime and writes, `restart` stops containers whose environment is old.
//! Writes per change: one patch of the pod's annotation.
//! Deviations: entries are matched by name, not by index; the first container with an id names the runtime; the
//! environment is read from the runtime, so no `env` program is needed; no container is stopped that the kubelet is
//! about to restart for a new image (daemon, problems 1 to 4).

mod decide;
mod report;
mod restart;

pub use decide::Environments;
pub use report::Reporter;
pub use restart::Restarter;
