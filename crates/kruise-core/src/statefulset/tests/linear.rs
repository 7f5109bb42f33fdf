//! Section 8.2: what a plan costs per pod does not grow with the set.

use super::*;
use crate::fixtures::cpu;

/// Some set of that many replicas.
type Sets = fn(u32) -> Fixture;

fn sized(replicas: u32) -> Fixture {
    parallel().replicas(replicas).claim_template("1Gi").rolling("maxUnavailable", json!("10%"))
}

fn with_claims(replicas: u32, fixture: Fixture) -> Fixture {
    (0..replicas).fold(fixture, |fixture, ordinal| fixture.claim(&bound(ordinal, "1Gi")))
}

fn with_volume(pod: Pod) -> Pod {
    pod.set("/spec/volumes", json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]))
}

fn pods(count: u32, pod: fn() -> Pod) -> impl Iterator<Item = Pod> {
    (0..count).map(move |_| with_volume(pod()))
}

/// With half of the pods missing, one by one: those that are there must not be looked through for each that is not.
fn half_made(replicas: u32) -> Fixture {
    let there = (0..replicas).step_by(2);
    sized(replicas).pods(there.map(|ordinal| with_volume(new()).named(&format!("web-{ordinal}"))))
}

fn outdated(replicas: u32) -> Fixture {
    with_claims(replicas, sized(replicas)).pods(pods(replicas, old))
}

fn unordered(replicas: u32) -> Fixture {
    let weights =
        json!({"weightPriority": [{"weight": 1, "matchSelector": {"matchLabels": {"app": "web"}}}]});
    outdated(replicas).in_place().rolling("unorderedUpdate", json!({"priorityStrategy": weights}))
}

fn settled(replicas: u32) -> Fixture {
    with_claims(replicas, sized(replicas)).settled().pods(pods(replicas, new))
}

/// All pods go, and their claims with them.
fn condemned(replicas: u32) -> Fixture {
    let policy = json!({"whenDeleted": "Delete", "whenScaled": "Delete"});
    let fixture = with_claims(replicas, sized(0)).gate(Gate::StatefulSetAutoDeletePvc);
    fixture.set("/persistentVolumeClaimRetentionPolicy", policy).settled().pods(pods(replicas, new))
}

fn reserved(replicas: u32) -> Fixture {
    let every_second: Vec<Value> = (0..replicas).map(|n| json!(2 * n)).collect();
    settled(replicas).set("/reserveOrdinals", json!(every_second))
}

#[test]
fn plans_of_large_sets_cost_no_more_per_pod() {
    let states: [(&str, Sets); 7] = [
        ("all missing", sized),
        ("half made", half_made),
        ("outdated", outdated),
        ("unordered", unordered),
        ("settled", settled),
        ("condemned", condemned),
        ("reserved", reserved),
    ];
    for (name, of) in states {
        cpu::grows_linearly(name, |replicas| {
            let view = of(replicas).view();
            move || drop(plan(&view, now()))
        });
    }
}
