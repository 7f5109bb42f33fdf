use super::all;

#[test]
fn names_are_unique() {
    let names: std::collections::BTreeSet<&str> = all().iter().map(|bug| bug.name).collect();

    assert_eq!(names.len(), all().len());
}

/// The rules of kinds without a rollout can fail: each of their bugs is found in the first runs, without any fault.
#[test]
fn bugs_of_small_kinds_break_their_own_rules() {
    let flags = crate::world::Flags::default();
    for (name, said) in [
        ("forgets where other pods ran", "was lost"),
        ("records another node", "where it never was"),
        ("opens all barriers at once", "was opened before main was ready"),
        ("never opens the second barrier", "has not started"),
        ("never opens the readiness gate", "is not ready"),
    ] {
        let bug = super::all().iter().find(|bug| bug.name == name).unwrap();
        let found = super::hunt(bug, &flags).unwrap();
        assert!(found.runs == 1 && found.said.contains(said), "{name}: {found:?}");
    }
}
