//! PersistentPodState: pods of a stateful workload come back to the node, zone or rack where they were ready last.
//! Specification: PP-1 … PP-30.
//!
//! Reads: the object, the workload it points to, that workload's pods, labels of their nodes. Writes: its status, and the
//! object itself where the workload's annotations ask for it. Never: a pod; a field that annotations cannot express; an object
//! that somebody else made. One status write per change of any number of records.
//!
//! Deviations: D1 (ordinals as the workload numbers them), D2 (records of lost nodes are reported, and dropped on request), D3
//! (weights are clamped, not passed on), D4 (an odd spec is read as far as it goes), D5 (the template wins where the object says
//! so), D6 (a broken whitelist stops nobody else), D7 and D17 (only objects of ours, only fields of ours), D8 (annotations
//! count at every sync: a deleted or edited generated object comes back at once), D10, D11, D12 (records follow the
//! nodes; changed entries only; no write for nothing), D13 (the oldest object of a target counts), D14 (listed kinds are followed), D15 (lists
//! are trimmed).

pub mod admission;
pub mod generate;
mod object;
pub mod placement;
mod plan;
mod records;
mod target;
mod view;

pub use object::{CustomWorkload, NativeStatefulSet, PersistentPodState, TARGET, target_entry};
pub use plan::{near_limit, plan, plan_name};
pub use target::{CustomKind, NATIVE_GROUP, NotAWhitelist, Supported, Target};
pub use view::{CustomKinds, Owner, Preferred, Record, Retention, Spec, View, Workload};

#[cfg(test)]
mod tests;
