//! CS-40 … CS-48, CS-5, CS-6.

use super::*;
use crate::chain::{Op, Patch, Write};
use kruise_api::resource::PODS;

fn pod_body(chain: &Chain) -> Value {
    let write = chain.writes.iter().find(|write| write.object.resource == PODS).unwrap();
    write.created().unwrap()
}

fn state_set(write: &Write) -> Option<&str> {
    let Act::Patch(Patch::Json(ops)) = &write.act else { panic!("{write:?}") };
    ops.iter().find_map(|op| match op {
        Op::Add { path, value } if path.ends_with("lifecycle.apps.kruise.io~1state") => value.as_str(),
        Op::Test { .. } | Op::Add { .. } | Op::Replace { .. } | Op::Remove { .. } => None,
    })
}

const HOOK: &str = "hold";

fn hooked() -> Fixture {
    cloneset().settled().set("/lifecycle", json!({"preDelete": {"labelsHandler": {HOOK: "on"}}}))
}

#[test]
fn cs_41_missing_pods_are_created_old_ones_first() {
    let fixture = cloneset().replicas(5).partition(json!(3)).pods([old(), new(), new()]);

    let plan = fixture.plan();

    let revisions: Vec<Value> = plan
        .chains
        .iter()
        .filter(|chain| chain.purpose == Purpose::Create)
        .map(|chain| pod_body(chain)["metadata"]["labels"]["controller-revision-hash"].clone())
        .collect();
    assert_eq!(revisions, [json!(fixture.old_name()), json!(fixture.old_name())]);
    assert_eq!(count(&plan, Purpose::UpdateInPlace), 0, "CS-3");
}

#[test]
fn cs_41_a_limited_scale_out_says_so_and_deletes_nothing() {
    let plan = cloneset()
        .replicas(5)
        .settled()
        .set("/scaleStrategy", json!({"maxUnavailable": 1}))
        .pods([new(), new().not_ready().marked()])
        .plan();

    assert_eq!(plan.events.len(), 1);
    assert_eq!(plan.events[0].reason, "ScaleUpLimited");
    assert_eq!(count(&plan, Purpose::Delete), 0);
    assert_eq!(count(&plan, Purpose::Create), 1, "the marked pod does not count as unavailable");
}

#[test]
fn cs_42_a_new_pod_is_the_template_with_labels_gates_and_owner() {
    let fixture = cloneset().settled();

    let plan = fixture.plan();

    let chain = &plan.chains[0];
    assert_eq!(chain.writes.len(), 1);
    let body = pod_body(chain);
    let id = body["metadata"]["labels"]["apps.kruise.io/cloneset-instance-id"].as_str().unwrap();
    assert_eq!(id.len(), 5);
    assert_eq!(body["metadata"]["name"], format!("web-{id}"));
    assert_eq!(body["metadata"]["generateName"], "web-");
    assert_eq!(body["metadata"]["labels"]["lifecycle.apps.kruise.io/state"], "PreparingNormal");
    assert_eq!(body["metadata"]["labels"]["controller-revision-hash"], fixture.new_name());
    assert_eq!(body["metadata"]["ownerReferences"][0]["apiVersion"], "apps.kruise.io/v1beta1");
    assert_eq!(
        body["spec"]["readinessGates"],
        json!([{"conditionType": "InPlaceUpdateReady"}, {"conditionType": "KruisePodReady"}])
    );
    assert_eq!(
        chain.done.as_ref().unwrap().message,
        body["metadata"]["name"].as_str().map(|name| format!("created pod {name}")).unwrap(),
        "cloneset/B15: the name, not the object"
    );

    let short = cloneset().settled().gate(Gate::CloneSetShortHash).plan();
    assert_eq!(
        pod_body(&short.chains[0])["metadata"]["labels"]["controller-revision-hash"],
        fixture.new_name().rsplit('-').next().unwrap()
    );
}

