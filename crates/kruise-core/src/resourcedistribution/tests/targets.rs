use serde_json::json;

use super::*;

/// Where copies are after all is done, with these targets.
fn distributed(targets: &Value) -> Vec<String> {
    let mut world =
        world(&["a", "b", "c", "kube-system", "kube-public"]).with(&distribution(&secret(), targets));
    world.settle();
    world.copies().into_iter().map(str::to_owned).collect()
}

#[test]
fn rd_5_targets_are_all_or_listed_and_selected_without_protected_and_excluded_ones() {
    let selector =
        |values: &[&str]| json!({"matchExpressions": [{"key": "team", "operator": "In", "values": values}]});
    for (targets, wanted) in [
        (json!({"allNamespaces": true}), vec!["a", "b", "c"]),
        (json!({"allNamespaces": true, "excludedNamespaces": {"list": [{"name": "b"}]}}), vec!["a", "c"]),
        (included(&["a", "kube-system"]), vec!["a"]),
        (json!({"namespaceSelector": selector(&["b", "kube-public"])}), vec!["b"]),
        (
            json!({"namespaceSelector": {"matchExpressions": [{"key": "on", "operator": "Exists"}]}, "excludedNamespaces": {"list": [{"name": "a"}]}}),
            vec!["b", "c"],
        ),
        (
            json!({"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]}}),
            vec!["b", "c"],
        ),
        (json!({"namespaceSelector": {}}), vec![]),
        (json!({}), vec![]),
    ] {
        assert_eq!(distributed(&targets), wanted, "{targets}");
    }
}

/// With all namespaces the list adds nothing, so one that is missing is not reported; without it is.
#[test]
fn rd_5_rd_9_listed_namespace_that_does_not_exist_counts_unless_all_are_wanted() {
    let mut list = included(&["a", "x"]);
    let mut world = world(&["a"]).with(&distribution(&secret(), &list));
    world.settle();
    assert_eq!((&world.status()["desired"], world.failing("NamespaceNotExists")), (&json!(2), vec!["x"]));

    list["allNamespaces"] = json!(true);
    world.edit(&itself(), |one| one["spec"]["targets"] = list);
    world.settle();
    assert_eq!((&world.status()["desired"], world.failing("NamespaceNotExists")), (&json!(1), vec![]));
}

#[test]
fn rd_7_terminating_namespace_is_a_target_that_fails_and_plans_go_by_name() {
    let mut world = world(&["c", "a", "b"]).with(&distribution(&secret(), &json!({"allNamespaces": true})));
    let mut ends = namespace("b");
    ends["status"]["phase"] = json!("Terminating");
    world.put(&ends);

    let order: Vec<String> =
        world.plan().chains.iter().map(|chain| chain.writes[0].object.namespace().to_owned()).collect();
    assert_eq!(order, ["a", "c"]);
    world.settle();

    assert_eq!(world.failing("NamespaceNotExists"), ["b"]);
    assert_eq!((&world.status()["desired"], &world.status()["failed"]), (&json!(3), &json!(1)));
}

/// What the manager wakes by: both the old and the new labels of a namespace, its coming and its going.
#[test]
fn rd_2_distribution_says_which_namespaces_it_wants() {
    let object = distribution(
        &secret(),
        &json!({"namespaceSelector": {"matchLabels": {"team": "a"}}, "includedNamespaces": {"list": [{"name": "x"}]}}),
    );
    let object: ResourceDistribution = serde_json::from_value(object).unwrap();
    let a: Namespace = serde_json::from_value(namespace("a")).unwrap();
    let b: Namespace = serde_json::from_value(namespace("b")).unwrap();
    assert!(object.wants("a", Some(&a)) && !object.wants("b", Some(&b)));
    assert!(object.wants("x", None) && !object.wants("a", None));
    let mut entries = Vec::new();
    object.index(&mut |_, entry| entries.push(entry.to_owned()));
    let found = |one: &Namespace| {
        crate::resourcedistribution::of_namespace(one).any(|entry| entries.contains(&entry))
    };
    assert!(found(&a) && !found(&b), "{entries:?}");
}
