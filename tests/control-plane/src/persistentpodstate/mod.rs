//! Acceptance scenarios of PersistentPodState (section 8 of its specification) on the real control plane.

mod changes;
mod custom;
mod generated;
mod live;
mod placement;

use live::{Set, States, labels, owned_by, placed};
pub use live::{nodes, records};