#[test]
fn cs_13_recorded_pods_have_what_ours_would_have() {
    let mut checked = 0;
    for (file, recorded) in crate::golden::folder("cloneset") {
        let (stored, pod) = (&recorded["stored_v1beta1"], &recorded["pod"]);
        if pod.is_null() || stored.is_null() {
            continue;
        }
        let view = View::alone(stored, Vec::new(), Vec::new());
        let spec = view.spec.clone().unwrap();
        let mut revision = recorded["revisions"][0].clone();
        revision["metadata"] = json!({"name": revision["name"]});
        let revision = Revision::read(&revision).unwrap();
        let id = pod["metadata"]["labels"]["apps.kruise.io/cloneset-instance-id"].as_str().unwrap();
        let mut view = view.with(Vec::new(), vec![Arc::new(revision.clone())]);
        view.base.gates = view.base.gates.with(Gate::CloneSetShortHash);

        let mut ours = create::pod(&view, &spec, &revision, &crate::ids::InstanceId::new(id), now());

        let metadata = ours["metadata"].as_object_mut().unwrap();
        metadata.remove("annotations");
        metadata["labels"].as_object_mut().unwrap().remove("lifecycle.apps.kruise.io/state");
        metadata["ownerReferences"][0].as_object_mut().unwrap().remove("uid");
        assert_contained(&ours, pod, &file);
        checked += 1;
    }
    assert!(checked >= 20);
}

/// Everything of ours is there, in the same order; the server adds defaults of its own.
fn assert_contained(ours: &Value, theirs: &Value, at: &str) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            for (key, value) in ours.iter().filter(|(_, value)| !value.is_null()) {
                let there = theirs.get(key).unwrap_or_else(|| panic!("{at}/{key} is missing"));
                assert_contained(value, there, &format!("{at}/{key}"));
            }
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            assert!(ours.len() <= theirs.len(), "{at}");
            for (i, (one, other)) in ours.iter().zip(theirs).enumerate() {
                assert_contained(one, other, &format!("{at}/{i}"));
            }
        }
        _ => assert_eq!(ours, theirs, "{at}"),
    }
}

#[test]
fn cs_43_a_released_pre_delete_hook_lets_the_pod_go() {
    let held = hooked().replicas(1).pods([new(), new().state("PreparingDelete").label(HOOK, "on")]).plan();
    assert!(held.chains.is_empty());

    let released = hooked().replicas(1).pods([new(), new().state("PreparingDelete")]).plan();
    assert!(deletes_pod(&released.chains[0]));
}

#[test]
fn cs_44_marked_pods_go_while_the_limit_lasts_and_broken_ones_always() {
    let plan = cloneset()
        .replicas(5)
        .max_unavailable(json!(2))
        .settled()
        .pods([new().marked(), new().marked(), new().not_ready().marked(), new(), new()])
        .plan();

    assert_eq!(touched(&plan, Purpose::Delete), ["web-00", "web-02"]);
    assert_eq!(
        reason(&plan, "web-01"),
        &Reason::DeleteLimit { limit: 1 },
        "the broken one uses up the rest of two"
    );
}

#[test]
fn cs_22_pods_named_in_the_spec_count_as_marked() {
    let plan = cloneset()
        .replicas(2)
        .settled()
        .max_unavailable(json!(1))
        .set("/scaleStrategy", json!({"podsToDelete": ["web-01", "web-77"]}))
        .pods([new(), new()])
        .plan();

    assert_eq!(touched(&plan, Purpose::Delete), ["web-01"]);
    assert_eq!(count(&plan, Purpose::EditSpec), 1, "CS-46: web-77 is gone already");
}

#[test]
fn cs_46_names_that_are_done_leave_the_list() {
    let plan =
        cloneset().settled().set("/scaleStrategy", json!({"podsToDelete": ["web-77"]})).pods([new()]).plan();

    let Act::Patch(Patch::Json(ops)) = &plan.chains[0].writes[0].act else { panic!() };
    assert_eq!(ops[0], Op::test("/metadata/resourceVersion", "7"));
    assert_eq!(ops[1], Op::Remove { path: "/spec/scaleStrategy/podsToDelete".to_owned() });
}

#[test]
fn cs_45_victims_come_from_the_old_revision_as_far_as_it_has_too_many() {
    let plan = cloneset()
        .replicas(3)
        .partition(json!(1))
        .max_unavailable(json!(3))
        .pods([old(), old(), new(), new(), new()])
        .plan();

    let gone = touched(&plan, Purpose::Delete);
    assert_eq!(gone.len(), 2);
    assert!(gone[0] < "web-02" && gone[1] >= "web-02", "{gone:?}");
}

/// A canary with a bad image beside three pods that serve, and then the update is taken back: the partition has room for old pods and
/// nothing that serves may go, but the surplus is the pod that can never serve (as CS-75 has it for updates).
#[test]
fn cs_45_broken_pod_of_a_revision_that_nobody_wants_is_the_first_victim() {
    let rolled_back = |broken: Pod| {
        let fixture = cloneset().settled().replicas(3).rolling("maxUnavailable", json!(0));
        let fixture = fixture.rolling("maxSurge", json!(1)).rolling("partition", json!(2));
        fixture.pods([new(), new(), new(), broken]).plan()
    };

    assert_eq!(touched(&rolled_back(old().not_ready()), Purpose::Delete), ["web-03"]);
    assert_eq!(count(&rolled_back(old()), Purpose::Delete), 1, "all serve: one of the new ones goes");
    assert_ne!(touched(&rolled_back(old()), Purpose::Delete), ["web-03"], "the partition keeps it");
}

