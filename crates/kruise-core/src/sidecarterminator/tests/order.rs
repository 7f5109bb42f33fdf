//! What is done about a pod that is due, and in which order (ST-6 … ST-12, ST-16 … ST-19).

use super::*;
use crate::chain::EventKind;

fn done_beside(sidecars: &[(&str, &[(&str, &str)])]) -> Job {
    let all = sidecars.iter();
    all.fold(job("Never").main(&done(0)), |job, (name, variables)| job.sidecar(name, variables, &runs()))
}

#[test]
fn st_7_st_14_agent_stops_sidecars_of_an_ordinary_node() {
    assert_eq!(
        done_beside(&[("b", &[BY_AGENT]), ("a", &[BY_AGENT])]).acts(),
        ["request(a,b)"],
        "T5: by name"
    );
}

/// Scenario 8.
#[test]
fn st_7_st_10_sidecars_of_a_virtual_node_get_another_image_once() {
    let mut one = done_beside(&[("side", &[BY_IMAGE, BY_AGENT])]).on_virtual_node();
    let plan = one.plan();
    assert_eq!(acts(&plan), ["/spec/containers/1/image=pause:exit"]);
    let told = plan.chains[0].done.clone().unwrap();
    assert_eq!((told.kind, told.reason), (EventKind::Normal, "SidecarTerminator"));
    assert!(
        told.message.contains("side") && told.message.ends_with("using in-place update"),
        "ST-11: {}",
        told.message
    );

    one.pod["spec"]["containers"][1]["image"] = json!("pause:exit");
    let again = one.plan();
    assert_eq!(acts(&again), Vec::<String>::new());
    assert_eq!(again.events, [], "sidecarterminator/T5");
}

#[test]
fn st_12_exit_code_of_a_virtual_node_always_counts() {
    let one = done_beside(&[("side", &[BY_IMAGE, BY_AGENT, IGNORED])]).on_virtual_node();
    assert_eq!(one.acts(), ["/spec/containers/1/image=pause:exit"], "no result is written");
}

#[test]
fn sidecarterminator_t4_agent_also_stops_those_with_an_image_only() {
    assert_eq!(done_beside(&[("side", &[BY_IMAGE])]).acts(), ["request(side)"]);
    let plan = done_beside(&[("side", &[BY_AGENT])]).on_virtual_node().plan();
    assert_eq!(acts(&plan), Vec::<String>::new());
    assert_eq!(plan.events[0].kind, EventKind::Warning);
    assert!(plan.reason_of("p").unwrap().to_string().contains("WITH_IMAGE"));
}

/// Scenario 2; ST-19: only on request. T8: in one write.
#[test]
fn st_16_pod_gets_its_result_before_sidecars_whose_exit_code_does_not_count_are_stopped() {
    for (main, result) in [(done(0), "Succeeded"), (done(3), "Failed")] {
        let one = job("Never").main(&main).sidecar("side", &[BY_AGENT, IGNORED], &runs());
        assert_eq!(one.acts(), [result, "request(side)"]);
        let plan = one.plan();
        let mark = format!("{:?}", plan.writes().next().unwrap());
        assert!(
            mark.contains("SidecarTerminated") && mark.contains("Terminated by Sidecar Terminator"),
            "T8: {mark}"
        );
    }
    assert_eq!(
        done_beside(&[("side", &[BY_AGENT])]).acts(),
        ["request(side)"],
        "st_19: its exit code counts"
    );
}

#[test]
fn st_16_result_is_written_once() {
    let mut one = done_beside(&[("side", &[BY_AGENT, IGNORED])]);
    one.pod["status"]["phase"] = json!("Succeeded");
    one.pod["status"]["conditions"] = json!([{"type": "SidecarTerminated", "status": "True"}]);
    assert_eq!(one.acts(), ["request(side)"], "the manager ended between the two writes");
    assert_eq!(one.request(None).acts(), Vec::<String>::new());
}

/// Scenario 9, ST-8 and T9: the second request is left to the kubelet.
#[test]
fn st_8_st_17_st_18_normal_sidecars_go_first() {
    let both: &[(&str, &[(&str, &str)])] = &[("normal", &[BY_AGENT]), ("ignored", &[BY_AGENT, IGNORED])];
    assert_eq!(done_beside(both).acts(), ["request(normal)"]);
    assert_eq!(done_beside(both).request(None).acts(), Vec::<String>::new());
    let mut later = done_beside(both).request(Some("2026-01-01T00:00:00Z"));
    later.pod["status"]["containerStatuses"][1]["state"] = done(7);
    assert_eq!(later.acts(), ["Succeeded"], "sidecarterminator/T9");
}

/// Scenario 14.
#[test]
fn sidecarterminator_t3_sidecar_that_never_started_is_told_or_left_behind() {
    let ignored = job("Never").main(&done(0)).sidecar("side", &[BY_AGENT, IGNORED], &waits());
    assert_eq!(ignored.acts(), ["Succeeded"]);
    let normal = job("Never").main(&done(0)).sidecar("side", &[BY_AGENT], &waits()).plan();
    assert_eq!(acts(&normal), Vec::<String>::new());
    assert_eq!(normal.events[0].kind, EventKind::Warning);
    assert!(normal.reason_of("p").unwrap().to_string().contains("never been started"));
    assert!(normal.revisit_at.is_some());
    let mixed =
        job("Never").main(&done(0)).sidecar("a", &[BY_AGENT], &waits()).sidecar("b", &[BY_AGENT], &runs());
    assert_eq!(mixed.acts(), ["request(b)"], "ST-9");
}
