use super::scenario::{Kind, scenario};
use super::*;

fn run(kind: Kind, name: &str) -> Run {
    Run { log: Log::Kept, ..Run::new(scenario(kind, name), 11, Plan::default()) }
}

/// One seed is one run: the same writes with the same bytes at the same times, by everybody.
#[test]
fn same_seed_writes_the_same_bytes() {
    let flags = Flags::default();
    for kind in [Kind::CloneSet, Kind::StatefulSet] {
        let (first, second) = (run(kind, "rollback").go(&flags), run(kind, "rollback").go(&flags));

        assert!(first.log.len() > 30, "{} writes", first.log.len());
        assert_eq!(first.log.join("\n"), second.log.join("\n"));
    }
}

#[test]
fn every_scenario_ends_well_without_faults() {
    let flags = Flags::default();
    for scenario in scenario::all() {
        let name = format!("{} {}", scenario.kind.word(), scenario.name);
        let outcome = Run { log: Log::Kept, ..Run::new(scenario, 1, Plan::default()) }.go(&flags);
        assert!(outcome.faults.is_empty(), "{name}: {:?}\n{}", outcome.faults, outcome.log.join("\n"));
    }
}
