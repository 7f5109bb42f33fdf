//! The simulator on the command line: `make sim`, `make sim-long`, `make sim-replay`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};
use kruise_sim::campaign::{self, Crashes, Points, Progress, Story, Until};
use kruise_sim::model::{Size, worlds};
use kruise_sim::world::faults::{Blow, Plan};
use kruise_sim::world::{Flags, Lease, Run};
use kruise_sim::{kinds, planted};

/// Seeds that every change is tried with.
const FIXED: u64 = 120;
/// One of so many crash points with a lease that every change is tried with; `long` tries all of them.
const SAMPLE: usize = 7;

#[derive(Parser)]
#[command(name = "kruise-sim", about = "Runs the manager in simulated worlds and breaks them")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// A crash at every write of every scenario, and a fixed set of seeds
    Check {
        /// How many seeds
        #[arg(long, default_value_t = FIXED)]
        seeds: u64,
        /// Only crashes of scenarios whose titles begin so, as SidecarSet or SidecarSet/hot
        #[arg(long, default_value = "")]
        only: String,
    },
    /// A crash at every write while the lease of the dead manager runs on, then seeds one after the other for so many seconds
    Long {
        #[arg(long, default_value_t = 3600)]
        seconds: u64,
        /// The first seed
        #[arg(long, default_value_t = 1_000_000)]
        from: u64,
        /// Leave out the crashes
        #[arg(long)]
        seeds_only: bool,
    },
    /// All interleavings of small worlds
    Model {
        /// Worlds of three pods instead of two
        #[arg(long)]
        large: bool,
    },
    /// Managers with planted bugs: is each of them found?
    Bugs,
    /// One run again, with its whole log
    Replay {
        /// As CloneSet/in-place; without it the one that the seed draws, faults included
        #[arg(long, default_value = "")]
        run: String,
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Crash at this write
        #[arg(long)]
        write: Option<u64>,
        /// Crash after the write took effect instead of before
        #[arg(long)]
        after: bool,
        /// The same, and a standby takes over that does not know of the write
        #[arg(long)]
        late_standby: bool,
        /// The lease of the crashed manager has to run out first
        #[arg(long)]
        lease: bool,
    },
}

fn main() -> ExitCode {
    let flags = Flags::default();
    let stories = match Arguments::parse().command {
        Command::Check { seeds, only } => check(seeds, &only, &flags),
        Command::Model { large } => {
            return verdict(check_models(if large { Size::Large } else { Size::Small }));
        }
        Command::Bugs => return verdict(hunt_bugs(&flags)),
        Command::Long { seconds, from, seeds_only } => {
            let crashes = if seeds_only { Vec::new() } else { with_a_lease(1) };
            let mut stories = crash(crashes, &Progress::default(), &flags);
            let progress = Progress::default();
            let until = Until::Time(Instant::now() + Duration::from_secs(seconds));
            stories.extend(campaign::run_seeds(from, until, &progress, &flags));
            println!("{}", progress.line());
            stories
        }
        Command::Replay { run, seed, write, after, late_standby, lease } => {
            let (blow, lease) = match (late_standby, after, lease) {
                (true, _, _) => (Blow::HandOver, Lease::Contended),
                (false, true, true) => (Blow::CrashAfter, Lease::Held),
                (false, true, false) => (Blow::CrashAfter, Lease::Unused),
                (false, false, true) => (Blow::CrashBefore, Lease::Held),
                (false, false, false) => (Blow::CrashBefore, Lease::Unused),
            };
            let crashed = write.map(|number| (Plan::crash(number, blow), lease));
            vec![replay(&run, seed, crashed, &flags)]
        }
    };
    for story in &stories {
        println!("{story}\n");
    }
    if stories.iter().all(|story| story.faults.is_empty()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn crash(crashes: Vec<Crashes>, progress: &Progress, flags: &Flags) -> Vec<Story> {
    if crashes.is_empty() {
        return Vec::new();
    }
    let (points, stories) = campaign::crash_everywhere(crashes, progress, flags);
    print_points(&points);
    stories
}

/// One of so many points.
fn with_a_lease(one_in: usize) -> Vec<Crashes> {
    let all = [Lease::Held, Lease::Contended].into_iter().flat_map(Crashes::all);
    all.map(|one| Crashes { one_in, ..one }).collect()
}

fn check(seeds: u64, only: &str, flags: &Flags) -> Vec<Story> {
    let progress = Progress::default();
    let mut crashes = Crashes::all(Lease::Unused);
    crashes.extend(with_a_lease(SAMPLE));
    crashes.retain(|one| one.scenario.title().starts_with(only));
    let mut stories = crash(crashes, &progress, flags);
    stories.extend(campaign::run_seeds(0, Until::Seed(seeds), &progress, flags));
    println!("{}", progress.line());
    stories
}

/// Prints what was visited; how many worlds broke a rule.
fn check_models(size: Size) -> usize {
    println!("all interleavings:");
    let mut broken = 0;
    for (name, model) in worlds(size) {
        let started = Instant::now();
        match kruise_sim::model::check(model) {
            Ok(checked) => println!(
                "  {name:24} {:8} states, {:3} steps deep, {:.1?}",
                checked.states,
                checked.depth,
                started.elapsed()
            ),
            Err(why) => {
                broken += 1;
                println!("  {name:24} BROKEN: {why}");
            }
        }
    }
    broken
}

/// Prints how each bug was found; how many were not.
fn hunt_bugs(flags: &Flags) -> usize {
    println!("planted bugs:");
    let mut missed = 0;
    for bug in planted::all() {
        if let Some(found) = planted::hunt(bug, flags) {
            println!("  {:40} run {:3}, {:8.2?}: {}", bug.name, found.runs, found.took, found.said);
        } else {
            missed += 1;
            println!("  {:40} NOT FOUND", bug.name);
        }
    }
    missed
}

fn verdict(failures: usize) -> ExitCode {
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print_points(points: &[Points]) {
    println!("crash points (before and after every write):");
    for line in points {
        let lease = match line.lease {
            Lease::Held => "lease held",
            Lease::Contended => "standby",
            Lease::Unused => "",
        };
        println!(
            "  {:24} {lease:10} {:3} writes, {:4} of {:4} points passed",
            line.title, line.writes, line.covered, line.points
        );
    }
    let (covered, all) =
        points.iter().fold((0, 0), |(covered, all), line| (covered + line.covered, all + line.points));
    let percent = (covered * 100).checked_div(all).unwrap_or(0);
    println!("  {covered} of {all} points passed: {percent} %");
}

fn replay(title: &str, seed: u64, crashed: Option<(Plan, Lease)>, flags: &Flags) -> Story {
    let mut run = campaign::draw(seed);
    // Plans that seeds draw belong to the scenario that they draw; another scenario starts without faults.
    if !title.is_empty() && run.scenario.title() != title {
        match kinds::titled(title) {
            Some(scenario) => run = Run::new(scenario, seed, Plan::default()),
            None => println!("there is no scenario {title}: this is the one that the seed draws"),
        }
    }
    if let Some((plan, lease)) = crashed {
        run = Run { plan, lease, ..run };
    }
    let story = Story::of(&run, flags);
    for line in &story.log {
        println!("{line}");
    }
    story
}
