//! Crash plans that leave nothing out: for every write of a scenario one run in which the manager dies before it, one in which it
//! dies after it and never hears the answer, and with a second manager one in which that goes on and has not heard of the write either.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::{Progress, Story, shrink, side_by_side};
use crate::kinds;
use crate::world::faults::{Blow, Plan};
use crate::world::scenario::Scenario;
use crate::world::{Flags, Lease, Outcome, Run};

/// The seed of all crash runs.
const SEED: u64 = 1;

/// Which crashes of a scenario are tried.
#[derive(Debug, Clone)]
pub struct Crashes {
    pub scenario: Scenario,
    /// With a lease the successor has to wait until that of the dead one has run out.
    pub lease: Lease,
    /// One of so many points.
    pub one_in: usize,
}

/// One place to crash at.
#[derive(Debug, Clone)]
pub struct Point {
    scenario: usize,
    plan: Plan,
}

/// How much of a scenario was covered.
#[derive(Debug, Clone)]
pub struct Points {
    pub title: String,
    pub lease: Lease,
    /// Writes of the run without faults.
    pub writes: u64,
    pub points: usize,
    pub covered: usize,
}

/// The run without faults that the others must end like.
struct Calm {
    run: Run,
    writes: u64,
    one_in: usize,
    end: Value,
}

impl Crashes {
    /// At every write of every scenario.
    pub fn all(lease: Lease) -> Vec<Self> {
        kinds::scenarios().into_iter().map(|scenario| Self { scenario, lease, one_in: 1 }).collect()
    }
}

/// Crashes at the writes that are asked for.
pub fn crash_everywhere(
    crashes: Vec<Crashes>,
    progress: &Progress,
    flags: &Flags,
) -> (Vec<Points>, Vec<Story>) {
    let mut stories = Vec::new();
    let mut calm = Vec::new();
    for Crashes { scenario, lease, one_in } in crashes {
        let run = Run { lease, ..Run::new(scenario, SEED, Plan::default()) };
        let outcome = run.go(flags);
        progress.count(&run, &outcome);
        if outcome.faults.is_empty() {
            calm.push(Calm { run, writes: outcome.writes, one_in, end: outcome.end });
        } else {
            stories.push(Story::of(&run, flags));
        }
    }
    let points = points(&calm);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut results = Vec::new();
        while let Some(point) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Some(calm) = calm.get(point.scenario) {
                results.push((point.scenario, crash(calm, point, progress, flags)));
            }
        }
        results
    };
    let results: Vec<(usize, Result<(), Box<Story>>)> = side_by_side(&work).into_iter().flatten().collect();
    let mut table: Vec<Points> = calm.iter().map(Points::of).collect();
    for (scenario, result) in results {
        match (table.get_mut(scenario), result) {
            (Some(line), Ok(())) => line.covered += 1,
            (_, Err(story)) => stories.push(*story),
            (None, Ok(())) => {}
        }
    }
    (table, stories)
}

fn points(calm: &[Calm]) -> Vec<Point> {
    let mut points = Vec::new();
    for (scenario, one) in calm.iter().enumerate() {
        points.extend(one.plans().map(|plan| Point { scenario, plan }));
    }
    points
}

fn crash(calm: &Calm, point: &Point, progress: &Progress, flags: &Flags) -> Result<(), Box<Story>> {
    let run = Run { plan: point.plan.clone(), ..calm.run.clone() };
    let outcome = run.go(flags);
    progress.count(&run, &outcome);
    let faults = faults(calm, &outcome);
    if faults.is_empty() {
        return Ok(());
    }
    let mut story = if outcome.faults.is_empty() { Story::of(&run, flags) } else { shrink(&run, flags) };
    story.faults = faults;
    Err(Box::new(story))
}

/// Besides what every run must keep: the same end, and no more writes than a second start explains.
fn faults(calm: &Calm, outcome: &Outcome) -> Vec<String> {
    let mut faults = outcome.faults.clone();
    if outcome.struck.is_empty() {
        faults.push("the write to crash at never came".into());
    }
    let (mut end, mut calm_end) = (outcome.end.clone(), calm.end.clone());
    if calm.run.lease != Lease::Unused {
        // While the successor waits, the user may take back what nobody has seen: then it leaves no revision.
        for one in [&mut end, &mut calm_end] {
            one.as_object_mut().map(|parts| parts.shift_remove("revisions"));
        }
    }
    if end != calm_end {
        faults.push(format!("it ends differently:\n  {end}\n  {calm_end}"));
    }
    let limit = calm.writes * 2 + 10;
    if limit < outcome.writes {
        faults.push(format!("{} writes instead of {}", outcome.writes, calm.writes));
    }
    faults
}

impl Calm {
    fn plans(&self) -> impl Iterator<Item = Plan> {
        let blows: &[Blow] = match self.run.lease {
            Lease::Held | Lease::Unused => &[Blow::CrashBefore, Blow::CrashAfter],
            Lease::Contended => &[Blow::HandOver],
        };
        let all =
            (1..=self.writes).flat_map(move |write| blows.iter().map(move |blow| Plan::crash(write, *blow)));
        all.step_by(self.one_in)
    }
}

impl Points {
    fn of(calm: &Calm) -> Self {
        let (title, points) = (super::title(&calm.run), calm.plans().count());
        Self { title, lease: calm.run.lease, writes: calm.writes, points, covered: 0 }
    }
}
