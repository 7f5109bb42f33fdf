//! The writes that begin an update (SM-26 … SM-28, SM-36).

use super::*;

#[test]
fn sm_27_traffic_is_drained_before_the_container_changes() {
    let view = running().view();

    let writes = start(&view, &job(to_image_2()), t0());

    assert_eq!(parts(&writes), [Part::Status, Part::Object]);
    let drain = ops(&writes[0]);
    assert_eq!(drain[0], Op::test("/metadata/resourceVersion", "1"));
    assert!(drain.iter().any(|op| matches!(op, Op::Replace { value, .. }
        if value["type"] == "InPlaceUpdateReady" && value["status"] == "False" && value["reason"] == "StartInPlaceUpdate")));
    assert!(drain.iter().any(
        |op| matches!(op, Op::Replace { value, .. } if value["type"] == "Ready" && value["status"] == "False")
    ));
    assert_eq!(set(&writes[1], "/spec/containers/0/image").unwrap(), "nginx:2");
    assert_eq!(set(&writes[1], "/metadata/labels/controller-revision-hash").unwrap(), "new");
    assert_eq!(set(&writes[1], "/metadata/labels/pod-template-hash").unwrap(), "new");
    assert_eq!(set(&writes[1], "/metadata/labels/lifecycle.apps.kruise.io~1state").unwrap(), "Updating");
}

/// Found by the simulator: the second write of a manager that had given it up arrived when the pod was in service again, and
/// restarted its container under traffic.
#[test]
fn sm_27_late_change_meets_a_pod_that_is_in_service_again() {
    let view = running().view();
    let writes = start(&view, &job(to_image_2()), t0());
    let path = |suffix: &str| {
        let at = view.conditions.iter().position(|one| one.kind.as_ref() == "InPlaceUpdateReady").unwrap();
        format!("/status/conditions/{at}/{suffix}")
    };

    let change = ops(&writes[1]);

    assert_eq!(change[0], Op::test("/metadata/uid", "uid-a"));
    assert_eq!(change[1], Op::test(&path("type"), "InPlaceUpdateReady"));
    assert_eq!(change[2], Op::test(&path("status"), "False"));
    assert_eq!(change[3], Op::test(&path("lastTransitionTime"), "2026-06-01T12:00:00Z"));
}

#[test]
fn sm_26_the_record_of_the_first_batch_has_the_originals_bytes() {
    let view = running().view();

    let writes = start(&view, &job(to_image_2()), t0());

    assert_eq!(
        serde_json::to_string(&state_written(&writes[1])).unwrap(),
        concat!(
            r#"{"revision":"w-new","updateTimestamp":"2026-06-01T12:00:00Z","lastContainerStatuses":{"main":{"imageID":"id-1"}},"#,
            r#""updateImages":true,"containerBatchesRecord":[{"timestamp":"2026-06-01T12:00:00Z","containers":["main"]}]}"#
        )
    );
}

#[test]
fn sm_26_an_environment_change_alone_records_no_images() {
    let view = running().view();
    let mut old = template(&json!([reads_annotation("main", "cfg")]));
    old["metadata"]["annotations"] = json!({"cfg": "v1"});
    let mut new = old.clone();
    new["metadata"]["annotations"]["cfg"] = json!("v2");

    let writes = start(&view, &job(change(&old, &new)), t0());

    let text = serde_json::to_string(&state_written(&writes[1])).unwrap();
    assert!(text.contains(r#""lastContainerStatuses":null,"updateEnvFromMetadata":true,"#), "{text}");
}

#[test]
fn sm_28_a_resize_without_restart_keeps_the_pod_in_traffic() {
    let sized = |policy: Value| {
        running()
            .containers(json!([{"name": "main", "image": "nginx:1", "resizePolicy": policy,
            "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}}]))
            .view()
    };
    let delta = |cpu: &str| Change {
        resources: [(
            "main".to_owned(),
            ResourceDelta { limits: [("cpu".to_owned(), cpu.to_owned())].into(), ..ResourceDelta::default() },
        )]
        .into(),
        ..Change::default()
    };
    let restart = json!([{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]);
    let other = json!([{"resourceName": "memory", "restartPolicy": "RestartContainer"}]);

    assert!(drains(&sized(restart), &delta("2")));
    assert!(!drains(&sized(other.clone()), &delta("2")));
    assert!(drains(&sized(other), &to_image_2()));
    assert!(!drains(&pod("a").view(), &to_image_2()), "no gate, nothing to set");
}

/// A pod with limits of cpu and memory, and a change of which only cpu differs in an existing quantity.
fn resized() -> (PodView, Change) {
    let resources = json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1"}});
    let pod = running().containers(json!([{"name": "main", "image": "nginx:1", "resources": resources}]));
    let limits = [("cpu", "2"), ("memory", "1024Mi"), ("gpu", "1")];
    let delta = ResourceDelta {
        limits: limits.map(|(name, text)| (name.to_owned(), text.to_owned())).into(),
        ..ResourceDelta::default()
    };
    (pod.view(), Change { resources: [("main".to_owned(), delta)].into(), ..Change::default() })
}

#[test]
fn sm_36_and_shared_machinery_m6_resize_goes_first_and_carries_only_what_differs() {
    let (view, change) = resized();

    let writes = start(&view, &job(change), t0());

    assert_eq!(parts(&writes), [Part::Resize, Part::Object]);
    let Act::Patch(Patch::Strategic(body)) = &writes[0].act else { panic!() };
    assert_eq!(body["spec"]["containers"], json!([{"name": "main", "resources": {"limits": {"cpu": "2"}}}]));
    assert_eq!(ops(&writes[1])[0], Op::test("/metadata/uid", "uid-a"), "the resize has moved the version");
}

#[test]
fn sm_36_older_servers_get_the_resources_in_the_pod_itself() {
    let (mut view, change) = resized();
    let job = Job { resize: Resize::InPod, ..job(change) };

    let writes = start(&view, &job, t0());
    assert_eq!(parts(&writes), [Part::Object]);
    assert_eq!(set(&writes[0], "/spec/containers/0/resources/limits/cpu").unwrap(), "2");

    view.annotations = crate::pod::Texts::default();
    let bare = start(&view, &job, t0());
    assert_eq!(ops(&bare[0])[0], Op::test("/metadata/resourceVersion", "1"), "so the map is really missing");
    assert_eq!(set(&bare[0], "/spec/containers/0/resources/limits/cpu").unwrap(), "2");
}

#[test]
fn sm_36_only_servers_from_1_32_have_the_resize_endpoint() {
    for (version, resize) in [
        ("v1.32.0", Resize::Endpoint),
        ("1.36.3-gke.1", Resize::Endpoint),
        ("v1.31.9", Resize::InPod),
        ("2.0", Resize::Endpoint),
        ("", Resize::InPod),
        ("v1.x", Resize::InPod),
    ] {
        assert_eq!(resize_of_server(version), resize, "{version}");
    }
}