#[test]
fn cs_45_ready_victims_beyond_the_limit_stay_and_are_not_replaced_by_others() {
    let plan = cloneset()
        .replicas(1)
        .settled()
        .max_unavailable(json!(0))
        .pods([new(), new().not_ready(), new()])
        .plan();

    assert_eq!(touched(&plan, Purpose::Delete), ["web-01", "web-00"]);
}

#[test]
fn cloneset_b9_one_pod_stuck_in_its_hook_does_not_block_scale_in() {
    let stuck = || new().state("PreparingDelete").label(HOOK, "on");
    let rest = || vec![new(); 3];

    let enough = hooked().replicas(3).pods([stuck()]).pods(rest()).plan();
    assert_eq!(count(&enough, Purpose::Delete), 0, "the pending deletion is the one that is wanted");
    let more = hooked().replicas(2).max_unavailable(json!(2)).pods([stuck()]).pods(rest()).plan();
    assert_eq!(count(&more, Purpose::Delete), 1);
}

#[test]
fn cs_40_deletions_that_are_no_longer_needed_are_cancelled() {
    let stuck = || new().state("PreparingDelete").label(HOOK, "on");

    let cancelled = hooked().replicas(2).pods([new(), stuck()]).plan();
    assert_eq!(state_set(&cancelled.chains[0].writes[0]), Some("PreparingNormal"));
    let marked = hooked().replicas(2).pods([new(), stuck().marked()]).plan();
    assert!(marked.chains.is_empty(), "somebody asked for it");
    let marks = json!({"preDelete": {"labelsHandler": {HOOK: "on"}, "markPodNotReady": true}});
    let unready = hooked().set("/lifecycle", marks).replicas(2).pods([new(), stuck()]).plan();
    assert!(unready.chains.is_empty(), "SM-45: markPodNotReady cannot be cancelled");
}

#[test]
fn cs_47_a_held_pod_is_marked_and_deleted_later() {
    let plan = hooked()
        .replicas(1)
        .max_unavailable(json!(1))
        .pods([new().label(HOOK, "on"), new().label(HOOK, "on").cost("-1")])
        .plan();

    assert_eq!(plan.chains.len(), 1);
    assert_eq!(touched(&plan, Purpose::Delete), ["web-01"]);
    assert_eq!(state_set(&plan.chains[0].writes[0]), Some("PreparingDelete"));
    let told = plan.chains[0].done.as_ref().unwrap();
    let message = format!("pod web-01 waits for its preDelete hook before it is deleted: label {HOOK}=on");
    assert_eq!((told.reason, &told.message), ("WaitingForHook", &message), "install/F31");
}

#[test]
fn cs_48_scaling_works_while_paused_and_on_delete() {
    for fixture in [cloneset().paused(), cloneset().set("/updateStrategy", json!({"type": "OnDelete"}))] {
        assert_eq!(count(&fixture.clone().replicas(2).pods([old()]).plan(), Purpose::Create), 1);
        assert_eq!(count(&fixture.replicas(1).pods([old(), old()]).plan(), Purpose::Delete), 1);
    }
}

#[test]
fn cloneset_b17_deletions_carry_the_uid_and_victims_their_version() {
    let delete = |plan: &Plan| plan.chains[0].writes[0].act.clone();
    let uid = crate::ids::Uid::new("uid-00");

    let victim = cloneset().replicas(0).settled().pods([new()]).plan();
    assert_eq!(
        delete(&victim),
        Act::Delete { uid: uid.clone(), version: Some(crate::ids::ResourceVersion::new("1")) }
    );
    let named = cloneset().max_unavailable(json!(1)).settled().pods([new().marked()]).plan();
    assert_eq!(delete(&named), Act::Delete { uid: uid.clone(), version: None });
    let down = cloneset().max_unavailable(json!(1)).settled().pods([new().marked().not_ready()]).plan();
    assert_eq!(
        delete(&down),
        Act::Delete { uid, version: Some(crate::ids::ResourceVersion::new("1")) },
        "it costs nothing only as long as it is down"
    );
}

