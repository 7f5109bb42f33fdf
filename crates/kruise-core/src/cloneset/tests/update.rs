//! CS-70 … CS-79.

use super::*;
use crate::chain::{Chain, Op, Part, Patch, Write};
use crate::ids::PodName;
use crate::reason::HookPoint;

fn ops(write: &Write) -> Vec<Op> {
    let Act::Patch(Patch::Json(ops)) = &write.act else { panic!("{write:?}") };
    ops.clone()
}

fn part(write: &Write) -> Part {
    write.part
}

#[test]
fn cs_75_pod_that_is_down_already_is_updated_for_free() {
    let plan =
        cloneset().replicas(3).max_unavailable(json!(1)).pods([old().not_ready(), old(), new()]).plan();

    assert_eq!(touched(&plan, Purpose::UpdateInPlace), ["web-00"]);
    assert_eq!(reason(&plan, "web-01"), &Reason::MaxUnavailable { down: 1, limit: 1 });
}

#[test]
fn cs_75_available_pods_wait_while_the_limit_is_used_up() {
    let plan = cloneset()
        .replicas(4)
        .max_unavailable(json!(2))
        .pods([new().not_ready(), new().not_ready(), old(), old()])
        .plan();

    assert!(plan.chains.is_empty());
    assert_eq!(reason(&plan, "web-02"), &Reason::MaxUnavailable { down: 2, limit: 2 });
}

#[test]
fn cs_75_pods_broken_by_an_intermediate_revision_never_block_its_repair() {
    // Priority puts healthy pods first, and the broken ones use up the limit: they are repaired all the same.
    let broken = || old().label("controller-revision-hash", "web-broken").not_ready();
    let plan = cloneset()
        .replicas(4)
        .max_unavailable(json!(2))
        .policy("ReCreate")
        .rolling(
            "priorityStrategy",
            json!({"weightPriority": [{"weight": 9, "matchSelector": {"matchLabels": {"first": "yes"}}}]}),
        )
        .pods([old().label("first", "yes"), old().label("first", "yes"), broken(), broken()])
        .plan();

    assert_eq!(touched(&plan, Purpose::Recreate), ["web-02", "web-03"]);
    assert_eq!(reason(&plan, "web-00"), &Reason::MaxUnavailable { down: 2, limit: 2 });
}

/// The first canaries are those that the user wants: a broken pod that the partition spares does not take their place.
#[test]
fn cs_75_a_broken_pod_outside_of_the_partition_takes_no_turn() {
    let weights =
        json!({"weightPriority": [{"weight": 9, "matchSelector": {"matchLabels": {"first": "yes"}}}]});
    let set = |limit: u32, pods: [Pod; 4]| {
        let fixture = cloneset().replicas(4).partition(json!(2)).max_unavailable(json!(limit));
        fixture.rolling("priorityStrategy", weights.clone()).pods(pods).plan()
    };
    let (first, broken) = (|| old().label("first", "yes"), || old().not_ready());

    let begun = set(2, [first(), first(), old(), broken()]);
    assert_eq!(touched(&begun, Purpose::UpdateInPlace), ["web-00"]);
    assert_eq!(reason(&begun, "web-01"), &Reason::MaxUnavailable { down: 2, limit: 2 });
    assert_eq!(reason(&begun, "web-03"), &Reason::Partition { keep: 2 });

    let goes_on = set(2, [new().label("first", "yes"), first(), old(), broken()]);
    assert_eq!(touched(&goes_on, Purpose::UpdateInPlace), ["web-01"]);
    let stands = set(1, [first(), first(), old(), broken()]);
    assert!(stands.chains.is_empty(), "{:?}", stands.chains);
}

/// As many as move in the end are looked at, not as many as may move now: else this rollout would stand still for ever.
#[test]
fn cs_75_a_broken_pod_is_repaired_although_the_surge_leaves_it_for_the_end() {
    let weights =
        json!({"weightPriority": [{"weight": 9, "matchSelector": {"matchLabels": {"first": "yes"}}}]});
    let first = || old().label("first", "yes");
    let plan = cloneset()
        .replicas(4)
        .max_unavailable(json!(0))
        .max_surge(json!(1))
        .rolling("priorityStrategy", weights)
        .pods([first(), first(), first(), old().not_ready(), new()])
        .plan();

    assert_eq!(touched(&plan, Purpose::UpdateInPlace), ["web-03"]);
}

