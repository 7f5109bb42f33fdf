//! Many runs: a crash at every write of every scenario, and plans drawn from seeds.
//!
//! A failing run is shrunk: faults are left out one by one while it still fails, and the rest is told as a story with the
//! command that repeats it.

mod crash;
mod draw;
mod progress;
mod shrink;

pub use crash::{Crashes, Point, Points, crash_everywhere};
pub use draw::draw;
pub use progress::Progress;
pub use shrink::{Story, shrink};

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::world::faults::Plan;
use crate::world::{Flags, Outcome, Run};

/// How long a campaign goes on.
#[derive(Debug, Clone, Copy)]
pub enum Until {
    /// This seed, exclusively.
    Seed(u64),
    Time(Instant),
}

/// Worlds at the same time; each has a thread of its own.
pub const THREADS: usize = 2;

/// Runs seeds from `first` on, and returns the story of every one that failed.
pub fn run_seeds(first: u64, until: Until, progress: &Progress, flags: &Flags) -> Vec<Story> {
    let next = AtomicU64::new(first);
    let work = || {
        let mut stories = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let is_over = match until {
                Until::Seed(end) => end <= seed,
                Until::Time(end) => end <= Instant::now(),
            };
            if is_over {
                return stories;
            }
            let run = draw(seed);
            let outcome = judged(&run, flags);
            progress.count(&run, &outcome);
            if !outcome.faults.is_empty() {
                println!("seed {seed} failed; its story comes at the end");
                stories.push(shrink(&run, flags));
            }
        }
    };
    let mut stories: Vec<Story> = side_by_side(&work).into_iter().flatten().collect();
    stories.sort_by_key(|story| story.run.seed);
    stories
}

/// Runs it; where there were only edits and all of them were taken back, the end is that of the run without them.
pub(crate) fn judged(run: &Run, flags: &Flags) -> Outcome {
    let mut outcome = run.go(flags);
    if outcome.faults.is_empty() && run.plan.is_taken_back() {
        let mut calm = Run { plan: Plan::default(), ..run.clone() }.go(flags);
        // A claim that was made during an edit keeps the size that was wanted then, and the status tells.
        for end in [&mut outcome.end, &mut calm.end] {
            if let Some(status) = end.get_mut("status").and_then(serde_json::Value::as_object_mut) {
                status.shift_remove("volumeClaims");
            }
        }
        for part in ["spec", "status", "pods"] {
            let (one, other) = (outcome.end.get(part), calm.end.get(part));
            if one != other {
                let text =
                    |value: Option<&serde_json::Value>| value.map(ToString::to_string).unwrap_or_default();
                outcome.faults.push(format!("{part} differs:\n  {}\n  {}", text(one), text(other)));
            }
        }
    }
    outcome
}

/// The same work on every thread.
fn side_by_side<T: Send>(work: &(impl Fn() -> T + Sync)) -> Vec<T> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        // A thread that panicked has said so; what it found is lost, and the others go on.
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

/// How a run is called in a replay command: `CloneSet/in-place`.
pub fn title(run: &Run) -> String {
    run.scenario.title()
}

#[cfg(test)]
mod tests;
