use kruise_api::annotations::{RESOURCEDISTRIBUTION_FROM, RESOURCEDISTRIBUTION_HASH};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::*;

fn ready(resource: &Value) -> World {
    let mut world = world(&["a", "b"]).with(&distribution(resource, &json!({"allNamespaces": true})));
    world.settle();
    world
}

fn change(world: &mut World, change: impl FnOnce(&mut Value)) {
    world.edit(&itself(), |one| {
        change(&mut one["spec"]["resource"]);
        one["metadata"]["generation"] = json!(2);
    });
}

/// A copy has the namespace, one owner of the distribution, and both annotations; the hash is of the bytes of the field.
#[test]
fn rd_11_rd_24_copy_is_the_resource_with_owner_and_annotations() {
    let mut resource = config_map();
    resource["metadata"]["ownerReferences"] =
        json!([{"uid": "d-1", "name": "old"}, {"uid": "x", "name": "x"}]);
    let world = ready(&resource);
    let copy = world.at("a").unwrap();
    assert_eq!((&copy["data"], &copy["metadata"]["namespace"]), (&json!({"k": "v"}), &json!("a")));
    let owners = copy["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!(owners.len(), 2);
    assert_eq!(
        owners[1],
        json!({"apiVersion": "apps.kruise.io/v1beta1", "kind": "ResourceDistribution", "name": "d", "uid": "d-1", "controller": true, "blockOwnerDeletion": true})
    );
    let hash: String = format!("{:x}", Sha256::digest(resource.to_string()));
    assert_eq!(
        copy["metadata"]["annotations"],
        json!({RESOURCEDISTRIBUTION_HASH: hash, RESOURCEDISTRIBUTION_FROM: "d"})
    );
}

/// One write per namespace, one status, no read of what was just written, and no look again without a change (RD-4).
#[test]
fn rd_1_rd_4_rd_19_at_rest_nothing_is_written_or_read() {
    let mut world = world(&["a", "b"]).with(&distribution(&secret(), &json!({"allNamespaces": true})));
    assert_eq!(world.settle(), 3);
    assert_eq!((world.settle(), world.reads), (0, 0));
    assert_eq!(world.plan().revisit_at, None);
    world.edit(&itself(), |one| one["metadata"]["labels"] = json!({"x": "y"}));
    assert_eq!(world.settle(), 0, "metadata of the distribution does not matter");
}

/// RD-B2: whatever way a Secret is written, it is equal to what the server stores, also when its memory is lost.
#[test]
fn rd_12_rd_13_rd_b2_equal_contents_are_not_written() {
    let tls = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "type": "kubernetes.io/tls", "data": {"tls.crt": "YQ==", "tls.key": "Y g\n=="}});
    let binary = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s"}, "binaryData": {"b": "AAE="}, "immutable": false});
    for resource in [secret(), config_map(), tls, binary] {
        let mut world = ready(&resource);
        world.checked = Checked::default();
        assert_eq!(world.settle(), 0, "{resource}");
        assert_eq!(world.reads, 2, "each copy once");
        assert_eq!(world.settle(), 0);
        assert_eq!(world.reads, 2);
    }
}

