use super::*;
use crate::chain::Patch;

fn status(plan: &Plan) -> Value {
    let Some(Act::Patch(Patch::Merge(body))) = plan.status.as_ref().map(|write| write.act.clone()) else {
        panic!("no status")
    };
    body["status"].clone()
}

#[test]
fn as_94_counts() {
    let fixture = parallel().replicas(4).pods([old(), new(), new().not_ready(), new().deleted(LONG_AGO)]);

    let written = status(&fixture.plan());

    for (field, value) in [
        ("replicas", 4),
        ("readyReplicas", 3),
        ("availableReplicas", 3),
        ("currentReplicas", 1),
        ("updatedReplicas", 2),
        ("updatedReadyReplicas", 1),
        ("updatedAvailableReplicas", 1),
        ("collisionCount", 0),
    ] {
        assert_eq!(written[field], value, "{field}");
    }
    assert_eq!(written["labelSelector"], "app=web");
    assert_eq!(written["currentRevision"], fixture.old_name());
}

#[test]
fn as_15_the_rollout_is_over_when_all_pods_that_are_there_are_updated_and_ready() {
    let fixture = parallel();
    let current = |set: &Fixture| status(&set.plan())["currentRevision"].as_str().unwrap().to_owned();

    assert_eq!(
        current(&fixture.clone().pods([new(), new()])),
        fixture.new_name(),
        "not compared with the spec"
    );
    assert_eq!(current(&fixture.clone()), fixture.new_name(), "no pods at all");
    assert_eq!(current(&fixture.clone().pods([new(), new().not_ready()])), fixture.old_name());
    let on_delete =
        fixture.clone().set("/updateStrategy", json!({"type": "OnDelete"})).pods([new(), new(), new()]);
    assert_eq!(current(&on_delete), fixture.old_name());
}

#[test]
fn statefulset_b20_as_95_conditions_are_written_and_cleared() {
    let fixture = parallel().settled().pods([new(), new(), new()]);
    let mut failed = fixture.clone().and(|view| view.failures.scale = Some("quota".to_owned()));
    let first = status(&failed.plan());
    assert_eq!(first["conditions"][0]["type"], "FailedCreatePod");

    failed.object["status"] = first;
    assert!(failed.plan().status.is_none(), "nothing new");
    let mut healed = fixture;
    healed.object["status"] = failed.object["status"].clone();
    assert_eq!(status(&healed.plan())["conditions"], json!([]));
}

#[test]
fn as_96_claims_of_existing_pods_are_counted() {
    let mut small = bound(1, "1Gi");
    small["status"]["capacity"] = json!({});
    let fixture = parallel().replicas(2).claim_template("1Gi").pods([new(), new()]);

    let written = status(&fixture.claim(&bound(0, "1Gi")).claim(&small).claim(&bound(7, "1Gi")).plan());

    let row = json!({"volumeClaimName": "data", "compatibleReplicas": 2, "compatibleReadyReplicas": 1});
    assert_eq!(written["volumeClaims"], json!([row]));
}
