//! Every label and annotation key of the specification is a named constant.

use std::{collections::BTreeSet, fs};

use crate::support;

const SOURCES: [&str; 4] = [
    include_str!("../../src/labels.rs"),
    include_str!("../../src/annotations.rs"),
    include_str!("../../src/finalizers.rs"),
    include_str!("../../src/names.rs"),
];

/// Keys in the specification that are no wire constants of ours.
const NOT_OURS: [&str; 9] = [
    // API versions.
    "apps.kruise.io/v1alpha1",
    "apps.kruise.io/v1beta1",
    "policy.kruise.io/v1alpha1",
    "policy.kruise.io/v1beta1",
    // Named in documents, exists nowhere (PUB-B16).
    "pub.kruise.io/disable-fetch-replicas-from-workload",
    // Unreachable in the original's CLI.
    "kubectl.kruise.io/restartedAt",
    // Wrong names in the original's documents (install/T34, install/T35, install/T42).
    "apps.kruise.io/sidecarset-hash",
    "apps.kruise.io/inplace-update-grace-period",
    "apps.kruise.io/in-place-update-state",
];

#[test]
fn every_key_of_the_specification_has_a_constant() {
    let constants: BTreeSet<_> =
        SOURCES.iter().flat_map(|source| source.split('"').skip(1).step_by(2)).collect();
    let mut missing = BTreeSet::new();
    for entry in fs::read_dir(support::root().join("docs/spec")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for quoted in text.split('`').skip(1).step_by(2) {
            let is_key = quoted.contains("kruise.io/")
                && quoted.chars().all(|c| c.is_ascii_alphanumeric() || "./-_".contains(c))
                && !quoted.starts_with(['/', '.']);
            // Never on the wire: an internal name, a path on a file server, a placeholder of the CLI.
            let internal = quoted.contains("fake-subset-name")
                || quoted.matches('/').count() > 1
                || quoted.starts_with(char::is_uppercase);
            if is_key && !internal && !constants.contains(quoted) && !NOT_OURS.contains(&quoted) {
                missing.insert(quoted.to_owned());
            }
        }
    }
    assert!(missing.is_empty(), "no constant for {missing:?}");
}

#[test]
fn each_constant_says_who_writes_it_and_stands_once() {
    let mut seen = BTreeSet::new();
    for source in SOURCES.iter().take(2) {
        for (line, next) in
            source.lines().zip(source.lines().skip(1)).filter(|(_, next)| next.starts_with("pub const"))
        {
            assert!(line.starts_with("/// "), "{next}");
            let name = next.split([' ', ':']).nth(2).unwrap();
            assert!(seen.insert((source.len(), name.to_owned())), "{next}");
        }
    }
    assert!(seen.len() > 80);
}
