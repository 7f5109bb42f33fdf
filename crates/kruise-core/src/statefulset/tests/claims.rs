use super::super::claims::{Owner, Place, owner};
use super::*;
use crate::chain::{Op, Patch};
use kruise_api::Resource;
use kruise_api::resource::{CLAIMS, PODS};

fn policy(fixture: Fixture, scaled: &str, deleted: &str) -> Fixture {
    fixture
        .set("/persistentVolumeClaimRetentionPolicy", json!({"whenScaled": scaled, "whenDeleted": deleted}))
}

fn claim_writes(plan: &Plan) -> Vec<(&str, &Act)> {
    let all = plan.writes().filter(|write| write.object.resource == CLAIMS);
    all.map(|write| (write.object.name(), &write.act)).collect()
}

#[test]
fn as_82_who_owns_a_claim() {
    let rows = [
        (Keep::Retain, Keep::Retain, Owner::Nobody, Owner::Nobody),
        (Keep::Retain, Keep::Delete, Owner::Set, Owner::Set),
        (Keep::Delete, Keep::Retain, Owner::Nobody, Owner::Pod),
        (Keep::Delete, Keep::Delete, Owner::Set, Owner::Pod),
    ];
    for (when_scaled, when_deleted, in_range, condemned) in rows {
        let retention = Retention { when_deleted, when_scaled };
        assert_eq!(owner(retention, Place::InRange), in_range, "{retention:?}");
        assert_eq!(owner(retention, Place::Condemned), condemned, "{retention:?}");
    }
}

#[test]
fn as_34_as_81_claims_come_before_their_pod_and_those_that_exist_are_kept() {
    let fixture = policy(parallel().replicas(2).claim_template("1Gi"), "Retain", "Delete");

    let plan = fixture.claim(&bound(1, "1Gi")).plan();

    let first: Vec<Resource> = plan.chains[0].writes.iter().map(|write| write.object.resource).collect();
    assert_eq!(first, [CLAIMS, PODS]);
    assert_eq!(plan.chains[1].writes.len(), 1, "the second claim exists");
    let body = plan.chains[0].writes[0].created().unwrap();
    assert_eq!(body["metadata"]["labels"], json!({"app": "web"}));
    assert_eq!(body["metadata"]["ownerReferences"][0]["kind"], "StatefulSet");
    assert!(body["metadata"]["ownerReferences"][0].get("controller").is_none());
}

#[test]
fn as_81_as_83_a_claim_of_an_earlier_life_keeps_its_pod_from_being_created() {
    let mut stale = bound(0, "1Gi");
    stale["metadata"]["ownerReferences"] = json!([{"kind": "Pod", "name": "web-0", "uid": "gone"}]);
    let fixture = policy(parallel().replicas(1).claim_template("1Gi"), "Delete", "Retain").claim(&stale);
    assert!(created(&fixture.plan()).is_empty());
    assert!(matches!(reason(&fixture.plan(), "web-0"), Reason::ClaimTerminating { .. }));

    let mut going = bound(0, "1Gi");
    going["metadata"]["deletionTimestamp"] = json!(LONG_AGO);
    assert!(created(&parallel().replicas(1).claim_template("1Gi").claim(&going).plan()).is_empty());
}

#[test]
fn as_35_a_pending_pod_gets_its_lost_claim_back() {
    let plan = parallel().replicas(1).settled().claim_template("1Gi").pods([new().phase("Pending")]).plan();

    assert!(matches!(claim_writes(&plan)[..], [("data-web-0", Act::Create(_))]));
}

#[test]
fn as_82_condemned_pods_hand_their_claims_over_before_they_go() {
    let mut claim = bound(1, "1Gi");
    claim["metadata"]["ownerReferences"] = json!([{"kind": "Other", "name": "x", "uid": "x"}, {"kind": "StatefulSet", "name": "web", "uid": "uid-web"}]);
    let fixture = policy(parallel().replicas(1).settled().claim_template("1Gi"), "Delete", "Delete");

    let plan = fixture.claim(&claim).pods([new(), new()]).plan();

    let chain = plan.chains.iter().find(|chain| chain.purpose == Purpose::Delete).unwrap();
    let Act::Patch(Patch::Json(ops)) = &chain.writes[0].act else { panic!() };
    assert_eq!(ops[1], Op::Remove { path: "/metadata/ownerReferences/1".to_owned() });
    assert!(
        matches!(&ops[2], Op::Add { path, value } if path == "/metadata/ownerReferences/-" && value["uid"] == "uid-web-1")
    );
    assert!(matches!(chain.writes[1].act, Act::Delete { .. }), "B22, statefulset/B22");
}

#[test]
fn as_84_a_changed_policy_rewrites_references_and_no_pod() {
    let fixture =
        policy(parallel().replicas(1).settled().claim_template("1Gi").pods([new()]), "Retain", "Delete");

    let plan = fixture.claim(&bound(0, "1Gi")).plan();

    let [("data-web-0", Act::Patch(Patch::Json(ops)))] = claim_writes(&plan)[..] else { panic!("{plan:?}") };
    let adds = |op: &Op| matches!(op, Op::Add { path, value } if path.starts_with("/metadata/ownerReferences") && value.to_string().contains("\"uid-web\""));
    assert!(ops.iter().any(adds), "{ops:?}");
    assert!(plan.chains.iter().all(|chain| chain.item.is_none()));
    let off = plan_without_gate();
    assert!(claim_writes(&off).is_empty());
}

