//! The brain: per kind a pure function from a view to a plan, and the mechanisms that several kinds share.
//!
//! Lives here: everything that thinks.
//! Must not live here: I/O, async, a clock, randomness that was not passed in, logging.

pub mod admission;
pub mod amount;
pub mod base;
pub mod budget;
pub mod chain;
pub mod claim;
pub mod cloneset;
pub mod gates;
pub mod ids;
pub mod inplace;
pub mod launch;
pub mod lifecycle;
pub mod merge;
pub mod order;
pub mod persistentpodstate;
pub mod plan;
pub mod pod;
pub mod podunavailablebudget;
pub mod predownload;
pub mod quantity;
pub mod random;
pub mod reader;
pub mod readiness;
pub mod reason;
pub mod refresh;
pub mod removal;
pub mod revision;
pub mod rollout;
pub mod statefulset;
pub mod status_conditions;
pub mod template;
pub mod time;
pub mod workload;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod golden;
