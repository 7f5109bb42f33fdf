use super::*;
use crate::kinds::tests::{CLONES, SETS, scenario};
use crate::kinds::{self, SimulatedKind};

fn run(kind: &SimulatedKind, name: &str) -> Run {
    Run { log: Log::Kept, ..Run::new(scenario(kind, name), 11, Plan::default()) }
}

/// One seed is one run: the same writes with the same bytes at the same times, by everybody.
#[test]
fn same_seed_writes_the_same_bytes() {
    let flags = Flags::default();
    let both = [CLONES, SETS];
    for (kind, lease) in both.into_iter().flat_map(|kind| [(kind, Lease::Held), (kind, Lease::Contended)]) {
        let again = || Run { lease, ..run(kind, "rollback") }.go(&flags);
        let (first, second) = (again(), again());

        assert!(first.log.len() > 30, "{} writes", first.log.len());
        assert_eq!(first.log.join("\n"), second.log.join("\n"));
    }
}

#[test]
fn every_scenario_ends_well_without_faults() {
    let flags = Flags::default();
    for scenario in kinds::scenarios() {
        let name = scenario.title();
        let outcome = Run { log: Log::Kept, ..Run::new(scenario, 1, Plan::default()) }.go(&flags);
        assert!(outcome.faults.is_empty(), "{name}: {:?}\n{}", outcome.faults, outcome.log.join("\n"));
    }
}

/// Nothing but edits that are taken back: some are taken, some refused, and the end is as if there had been none.
#[test]
fn edits_that_are_taken_back_leave_nothing_behind() {
    let flags = Flags::default();
    let mut struck: BTreeMap<&'static str, u64> = BTreeMap::new();
    for (number, kind) in (0..8).flat_map(|number| [CLONES, SETS].map(|kind| (number, kind))) {
        let edits = (0..4).map(|one| {
            let turn = faults::Turn::Edit(number * 10 + one, Duration::from_secs(15));
            faults::Fault::AtTime(Duration::from_secs(5 + 20 * one), turn)
        });
        let run = Run::new(scenario(kind, "in-place"), number, Plan { faults: edits.collect() });

        let outcome = crate::campaign::judged(&run, &flags);

        assert!(outcome.faults.is_empty(), "{}", crate::campaign::shrink(&run, &flags));
        for (name, times) in outcome.struck {
            *struck.entry(name).or_default() += times;
        }
    }
    assert!(struck["edit-taken"] > 10 && struck["edit-refused"] > 5, "{struck:?}");
}

/// The same of templates, claim templates and ordinals, good ones and bad ones: each kind of edit is made, everything converges
/// after the last one is taken back, and the end is as if there had been none.
#[test]
fn as_16_as_24_as_25_edits_of_templates_and_ordinals_leave_nothing_behind() {
    let flags = Flags::default();
    let mut struck: BTreeMap<&'static str, u64> = BTreeMap::new();
    let names = ["in-place", "recreate", "claims", "surge", "hooks", "partition"];
    for (number, kind, name) in
        (0..).zip(names).flat_map(|(number, name)| [CLONES, SETS].map(|kind| (number, kind, name)))
    {
        let edits = (0..4).map(|one| {
            let turn = faults::Turn::Rework(number * 10 + one, Duration::from_secs(10 + 5 * one));
            faults::Fault::AtTime(Duration::from_secs(20 + 30 * one), turn)
        });
        let run = Run::new(scenario(kind, name), number, Plan { faults: edits.collect() });

        let outcome = crate::campaign::judged(&run, &flags);

        assert!(outcome.faults.is_empty(), "{}", crate::campaign::shrink(&run, &flags));
        for (what, times) in outcome.struck {
            *struck.entry(what).or_default() += times;
        }
    }
    for what in
        ["image", "bad-image", "environment", "label", "resources", "claims", "reserved", "start", "refused"]
    {
        assert!(struck.contains_key(format!("edit-{what}").as_str()), "{what}: {struck:?}");
    }
}

/// Rollout and autoscaler at the same time.
#[test]
fn autoscaler_and_rollout_get_along() {
    let flags = Flags::default();
    for kind in [CLONES, SETS] {
        let scales = [(34, 4), (37, 1), (41, 3), (48, 5), (55, 2)].map(|(at, replicas)| {
            faults::Fault::AtTime(Duration::from_secs(at), faults::Turn::Scale(replicas))
        });
        let run = Run::new(scenario(kind, "in-place"), 5, Plan { faults: scales.to_vec() });

        let outcome = run.go(&flags);

        assert!(outcome.faults.is_empty(), "{}", crate::campaign::shrink(&run, &flags));
        assert_eq!(outcome.end["spec"]["replicas"], 2);
    }
}