fn plan_without_gate() -> Plan {
    let fixture =
        policy(parallel().replicas(1).settled().claim_template("1Gi").pods([new()]), "Retain", "Delete");
    let off = |view: &mut View| view.gates = Gates::default().without(Gate::StatefulSetAutoDeletePvc);
    fixture.claim(&bound(0, "1Gi")).and(off).plan()
}

fn growing(pods: [Pod; 2]) -> Fixture {
    let fixture =
        parallel().replicas(2).claim_template("2Gi").pods(pods).gate(Gate::StatefulSetAutoResizePvc);
    fixture.set("/volumeClaimUpdateStrategy", json!({"type": "OnPodRollingUpdate"}))
}

#[test]
fn as_86_as_87_claims_grow_in_update_order_within_the_budget() {
    let plan = growing([new(), new()]).settled().claim(&bound(0, "1Gi")).claim(&bound(1, "1Gi")).plan();

    assert!(matches!(claim_writes(&plan)[..], [("data-web-1", Act::Patch(_))]));
    assert!(matches!(
        reason(&plan, "web-0"),
        Reason::MaxUnavailable { .. } | Reason::TargetUnavailable { .. }
    ));
    assert!(
        plan.chains.iter().all(|chain| chain.item.is_none()),
        "B23: nobody is restarted, statefulset/B23"
    );
}

#[test]
fn as_85_as_88_a_pod_waits_until_its_claim_has_grown() {
    let mut growing_claim = bound(1, "2Gi");
    growing_claim["status"]["capacity"]["storage"] = json!("1Gi");
    let fixture = growing([old(), old()]).claim(&bound(0, "2Gi"));
    let plan = fixture.clone().claim(&growing_claim).plan();
    assert!(matches!(reason(&plan, "web-1"), Reason::ClaimResizing { .. }));
    assert_eq!(count(&plan, Purpose::Recreate), 0);

    growing_claim["status"]["conditions"] = json!([{"type": "FileSystemResizePending", "status": "True"}]);
    assert_eq!(touched(&fixture.claim(&growing_claim).plan(), Purpose::Recreate), ["web-1"]);
}

/// AS-47, AS-87: both claims of a pod are grown together, and the pod counts as down while one of them is still growing.
#[test]
fn as_47_as_87_two_claims_of_a_pod_grow_together() {
    let two = |sizes: [&str; 2]| {
        let one = |name: &str, size: &str| json!({"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": size}}}});
        let templates = json!([one("data", sizes[0]), one("logs", sizes[1])]);
        growing([new(), new()]).settled().set("/volumeClaimTemplates", templates)
    };
    let logs = |ordinal: u32, size: &str| {
        let mut claim = bound(ordinal, size);
        claim["metadata"]["name"] = json!(format!("logs-web-{ordinal}"));
        claim
    };
    let all = |data: &Value, logs_of_1: &Value| {
        two(["2Gi", "2Gi"]).claim(&bound(0, "1Gi")).claim(&logs(0, "1Gi")).claim(data).claim(logs_of_1).plan()
    };

    let plan = all(&bound(1, "1Gi"), &logs(1, "1Gi"));
    assert_eq!(claim_writes(&plan).iter().map(|one| one.0).collect::<Vec<_>>(), ["data-web-1", "logs-web-1"]);

    let mut growing_claim = bound(1, "2Gi");
    growing_claim["status"]["capacity"]["storage"] = json!("1Gi");
    let mut unlike = logs(1, "2Gi");
    unlike["spec"]["accessModes"] = json!(["ReadWriteMany"]);
    let waiting = all(&growing_claim, &unlike);
    assert!(claim_writes(&waiting).is_empty(), "web-1 is down, whatever its other claim is");
}

/// AS-85: a claim that has no volume yet is not growing, and keeps nobody from being repaired.
#[test]
fn as_85_a_claim_without_a_volume_holds_no_update() {
    let mut unbound = bound(1, "2Gi");
    unbound["status"] = json!({"phase": "Pending"});
    let plan =
        growing([old(), old().phase("Pending").not_ready()]).claim(&bound(0, "2Gi")).claim(&unbound).plan();

    assert_eq!(touched(&plan, Purpose::Recreate), ["web-1"]);
}

#[test]
fn as_87_as_89_what_cannot_grow_is_told_and_what_is_larger_is_fine() {
    let refused = growing([new(), new()]).claim(&bound(1, "1Gi")).and(|view| view.classes.clear()).plan();
    assert!(matches!(reason(&refused, "web-1"), Reason::ClaimUnfit { .. }));
    assert_eq!(refused.events.iter().map(|event| event.reason).collect::<Vec<_>>(), ["FailedResize"]);
    let mut other_modes = bound(1, "2Gi");
    other_modes["spec"]["accessModes"] = json!(["ReadWriteMany"]);
    let unlike = growing([old(), old()]).claim(&other_modes).plan();
    assert_eq!(unlike.events.iter().map(|event| event.reason).collect::<Vec<_>>(), ["FailedUpdatePVC"]);
    let larger = growing([new(), new()]).settled().claim(&bound(0, "5Gi")).claim(&bound(1, "5Gi")).plan();
    assert!(larger.chains.is_empty());
}

#[test]
fn as_90_without_gate_or_type_claims_are_left_alone() {
    let plan =
        parallel().replicas(1).settled().claim_template("2Gi").pods([new()]).claim(&bound(0, "1Gi")).plan();

    assert!(claim_writes(&plan).is_empty());
}
