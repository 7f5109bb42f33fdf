//! CloneSets on the real control plane: the acceptance scenarios of the specification, our manager as a process,
//! simulated nodes.
//!
//! A test reads: what is given ([`web`], [`CloneSets::create`]), what is done, and what is waited for by watching.
//! What must *not* happen is checked by a [`watcher`] over every change, or after [`CloneSets::quiet`].

mod batches;
mod budget;
mod claims;
mod conditions;
mod crash;
mod create;
mod delete;
mod inplace;
mod lifecycle;
mod live;
mod nodes;
mod pods;
mod predownload;
mod takeover;
mod update;
mod watcher;
mod web;

pub use budget::Budget;
pub use live::{CloneSets, Live, clonesets, clonesets_with_all_gates};
pub use pods::*;
pub use web::{Web, web};
