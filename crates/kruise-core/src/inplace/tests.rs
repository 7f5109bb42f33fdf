//! SM-20 … SM-38, one behaviour each.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::complete::extracted_env_hash;
use super::state::Recorded;
use super::*;
use crate::chain::{Act, Op, Part, Patch, Write};
use crate::fixtures::{Pod, at, pod, t0};
use crate::gates::{Gate, Gates};
use crate::pod::PodView;

const SINCE: &str = "2026-01-01T00:00:00Z";

fn template(containers: &Value) -> Value {
    json!({"metadata": {"labels": {"app": "x"}}, "spec": {"containers": containers}})
}

fn image(name: &str, image: &str) -> Value {
    json!({"name": name, "image": image})
}

fn scaling() -> Gates {
    Gates::default().with(Gate::VerticalScaling)
}

fn change(old: &Value, new: &Value) -> Change {
    Change::between(old, new, &scaling()).unwrap()
}

/// A ready pod with both gates and one container `main` running `nginx:1`.
fn running() -> Pod {
    pod("a")
        .annotation("note", "by somebody else")
        .running()
        .node("n")
        .label("controller-revision-hash", "w-old")
        .gate("InPlaceUpdateReady")
        .gate("KruisePodReady")
        .ready_since(SINCE)
        .condition("InPlaceUpdateReady", "True", SINCE)
        .condition("KruisePodReady", "True", SINCE)
        .container_status("main", "nginx:1", "id-1")
}

fn job(change: Change) -> Job<'static> {
    Job {
        change,
        revision: "w-new",
        revision_label: "new",
        template_hash: Some("new"),
        grace_seconds: 0,
        resize: Resize::Endpoint,
        hooks: None,
    }
}

fn to_image_2() -> Change {
    change(&template(&json!([image("main", "nginx:1")])), &template(&json!([image("main", "nginx:2")])))
}

fn parts(writes: &[Write]) -> Vec<Part> {
    let part = |write: &Write| {
        let Act::Patch { part, .. } = &write.act else { panic!("{write:?}") };
        *part
    };
    writes.iter().map(part).collect()
}

fn ops(write: &Write) -> Vec<Op> {
    let Act::Patch { patch: Patch::Json(ops), .. } = &write.act else { panic!("{write:?}") };
    ops.clone()
}

/// The value that a patch sets at a path.
fn set(write: &Write, path: &str) -> Option<Value> {
    ops(write).into_iter().find_map(|op| match op {
        Op::Add { path: at, value } | Op::Replace { path: at, value } if at == path => Some(value),
        Op::Test { .. } | Op::Add { .. } | Op::Replace { .. } | Op::Remove { .. } => None,
    })
}

fn state_written(write: &Write) -> State {
    let text = set(write, "/metadata/annotations/apps.kruise.io~1inplace-update-state").unwrap();
    serde_json::from_str(text.as_str().unwrap()).unwrap()
}

/// The pod with the annotations of a start applied.
fn with_state(pod: Pod, state: &State) -> Pod {
    pod.annotation("apps.kruise.io/inplace-update-state", &serde_json::to_string(state).unwrap())
        .label("controller-revision-hash", "w-new")
}

#[test]
fn sm_20_only_images_metadata_and_with_the_gate_cpu_and_memory_change_in_place() {
    let base = json!({"name": "main", "image": "a", "env": [{"name": "E", "value": "1"}],
        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}});
    let with = |path: &str, value: Value| {
        let mut container = base.clone();
        *container.pointer_mut(path).unwrap() = value;
        template(&json!([container]))
    };
    let old = template(&json!([base]));
    let possible = |new: &Value, gates: &Gates| Change::between(&old, new, gates).is_ok();

    assert!(possible(&with("/image", json!("b")), &Gates::default()));
    assert!(!possible(&with("/env/0/value", json!("2")), &scaling()));
    assert!(possible(&with("/resources/limits/cpu", json!("2")), &scaling()));
    assert!(!possible(&with("/resources/limits/cpu", json!("2")), &Gates::default()));
    assert!(!possible(
        &with("/resources/limits", json!({"cpu": "1", "memory": "1Gi", "x/y": "1"})),
        &scaling()
    ));
    assert!(!possible(&with("/resources/requests", json!({})), &scaling()), "SM-37: nothing is removed");
    assert!(!possible(&template(&json!([base, image("more", "b")])), &scaling()));
    let mut init = old.clone();
    init["spec"]["initContainers"] = json!([image("init", "b")]);
    assert!(!possible(&init, &scaling()));
    assert!(Change::between(&old, &old, &scaling()).unwrap().is_empty(), "an empty difference is possible");
}

