use serde_json::{Value, json};

use crate::fixtures;
use crate::plan::Plan;
use crate::podprobemarker::tests::*;

/// What a plan does to pod `a`, as one text.
fn patched(plan: &Plan) -> String {
    let mut writes = plan.writes().filter(|write| write.object.name() == "a");
    let text = writes.next().map(|write| body(write).to_string()).unwrap_or_default();
    assert!(writes.next().is_none(), "one write per pod");
    text
}

/// Pod `a` under a marker `m` with this probe `idle` and this state.
fn said(probe: Value, state: &str, pod: fixtures::Pod) -> Plan {
    let stored = json!([entry("a", &[("m#idle", check())])]);
    let results = json!([results("a", &[("m#idle", state, "what it said")])]);
    world().marker(marker("m", &[probe])).list(stored, results).pods([pod]).plan_node()
}

fn policies() -> Vec<(&'static str, Value, Value)> {
    vec![
        ("Succeeded", json!({"idle": "yes", "both": "good"}), json!({"cost": "1"})),
        ("Failed", json!({"both": "bad"}), json!({"why": "busy"})),
    ]
}

/// Section 3: type, status, times and message of the probe, and no reason.
#[test]
fn nc_7_condition_has_the_times_of_the_probe_and_is_patched_alone() {
    let text = patched(&said(probe("idle"), "Succeeded", pod("a")));
    let whole: Value = serde_json::from_str(&text).unwrap();
    let wanted = json!({
        "type": "example.com/idle", "status": "True", "message": "what it said",
        "lastProbeTime": "2026-06-01T11:00:09Z", "lastTransitionTime": "2026-06-01T11:00:00Z",
    });
    assert_eq!(whole, json!({"metadata": {"uid": "uid-a"}, "status": {"conditions": [wanted]}}), "13");
}

