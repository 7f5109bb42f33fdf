//! CS-30 … CS-39: the worked examples of the specification and the rules between them.

use super::*;
use crate::cloneset::numbers::{Direction, Numbers};

/// `count` copies of a pod.
fn many(pod: &Pod, count: usize) -> Vec<Pod> {
    vec![pod.clone(); count]
}

struct Row {
    what: &'static str,
    fixture: Fixture,
    check: fn(&Numbers) -> bool,
}

#[expect(clippy::too_many_lines, reason = "one table: the worked examples of the specification")]
fn rows() -> Vec<Row> {
    let row = |what, fixture, check| Row { what, fixture, check };
    vec![
        row("R5 P0 U20% S0, 5o", cloneset().replicas(5).pods(many(&old(), 5)), |n| {
            (n.update.direction, n.update.count, n.update.limit) == (Direction::Forward, 5, 1)
                && n.scale_up == 0
        }),
        row("R3 P0 U20% S1, 3o", cloneset().replicas(3).max_surge(json!(1)).pods(many(&old(), 3)), |n| {
            (n.surge, n.scale_up, n.scale_up_old) == (1, 1, 0)
        }),
        row(
            "R3 P0 U20% S1, 3o + 1n",
            cloneset().replicas(3).max_surge(json!(1)).pods(many(&old(), 3)).pods([new()]),
            |n| (n.update.count, n.update.limit) == (2, 1),
        ),
        row("R4 P99%, 4o", cloneset().replicas(4).partition(json!("99%")).pods(many(&old(), 4)), |n| {
            (n.partition, n.update.count) == (3, 1)
        }),
        row(
            "R5 U2 S1, one unavailable, another to delete",
            cloneset()
                .replicas(5)
                .max_unavailable(json!(2))
                .max_surge(json!(1))
                .settled()
                .pods(many(&new(), 3))
                .pods([new().not_ready(), new().marked()]),
            |n| (n.surge, n.delete_ready_limit) == (0, 1),
        ),
        row(
            "same with U1",
            cloneset()
                .replicas(5)
                .max_unavailable(json!(1))
                .max_surge(json!(1))
                .settled()
                .pods(many(&new(), 3))
                .pods([new().not_ready(), new().marked()]),
            |n| (n.surge, n.scale_up) == (1, 1),
        ),
        row(
            "R5 U1 S1, the unavailable pod itself to delete",
            cloneset()
                .replicas(5)
                .max_unavailable(json!(1))
                .max_surge(json!(1))
                .settled()
                .pods(many(&new(), 4))
                .pods([new().not_ready().marked()]),
            |n| (n.surge, n.delete_ready_limit) == (0, 1),
        ),
        row(
            "R5 P5, 2n + 3o, gate on",
            cloneset()
                .replicas(5)
                .partition(json!(5))
                .gate(Gate::CloneSetPartitionRollback)
                .pods(many(&old(), 3))
                .pods(many(&new(), 2)),
            |n| (n.update.direction, n.update.count) == (Direction::Back, 2),
        ),
        row(
            "R5 P5, 2n + 3o, gate off",
            cloneset().replicas(5).partition(json!(5)).pods(many(&old(), 3)).pods(many(&new(), 2)),
            |n| n.update.count == 0,
        ),
        row("R3 (was 5) U20%, 5n", cloneset().replicas(3).settled().pods(many(&new(), 5)), |n| {
            (n.scale_down, n.delete_ready_limit) == (2, 3)
        }),
        row(
            "R3 U1, 2n + 1n PreparingDelete",
            cloneset()
                .replicas(3)
                .max_unavailable(json!(1))
                .settled()
                .pods(many(&new(), 2))
                .pods([new().state("PreparingDelete")]),
            |n| (n.scale_up, n.scale_down) == (0, 0),
        ),
        row(
            "same, PreparingDelete excluded",
            cloneset()
                .replicas(3)
                .max_unavailable(json!(1))
                .set("/scaleStrategy", json!({"excludePreparingDelete": true}))
                .settled()
                .pods(many(&new(), 2))
                .pods([new().state("PreparingDelete")]),
            |n| n.scale_up == 1,
        ),
        row(
            "R5 scaleStrategy.maxUnavailable 1, 1n ready + 1n not ready",
            cloneset()
                .replicas(5)
                .set("/scaleStrategy", json!({"maxUnavailable": 1}))
                .settled()
                .pods([new(), new().not_ready()]),
            |n| (n.scale_up, n.scale_up_limit) == (3, 0),
        ),
        row(
            "R5 P3, 2o + 2n",
            cloneset().replicas(5).partition(json!(3)).pods(many(&old(), 2)).pods(many(&new(), 2)),
            |n| (n.scale_up, n.scale_up_old) == (1, 1),
        ),
    ]
}

