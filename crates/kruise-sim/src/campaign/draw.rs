//! From a seed to a scenario and a plan.

use std::time::Duration;

use crate::kinds::workload::{self, Workload};
use crate::kinds::{self, SimulatedKind, cloneset, statefulset};
use crate::kubelet::Behaviour;
use crate::rng::Rng;
use crate::server::Landing;
use crate::world::faults::{Blow, Fault, Grace, Plan, Turn};
use crate::world::scenario::Scenario;
use crate::world::{Lease, Run};

/// Faults come within this time; scenarios last about as long.
const WITHIN: u64 = 240;
/// Most scenarios have about so many writes.
const WRITES: u64 = 40;

/// One of so many runs has nothing but edits, and is compared with the run without them.
const EDITS_ONLY: u64 = 16;
/// One of so many runs has each of the others.
const SHARE: u64 = 8;

const WATCHED: [&str; 4] = ["pods", "clonesets", "statefulsets", "controllerrevisions"];

/// One of so many runs loses connections.
const BROKEN: u64 = 4;

/// Kinds that were there when the first seeds were drawn: seeds that have found something stay what they are.
const FIRST: [(&SimulatedKind, &Workload); 2] =
    [(&cloneset::KIND, &cloneset::WORKLOAD), (&statefulset::KIND, &statefulset::WORKLOAD)];

/// One of so many runs has a scenario of another kind.
const OTHERS: u64 = 3;

/// The run of this seed.
pub fn draw(seed: u64) -> Run {
    let (mut run, mut rng) = contended(seed);
    if run.plan.is_taken_back() {
        return run;
    }
    if rng.one_in(SHARE) {
        let turn = network(&mut rng);
        run.plan.faults.push(at_some_time(turn, &mut rng));
    }
    if !rng.one_in(OTHERS) {
        return run;
    }
    if let Some(scenario) = other(&mut rng) {
        let plurals: Vec<&str> =
            scenario.objects.iter().map(|(target, _)| target.resource.plural()).collect();
        if let (true, Some(plural)) = (rng.one_in(2), rng.pick(&plurals)) {
            let lasts = Duration::from_millis(1 + rng.below(30_000));
            run.plan.faults.push(at_some_time(Turn::Hold(plural, lasts), &mut rng));
        }
        run.scenario = scenario;
    }
    run
}

/// Faults that came later: reads that take time, watches that are late, silence, a restored backup.
fn network(rng: &mut Rng) -> Turn {
    let (by, lasts) =
        (Duration::from_millis(rng.below(20_000)), Duration::from_millis(1 + rng.below(60_000)));
    match rng.below(5) {
        0 | 1 => Turn::Late(rng.pick(&WATCHED).copied().unwrap_or("pods"), by, lasts),
        2 => Turn::SlowReads(by, lasts),
        3 => Turn::Silence(lasts),
        _ => Turn::Restore(by),
    }
}

/// Of any kind but the first ones.
fn other(rng: &mut Rng) -> Option<Scenario> {
    let is_first = |kind: &SimulatedKind| FIRST.iter().any(|(first, _)| *first == kind);
    let kinds: Vec<_> = kinds::ALL.into_iter().filter(|kind| !is_first(kind)).collect();
    let kind = rng.pick(&kinds)?;
    match kind.random {
        Some(random) if rng.one_in(3) => Some(random(rng)),
        Some(_) | None => rng.pick(&(kind.scenarios)()).cloned(),
    }
}

/// The same of the first kinds.
fn contended(seed: u64) -> (Run, Rng) {
    let (mut run, mut rng) = lonely(seed);
    if !run.plan.is_taken_back() && rng.one_in(SHARE) {
        run.lease = Lease::Contended;
        run.plan.faults.push(Fault::AtWrite(1 + rng.below(WRITES), Blow::HandOver));
    }
    (run, rng)
}

/// The same without a second manager that stands by from the beginning.
pub(super) fn lonely(seed: u64) -> (Run, Rng) {
    let (mut run, mut rng) = usual(seed);
    if run.plan.is_taken_back() {
        run.plan.faults.iter_mut().for_each(|fault| rework(fault, &mut rng));
        return (run, rng);
    }
    if rng.one_in(BROKEN) {
        let count = 1 + rng.below(3);
        run.plan.faults.extend((0..count).map(|_| connection(&mut rng)));
    }
    if rng.one_in(SHARE) {
        let turn = Turn::Rework(rng.draw(), Duration::from_millis(1 + rng.below(60_000)));
        run.plan.faults.push(at_some_time(turn, &mut rng));
    }
    (run, rng)
}

/// Every second edit is one of a template or of ordinals.
fn rework(fault: &mut Fault, rng: &mut Rng) {
    if let Fault::AtTime(_, turn @ Turn::Edit(_, _)) = fault
        && rng.one_in(2)
    {
        *turn = Turn::Rework(rng.draw(), turn.lasts());
    }
}

