//! AS-44, AS-61 … AS-63, AS-70: the shared in-place engine and lifecycle under this planner.

use super::*;
use crate::chain::{Op, Patch};

/// A record of an update of `main` to the new revision.
fn recorded(pod: Pod, revision: &str, before: &str) -> Pod {
    let batch = json!([{"timestamp": LONG_AGO, "containers": ["main"]}]);
    let record = json!({
        "revision": revision, "updateTimestamp": LONG_AGO, "updateImages": true,
        "lastContainerStatuses": {"main": {"imageID": before}}, "containerBatchesRecord": batch,
    });
    let pod = pod.annotation("apps.kruise.io/inplace-update-state", &record.to_string()).state("Updating");
    pod.condition("InPlaceUpdateReady", "False", LONG_AGO).condition("Ready", "False", LONG_AGO)
}

/// A pod on its way to the new image; its status still shows the old one.
fn moving(fixture: &Fixture) -> Pod {
    let pod =
        new().set("/status/containerStatuses", json!([])).container_status("main", "nginx:1", "nginx:1");
    recorded(pod, &fixture.new_name(), "nginx:1")
}

/// The same after the node has done its part.
fn arrived(fixture: &Fixture) -> Pod {
    recorded(new(), &fixture.new_name(), "nginx:1")
}

#[test]
fn as_61_an_update_that_has_not_arrived_counts_as_down_and_one_that_has_is_declared() {
    let fixture = parallel().replicas(2).in_place();

    let waiting = fixture.clone().pods([old(), moving(&fixture)]).plan();
    assert_eq!(count(&waiting, Purpose::UpdateInPlace), 0, "one is down already");
    assert_eq!(count(&waiting, Purpose::Refresh), 0, "nothing has arrived");

    let done = fixture.clone().pods([old(), arrived(&fixture)]).plan();
    assert_eq!(touched(&done, Purpose::Refresh), ["web-1"]);
    let text = format!("{:?}", done.chains);
    assert!(text.contains("InPlaceUpdateReady") && text.contains("Normal"), "{text}");

    let in_grace = moving(&fixture).annotation(
        "apps.kruise.io/inplace-update-grace",
        &json!({"revision": fixture.new_name(), "containerImages": {"main": "nginx:2"}, "graceSeconds": 600})
            .to_string(),
    );
    let slow = fixture.clone().rolling("inPlaceUpdateStrategy", json!({"gracePeriodSeconds": 600}));
    let plan = slow.pods([old(), in_grace]).and(|_| {}).plan();
    assert_eq!(count(&plan, Purpose::UpdateInPlace), 0, "no update is complete while its grace period runs");
}

#[test]
fn as_44_states_move_in_every_plan_also_those_of_condemned_pods() {
    let fixture = ordered().replicas(1).in_place();

    let plan =
        fixture.clone().pods([old().not_ready(), arrived(&fixture), arrived(&fixture).named("web-2")]).plan();

    assert_eq!(
        touched(&plan, Purpose::Refresh),
        ["web-2", "web-1"],
        "although the pass stands still at web-0"
    );
    let both = parallel().replicas(2).in_place();
    let next = both.clone().pods([old(), arrived(&both)]).plan();
    assert_eq!(
        next.chains.iter().filter(|chain| chain.item.is_some()).count(),
        1,
        "no pod is decided on by stale facts"
    );
}

fn prioritised(name: &str, image: &str, priority: i64) -> Value {
    json!({"name": name, "image": image, "env": [{"name": "KRUISE_CONTAINER_BARRIER",
        "valueFrom": {"configMapKeyRef": {"name": "a-barrier", "key": format!("p_{priority}")}}}]})
}

/// The record that an update writes.
fn record(plan: &Plan) -> Value {
    let ops = plan.writes().filter_map(|write| match &write.act {
        Act::Patch(Patch::Json(ops)) => Some(ops),
        Act::Patch(_) | Act::Create(_) | Act::Delete { .. } => None,
    });
    let found = ops.flatten().find_map(|op| match op {
        Op::Add { path, value } if path.ends_with("inplace-update-state") => value.as_str(),
        Op::Add { .. } | Op::Test { .. } | Op::Replace { .. } | Op::Remove { .. } => None,
    });
    serde_json::from_str(found.unwrap_or_else(|| panic!("{:?}", plan.chains))).unwrap()
}

#[test]
fn as_62_containers_with_launch_priority_update_in_batches() {
    let containers = |image: &str| json!([prioritised("low", image, 1), prioritised("high", image, 5)]);
    let mut fixture = parallel().replicas(1).in_place();
    fixture.old["spec"]["containers"] = containers("nginx:1");
    fixture.object["spec"]["template"]["spec"]["containers"] = containers("nginx:2");
    let pod = old().containers(containers("nginx:1"));

    let state = record(&fixture.pods([pod]).plan());

    assert_eq!(state["containerBatchesRecord"][0]["containers"], json!(["high"]));
    assert_eq!(state["nextContainerImages"], json!({"low": "nginx:2"}));
}

#[test]
fn as_63_a_label_that_a_container_reads_as_environment_restarts_it_with_the_gate() {
    let env = json!([{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['cfg']"}}}]);
    let container = json!([{"name": "main", "image": "nginx:1", "env": env}]);
    let mut fixture = parallel().replicas(1).in_place();
    fixture.old["spec"]["containers"] = container.clone();
    fixture.object["spec"]["template"]["spec"]["containers"] = container.clone();
    fixture.object["spec"]["template"]["metadata"]["labels"]["cfg"] = json!("2");
    let fixture = fixture.pods([old().containers(container)]);

    let state = record(&fixture.plan());
    assert_eq!(state["updateEnvFromMetadata"], true);
    assert_eq!(state["containerBatchesRecord"][0]["containers"], json!(["main"]));

    let off =
        fixture.and(|view| view.gates = Gates::default().without(Gate::InPlaceUpdateEnvFromMetadata)).plan();
    assert_eq!(touched(&off, Purpose::UpdateInPlace), ["web-0"]);
    assert_eq!(record(&off).get("updateEnvFromMetadata"), None, "nobody restarts");
}

#[test]
fn as_70_one_blocker_holds_and_every_one_is_needed_to_be_back() {
    let hook =
        json!({"inPlaceUpdate": {"labelsHandler": {"a": "on", "b": "on"}, "finalizersHandler": ["f"]}});
    let fixture = parallel().replicas(1).in_place().set("/lifecycle", hook);
    let state_of = |plan: &Plan| {
        let text = format!("{:?}", plan.chains);
        ["PreparingUpdate", "Updating", "Normal"]
            .into_iter()
            .find(|state| text.contains(&format!("\"{state}\"")))
    };

    for held in [old().label("a", "on"), old().label("b", "on"), old().finalizer("f")] {
        assert_eq!(state_of(&fixture.clone().pods([held]).plan()), Some("PreparingUpdate"));
    }
    let free = old().label("a", "off");
    assert_eq!(state_of(&fixture.clone().pods([free]).plan()), Some("Updating"));

    let settled = fixture.settled();
    let partly = new().state("Updated").label("a", "on").label("b", "on");
    assert_eq!(state_of(&settled.clone().pods([partly.clone()]).plan()), None, "the finalizer is missing");
    assert_eq!(state_of(&settled.clone().pods([partly.finalizer("f")]).plan()), Some("Normal"));
    let empty = settled.set("/lifecycle", json!({"inPlaceUpdate": {}}));
    assert_eq!(
        state_of(&empty.pods([new().state("Updated")]).plan()),
        Some("Normal"),
        "an empty hook is all held"
    );
}