/// (a) … (e) of the rule; nothing foreign is touched.
#[test]
fn rd_9_rd_10_rd_23_object_of_somebody_else_is_a_conflict_and_never_written() {
    let mut world = world(&["a", "b"]).with(&distribution(&config_map(), &json!({"allNamespaces": true})));
    let mut foreign = config_map();
    foreign["metadata"]["namespace"] = json!("a");
    foreign["metadata"]["annotations"] = json!({RESOURCEDISTRIBUTION_FROM: "d"});
    foreign["data"] = json!({"k": "theirs"});
    world.put(&foreign);
    let before = world.at("a").unwrap().clone();
    world.settle();
    assert_eq!(world.at("a").unwrap(), &before);
    assert_eq!(world.failing("ConflictOccurred"), ["a"]);
    let reason = world.plan().reason_of("a").unwrap().to_string();
    assert!(reason.contains("does not control"), "{reason}");

    // RD-23: a copy that loses its owner is neither changed nor removed.
    world.edit_copy("b", |one| one["metadata"]["ownerReferences"] = json!([]));
    world.edit_copy("b", |one| one["data"] = json!({"k": "theirs"}));
    world.settle();
    assert_eq!(world.failing("ConflictOccurred"), ["a", "b"]);
    assert_eq!(world.at("b").unwrap()["data"], json!({"k": "theirs"}));
    world.edit(&itself(), |one| one["spec"]["targets"] = json!({}));
    world.settle();
    assert_eq!(world.copies(), ["a", "b"]);

    // RD-B4: as soon as the foreign object goes, the copy takes its place.
    world.edit(&itself(), |one| one["spec"]["targets"] = included(&["a"]));
    world.settle();
    world.remove(&foreign);
    world.settle();
    assert_eq!(
        (&world.at("a").unwrap()["data"], world.failing("ConflictOccurred").len()),
        (&json!({"k": "v"}), 0)
    );
}

#[test]
fn rd_10_owner_without_uid_is_known_by_its_name() {
    let mut object = distribution(&config_map(), &json!({"allNamespaces": true}));
    object["metadata"]["uid"] = json!("");
    let mut world = world(&["a"]).with(&object);
    let mut copy = config_map();
    copy["metadata"]["namespace"] = json!("a");
    copy["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps.kruise.io/v1alpha1", "kind": "ResourceDistribution", "name": "d", "uid": "", "controller": true}]);
    world.put(&copy);
    world.settle();
    assert_eq!(world.status()["succeeded"], 1);
}

/// A failure in one namespace is reported, tried again, and holds up no other one.
#[test]
fn rd_8_rd_18_failure_in_one_namespace_stops_no_other() {
    let mut world = world(&["a", "b", "c"]).with(&distribution(&secret(), &json!({"allNamespaces": true})));
    world.refused.insert("a".to_owned());
    world.settle();
    assert_eq!(world.copies(), ["b", "c"]);
    assert_eq!(world.failing("CreateResourceFailed"), ["a"]);
    assert_eq!((&world.status()["succeeded"], &world.status()["failed"]), (&json!(2), &json!(1)));
    assert_eq!(world.plan().chains.len(), 1, "tried again, and only that one");

    world.refused.clear();
    world.settle();
    assert_eq!((world.copies().len(), world.failing("CreateResourceFailed").len()), (3, 0));
    world.refused.insert("b".to_owned());
    change(&mut world, |one| one["stringData"]["k"] = json!("w"));
    world.settle();
    assert_eq!(world.failing("UpdateResourceFailed"), ["b"]);
    world.refused = BTreeSet::from(["c".to_owned()]);
    world.edit(&itself(), |one| one["spec"]["targets"] = included(&["a", "b"]));
    world.settle();
    assert_eq!((world.failing("DeleteResourceFailed"), &world.status()["desired"]), (vec!["c"], &json!(2)));
    assert_eq!(world.status()["failed"], Value::Null, "what fails while cleaning up is not counted");
}

#[test]
fn rd_9_copy_that_cannot_be_read_is_reported_and_left_alone() {
    let mut world = ready(&secret());
    world.checked = Checked::default();
    world.unreadable.insert("a".to_owned());
    let plan = world.plan();
    world.apply(&plan);
    assert_eq!((plan.chains.len(), world.failing("GetResourceFailed")), (0, vec!["a"]));
    world.unreadable.clear();
    world.settle();
    assert_eq!(world.failing("GetResourceFailed").len(), 0);
}