/// 12, issue 2499, scenario 17: a pod without any label.
#[test]
fn podprobemarker_12_scenario_17_pod_without_labels_gets_one() {
    let mut everybody = marker("m", &[marking(probe("idle"), &policies()[..1])]);
    everybody["spec"]["selector"] = json!({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]});
    let bare = pod("a").set("/metadata/labels", Value::Null).set("/metadata/annotations", Value::Null);
    let stored = json!([entry("a", &[("m#idle", check())])]);
    let results = json!([results("a", &[("m#idle", "Succeeded", "")])]);
    let plan = world().marker(everybody).list(stored, results).pods([bare]).plan_node();
    assert!(patched(&plan).contains(r#""labels":{"both":"good","idle":"yes"}"#), "{}", patched(&plan));
}

#[test]
fn nc_7_only_status_and_message_are_news() {
    let with = |status: &str, message: &str| {
        let there = json!([
            {"type": "Initialized", "status": "True"},
            {"type": "example.com/idle", "status": status, "message": message, "lastProbeTime": "2020-01-01T00:00:00Z"},
        ]);
        said(probe("idle"), "Succeeded", pod("a").set("/status/conditions", there))
    };
    let settled = with("True", "what it said");
    assert_eq!((settled.writes().count(), reason(&settled, "a")), (0, "Probed"));
    assert!(patched(&with("True", "older")).contains("what it said"), "scenario 2");
    assert!(patched(&with("False", "what it said")).contains(r#""status":"True""#));
}

/// Scenario 1: one policy or two.
#[test]
fn nc_6_marks_of_the_other_result_go_and_those_of_this_one_come() {
    let two = || marking(probe("idle"), &policies());
    let good = pod("a").label("idle", "yes").label("both", "good").annotation("cost", "1");
    let text = patched(&said(two(), "Failed", good.clone()));
    let whole: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(whole["metadata"]["labels"], json!({"both": "bad", "idle": null}));
    assert_eq!(whole["metadata"]["annotations"], json!({"cost": null, "why": "busy"}));

    let back: Value = serde_json::from_str(&patched(&said(
        two(),
        "Succeeded",
        pod("a").label("both", "bad").annotation("why", "busy"),
    )))
    .unwrap();
    assert_eq!(back["metadata"]["labels"], json!({"both": "good", "idle": "yes"}));
    assert_eq!(back["metadata"]["annotations"], json!({"cost": "1", "why": null}));

    let single = marking(probe("idle"), &policies()[..1]);
    let left: Value = serde_json::from_str(&patched(&said(single, "Failed", good))).unwrap();
    assert_eq!(
        left["metadata"]["labels"],
        json!({"both": null, "idle": null}),
        "its keys go with another state"
    );
}

/// 17: False as upstream, unless the marker asks for Unknown.
#[test]
fn nc_6_podprobemarker_17_unknown_matches_no_policy() {
    let single = || marking(probe("idle"), &policies()[..1]);
    let good = || pod("a").label("idle", "yes").label("both", "good").annotation("cost", "1");
    let plain = patched(&said(single(), "Unknown", good()));
    assert!(plain.contains(r#""status":"False""#) && plain.contains(r#""idle":null"#), "{plain}");

    let mut kept = marker("m", &[single()]);
    kept["metadata"]["annotations"] = json!({"kruise.io/podprobe-keep-unknown": "true"});
    let stored = json!([entry("a", &[("m#idle", check())])]);
    let results = json!([results("a", &[("m#idle", "Unknown", "")])]);
    let opted = patched(&world().marker(kept).list(stored, results).pods([good()]).plan_node());
    assert!(opted.contains(r#""status":"Unknown""#) && !opted.contains("labels"), "{opted}");
}

/// NC-4: nothing is done for a state that is empty, or whose marker or probe is gone or going, or that is of another pod.
#[test]
fn nc_4_only_results_of_wanted_probes_count() {
    let stored = json!([entry("a", &[("m#idle", check())])]);
    let here = |states: Value, marker: Value| {
        world().marker(marker).list(stored.clone(), json!([states])).pods([pod("a")]).plan_node()
    };
    let current = || marker("m", &[probe("idle")]);
    let one = |name: &str, state: &str| results("a", &[(name, state, "x")]);
    assert!(patched(&here(one("m#idle", "Succeeded"), current())).contains("True"));
    for (states, marker) in [
        (one("m#idle", ""), current()),
        (one("m#other", "Succeeded"), current()),
        (one("gone#idle", "Succeeded"), current()),
        (one("m#idle", "Succeeded"), deleted(current())),
        (one("m", "Succeeded"), current()),
    ] {
        assert_eq!(patched(&here(states.clone(), marker)), "", "{states}");
    }
    let mut before = one("m#idle", "Succeeded");
    before["uid"] = json!("of-an-earlier-pod");
    assert_eq!(patched(&here(before, current())), "");
    let left = world().marker(current()).list(stored.clone(), json!([one("m#idle", "Succeeded")]));
    assert_eq!(patched(&left.pods([pod("a").label("app", "db")]).plan_node()), "", "7: it left the selector");
}

/// Scenario 15: the first has the condition, and the pod says so; of two marks the later one counts, in every plan.
#[test]
fn nc_5_scenario_15_first_state_has_the_condition() {
    let mut second = marking(probe("other"), &[("Failed", json!({"role": "second"}), json!({}))]);
    second["podConditionType"] = json!("example.com/idle");
    let first = marking(probe("idle"), &[("Succeeded", json!({"role": "first"}), json!({}))]);
    let stored = json!([entry("a", &[("m#idle", check()), ("z#other", check())])]);
    let states = [("m#idle", "Succeeded", "first"), ("z#other", "Failed", "second")];
    let here = world().list(stored, json!([results("a", &states)]));
    let here = here.marker(marker("m", &[first])).marker(marker("z", &[second]));
    let text = patched(&here.clone().pods([pod("a")]).plan_node());
    assert!(
        text.contains(r#""status":"True""#) && text.contains("first") && !text.contains("False"),
        "{text}"
    );
    assert!(text.contains(r#""role":"second""#), "{text}");
    let settled = pod("a").label("role", "second").set(
        "/status/conditions",
        json!([{"type": "Initialized", "status": "True"}, {"type": "example.com/idle", "status": "True", "message": "first"}]),
    );
    let plan = here.pods([settled]).plan_node();
    assert_eq!((plan.writes().count(), reason(&plan, "a")), (0, "ConditionConflict"), "nothing flaps");
}

/// Stored before admission refused it, or by the original.
#[test]
fn podprobemarker_5_condition_of_kubernetes_is_never_written() {
    let mut native = marking(probe("idle"), &policies()[..1]);
    native["podConditionType"] = json!("Ready");
    let plan = said(native.clone(), "Failed", pod("a"));
    assert_eq!((patched(&plan).as_str(), reason(&plan, "a")), ("", "ReservedCondition"));
    let marked = patched(&said(native, "Succeeded", pod("a")));
    assert!(marked.contains("idle") && !marked.contains("conditions"), "{marked}");
}

/// Scenario 5: results of one container do not hide each other.
#[test]
fn podprobemarker_1_scenario_5_three_probes_of_one_container() {
    let names = ["p1", "p2", "p3"];
    let stored = json!([entry("a", &[("m#p1", check()), ("m#p2", check()), ("m#p3", check())])]);
    let states = [("m#p1", "Succeeded", "x"), ("m#p2", "Failed", "y"), ("m#p3", "Succeeded", "x")];
    let here = world().marker(marker("m", &names.map(probe))).list(stored, json!([results("a", &states)]));
    let whole: Value = serde_json::from_str(&patched(&here.pods([pod("a")]).plan_node())).unwrap();
    let found: Vec<_> =
        whole["status"]["conditions"].as_array().unwrap().iter().map(|one| one["status"].clone()).collect();
    assert_eq!(found, ["True", "False", "True"]);
}