#[test]
fn sm_21_a_resource_change_must_keep_the_quality_of_service() {
    let sized = |cpu: &str, limit: &str| {
        template(&json!([{"name": "main", "image": "a", "resources": {
            "requests": {"cpu": cpu, "memory": "1Gi"}, "limits": {"cpu": limit, "memory": "1Gi"}}}]))
    };

    assert_eq!(Change::between(&sized("1", "1"), &sized("500m", "1"), &scaling()), Err(Blocked::QosClass));
    assert!(Change::between(&sized("1", "1"), &sized("2", "2"), &scaling()).is_ok());
    assert!(Change::between(&sized("1", "2"), &sized("1500m", "2"), &scaling()).is_ok());
}

#[test]
fn sm_22_container_names_come_from_the_old_template() {
    let old = template(&json!([image("a", "1"), image("b", "1")]));
    let new = template(&json!([image("a", "1"), image("b", "2")]));

    assert_eq!(change(&old, &new).images.into_iter().collect::<Vec<_>>(), [("b".to_owned(), "2".to_owned())]);
    let swapped = template(&json!([image("b", "1"), image("a", "1")]));
    assert_eq!(
        Change::between(&old, &swapped, &scaling()),
        Err(Blocked::Field("spec.containers.0.name".to_owned()))
    );
}

