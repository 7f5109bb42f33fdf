//! CloneSets on the real control plane: the acceptance scenarios of the specification, our manager as a process,
//! simulated nodes.
//!
//! A test reads: what is given ([`web`], [`Sets::create`]), what is done, and what is waited for by watching.
//! What must *not* happen is checked by a [`watcher`] over every change, or after [`Sets::quiet`].

mod batches;
mod budget;
mod claims;
mod conditions;
mod crash;
mod create;
mod delete;
pub mod guarded;
mod inplace;
mod lifecycle;
mod many;
mod nodes;
mod predownload;
mod takeover;
mod update;

pub use crate::workload::{cloneset as web, *};
pub use budget::Budget;

/// A namespace of the shared cluster.
pub async fn clonesets(name: &str) -> Sets {
    Sets::shared(Kind::CloneSet, name).await
}

/// A namespace of the shared cluster whose manager runs with every alpha gate on.
pub async fn clonesets_with_all_gates(name: &str) -> Sets {
    Sets::with_all_gates(Kind::CloneSet, name).await
}
