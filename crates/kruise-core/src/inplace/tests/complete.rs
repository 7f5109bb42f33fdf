//! When a batch is complete and what follows it (SM-30 … SM-38).

use super::*;

fn image_state(before: &str) -> InPlaceState {
    serde_json::from_value(json!({"revision": "w-new", "updateTimestamp": SINCE, "updateImages": true,
        "lastContainerStatuses": {"main": {"imageID": before}}, "containerBatchesRecord": [{"timestamp": SINCE, "containers": ["main"]}]}))
    .unwrap()
}

#[test]
fn sm_31_an_image_has_arrived_when_its_id_changed_or_the_name_matches() {
    let target = |status_image: &str| {
        let pod = pod("a").containers(json!([image("main", "nginx:2")])).container_status(
            "main",
            status_image,
            "id-1",
        );
        pod.view()
    };
    let complete =
        |pod: &PodView, before: &str| crate::inplace::complete::batch_complete(pod, &image_state(before));

    assert_eq!(complete(&target("nginx:1"), "id-1"), Err(Incomplete::Image));
    assert_eq!(complete(&target("nginx:1"), "id-0"), Ok(()));
    assert_eq!(complete(&target("docker.io/library/nginx:2"), "id-1"), Ok(()));
    assert_eq!(complete(&pod("a").view(), "id-1"), Err(Incomplete::Image), "no status yet");
}

#[test]
fn sm_35_either_plain_hash_in_the_runtime_meta_completes() {
    let meta = |hash: u32| json!({"containers": [{"name": "nginx", "containerID": "id-nginx", "restartCount": 0, "hashes": {"plainHash": hash}}]});
    let with = |hash: u32| {
        let mut state = image_state("id-1");
        state.last_container_statuses = Some(
            [("nginx".to_owned(), crate::inplace::state::LastStatus { image_id: "id-1".to_owned() })].into(),
        );
        let pod = with_state(pod("a").containers(json!([image("nginx", "nginx")])), &state)
            .container_status("nginx", "other", "id-1")
            .annotation("apps.kruise.io/runtime-containers-meta", &meta(hash).to_string());
        is_complete(&pod.view())
    };

    assert_eq!(with(2_774_804_510), Ok(()));
    assert_eq!(with(3_581_488_887), Ok(()));
    assert_eq!(with(1), Err(Incomplete::Image));
}

