//! Decides the next writes for one StatefulSet. Specification: AS-1 … AS-100.
//!
//! view → revisions (AS-9 … 15) → adopt and release (AS-3, AS-4) → replicas upward (AS-32 … 37) → condemned downward (AS-39, 40)
//! → update (AS-43 … 57) → claims of pods that stay (AS-35, AS-84) → refresh of the rest (AS-36) → status (AS-94 … 96).
//! Writes per pod: create 2 (+1 per claim), delete 1 (+1 per claim whose owner changes), in-place 3, recreate 3.
//! Deviations from upstream: B1 … B6, B8, B10, B16, B18, B20 … B23. A pod that may not be disturbed does not keep others from being
//! repaired for free (AS-53: upstream ends the phase there), and pods of a superseded revision that are not ready are replaced
//! even while OrderedReady stands still (B24), one limit at a time. Status describes what was seen (AS-94: upstream lowers counts
//! ahead). A condemned pod that halts scale-in (AS-39) goes when somebody marks it for deletion, and a failed one halts nothing.
//! Refreshing states does not end a plan (AS-44: every count is taken before it, so nothing is decided on stale facts).
//! A claim template that is added or renamed (B11) makes the next update of a pod a recreation and restarts nobody by itself. Specified deletion waits while paused and with OnDelete (B9), but not
//! for a pod that is not ready itself (AS-80). A terminating pod that is in range again keeps its claims.
//! Never: two pods for one ordinal; a claim given to a pod or to the set against the policy; more pods down at our hands than the
//! limit; a second condemned pod touched in OrderedReady while one is on its way.

pub mod admission;
mod claims;
mod create;
mod object;
pub(crate) mod ordinals;
mod plan;
mod scale;
mod spec;
mod status;
mod update;
mod view;

pub use claims::sets_of_claim;
pub use object::StatefulSet;
pub use ordinals::{Ordinal, Reserved, Slots};
pub use plan::{Cx, Slot, plan};
pub use spec::{ClaimUpdate, Keep, Management, Order, Retention, Rolling, Spec};
pub use view::View;

#[cfg(test)]
mod tests;
