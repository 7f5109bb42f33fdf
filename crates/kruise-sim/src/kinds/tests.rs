use std::collections::BTreeSet;

use super::*;

pub(crate) const CLONES: &SimulatedKind = &cloneset::KIND;
pub(crate) const SETS: &SimulatedKind = &statefulset::KIND;

/// For tests of worlds and campaigns.
pub(crate) fn scenario(kind: &SimulatedKind, name: &str) -> Scenario {
    titled(&format!("{}/{name}", kind.title)).unwrap()
}

/// Whoever registers a kind also says how it is simulated.
#[test]
fn every_registered_kind_has_a_scenario() {
    for registered in kruise_manager::registered() {
        let kind = ALL.iter().find(|kind| kind.registered == registered);
        let count = kind.map_or(0, |kind| (kind.scenarios)().len());
        assert!(count > 0, "{registered} has no scenario: add a file in kinds/ and a line in ALL");
    }
}

#[test]
fn every_kind_here_is_registered_and_has_rules() {
    let registered = kruise_manager::registered();
    for kind in ALL {
        assert!(registered.contains(&kind.registered), "{kind:?}");
        assert!(kind.workload.is_some() || kind.rules.is_some(), "{kind:?} has no safety rule");
    }
}

#[test]
fn titles_are_unique_and_find_their_scenario() {
    let all = scenarios();
    let titles: BTreeSet<String> = all.iter().map(Scenario::title).collect();
    assert_eq!(titles.len(), all.len());
    for title in titles {
        assert_eq!(titled(&title).unwrap().title(), title);
    }
}