#[test]
fn cs_32_cs_33_cs_34_cs_35_cs_36_cs_37_cs_38_cs_39_worked_examples() {
    for row in rows() {
        let numbers = row.fixture.numbers();
        assert!((row.check)(&numbers), "{}: {numbers:?}", row.what);
    }
}

#[test]
fn cloneset_b21_pausing_in_the_middle_of_a_surge_moves_no_pod() {
    let fixture = cloneset()
        .replicas(5)
        .max_unavailable(json!(1))
        .max_surge(json!(3))
        .paused()
        .pods(many(&old(), 5))
        .pods(many(&new().not_ready(), 3));

    assert_eq!(fixture.numbers().scale_down, 0);
    assert_eq!(count(&fixture.plan(), Purpose::Delete), 0);
}

#[test]
fn cs_30_max_unavailable_rounds_up_only_without_surge() {
    for (unavailable, surge, limit) in [
        (json!("20%"), json!(0), 2),
        (json!("20%"), json!(1), 1),
        (json!("10%"), json!(1), 0),
        (json!("12.5%"), json!(0), 1),
    ] {
        let fixture = cloneset()
            .replicas(7)
            .max_unavailable(unavailable.clone())
            .max_surge(surge.clone())
            .pods(many(&old(), 7));
        assert_eq!(fixture.numbers().update.limit, limit, "{unavailable} with {surge}");
    }
}

#[test]
fn cloneset_b2_on_delete_rounds_up_so_that_a_marked_pod_can_go() {
    let fixture = cloneset()
        .replicas(3)
        .set("/updateStrategy", json!({"type": "OnDelete"}))
        .settled()
        .pods(many(&new(), 2))
        .pods([new().marked()]);

    assert_eq!(fixture.numbers().delete_ready_limit, 1);
    assert_eq!(touched(&fixture.plan(), Purpose::Delete), ["web-02"]);
}

#[test]
fn cs_31_an_unreadable_partition_touches_nothing() {
    let plan = cloneset().replicas(2).partition(json!("many")).pods(many(&old(), 3)).plan();

    assert!(plan.chains.is_empty());
    assert_eq!(
        reason(&plan, "web-00"),
        &Reason::UnreadableSpec { field: "spec.updateStrategy.rollingUpdate.partition".to_owned() }
    );
    let Act::Patch(crate::chain::Patch::Merge(body)) = &plan.status.unwrap().act else { panic!() };
    let told = &body["status"]["conditions"][0];
    assert_eq!(told["type"], "FailedUpdate");
    let message = told["message"].as_str().unwrap();
    assert!(message.contains("spec.updateStrategy.rollingUpdate.partition"), "{message}");
    assert_eq!(body["status"].get("expectedUpdatedReplicas"), None, "nobody knows it");
}

#[test]
fn cs_23_preparing_update_counts_as_new_in_scale_only_with_the_gate() {
    let fixture = || {
        cloneset()
            .replicas(3)
            .partition(json!(2))
            .pods(many(&old(), 1))
            .pods([old().state("PreparingUpdate")])
    };

    assert_eq!(fixture().gate(Gate::PreparingUpdateAsUpdate).numbers().scale_up_old, 1);
    assert_eq!(fixture().numbers().scale_up_old, 0);

    let waiting =
        cloneset().replicas(2).max_unavailable(json!(2)).pods([old().state("PreparingUpdate"), new()]);
    let plan = waiting.gate(Gate::PreparingUpdateAsUpdate).plan();
    assert_eq!(touched(&plan, Purpose::UpdateInPlace), ["web-00"], "it is still to be updated");
}
