//! What a kubelet does with one pod, as a pure function: pod, knobs and time in, the next step out.
//!
//! The same model plays the nodes of the testbed (against a real API server) and of the simulator. It keeps no
//! state of its own: what has happened so far stands in the pod's status, as with a real kubelet after a restart.

mod conditions;
mod containers;
mod knobs;
mod patch;
mod pod;
mod quantity;
mod step;

pub use knobs::{Behaviour, Knobs, Rule, Which};
pub use pod::{Metadata, Pod};
pub use step::{Step, next};

#[cfg(test)]
mod tests;