#[test]
fn sm_34_environment_hash_of_current_metadata() {
    let plain = pod("a").view();
    assert_eq!(extracted_env_hash(&plain, &plain.containers[0]), 86_995_377);

    let reader = pod("a").containers(json!([reads_annotation("main", "cfg")])).annotation("cfg", "v2").view();
    let expected = crate::revision::hash::deep(br#"[{"name":"E","value":"v2"}]"#);
    assert_eq!(extracted_env_hash(&reader, &reader.containers[0]), expected);

    let state: InPlaceState = serde_json::from_value(
        json!({"revision": "w-new", "updateTimestamp": SINCE, "updateEnvFromMetadata": true}),
    )
    .unwrap();
    let report = |hash: u32| {
        let meta = json!({"containers": [{"name": "main", "containerID": "id-main", "hashes": {"extractedEnvFromMetadataHash": hash}}]});
        let pod = with_state(
            pod("a").containers(json!([reads_annotation("main", "cfg")])).annotation("cfg", "v2"),
            &state,
        )
        .container_status("main", "i", "x")
        .annotation("apps.kruise.io/runtime-containers-meta", &meta.to_string());
        is_complete(&pod.view())
    };
    assert_eq!(report(expected), Ok(()));
    assert_eq!(report(1), Err(Incomplete::Environment));
}

#[test]
fn sm_38_and_shared_machinery_m7_only_changed_containers_must_show_their_resources() {
    let state: InPlaceState = serde_json::from_value(
        json!({"revision": "w-new", "updateTimestamp": SINCE, "updateResources": true,
        "containerBatchesRecord": [{"timestamp": SINCE, "containers": ["main"]}]}),
    )
    .unwrap();
    let complete = |given: Value| {
        let mut pod = with_state(
            pod("a").containers(json!([
                {"name": "main", "image": "i", "resources": {"limits": {"cpu": "2"}}},
                {"name": "injected", "image": "i", "resources": {"limits": {"cpu": "9"}}}])),
            &state,
        )
        .container_status("main", "i", "x")
        .container_status("injected", "i", "x");
        pod.0["status"]["containerStatuses"][0]["resources"] = given;
        is_complete(&pod.view())
    };

    assert_eq!(complete(json!({"limits": {"cpu": "2000m"}})), Ok(()));
    assert_eq!(complete(json!({"limits": {"cpu": "1"}})), Err(Incomplete::Resources));
    assert_eq!(complete(Value::Null), Ok(()), "a node that reports no resources must not hang the update");
}

#[test]
fn sm_30_the_next_batch_waits_for_the_containers_of_the_last_one() {
    let mut state = image_state("id-0");
    state.next_container_images = [("low".to_owned(), "i:2".to_owned())].into();
    state.pre_check_before_next =
        Some(serde_json::from_value(json!({"containersRequiredReady": ["main"]})).unwrap());
    let pod = |ready: bool| {
        let mut pod = with_state(running().container(prioritised("low", 1)), &state)
            .container_status("low", "i:1", "low-1");
        pod.0["status"]["containerStatuses"][0]["ready"] = json!(ready);
        pod
    };

    assert_eq!(refreshed(pod(false), t0()), Refresh::Waiting { why: Incomplete::NextBatch, until: None });
    let writes = stepped(refreshed(pod(true), t0()));

    let after = state_written(&writes[0]);
    assert_eq!(set(&writes[0], "/spec/containers/1/image").unwrap(), "i:2");
    assert!(after.next_container_images.is_empty() && after.pre_check_before_next.is_none());
    assert_eq!(after.container_batches_record.len(), 2);
    assert_eq!(
        ops(&writes[0])[0],
        Op::test("/metadata/resourceVersion", "1"),
        "shared-machinery/M2: only if the record is still the one that was read"
    );
    assert_eq!(is_complete(&pod(true).view()), Err(Incomplete::NextBatch), "SM-32");
}

#[test]
fn shared_machinery_m1_a_last_batch_of_resources_only_is_applied() {
    let mut state = image_state("id-0");
    let delta: ResourceDelta = serde_json::from_value(json!({"limits": {"cpu": "2"}})).unwrap();
    state.next_container_resources = [("main".to_owned(), delta)].into();
    let pod = with_state(
        running()
            .containers(json!([{"name": "main", "image": "nginx:1", "resources": {"limits": {"cpu": "1"}}}])),
        &state,
    );

    assert_eq!(parts(&stepped(refreshed(pod, t0()))), [Part::Resize, Part::Object]);
}

#[test]
fn shared_machinery_m14_a_container_that_changes_twice_records_its_newest_image_id() {
    let mut state = image_state("id-0");
    state
        .last_container_statuses
        .get_or_insert_default()
        .insert("other".to_owned(), crate::inplace::state::LastStatus { image_id: "o".to_owned() });
    let view = with_state(running().container(image("other", "x")), &state)
        .container_status("other", "y", "o")
        .view();

    let writes = start(&view, &job(to_image_2()), t0());

    let last = state_written(writes.last().unwrap()).last_container_statuses.unwrap();
    assert_eq!(last["main"].image_id, "id-1");
    assert_eq!(last["other"].image_id, "o", "what the earlier update still waits for is not forgotten");
}

#[test]
fn sm_32_a_pod_without_a_record_is_complete_and_one_in_its_grace_period_is_not() {
    assert_eq!(is_complete(&running().view()), Ok(()));
    assert_eq!(is_complete(&in_grace(30).view()), Err(Incomplete::Grace));
}

#[test]
fn sm_32_legacy_keys_are_read_and_replaced() {
    let text = serde_json::to_string(&image_state("id-1")).unwrap();
    let view = running()
        .annotation("inplace-update-state", &text)
        .containers(json!([image("main", "nginx:9")]))
        .view();

    assert!(matches!(InPlaceState::of(&view), Recorded::Present(_)));
    assert_eq!(is_complete(&view), Err(Incomplete::Image));
    let writes = start(&view, &job(to_image_2()), t0());
    assert!(
        ops(writes.last().unwrap())
            .contains(&Op::Remove { path: "/metadata/annotations/inplace-update-state".to_owned() })
    );
}