#[test]
fn cs_39_a_broken_old_pod_and_a_marked_new_one_do_not_wait_for_each_other() {
    let plan = cloneset()
        .replicas(3)
        .max_unavailable(json!(0))
        .max_surge(json!(1))
        .policy("ReCreate")
        .pods([old().not_ready(), new().marked(), new(), new()])
        .plan();

    assert_eq!(touched(&plan, Purpose::Recreate), ["web-00"]);
    assert_eq!(reason(&plan, "web-01"), &Reason::DeleteLimit { limit: 0 });
}

#[test]
fn cs_73_the_partition_keeps_pods_at_their_revision() {
    let plan =
        cloneset().replicas(4).partition(json!(2)).max_unavailable(json!(4)).pods(vec![old(); 4]).plan();

    assert_eq!(count(&plan, Purpose::UpdateInPlace), 2);
    assert_eq!(plan.reasons.values().filter(|one| **one == Reason::Partition { keep: 2 }).count(), 2);
}

#[test]
fn cs_74_preparing_update_goes_first_then_priority_then_default_order() {
    let plan = cloneset()
        .replicas(3)
        .max_unavailable(json!(2))
        .partition(json!(1))
        .rolling(
            "priorityStrategy",
            json!({"weightPriority": [{"weight": 9, "matchSelector": {"matchLabels": {"first": "yes"}}}]}),
        )
        .pods([old(), old().label("first", "yes"), old().state("PreparingUpdate")])
        .plan();

    assert_eq!(touched(&plan, Purpose::UpdateInPlace), ["web-02", "web-01"]);
}

#[test]
fn cs_74_scatter_spreads_the_chosen_pods() {
    let plan = cloneset()
        .replicas(6)
        .max_unavailable(json!(2))
        .rolling("scatterStrategy", json!([{"key": "kind", "value": "m"}]))
        .pods([
            old().label("kind", "m"),
            old().label("kind", "m"),
            old().label("kind", "m"),
            old(),
            old(),
            old(),
        ])
        .plan();

    assert_eq!(touched(&plan, Purpose::UpdateInPlace), ["web-00", "web-03"]);
}

#[test]
fn cs_71_paused_and_on_delete_update_nothing_but_finish_what_runs() {
    let running = || new().state("Updating").condition("InPlaceUpdateReady", "False", LONG_AGO);
    for fixture in [cloneset().paused(), cloneset().set("/updateStrategy/type", json!("OnDelete"))] {
        let plan = fixture.replicas(2).pods([old(), running()]).plan();
        assert_eq!(count(&plan, Purpose::UpdateInPlace), 0);
        assert_eq!(touched(&plan, Purpose::Refresh), ["web-01"]);
    }
}

#[test]
fn cs_79_three_writes_update_a_pod_in_place() {
    let fixture = cloneset().replicas(1).max_unavailable(json!(1)).pods([old()]);

    let plan = fixture.plan();

    let chain = &plan.chains[0];
    assert_eq!(chain.writes.iter().map(part).collect::<Vec<_>>(), [Part::Status, Part::Object]);
    assert_eq!(chain.done.as_ref().unwrap().reason, "SuccessfulUpdatePodInPlace");
    let finished = cloneset()
        .replicas(1)
        .pods([new().state("Updating").condition("InPlaceUpdateReady", "False", LONG_AGO)])
        .plan();
    assert_eq!(finished.chains.len(), 1);
    assert_eq!(finished.chains[0].writes.len(), 1, "back into traffic and Normal in one write");
    assert_eq!(part(&finished.chains[0].writes[0]), Part::Status);
    assert!(
        ops(&finished.chains[0].writes[0])
            .contains(&Op::add("/metadata/labels/lifecycle.apps.kruise.io~1state", "Normal"))
    );
}