/// The patch names the version that was seen, and leaves alone what it does not know (RD-B9).
#[test]
fn rd_11_rd_21_rd_b9_change_of_content_reaches_every_copy_and_keeps_what_others_added() {
    let mut world = ready(&config_map());
    world.edit_copy("a", |one| {
        one["metadata"]["labels"] = json!({"mine": "1"});
        one["metadata"]["finalizers"] = json!(["x/y"]);
        one["metadata"]["ownerReferences"]
            .as_array_mut()
            .unwrap()
            .push(json!({"uid": "other", "kind": "Pod"}));
    });
    world.settle();
    change(&mut world, |one| {
        one["data"] = json!({"new": "1"});
        one["metadata"]["finalizers"] = json!(["z/z"]);
    });
    let plan = world.plan();
    assert_eq!(plan.chains.len(), 2);
    let mut late = world.plan().chains.remove(0).writes.remove(0);
    world.edit_copy("a", |one| one["metadata"]["labels"]["mine"] = json!("2"));
    late.unless = None;
    assert!(!world.write(&late), "a copy that changed meanwhile is looked at again");
    world.settle();

    let copy = world.at("a").unwrap();
    assert_eq!((&copy["data"], &copy["metadata"]["labels"]), (&json!({"new": "1"}), &json!({"mine": "2"})));
    assert_eq!(copy["metadata"]["finalizers"], json!(["x/y", "z/z"]));
    assert_eq!(copy["metadata"]["ownerReferences"].as_array().unwrap().len(), 2);
    let hash = |ns: &str| world.at(ns).unwrap()["metadata"]["annotations"][RESOURCEDISTRIBUTION_HASH].clone();
    assert_eq!(hash("a"), hash("b"));
    assert_eq!(world.status()["observedGeneration"], 2);
}

#[test]
fn rd_21_change_of_targets_creates_and_deletes_in_one_plan() {
    let mut world = world(&["a", "b"]).with(&distribution(&secret(), &included(&["a"])));
    world.settle();
    world.edit(&itself(), |one| one["spec"]["targets"] = included(&["b"]));
    let plan = world.plan();
    assert_eq!(plan.chains.len(), 2, "RD-15: both in one pass");
    world.apply(&plan);
    assert_eq!(world.copies(), ["b"]);
}

/// RD-14: what is not a copy of this distribution stays; so does what ends with its namespace.
#[test]
fn rd_6_rd_14_rd_15_clean_up_deletes_only_its_own_copies() {
    let mut world =
        world(&["a", "b", "kube-system"]).with(&distribution(&config_map(), &json!({"allNamespaces": true})));
    world.settle();
    let mut stray = world.at("a").unwrap().clone();
    stray["metadata"]["namespace"] = json!("kube-system");
    world.put(&stray);
    let mut other = stray.clone();
    other["metadata"]["name"] = json!("other");
    other["metadata"]["namespace"] = json!("b");
    world.put(&other);
    let mut ends = namespace("b");
    ends["metadata"]["deletionTimestamp"] = json!("2026-06-01T12:00:00Z");
    world.put(&ends);
    world.edit(&itself(), |one| one["spec"]["targets"] = included(&["a"]));
    world.settle();
    assert_eq!(world.copies(), ["a", "b"], "kube-system is cleaned, b ends anyway");
    assert!(world.objects.values().any(|one| one["metadata"]["name"] == "other"));
}

#[test]
fn rd_16_rd_b6_distribution_that_is_being_deleted_writes_nothing() {
    let mut world = ready(&secret());
    world.edit(&itself(), |one| one["metadata"]["deletionTimestamp"] = json!("2026-06-01T12:00:00Z"));
    let copy = world.at("a").unwrap().clone();
    world.remove(&copy);
    assert_eq!(world.plan().writes().count(), 0);
}

#[test]
fn rd_20_resource_that_cannot_be_read_is_left_alone_and_not_tried_again() {
    let mut world = ready(&secret());
    change(&mut world, |one| one["kind"] = json!("Pod"));
    let plan = world.plan();
    assert_eq!((plan.writes().count(), plan.revisit_at), (0, None));
    assert!(plan.reason_of("d").unwrap().to_string().contains("spec.resource cannot be parsed"));
}

