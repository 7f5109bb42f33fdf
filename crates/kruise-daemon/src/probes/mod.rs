//! Runs the probes that the node's NodePodProbe lists (PB-1 … PB-12).
//!
//! `decide` says which probes run, what a result means and what the status says; `check` runs one probe; `view` knows the
//! containers of the node, asked for at most once a second; `work` puts them together.
//! Writes: one patch of the status per burst of changed results, and one per probe in ten minutes.
//! Deviations: every probe has a result of its own, a changed period or address counts at once, stopped containers are not
//! probed, events are told only when a state changes (podprobemarker, problems 1, 7 to 10, 14 to 16).

mod check;
mod decide;
mod view;
mod work;

pub use view::View;
pub use work::Prober;
