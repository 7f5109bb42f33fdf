//! Model checking: all interleavings of a planner with a tiny cluster (2 to 4 pods), a cache that lags behind, and crashes.
//!
//! Where the simulator runs one story at a time through the whole manager, the checker visits **every** reachable state
//! of a smaller world: the real planner, the order in which watches deliver, the barrier, writes in any order with their
//! preconditions, the kubelet model, and a manager that dies at any point. Time stands still in it.
//!
//! Safety holds in every state. Convergence: in every state from which nothing moves any more, the spec is reached; and since the
//! writes are counted in the state and bounded, no path goes round for ever.

mod checked;
mod cluster;
mod kind;
mod object;
mod state;
#[cfg(test)]
mod tests;
mod worlds;

pub use checked::{Checked, Model, Start, check, image};
pub use cluster::Cluster;
pub use object::Object;
pub use state::{Action, State};
pub use worlds::{Size, worlds};