/// The same without what came later, and what that is drawn from: seeds that have found something stay what they are.
pub(super) fn usual(seed: u64) -> (Run, Rng) {
    let (run, mut rng) = simple(seed);
    if rng.one_in(EDITS_ONLY) {
        let edits = (0..=rng.below(4)).map(|_| at_some_time(edit(&mut rng), &mut rng)).collect();
        return (Run::new(known(&mut rng), seed, Plan { faults: edits }), rng);
    }
    let mut faults = run.plan.faults.clone();
    faults.extend(others(&mut rng).into_iter().map(|turn| at_some_time(turn, &mut rng)));
    (Run { plan: Plan { faults }, ..run }, rng)
}

/// A connection that breaks or does not come about.
fn connection(rng: &mut Rng) -> Fault {
    let blow = match rng.below(6) {
        0 => Blow::Unreachable,
        1 => Blow::Reset(Landing::Never),
        2 => Blow::Reset(Landing::AtOnce),
        _ => Blow::Reset(Landing::After(Duration::from_millis(rng.below(60_000)))),
    };
    Fault::AtWrite(1 + rng.below(WRITES), blow)
}

/// The first part of that.
pub(super) fn simple(seed: u64) -> (Run, Rng) {
    let mut rng = Rng::new(seed ^ 0x5eed);
    let scenario = if rng.one_in(3) { random(&mut rng) } else { known(&mut rng) };
    let count = 1 + rng.below(5);
    let faults = (0..count).map(|_| fault(&mut rng)).collect();
    (Run::new(scenario, seed, Plan { faults }), rng.fork())
}

/// What a share of the runs has besides: a replica that lags behind, an autoscaler, an edit that is taken back.
fn others(rng: &mut Rng) -> Vec<Turn> {
    let mut turns = Vec::new();
    if rng.one_in(SHARE) {
        let lasts = Duration::from_millis(1 + rng.below(30_000));
        turns.push(Turn::Lag(rng.pick(&WATCHED).copied().unwrap_or("pods"), lasts));
    }
    if rng.one_in(SHARE) {
        let times = 1 + rng.below(3);
        turns.extend((0..times).map(|_| Turn::Scale(u32::try_from(rng.below(5)).unwrap_or(1))));
    }
    if rng.one_in(SHARE) {
        turns.push(edit(rng));
    }
    turns
}

fn edit(rng: &mut Rng) -> Turn {
    Turn::Edit(rng.draw(), Duration::from_millis(1 + rng.below(60_000)))
}

fn at_some_time(turn: Turn, rng: &mut Rng) -> Fault {
    Fault::AtTime(Duration::from_millis(rng.below(WITHIN * 1_000)), turn)
}

fn known(rng: &mut Rng) -> Scenario {
    let (kind, workload) = rng.pick(&FIRST).copied().unwrap_or(FIRST[0]);
    let name = rng.pick(&workload::NAMES).copied().unwrap_or("create");
    workload::scenario(kind, workload, name)
}

fn random(rng: &mut Rng) -> Scenario {
    let (kind, workload) = if rng.one_in(2) { FIRST[0] } else { FIRST[1] };
    workload::random(kind, workload, rng)
}

fn fault(rng: &mut Rng) -> Fault {
    if rng.one_in(2) {
        return Fault::AtWrite(1 + rng.below(WRITES), blow(rng));
    }
    Fault::AtTime(Duration::from_millis(rng.below(WITHIN * 1_000)), turn(rng))
}

fn blow(rng: &mut Rng) -> Blow {
    match rng.below(6) {
        0 => Blow::CrashBefore,
        1 => Blow::CrashAfter,
        2 => Blow::Refused(rng.pick(&[409, 429, 403, 500, 504]).copied().unwrap_or(500)),
        3 => Blow::Lost,
        4 => Blow::AnswerLost,
        _ => Blow::Ghost(Duration::from_millis(rng.below(60_000))),
    }
}

fn turn(rng: &mut Rng) -> Turn {
    let lasts = Duration::from_millis(1 + rng.below(60_000));
    match rng.below(12) {
        0 | 1 => Turn::Hold(rng.pick(&WATCHED).copied().unwrap_or("pods"), lasts),
        2 => Turn::Double(lasts),
        3 => Turn::Cut,
        4 => Turn::Forget,
        5 => Turn::Outage(rng.pick(&[429, 500]).copied().unwrap_or(500), lasts),
        6 => Turn::Freeze(lasts),
        7 => Turn::ClockJump(i64::try_from(rng.below(600)).unwrap_or(0) - 300),
        8 => Turn::Knob(mood(rng), lasts),
        9 => Turn::DeletePod(if rng.one_in(2) { Grace::Given } else { Grace::Denied }),
        10 => Turn::Evict,
        _ => Turn::Label,
    }
}

fn mood(rng: &mut Rng) -> Behaviour {
    match rng.below(6) {
        0 => Behaviour::NeverReady,
        1 => Behaviour::NeverStops,
        2 => Behaviour::Crashes { exit_code: 1 },
        3 => Behaviour::Hangs,
        4 => Behaviour::Rejects { reason: "OutOfcpu".to_owned() },
        _ => Behaviour::SameDigestAs("nginx:1".to_owned()),
    }
}
