use serde_json::json;

use super::*;

#[test]
fn rd_17_six_conditions_in_order_that_change_only_with_their_status() {
    let mut world = world(&["a"]).with(&distribution(&secret(), &included(&["a", "y", "x"])));
    world.settle();
    let types: Vec<&str> = world.status()["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["type"].as_str().unwrap())
        .collect();
    assert_eq!(types, kruise_api::conditions::DISTRIBUTION_ORDER);
    let missing = world.status()["conditions"][5].clone();
    assert_eq!(
        missing,
        json!({"type": "NamespaceNotExists", "status": "True", "reason": "namespace not found or is terminating", "lastTransitionTime": "2026-06-01T12:00:00Z", "failedNamespaces": ["x", "y"]})
    );
    world.now = crate::time::after(world.now, 60);
    world.put(&namespace("x"));
    world.settle();
    assert_eq!(world.failing("NamespaceNotExists"), ["y"]);
    assert_eq!(world.status()["conditions"][5]["lastTransitionTime"], "2026-06-01T12:00:00Z");
    world.put(&namespace("y"));
    world.settle();
    assert_eq!(world.status()["conditions"][5]["lastTransitionTime"], "2026-06-01T12:01:00Z");
    assert_eq!(world.status()["conditions"][0]["lastTransitionTime"], "2026-06-01T12:00:00Z");
    assert_eq!((&world.status()["succeeded"], &world.status()["failed"]), (&json!(3), &Value::Null));
}

/// RD-B3: scenario 18.
#[test]
fn rd_b3_rd_b8_status_of_others_is_completed_and_equal_ones_are_not_written() {
    let mut object = distribution(&secret(), &included(&["a"]));
    object["status"] = json!({"conditions": [{"type": "ConflictOccurred", "status": "False", "reason": "Succeeded", "lastTransitionTime": "2026-01-01T00:00:00Z"}]});
    let mut world = world(&["a"]).with(&object);
    world.settle();
    let all = world.status()["conditions"].as_array().unwrap();
    assert_eq!((all.len(), &all[4]["lastTransitionTime"]), (6, &json!("2026-01-01T00:00:00Z")));
    world.now = crate::time::after(world.now, 60);
    assert_eq!(world.settle(), 0);
}

/// RD-19, scenario 19: one status at the end, and one event for a condition that becomes true.
#[test]
fn rd_19_status_is_written_once_when_all_have_been_tried() {
    let names: Vec<String> = (0..1_200).map(|i| format!("n{i:04}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut world = world(&names).with(&distribution(&secret(), &json!({"allNamespaces": true})));
    world.refused.insert("n0007".to_owned());
    let (mut statuses, mut events, mut plans) = (0, 0, 0);
    loop {
        let plan = world.plan();
        plans += 1;
        statuses += usize::from(plan.status.is_some());
        events += plan.events.len();
        if world.apply(&plan) == 0 {
            break;
        }
    }
    assert_eq!((statuses, events, plans), (1, 1, 5));
    assert_eq!((&world.status()["desired"], &world.status()["succeeded"]), (&json!(1200), &json!(1199)));
}

/// RD-B5: the status follows a namespace that ends or goes.
#[test]
fn rd_b5_status_follows_namespaces_that_end() {
    let mut world = world(&["a", "b"]).with(&distribution(&secret(), &json!({"allNamespaces": true})));
    world.settle();
    let mut ends = namespace("b");
    ends["metadata"]["deletionTimestamp"] = json!("2026-06-01T12:00:00Z");
    world.put(&ends);
    world.settle();
    assert_eq!((&world.status()["desired"], &world.status()["succeeded"]), (&json!(2), &json!(1)));
    world.remove(&ends);
    world.settle();
    assert_eq!((&world.status()["desired"], &world.status()["succeeded"]), (&json!(1), &json!(1)));
}
