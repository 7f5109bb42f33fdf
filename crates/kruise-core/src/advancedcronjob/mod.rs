//! Decides the next writes for one AdvancedCronJob: a child object at each planned time. Specification: ACJ-1 … ACJ-23.
//!
//! view → history (ACJ-4) → pause (ACJ-5) → missed and next run (ACJ-6, ACJ-7, ACJ-16 … ACJ-19) → concurrency (ACJ-8) → child (ACJ-9) →
//! status (ACJ-3). Writes per run: the child, then its time in the status; the status again when it ends.
//! Deviations from upstream: B1 … B9, B11 … B16, B18 … B20. The last planned time never goes back (B1), and the latest missed run is
//! found without counting all of them (B2, B3). `schedule` is the cron grammar and the arithmetic of the library that upstream uses, so that
//! skipped and repeated hours are treated the same (B17).
//! Never: a run twice; a run before its time; a child of a namesake that was deleted.

pub mod admission;
mod children;
mod object;
mod plan;
mod reason;
pub mod schedule;
mod spec;
mod status;
mod view;

pub use children::Job;
pub use object::AdvancedCronJob;
pub use plan::plan;
pub use spec::{Concurrency, Spec, Template};
pub use view::View;

#[cfg(test)]
mod tests;
