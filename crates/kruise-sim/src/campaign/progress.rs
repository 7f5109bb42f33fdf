//! What has been done so far, in one line.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::world::{Outcome, Run};

/// How often a line is printed.
const EVERY: Duration = Duration::from_secs(5);

pub struct Progress {
    start: Instant,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    runs: u64,
    failed: u64,
    simulated: Duration,
    writes: u64,
    requests: u64,
    rollouts: u64,
    struck: BTreeMap<&'static str, u64>,
    late_ghosts: u64,
    told: Option<Instant>,
}

impl Default for Progress {
    fn default() -> Self {
        Self { start: Instant::now(), inner: Mutex::default() }
    }
}

impl Progress {
    /// Adds a run; now and then tells how far things are.
    pub fn count(&self, run: &Run, outcome: &Outcome) {
        let mut inner = self.lock();
        inner.runs += 1;
        inner.failed += u64::from(!outcome.faults.is_empty());
        inner.simulated += outcome.lasted;
        inner.writes += outcome.writes;
        inner.requests += outcome.requests;
        inner.rollouts += rollouts(run);
        for (name, times) in &outcome.struck {
            *inner.struck.entry(name).or_default() += times;
        }
        inner.late_ghosts += outcome.late_ghosts;
        let is_due = inner.told.is_none_or(|told| told.elapsed() >= EVERY);
        if is_due {
            inner.told = Some(Instant::now());
        }
        drop(inner);
        if is_due {
            println!("{}", self.line());
        }
    }

    /// Runs, simulated time, speed, faults by kind.
    pub fn line(&self) -> String {
        let inner = self.lock();
        let seconds = self.start.elapsed().as_secs_f64().max(0.001);
        let per_second = |count: u64| u64_to_f64(count) / seconds;
        let faults: Vec<String> =
            inner.struck.iter().map(|(name, times)| format!("{name} {times}")).collect();
        format!(
            "{seconds:6.0} s: {} runs, {} failed, {:.1} h simulated, {:.0} rollouts/s, {:.0} requests/s, {} writes; {}; late ghosts: {}",
            inner.runs,
            inner.failed,
            inner.simulated.as_secs_f64() / 3_600.0,
            per_second(inner.rollouts),
            per_second(inner.requests),
            inner.writes,
            faults.join(", "),
            inner.late_ghosts,
        )
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The creation and every edit are rolled out.
fn rollouts(run: &Run) -> u64 {
    let steps = run.scenario.steps.iter().filter(|step| step.is_rollout()).count();
    1 + u64::try_from(steps).unwrap_or(0)
}

fn u64_to_f64(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
