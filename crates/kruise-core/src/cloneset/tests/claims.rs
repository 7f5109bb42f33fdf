//! CS-60 … CS-64 and the defects around claims.

use super::*;
use crate::chain::Write;
use crate::chain::{Op, Patch};
use crate::ids::{PodName, Uid};
use kruise_api::resource::{CLAIMS, PODS};

fn claim(id: &str) -> Claim {
    let owner = json!([{"kind": "CloneSet", "name": "web", "uid": "uid-web", "controller": true}]);
    let metadata = json!({
        "name": format!("data-web-{id}"), "uid": format!("uid-claim-{id}"), "resourceVersion": "3",
        "labels": {"apps.kruise.io/cloneset-instance-id": id}, "ownerReferences": owner,
    });
    Claim::read(&json!({"metadata": metadata})).unwrap()
}

fn with_claims() -> Fixture {
    cloneset().settled().set(
        "/volumeClaimTemplates",
        json!([{"metadata": {"name": "data", "labels": {"t": "1"}}, "spec": {"accessModes": ["ReadWriteOnce"]}}]),
    )
}

fn reusing() -> Fixture {
    with_claims().set("/scaleStrategy", json!({"enablePVCReuse": true}))
}

fn claim_writes(plan: &Plan) -> Vec<&Act> {
    claim_calls(plan).into_iter().map(|write| &write.act).collect()
}

fn claim_calls(plan: &Plan) -> Vec<&Write> {
    plan.writes().filter(|write| write.object.resource == CLAIMS).collect()
}

fn created(plan: &Plan) -> Vec<&str> {
    touched(plan, Purpose::Create)
}

#[test]
fn cs_60_claims_without_a_pod_go_and_those_of_a_leaving_pod_go_with_it() {
    let plan = with_claims()
        .pods([new().instance("aaaaa"), new().instance("bbbbb").deleted("2026-06-01T12:00:10Z")])
        .claims([claim("aaaaa"), claim("bbbbb"), claim("ccccc")])
        .plan();

    let writes = claim_writes(&plan);
    assert_eq!(writes.len(), 2);
    let Act::Patch(Patch::Json(ops)) = writes[0] else { panic!() };
    assert!(
        matches!(&ops[1], Op::Replace { path, value } if path == "/metadata/ownerReferences/0" && value["kind"] == "Pod" && value["uid"] == "uid-web-bbbbb")
    );
    assert_eq!(*writes[1], Act::Delete { uid: Uid::new("uid-claim-ccccc"), version: None });
    let unless = claim_calls(&plan)[1].unless.as_ref().map(|pod| (pod.resource, pod.name()));
    assert_eq!(unless, Some((PODS, "web-ccccc")), "cloneset/B7");
}

#[test]
fn cs_60_claims_without_an_instance_id_go_and_reuse_keeps_all() {
    let mut nameless = claim("x");
    nameless.instance = None;

    let plan =
        with_claims().pods([new().instance("aaaaa")]).claims([claim("aaaaa"), nameless.clone()]).plan();
    assert_eq!(claim_writes(&plan), [&Act::Delete { uid: Uid::new("uid-claim-x"), version: None }]);
    let kept =
        reusing().pods([new().instance("aaaaa")]).claims([claim("aaaaa"), claim("ccccc"), nameless]).plan();
    assert!(claim_writes(&kept).is_empty());
}

#[test]
fn cloneset_b7_a_claim_whose_pod_runs_under_another_owner_survives() {
    let stranger: fn(&mut View) = |view| {
        view.strangers.insert(PodName::new("web-ccccc"));
    };
    let deleting: fn(&mut View) = |view| view.deleted = Some(now());
    let fixture = || with_claims().pods([new().instance("aaaaa")]).claims([claim("aaaaa"), claim("ccccc")]);

    assert!(claim_writes(&fixture().and(stranger).plan()).is_empty());
    assert!(
        claim_writes(&fixture().and(deleting).plan()).is_empty(),
        "no clean-up while it is being deleted"
    );
}

#[test]
fn cs_61_orphaned_claims_get_their_pod_back_under_the_same_id() {
    let plan = reusing().replicas(2).claims([claim("bbbbb")]).plan();

    assert_eq!(created(&plan).len(), 2);
    let reused = plan
        .chains
        .iter()
        .find(|chain| chain.item.as_ref().is_some_and(|pod| pod.name() == "web-bbbbb"))
        .unwrap();
    assert_eq!(reused.writes.len(), 1, "its claim exists already");
}

