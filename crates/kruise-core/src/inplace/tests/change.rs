//! What may change in place, and in which batches (SM-20 … SM-25).

use super::*;

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
    for requests in [json!({}), json!({"memory": "1Gi"})] {
        assert!(!possible(&with("/resources/requests", requests), &scaling()), "SM-37: nothing is removed");
    }
    let more = json!({"cpu": "500m", "memory": "1Gi"});
    assert!(!possible(&with("/resources/requests", more), &scaling()), "SM-37: nothing is added");
    let disk = |size: &str| {
        template(
            &json!([{"name": "main", "image": "a", "resources": {"limits": {"ephemeral-storage": size}}}]),
        )
    };
    assert!(Change::between(&disk("1Gi"), &disk("2Gi"), &scaling()).is_err(), "SM-37: only cpu and memory");
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
    let off =
        Change::between(&old, &new, &Gates::default().without(Gate::InPlaceUpdateEnvFromMetadata)).unwrap();
    assert!(off.ref_metadata.is_empty(), "gate off");
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