#[test]
fn cs_77_recreating_deletes_at_once_and_only_a_held_pod_is_marked() {
    let fixture = |hook: Value| {
        cloneset().replicas(1).max_unavailable(json!(1)).policy("ReCreate").set("/lifecycle", hook)
    };

    let free = fixture(Value::Null).pods([old()]).plan();
    assert!(deletes_pod(&free.chains[0]));
    assert_eq!(free.chains[0].done.as_ref().unwrap().reason, "SuccessfulUpdatePodReCreate");

    let hook = json!({"preDelete": {"labelsHandler": {"hold": "on"}}});
    let held = fixture(hook.clone()).pods([old().label("hold", "on")]).plan();
    let writes = ops(&held.chains[0].writes[0]);
    assert!(writes.contains(&Op::add("/metadata/labels/apps.kruise.io~1specified-delete", "true")));
    assert!(writes.contains(&Op::add("/metadata/labels/lifecycle.apps.kruise.io~1state", "PreparingDelete")));

    let waiting = fixture(hook).pods([old().label("hold", "on").state("PreparingDelete").marked()]).plan();
    assert!(waiting.chains.is_empty(), "cloneset/B18: once");
    assert_eq!(reason(&waiting, "web-00"), &Reason::HookHeld { hook: HookPoint::PreDelete });
}

#[test]
fn cs_78_in_place_only_never_recreates_and_says_so() {
    let mut fixture = cloneset().replicas(1).max_unavailable(json!(1)).policy("InPlaceOnly").pods([old()]);
    fixture.object["spec"]["template"]["spec"]["containers"][0]["command"] = json!(["sh"]);

    let plan = fixture.plan();

    assert!(plan.chains.is_empty());
    assert_eq!(
        reason(&plan, "web-00"),
        &Reason::NotInPlace { field: "spec.containers.0.command".to_owned() }
    );
    let Act::Patch(Patch::Merge(status)) = &plan.status.unwrap().act else { panic!() };
    assert_eq!(status["status"]["conditions"][0]["type"], "FailedUpdate");

    let lost = cloneset()
        .replicas(1)
        .policy("InPlaceOnly")
        .pods([old().label("controller-revision-hash", "web-gone")])
        .plan();
    assert!(matches!(reason(&lost, "web-00"), Reason::NotInPlace { .. }), "its own revision is gone");
}

#[test]
fn cs_77_a_change_that_is_not_possible_in_place_recreates() {
    let mut fixture = cloneset().replicas(1).max_unavailable(json!(1)).pods([old()]);
    fixture.object["spec"]["template"]["spec"]["containers"][0]["command"] = json!(["sh"]);

    assert_eq!(count(&fixture.plan(), Purpose::Recreate), 1);
}

#[test]
fn cs_79_the_hook_is_asked_before_and_rearmed_after() {
    let hooked = |pods: Vec<Pod>| {
        let hook = json!({"inPlaceUpdate": {"labelsHandler": {"hold": "on"}, "finalizersHandler": ["f"]}});
        cloneset().replicas(1).max_unavailable(json!(1)).set("/lifecycle", hook).pods(pods).plan()
    };

    let asked = hooked(vec![old().label("hold", "on")]);
    assert!(
        ops(&asked.chains[0].writes[0])
            .contains(&Op::add("/metadata/labels/lifecycle.apps.kruise.io~1state", "PreparingUpdate"))
    );
    // install/F31: what holds it is told once, when it begins to wait.
    let told = |plan: &Plan| plan.chains[0].done.clone().unwrap().message;
    let message = "pod web-00 waits for its inPlaceUpdate hook before it is updated: ";
    assert_eq!(told(&asked), format!("{message}label hold=on"));
    let waiting = hooked(vec![old().label("hold", "on").state("PreparingUpdate")]);
    assert_eq!(reason(&waiting, "web-00"), &Reason::HookHeld { hook: HookPoint::InPlaceUpdate });
    let released = hooked(vec![old().state("PreparingUpdate")]);
    assert_eq!(released.chains[0].writes.len(), 2);
    let again = hooked(vec![old().state("Updated")]);
    assert_eq!(told(&again), format!("{message}finalizer f, label hold=on"));
    let writes = ops(&again.chains[0].writes[0]);
    assert!(writes.contains(&Op::add("/metadata/labels/hold", "on")));
    assert!(writes.contains(&Op::add("/metadata/finalizers", json!(["f"]))));
}