fn reads_annotation(name: &str, key: &str) -> Value {
    json!({"name": name, "image": "i", "env":
        [{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": format!("metadata.annotations['{key}']")}}}]})
}

#[test]
fn sm_24_and_shared_machinery_m4_keys_read_as_environment_leave_the_metadata_patch() {
    let mut old = template(&json!([reads_annotation("main", "cfg")]));
    let mut new = old.clone();
    new["metadata"]["annotations"] = json!({"cfg": "v2", "other": "1"});

    let found = change(&old, &new);
    assert_eq!(found.ref_metadata["main"].annotations["cfg"], "v2", "M4: the first annotation counts");
    assert!(!found.metadata.annotations.contains_key("cfg"));
    assert!(found.metadata.annotations.contains_key("other"));

    old["metadata"]["annotations"] = json!({"cfg": "v1"});
    new["metadata"]["annotations"] = json!({});
    let removed = change(&old, &new);
    assert!(removed.ref_metadata.is_empty(), "a removed key restarts nobody");
    assert_eq!(removed.metadata.annotations["cfg"], None);

    new["metadata"]["annotations"] = json!({"cfg": "v2"});
    let off = Change::between(&old, &new, &Gates::default().without(Gate::EnvFromMetadata)).unwrap();
    assert!(off.ref_metadata.is_empty(), "gate off");
}

fn prioritised(name: &str, priority: i64) -> Value {
    json!({"name": name, "image": "i:1", "env": [{"name": "KRUISE_CONTAINER_BARRIER",
        "valueFrom": {"configMapKeyRef": {"name": "a-barrier", "key": format!("p_{priority}")}}}]})
}

#[test]
fn sm_25_highest_priority_and_unprioritised_containers_go_first() {
    let pod = pod("a")
        .label("l", "x")
        .annotation("note", "x")
        .containers(json!([prioritised("low", 1), prioritised("high", 5), image("none", "i:1")]))
        .view();
    let images = ["low", "high", "none"].map(|name| (name.to_owned(), "i:2".to_owned())).into();

    let writes = start(&pod, &job(Change { images, ..Change::default() }), t0());

    let state = state_written(writes.last().unwrap());
    assert_eq!(state.next_container_images.keys().collect::<Vec<_>>(), ["low"]);
    assert_eq!(state.pre_check_before_next.unwrap().containers_required_ready, ["high", "none"]);
    assert_eq!(state.container_batches_record[0].containers, ["high", "none"]);
}

#[test]
fn sm_25_containers_that_share_a_changed_key_go_together() {
    let pod = pod("a")
        .label("l", "x")
        .annotation("note", "x")
        .containers(json!([prioritised("low", 1), prioritised("mid", 2), prioritised("high", 5)]))
        .view();
    let reads = |keys: &[&str]| {
        let mut metadata = RefMetadata::default();
        metadata.annotations.extend(keys.iter().map(|key| ((*key).to_owned(), "v".to_owned())));
        metadata
    };
    let ref_metadata = [("high", reads(&["x"])), ("low", reads(&["y"])), ("mid", reads(&["x", "y"]))]
        .map(|(name, one)| (name.to_owned(), one))
        .into();

    let writes = start(&pod, &job(Change { ref_metadata, ..Change::default() }), t0());

    let state = state_written(writes.last().unwrap());
    assert_eq!(
        state.container_batches_record[0].containers,
        ["high", "low", "mid"],
        "mid by x, low through mid by y"
    );
    assert!(state.next_container_ref_metadata.is_empty());
}

#[test]
fn sm_27_traffic_is_drained_before_the_container_changes() {
    let view = running().view();

    let writes = start(&view, &job(to_image_2()), t0());

    assert_eq!(parts(&writes), [Part::Status, Part::Object]);
    let drain = ops(&writes[0]);
    assert_eq!(drain[0], Op::test("/metadata/uid", "uid-a"));
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
    let Act::Patch { patch: Patch::Strategic(body), .. } = &writes[0].act else { panic!() };
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
    let Act::Patch { patch: Patch::Strategic(body), .. } = &bare[0].act else { panic!() };
    assert_eq!(body["spec"]["containers"], json!([{"name": "main", "resources": {"limits": {"cpu": "2"}}}]));
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

fn in_grace(seconds: i64) -> Pod {
    let state = json!({"revision": "w-new", "updateTimestamp": "2026-06-01T12:00:00Z", "lastContainerStatuses": null, "updateImages": true});
    let grace = json!({"revision": "w-new", "containerImages": {"main": "nginx:2"}, "graceSeconds": seconds});
    running()
        .label("controller-revision-hash", "new")
        .annotation("apps.kruise.io/inplace-update-state", &state.to_string())
        .annotation("apps.kruise.io/inplace-update-grace", &grace.to_string())
}

fn refreshed(pod: Pod, now: Timestamp) -> Refresh {
    refresh(&pod.view(), Resize::Endpoint, now)
}

fn stepped(refresh: Refresh) -> Vec<Write> {
    let Refresh::Step(writes) = refresh else { panic!("{refresh:?}") };
    writes
}

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

fn image_state(before: &str) -> State {
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
    let complete = |pod: &PodView, before: &str| super::complete::batch_complete(pod, &image_state(before));

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
        state.last_container_statuses =
            Some([("nginx".to_owned(), super::state::LastStatus { image_id: "id-1".to_owned() })].into());
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

    let state: State = serde_json::from_value(
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
    let state: State = serde_json::from_value(
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
        .insert("other".to_owned(), super::state::LastStatus { image_id: "o".to_owned() });
    let view = with_state(running().container(image("other", "x")), &state)
        .container_status("other", "y", "o")
        .view();

    let writes = start(&view, &job(to_image_2()), t0());

    let last = state_written(writes.last().unwrap()).last_container_statuses.unwrap();
    assert_eq!(last["main"].image_id, "id-1");
    assert_eq!(last["other"].image_id, "o", "what the earlier update still waits for is not forgotten");
}

#[test]
fn sm_32_legacy_keys_are_read_and_replaced() {
    let text = serde_json::to_string(&image_state("id-1")).unwrap();
    let view = running()
        .annotation("inplace-update-state", &text)
        .containers(json!([image("main", "nginx:9")]))
        .view();

    assert!(matches!(State::of(&view), Recorded::Present(_)));
    assert_eq!(is_complete(&view), Err(Incomplete::Image));
    let writes = start(&view, &job(to_image_2()), t0());
    assert!(
        ops(writes.last().unwrap())
            .contains(&Op::Remove { path: "/metadata/annotations/inplace-update-state".to_owned() })
    );
}
