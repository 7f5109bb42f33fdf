//! From a failing run to a short story.

use std::fmt;

use super::{judged, title};
use crate::world::faults::{Blow, Fault};
use crate::world::{Flags, Lease, Log, Run};

/// Lines of the log that a story shows.
const LINES: usize = 60;
/// A line that is longer is cut: the replay shows all of it.
const WIDTH: usize = 220;

/// Why a run failed, as short as it gets.
#[derive(Clone)]
pub struct Story {
    /// With as few faults as still fail.
    pub run: Run,
    pub faults: Vec<String>,
    /// All writes of that run.
    pub log: Vec<String>,
}

impl Story {
    /// Of a run as it is.
    pub fn of(run: &Run, flags: &Flags) -> Self {
        let kept = Run { log: Log::Kept, ..run.clone() };
        let outcome = judged(&kept, flags);
        Self { run: kept, faults: outcome.faults, log: outcome.log }
    }
}

/// Leaves out faults one by one while the run still fails.
pub fn shrink(run: &Run, flags: &Flags) -> Story {
    let mut run = run.clone();
    let mut position = 0;
    while position < run.plan.faults.len() {
        let shorter = Run { plan: run.plan.without(position), ..run.clone() };
        if judged(&shorter, flags).faults.is_empty() {
            position += 1;
        } else {
            run = shorter;
        }
    }
    Story::of(&run, flags)
}

impl fmt::Display for Story {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.faults.is_empty() { "PASSED" } else { "FAILED" };
        writeln!(out, "{verdict} {} with seed {}: {}", title(&self.run), self.run.seed, self.run.plan)?;
        for fault in &self.faults {
            writeln!(out, "  {fault}")?;
        }
        // Leases and events are courtesy, and many; the replay shows them.
        let is_courtesy = |line: &&String| line.contains(" leases ") || line.contains(" create events ");
        let log: Vec<&String> = self.log.iter().filter(|line| !is_courtesy(line)).collect();
        let skipped = log.len().saturating_sub(LINES);
        if skipped > 0 {
            writeln!(out, "  … {skipped} writes before")?;
        }
        for line in log.into_iter().skip(skipped) {
            let end = line.char_indices().nth(WIDTH).map_or(line.len(), |(position, _)| position);
            writeln!(out, "  {}", line.get(..end).unwrap_or(line))?;
        }
        write!(out, "  replay: make sim-replay RUN={} SEED={}", title(&self.run), self.run.seed)?;
        let (write, after) = match self.run.plan.faults.as_slice() {
            [Fault::AtWrite(write, Blow::CrashBefore)] => (write, ""),
            [Fault::AtWrite(write, Blow::CrashAfter)] => (write, " AFTER=--after"),
            [Fault::AtWrite(write, Blow::HandOver)] => (write, " AFTER=--late-standby"),
            _ => return Ok(()),
        };
        let lease = match self.run.lease {
            Lease::Held => " LEASE=--lease",
            Lease::Contended | Lease::Unused => "",
        };
        write!(out, " WRITE={write}{after}{lease}")
    }
}