/// SM-44; found by the simulator (seed 5000680): a raised partition takes the turn back, and the pod must not wait for ever.
#[test]
fn partition_calls_off_an_update_that_waits_for_its_hook() {
    let hook = json!({"inPlaceUpdate": {"labelsHandler": {"hold": "on"}}});
    let set = |pod: Pod| {
        let fixture = cloneset().replicas(1).partition(json!(1)).set("/lifecycle", hook.clone());
        fixture.pods([pod.state("PreparingUpdate")]).plan()
    };
    let state = "/metadata/labels/lifecycle.apps.kruise.io~1state";

    let held = set(old().label("hold", "on"));
    assert!(ops(&held.chains[0].writes[0]).contains(&Op::add(state, "Normal")));
    let let_go = set(old());
    assert!(ops(&let_go.chains[0].writes[0]).contains(&Op::add(state, "Updated")));
}

#[test]
fn cs_76_and_cloneset_b10_each_pod_asks_the_budgets_for_itself() {
    let plan = cloneset()
        .replicas(3)
        .max_unavailable(json!(3))
        .gate(Gate::PodUnavailableBudgetUpdate)
        .pods([
            old().annotation("pub.kruise.io/related-pub", "a"),
            old().annotation("pub.kruise.io/related-pub", "b"),
            old(),
        ])
        .plan();

    let budget = |chain: &Chain| chain.allowance.as_ref().map(|one| one.from.name().to_owned());
    let asked: Vec<_> = plan.chains.iter().map(budget).collect();
    assert_eq!(asked, [Some("a".to_owned()), Some("b".to_owned()), None]);
    assert!(plan.chains[..2].iter().all(|chain| chain.writes.len() == 2));
}

#[test]
fn cloneset_b10_pod_that_a_budget_refused_comes_after_the_others() {
    let set = cloneset()
        .replicas(2)
        .max_unavailable(json!(1))
        .gate(Gate::PodUnavailableBudgetUpdate)
        .pods([old().annotation("pub.kruise.io/related-pub", "a"), old()]);
    let first = set.plan();
    let first = touched(&first, Purpose::UpdateInPlace);

    let mut view = set.view();
    view.denied = first.iter().map(|name| PodName::new(*name)).collect();

    assert_ne!(touched(&crate::cloneset::plan(&view, now()), Purpose::UpdateInPlace), first);
}

#[test]
fn cs_33_a_raised_partition_brings_pods_back_with_the_gate() {
    let plan = cloneset()
        .replicas(2)
        .partition(json!(2))
        .max_unavailable(json!(2))
        .gate(Gate::CloneSetPartitionRollback)
        .pods([old(), new()])
        .plan();

    assert_eq!(touched(&plan, Purpose::UpdateInPlace), ["web-01"]);
    assert_eq!(plan.chains[0].writes.len(), 2);
}

#[test]
fn cs_70_new_pods_get_gates_and_state_in_one_write() {
    let fresh = |node: Option<&str>| {
        let mut pod = new().state("PreparingNormal").phase("Pending").set("/status/conditions", json!([]));
        pod.0["spec"]["nodeName"] = json!(node);
        cloneset().replicas(1).settled().pods([pod]).plan()
    };

    let waiting = fresh(None);
    assert!(waiting.chains.is_empty());
    assert_eq!(reason(&waiting, "web-00"), &Reason::WaitingForNode);

    let scheduled = fresh(Some("n"));
    assert_eq!(scheduled.chains[0].writes.len(), 1);
    let Act::Patch(Patch::Strategic(body)) = &scheduled.chains[0].writes[0].act else { panic!() };
    assert_eq!(body["metadata"]["labels"]["lifecycle.apps.kruise.io/state"], "Normal");
    let kinds: Vec<&Value> =
        body["status"]["conditions"].as_array().unwrap().iter().map(|one| &one["type"]).collect();
    assert_eq!(kinds, ["InPlaceUpdateReady", "KruisePodReady"]);
}