#[test]
fn cs_5_pods_that_the_selector_lost_are_released_and_replaced() {
    let plan = cloneset().settled().pods([new().label("app", "other")]).plan();

    assert_eq!(touched(&plan, Purpose::Release), ["web-00"]);
    assert_eq!(count(&plan, Purpose::Create), 1);
    let released = plan.chains.iter().find(|chain| chain.purpose == Purpose::Release).unwrap();
    let Act::Patch(Patch::Json(ops)) = &released.writes[0].act else { panic!() };
    assert_eq!(ops[0], Op::test("/metadata/ownerReferences/0/uid", "uid-web"));
}

#[test]
fn cs_6_finished_and_terminating_pods_are_replaced_at_once() {
    let plan = cloneset()
        .replicas(3)
        .settled()
        .pods([new().phase("Failed"), new().phase("Succeeded"), new().deleted("2026-06-01T12:00:10Z")])
        .plan();

    assert_eq!(count(&plan, Purpose::Create), 3);
    assert_eq!(count(&plan, Purpose::Delete), 0);
}

#[test]
fn cs_2_while_it_is_being_deleted_only_the_status_is_written() {
    let deleted: fn(&mut View) = |view| view.deleted = Some(now());
    let plan = cloneset().replicas(5).pods([old(), new().marked()]).and(deleted).plan();

    assert!(plan.chains.is_empty());
    assert!(plan.status.is_some());
    assert_eq!(reason(&plan, "web-00"), &Reason::OwnerDeleted);
}

#[test]
fn cs_52_scale_in_follows_the_template_constraints() {
    let zones: fn(&mut View) = |view| {
        for (node, zone) in [("n1", "east"), ("n2", "west"), ("n3", "west")] {
            view.node_labels.insert(node.to_owned(), [("zone".to_owned(), zone.to_owned())].into());
        }
    };
    let mut fixture = cloneset()
        .replicas(2)
        .settled()
        .max_unavailable(json!(1))
        .pods(["n1", "n2", "n3"].map(|node| new().node(node)))
        .and(zones);
    fixture.object["spec"]["template"]["spec"]["topologySpreadConstraints"] =
        json!([{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]);

    assert_eq!(touched(&fixture.plan(), Purpose::Delete), ["web-01"]);
}

#[test]
fn sm_9_a_pod_of_the_current_revision_gets_its_whole_template() {
    let mut fixture = cloneset().replicas(2).partition(json!(1)).pods([new()]);
    fixture.old["spec"]["hostname"] = json!("only-in-the-old-template");

    let plan = fixture.plan();

    let body = pod_body(&plan.chains[0]);
    assert_eq!(body["spec"]["containers"][0]["image"], "nginx:1");
    assert_eq!(body["spec"]["hostname"], "only-in-the-old-template");
}

#[test]
fn sm_64_presence_of_the_mark_counts_not_its_value() {
    let plan = cloneset()
        .max_unavailable(json!(1))
        .settled()
        .pods([new().label("apps.kruise.io/specified-delete", "false")])
        .plan();

    assert_eq!(count(&plan, Purpose::Delete), 1);
}

/// CS-41: any number may be asked for; a plan creates a bounded part of it, and the next ones go on.
#[test]
fn cs_41_a_million_missing_pods_are_created_in_bounded_plans() {
    let many = cloneset().settled().replicas(1_000_000).plan();
    assert_eq!(count(&many, Purpose::Create), crate::plan::CREATIONS_MAX);
    assert!(many.reasons.is_empty() && many.events.is_empty());

    let next = cloneset().settled().replicas(1_000_000).pods((0..600).map(|_| new())).plan();
    assert_eq!(count(&next, Purpose::Create), crate::plan::CREATIONS_MAX, "the rest follows");
    let last = cloneset().settled().replicas(700).pods((0..600).map(|_| new())).plan();
    assert_eq!(count(&last, Purpose::Create), 100);
}

/// CS-41: bodies count, too: a large template makes fewer pods at a time, and always one.
#[test]
fn cs_41_large_templates_are_created_a_few_at_a_time() {
    let of = |bytes: usize| {
        let large = json!({"large": "x".repeat(bytes)});
        let plan = cloneset().settled().set("/template/metadata/annotations", large).replicas(1_000).plan();
        let bodies: usize =
            plan.chains.iter().flat_map(|chain| &chain.writes).map(Write::created_bytes).sum();
        (count(&plan, Purpose::Create), bodies)
    };
    let (created, bytes) = of(1 << 20);
    assert!((10..20).contains(&created) && bytes < 20 << 20, "{created} pods, {bytes} bytes");
    assert_eq!(of(20 << 20).0, 1);
}