#[test]
fn cs_62_claims_are_made_before_the_pod_and_replace_volumes_of_their_name() {
    let mut fixture = with_claims();
    fixture.object["spec"]["template"]["spec"]["volumes"] =
        json!([{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]);

    let plan = fixture.plan();

    let writes = &plan.chains[0].writes;
    assert_eq!(writes.iter().map(|write| write.object.resource).collect::<Vec<_>>(), [CLAIMS, PODS]);
    let [claim, pod] = [0, 1].map(|number: usize| writes[number].created().unwrap());
    assert_eq!(
        pod["spec"]["volumes"],
        json!([{"name": "data", "persistentVolumeClaim": {"claimName": writes[0].object.name()}}, {"name": "tmp", "emptyDir": {}}])
    );
    let id = &pod["metadata"]["labels"]["apps.kruise.io/cloneset-instance-id"];
    assert_eq!(
        claim["metadata"]["labels"],
        json!({"app": "web", "t": "1", "apps.kruise.io/cloneset-instance-id": id})
    );
}

/// As AS-35 for a StatefulSet: the claim of a late pod was cleaned up before the pod came.
#[test]
fn cs_62_claim_that_a_pending_pod_lost_is_made_again() {
    let volume = json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data-web-aaaaa"}}]);
    let pod = || new().instance("aaaaa").phase("Pending").set("/spec/volumes", volume.clone());
    let made = |fixture: Fixture| {
        let plan = fixture.plan();
        let writes = plan.chains.iter().flat_map(|chain| &chain.writes);
        writes
            .filter(|write| write.created().is_some())
            .map(|write| write.object.name().to_owned())
            .collect::<Vec<_>>()
    };

    assert_eq!(made(with_claims().pods([pod()])), ["data-web-aaaaa"]);
    assert_eq!(made(reusing().pods([pod()])), ["data-web-aaaaa"]);
    assert!(made(with_claims().pods([pod()]).claims([claim("aaaaa")])).is_empty(), "it is there");
    assert!(made(with_claims().pods([pod().phase("Running")])).is_empty(), "it runs without it");
    assert!(
        made(with_claims().pods([pod().set("/spec/volumes", json!([]))])).is_empty(),
        "it was made without claims"
    );
}

#[test]
fn cs_63_a_deleted_pod_takes_its_claims_along_in_both_modes() {
    for fixture in [with_claims(), reusing()] {
        let plan = fixture.replicas(0).pods([new().instance("aaaaa")]).claims([claim("aaaaa")]).plan();
        let chain = plan.chains.iter().find(|chain| chain.purpose == Purpose::Delete).unwrap();
        assert_eq!(
            chain.writes.iter().map(|write| write.object.resource).collect::<Vec<_>>(),
            [PODS, CLAIMS]
        );
    }
}

#[test]
fn cloneset_b8_a_reusable_name_is_waited_for_but_not_for_ever() {
    let leaving = |until: &str| {
        reusing().pods([new().instance("bbbbb").deleted(until)]).claims([claim("bbbbb")]).plan()
    };

    let waiting = leaving("2026-06-01T12:00:10Z");
    assert!(created(&waiting).is_empty());
    assert_eq!(waiting.revisit_at, Some(crate::fixtures::at("2026-06-01T12:00:40Z")));
    let lost = leaving("2026-06-01T11:59:00Z");
    assert_eq!(created(&lost).len(), 1);
    assert_ne!(created(&lost), ["web-bbbbb"]);
    let finished = reusing().pods([new().instance("bbbbb").phase("Failed")]).claims([claim("bbbbb")]).plan();
    assert_ne!(created(&finished), ["web-bbbbb"], "a finished pod keeps its name");
    assert_eq!(created(&finished).len(), 1);
}

#[test]
fn cloneset_b22_claims_that_are_going_or_not_ours_give_no_id() {
    let going = Claim { deleted: Some(now()), ..claim("bbbbb") };
    let foreign = Claim { owners: Box::default(), ..claim("ccccc") };

    let plan = reusing().replicas(2).claims([going, foreign]).plan();

    assert_eq!(created(&plan).len(), 2);
    assert!(created(&plan).iter().all(|name| *name != "web-bbbbb" && *name != "web-ccccc"));
}

#[test]
fn cloneset_b14_ids_are_unique_and_the_same_for_the_same_seed() {
    let plan = |seed: fn(&mut View)| {
        let names = cloneset().replicas(200).settled().and(seed).plan();
        created(&names).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let (first, again) = (plan(|view| view.seed = 1), plan(|view| view.seed = 1));
    let other = plan(|view| view.seed = 2);

    assert_eq!(first, again);
    assert_ne!(first, other);
    let unique: std::collections::BTreeSet<&String> = first.iter().collect();
    assert_eq!(unique.len(), 200);
    assert!(first.is_sorted(), "CS-61: ids are used in sorted order");
}
