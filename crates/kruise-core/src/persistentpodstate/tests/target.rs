use serde_json::json;

use crate::persistentpodstate::{CustomKind, Supported, Target};

/// PP-3: the version says nothing about which workload is meant; the group does.
#[test]
fn pp_3_targets_are_equal_by_group_kind_and_name() {
    let target = |version: &str| Target::new(version, "StatefulSet", "web");
    assert_eq!(target("apps/v1"), target("apps/v1beta2"));
    assert_ne!(target("apps/v1"), target("apps.kruise.io/v1"));
    let reference = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "x"});
    assert_eq!(Target::read(&reference), target("apps/v1"));
}

/// PP-30: both StatefulSets always, others as listed, keys in any case.
#[test]
fn pp_30_supported_kinds() {
    let listed =
        Supported::read(Some(r#"{"Workloads":[{"group":"game.io","Version":"v1","KIND":"GameServerSet"}]}"#))
            .unwrap();
    for (version, kind, by_default, with_list) in [
        ("apps/v1", "StatefulSet", true, true),
        ("apps.kruise.io/v1alpha1", "StatefulSet", true, true),
        ("apps/v1", "Deployment", false, false),
        ("game.io/v2", "GameServerSet", false, true),
        ("other.io/v1", "StatefulSet", false, false),
    ] {
        let target = Target::new(version, kind, "web");
        assert_eq!(Supported::default().has(&target), by_default, "{version} {kind}");
        assert_eq!(listed.has(&target), with_list, "{version} {kind}");
    }
    assert_eq!(Supported::read(None), Ok(Supported::default()));
    let custom: Vec<String> = listed.custom().map(CustomKind::api_version).collect();
    assert_eq!(custom, ["game.io/v1"]);
    let both = Supported::read(Some(
        r#"{"workloads":[{"Group":"apps","Version":"v1","Kind":"StatefulSet"},{"Group":"","Version":"v1","Kind":"X"}]}"#,
    ));
    let others: Vec<String> = both.unwrap().custom().map(CustomKind::api_version).collect();
    assert_eq!(others, ["v1"], "what is always supported needs no second watch");
}

/// PP-23, persistentpodstate/D6: a list that cannot be read is an error for whoever depends on it, and nothing else.
#[test]
fn pp_23_persistentpodstate_d6_broken_list() {
    for text in ["{", "[]", "7"] {
        assert!(Supported::read(Some(text)).is_err(), "{text}");
    }
}