#[test]
fn cs_14_pods_made_before_the_label_get_their_template_hash() {
    let mut pod = new();
    pod.0["metadata"]["labels"].as_object_mut().unwrap().remove("pod-template-hash");
    let fixture = cloneset().replicas(1).settled().pods([pod]);

    let plan = fixture.plan();

    let hash = fixture.new_name().rsplit('-').next().unwrap().to_owned();
    assert!(ops(&plan.chains[0].writes[0]).contains(&Op::add("/metadata/labels/pod-template-hash", hash)));
}

#[test]
fn cs_64_and_sm_13_changed_claim_templates_forbid_in_place_only_with_the_gate() {
    let changed: fn(&mut View) =
        |view| Arc::make_mut(&mut view.revisions[1]).claim_hash = Some("42".to_owned());
    let fixture = || cloneset().replicas(1).max_unavailable(json!(1)).pods([old()]).and(changed);
    let missing: fn(&mut View) = |view| Arc::make_mut(&mut view.revisions[0]).claim_hash = None;

    assert_eq!(count(&fixture().plan(), Purpose::UpdateInPlace), 1);
    let gated = fixture().gate(Gate::RecreatePodWhenChangeVctInCloneSet);
    assert_eq!(count(&gated.plan(), Purpose::Recreate), 1);
    assert_eq!(
        count(&gated.clone().and(missing).plan(), Purpose::UpdateInPlace),
        1,
        "a missing hash allows it"
    );
    assert_eq!(count(&gated.policy("InPlaceOnly").plan(), Purpose::UpdateInPlace), 1);
}

#[test]
fn shared_machinery_m5_environment_from_metadata_needs_gate_and_daemon() {
    let env = json!([{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['cfg']"}}}]);
    let mut fixture = cloneset().replicas(1).max_unavailable(json!(1));
    fixture.old["spec"]["containers"][0]["env"] = env.clone();
    fixture.old["metadata"]["annotations"] = json!({"cfg": "1"});
    fixture.object["spec"]["template"] = fixture.old.clone();
    fixture.object["spec"]["template"]["metadata"]["annotations"]["cfg"] = json!("2");

    assert_eq!(count(&fixture.clone().pods([old()]).plan(), Purpose::UpdateInPlace), 1);
    let ungated = fixture.clone().pods([old().set("/spec/readinessGates", json!([]))]);
    assert_eq!(count(&ungated.plan(), Purpose::Recreate), 1);
    let virtual_node: fn(&mut View) = |view| {
        view.virtual_nodes.insert("node".to_owned());
    };
    assert_eq!(count(&fixture.pods([old()]).and(virtual_node).plan(), Purpose::Recreate), 1);
}

#[test]
fn sm_29_a_template_change_during_grace_starts_the_new_update_at_once() {
    let grace = |revision: &str| {
        let state = json!({"revision": revision, "updateTimestamp": "2026-06-01T11:59:59Z", "lastContainerStatuses": null});
        let stored =
            json!({"revision": revision, "containerImages": {"main": "nginx:1.5"}, "graceSeconds": 600});
        old()
            .state("Updating")
            .condition("InPlaceUpdateReady", "False", LONG_AGO)
            .annotation("apps.kruise.io/inplace-update-state", &state.to_string())
            .annotation("apps.kruise.io/inplace-update-grace", &stored.to_string())
    };
    let fixture = cloneset().replicas(1).max_unavailable(json!(1));
    let same = fixture.new_name();

    let plan = fixture.clone().pods([grace(&fixture.old_name())]).plan();
    assert_eq!(count(&plan, Purpose::UpdateInPlace), 1, "{:?}", plan.reasons);
    let waiting = fixture.pods([grace(&same).label("controller-revision-hash", "new")]).plan();
    assert!(waiting.chains.is_empty());
    assert_eq!(waiting.revisit_at, Some(crate::fixtures::at("2026-06-01T12:09:59Z")));
}

#[test]
fn cs_73_pods_on_their_way_out_are_not_updated() {
    let plan = cloneset()
        .replicas(3)
        .max_unavailable(json!(3))
        .set("/lifecycle", json!({"preDelete": {"labelsHandler": {"hold": "on"}}}))
        .pods([old().state("PreparingDelete").marked().label("hold", "on"), old(), old()])
        .plan();

    assert_eq!(touched(&plan, Purpose::UpdateInPlace), ["web-01", "web-02"]);
}
