//! Looking for one bug: calm runs first, then a crash at every write, then seeds with everything that can go wrong.

use std::time::{Duration, Instant};

use super::Bug;
use crate::campaign::draw;
use crate::kinds;
use crate::world::faults::{Blow, Plan};
use crate::world::{Flags, Outcome, Run};

/// Seeds that are tried before a bug counts as not found.
const SEEDS: u64 = 400;

/// How a bug was found.
#[derive(Debug)]
pub struct Found {
    pub runs: u64,
    pub took: Duration,
    /// What the simulator said, and about which run.
    pub said: String,
}

/// `None` if nothing was noticed.
pub fn hunt(bug: &'static Bug, flags: &Flags) -> Option<Found> {
    let started = Instant::now();
    let mut runs = 0;
    let mut look = |run: Run| {
        runs += 1;
        let title = format!("{} with {}", run.scenario.title(), run.plan);
        let outcome = Run { bug: Some(bug), ..run.clone() }.go(flags);
        let said = noticed(&run, &outcome, flags)?;
        Some(Found { runs, took: started.elapsed(), said: format!("{title}: {said}") })
    };
    let homes = || bug.scenarios.iter().flat_map(|name| kinds::called(name));
    let calm = homes().find_map(|scenario| look(Run::new(scenario, 1, Plan::default())));
    if calm.is_some() {
        return calm;
    }
    for scenario in homes() {
        let writes = Run::new(scenario.clone(), 1, Plan::default()).go(flags).writes;
        for blow in [Blow::CrashAfter, Blow::AnswerLost, Blow::Refused(409)] {
            let crashed = |write| Run::new(scenario.clone(), 1, Plan::crash(write, blow));
            let found = (1..=writes).find_map(|write| look(crashed(write)));
            if found.is_some() {
                return found;
            }
        }
    }
    (1..=SEEDS).find_map(|seed| look(draw(seed)))
}

/// A broken rule, or an end that is not that of a healthy manager.
fn noticed(run: &Run, outcome: &Outcome, flags: &Flags) -> Option<String> {
    if let Some(first) = outcome.faults.first() {
        return Some(first.clone());
    }
    let healthy = run.go(flags);
    (healthy.faults.is_empty() && healthy.end != outcome.end)
        .then(|| "it ends otherwise than without the bug".into())
}