#[test]
fn rd_3_rd_22_edits_of_content_are_reverted_and_edits_of_metadata_stay() {
    let mut resource = config_map();
    resource["metadata"]["labels"] = json!({"team": "x"});
    let mut world = ready(&resource);
    world.edit_copy("a", |one| {
        one["metadata"]["labels"]["team"] = json!("theirs");
        one["metadata"]["annotations"]["note"] = json!("theirs");
    });
    assert_eq!(world.settle(), 0);
    world.edit_copy("a", |one| one["data"]["extra"] = json!("1"));
    assert_eq!(world.settle(), 1);
    assert_eq!(world.at("a").unwrap()["data"], json!({"k": "v"}));
    assert_eq!(world.at("a").unwrap()["metadata"]["annotations"]["note"], "theirs");
    let copy = world.at("b").unwrap().clone();
    world.remove(&copy);
    assert_eq!(world.settle(), 1, "deleted, and back");
}

/// Scenario 10.
#[test]
fn rd_b1_labels_and_annotations_follow_the_spec_and_those_of_users_stay() {
    let mut resource = secret();
    resource["metadata"]["labels"] = json!({"team": "x", "old": "1"});
    let mut world = ready(&resource);
    world.edit_copy("a", |one| one["metadata"]["labels"]["mine"] = json!("1"));
    world.settle();
    change(&mut world, |one| {
        one["metadata"]["labels"] = json!({"team": "y"});
        one["metadata"]["annotations"] = json!({"note": "n"});
    });
    assert_eq!(world.settle(), 3, "each copy, and the status");
    assert_eq!(world.at("a").unwrap()["metadata"]["labels"], json!({"team": "y", "mine": "1"}));
    assert_eq!(world.at("b").unwrap()["metadata"]["annotations"]["note"], "n");
    change(&mut world, |one| drop(one["metadata"].as_object_mut().unwrap().shift_remove("annotations")));
    world.settle();
    assert_eq!(world.at("b").unwrap()["metadata"]["annotations"]["note"], Value::Null);
    assert_eq!(world.settle(), 0);
}

/// Scenario 12: what the server never takes is not tried again and again.
#[test]
fn rd_b13_immutable_copy_and_other_type_are_reported_and_not_written() {
    let mut resource = config_map();
    resource["immutable"] = json!(true);
    let mut world = ready(&resource);
    change(&mut world, |one| one["data"]["k"] = json!("w"));
    world.settle();
    assert_eq!(world.plan().writes().count(), 0);
    assert_eq!(world.failing("UpdateResourceFailed"), ["a", "b"]);
    let copy = world.at("a").unwrap().clone();
    world.remove(&copy);
    world.settle();
    assert_eq!(world.failing("UpdateResourceFailed"), ["b"]);

    let mut other = ready(&secret());
    change(&mut other, |one| one["type"] = json!("other"));
    other.settle();
    assert_eq!((other.failing("UpdateResourceFailed").len(), other.plan().writes().count()), (2, 0));
}

/// RD-B10: however many there are and however large, a plan fits into memory, and all have their turn, those that failed last.
#[test]
fn rd_b10_large_objects_are_written_in_batches() {
    let mut resource = config_map();
    resource["data"]["k"] = json!("x".repeat(6 << 20));
    let mut world =
        world(&["a", "b", "c", "d", "e"]).with(&distribution(&resource, &json!({"allNamespaces": true})));
    world.refused = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
    let plan = world.plan();
    assert_eq!(plan.chains.len(), 2);
    assert_eq!(plan.reason_of("c").unwrap().name(), "NextBatch");
    world.settle();
    assert_eq!(world.copies(), ["c", "d", "e"]);
}
