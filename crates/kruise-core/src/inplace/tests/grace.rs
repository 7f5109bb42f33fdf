//! The grace period between draining and changing (SM-27, SM-29).

use super::*;

#[test]
fn sm_27_with_a_grace_period_the_change_is_stored_not_applied() {
    let view = running().view();
    let mut change = to_image_2();
    change.metadata.labels.insert("l".to_owned(), Some("v".to_owned()));

    let writes = start(&view, &Job { grace_seconds: 30, ..job(change.clone()) }, t0());

    assert_eq!(set(&writes[1], "/spec/containers/0/image"), None);
    let stored = ops(&writes[1]).into_iter().find_map(|op| match op {
        Op::Add { path, value } if path.ends_with("inplace-update-grace") => {
            value.as_str().map(str::to_owned)
        }
        Op::Test { .. } | Op::Add { .. } | Op::Replace { .. } | Op::Remove { .. } => None,
    });
    let grace: Grace = serde_json::from_str(&stored.unwrap()).unwrap();
    assert_eq!(grace.change(), change, "the metadata patch survives base64");
}

#[test]
fn sm_29_grace_waits_until_its_end_and_is_then_applied() {
    let until = at("2026-06-01T12:00:30Z");
    assert_eq!(
        refreshed(in_grace(30), t0()),
        Refresh::Waiting { why: Incomplete::Grace, until: Some(until) }
    );

    let writes = stepped(refreshed(in_grace(30), until));

    assert_eq!(set(&writes[0], "/spec/containers/0/image").unwrap(), "nginx:2");
    assert!(ops(&writes[0]).contains(&Op::Remove {
        path: "/metadata/annotations/apps.kruise.io~1inplace-update-grace".to_owned()
    }));
    assert_eq!(
        ops(&writes[0])[0],
        Op::test("/metadata/resourceVersion", "1"),
        "shared-machinery/M2, shared-machinery/M18: on the version that was read"
    );
}

#[test]
fn sm_29_a_stored_change_of_another_revision_is_dropped() {
    let writes = stepped(refreshed(in_grace(30).label("controller-revision-hash", "other"), t0()));

    assert_eq!(ops(&writes[0]).len(), 2);
    assert_eq!(
        ops(&writes[0])[1],
        Op::Remove { path: "/metadata/annotations/apps.kruise.io~1inplace-update-grace".to_owned() }
    );
}

#[test]
fn shared_machinery_m13_malformed_or_recordless_grace_is_dropped_not_stuck() {
    let malformed = running().annotation("apps.kruise.io/inplace-update-grace", "{");
    let mut recordless = in_grace(30);
    recordless.0["metadata"]["annotations"]
        .as_object_mut()
        .unwrap()
        .remove("apps.kruise.io/inplace-update-state");

    for pod in [malformed, recordless] {
        assert_eq!(stepped(refreshed(pod, t0())).len(), 1);
    }
    let lost = running()
        .annotation("apps.kruise.io/inplace-update-state", "{")
        .containers(json!([image("main", "nginx:2")]));
    assert_eq!(refreshed(lost, t0()), Refresh::Waiting { why: Incomplete::UnreadableState, until: None });
    let arrived = running().annotation("apps.kruise.io/inplace-update-state", "{");
    assert_eq!(refreshed(arrived, t0()), Refresh::Finished);
}

#[test]
fn sm_29_an_update_that_starts_during_grace_takes_the_stored_change_along() {
    let view = in_grace(30).view();
    let more = Change { images: [("main".to_owned(), "nginx:3".to_owned())].into(), ..Change::default() };

    let writes = start(&view, &job(more), t0());

    assert_eq!(
        set(writes.last().unwrap(), "/spec/containers/0/image").unwrap(),
        "nginx:3",
        "one restart, to the last image"
    );
    assert!(ops(writes.last().unwrap()).contains(&Op::Remove {
        path: "/metadata/annotations/apps.kruise.io~1inplace-update-grace".to_owned()
    }));
}
