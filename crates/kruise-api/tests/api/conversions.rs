//! Conversion rules of the specification, one by one.

use kruise_api::{
    annotations::{V1ALPHA1_FIELDS, V1BETA1_FIELDS},
    apps::{cloneset, statefulset},
    convert, convert_to, read_value,
};
use serde_json::{Value, json};

#[expect(clippy::needless_pass_by_value, reason = "`json!` at every call reads better without a reference")]
fn object(kind: &str, version: &str, metadata: Value, spec: Value) -> Value {
    let group = if kind == "PodUnavailableBudget" { "policy" } else { "apps" };
    json!({"apiVersion": format!("{group}.kruise.io/{version}"), "kind": kind, "metadata": metadata, "spec": spec})
}

fn up(object: &Value) -> Value {
    convert(object.clone(), "v1beta1").unwrap()
}

fn down(object: &Value) -> Value {
    convert(object.clone(), "v1alpha1").unwrap()
}

fn cloneset(version: &str, spec: Value) -> Value {
    object("CloneSet", version, json!({"name": "web"}), spec)
}

/// cloneset 2.2: flat fields move under rollingUpdate, the type splits into type and policy.
#[test]
fn cloneset_types_become_policies() {
    for (old, policy) in [
        ("ReCreate", "ReCreate"),
        ("InPlaceIfPossible", "InPlaceIfPossible"),
        ("InPlaceOnly", "InPlaceOnly"),
        ("", "ReCreate"),
        ("Odd", "ReCreate"),
    ] {
        let spec =
            json!({"updateStrategy": {"type": old, "partition": "50%", "maxSurge": 1, "paused": true}});
        let new = up(&cloneset("v1alpha1", spec));
        let rolling = json!({"podUpdatePolicy": policy, "partition": "50%", "maxSurge": 1, "paused": true});
        assert_eq!(
            new["spec"]["updateStrategy"],
            json!({"type": "RollingUpdate", "rollingUpdate": rolling}),
            "{old}"
        );
    }
}

#[test]
fn cloneset_on_delete_has_no_rolling_update_and_keeps_its_numbers_aside() {
    let old = cloneset("v1alpha1", json!({"updateStrategy": {"type": "OnDelete", "partition": 3}}));

    let new = up(&old);

    assert_eq!(new["spec"]["updateStrategy"], json!({"type": "OnDelete"}));
    assert_eq!(down(&new), old);
}

#[test]
fn cloneset_claim_reuse_is_negated_also_where_nothing_is_said() {
    assert_eq!(up(&cloneset("v1alpha1", json!({})))["spec"]["scaleStrategy"]["enablePVCReuse"], true);
    let disabled = cloneset("v1alpha1", json!({"scaleStrategy": {"disablePVCReuse": true}}));
    assert_eq!(up(&disabled)["spec"]["scaleStrategy"]["enablePVCReuse"], false);
    assert_eq!(down(&cloneset("v1beta1", json!({})))["spec"]["scaleStrategy"]["disablePVCReuse"], true);
    let enabled = cloneset("v1beta1", json!({"scaleStrategy": {"enablePVCReuse": true}}));
    assert_eq!(down(&enabled)["spec"]["scaleStrategy"], json!({}));
}

/// The original loses excludePreparingDelete on the way through v1alpha1.
#[test]
fn cloneset_labels_and_annotations_become_fields() {
    let metadata = json!({
        "name": "web",
        "labels": {"apps.kruise.io/cloneset-scaling-exclude-preparing-delete": "true"},
        "annotations": {
            "apps.kruise.io/image-predownload-parallelism": "20%",
            "apps.kruise.io/image-predownload-timeout-seconds": "60",
            "apps.kruise.io/image-predownload-min-updated-ready-pods": "20%",
        },
    });
    let old = object("CloneSet", "v1alpha1", metadata, json!({"updateStrategy": {"type": "InPlaceOnly"}}));

    let new = up(&old);

    assert_eq!(new["spec"]["scaleStrategy"]["excludePreparingDelete"], true);
    let in_place = json!({"imagePreDownloadParallelism": "20%", "imagePreDownloadTimeoutSeconds": 60});
    assert_eq!(new["spec"]["updateStrategy"]["rollingUpdate"]["inPlaceUpdateStrategy"], in_place);
    assert_eq!(down(&new), old);
    let field_only = cloneset(
        "v1beta1",
        json!({"scaleStrategy": {"excludePreparingDelete": true, "enablePVCReuse": false}}),
    );
    assert_eq!(up(&down(&field_only)), field_only);
}

#[test]
fn an_edit_in_one_version_wins_over_what_was_kept_for_it() {
    let spec = json!({"reserveOrdinals": [1], "scaleStrategy": {"maxUnavailable": 1}, "replicas": 3});
    let mut seen = down(&object("StatefulSet", "v1beta1", json!({"name": "db"}), spec));
    assert!(seen["spec"].get("reserveOrdinals").is_none());
    seen["spec"]["replicas"] = json!(5);

    let stored = up(&seen);

    assert_eq!(
        stored["spec"],
        json!({"reserveOrdinals": [1], "scaleStrategy": {"maxUnavailable": 1}, "replicas": 5})
    );
    assert!(stored["metadata"].get("annotations").is_none());
}

/// statefulset/B17, kruise#2102: a write through v1alpha1 erases newer fields upstream.
#[test]
fn statefulset_b17_a_write_through_v1alpha1_erases_nothing() {
    let spec = json!({
        "replicas": 3, "reserveOrdinals": [1, "3-5"], "lifecycle": {"preDelete": {"finalizersHandler": ["a/b"]}},
        "scaleStrategy": {"maxUnavailable": 1}, "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"},
        "ordinals": {"start": 2}, "volumeClaimUpdateStrategy": {"type": "OnDelete"},
    });
    let mut new = object("StatefulSet", "v1beta1", json!({"name": "db"}), spec);
    new["status"] =
        json!({"replicas": 3, "updatedReadyReplicas": 2, "updatedAvailableReplicas": 1, "volumeClaims": []});

    let old = down(&new);

    assert_eq!(old["spec"], json!({"replicas": 3}));
    assert_eq!(old["status"], json!({"replicas": 3}));
    assert_eq!(up(&old), new);
}

/// IN-4.
#[test]
fn daemonset_annotation_type_and_hash_become_fields() {
    let metadata =
        json!({"name": "agent", "annotations": {"daemonset.kruise.io/progressive-create-pod": "true"}});
    let spec = json!({"updateStrategy": {"rollingUpdate": {"rollingUpdateType": "Surging"}}});
    let mut old = object("DaemonSet", "v1alpha1", metadata, spec);
    old["status"] = json!({"daemonSetHash": "abc"});

    let new = up(&old);

    assert_eq!(new["spec"]["scaleStrategy"]["partitionedScaling"], true);
    assert_eq!(new["spec"]["updateStrategy"]["rollingUpdate"]["rollingUpdateType"], "Standard");
    assert_eq!(new["status"], json!({"updateRevision": "abc"}));
    assert_eq!(down(&new), old);
}

/// daemonset/B17: a leftover annotation must not switch the field on again.
#[test]
fn daemonset_b17_a_field_that_says_no_stays_no() {
    let metadata =
        json!({"name": "agent", "annotations": {"daemonset.kruise.io/progressive-create-pod": "true"}});
    let new =
        object("DaemonSet", "v1beta1", metadata, json!({"scaleStrategy": {"partitionedScaling": false}}));

    assert_eq!(up(&down(&new)), new);
}

/// IN-4, install/T39.
#[test]
fn ss_2_one_namespace_becomes_a_selector() {
    let old = object(
        "SidecarSet",
        "v1alpha1",
        json!({"name": "mesh"}),
        json!({"namespace": "prod", "namespaceSelector": {"matchLabels": {"a": "b"}}}),
    );

    let new = up(&old);

    assert_eq!(
        new["spec"]["namespaceSelector"],
        json!({"matchLabels": {"kubernetes.io/metadata.name": "prod"}})
    );
    // sidecarset/B19: the form that was written comes back, also what stood beside it.
    assert_eq!(down(&new), old);
}

#[test]
fn ss_3_ss_4_the_custom_version_is_a_label_in_v1alpha1_only() {
    let metadata =
        json!({"name": "mesh", "labels": {"apps.kruise.io/sidecarset-custom-version": "v2", "a": "b"}});
    let old = object("SidecarSet", "v1alpha1", metadata, json!({}));

    let new = up(&old);

    assert_eq!(new["spec"]["customVersion"], "v2");
    assert_eq!(new["metadata"]["labels"], json!({"a": "b"}));
    assert_eq!(down(&new), old);
}

#[test]
fn advancedcronjob_b19_an_image_list_survives_v1alpha1() {
    let template = json!({"imageListPullJobTemplate": {"spec": {"images": ["a"], "completionPolicy": {}}}});
    let new = object(
        "AdvancedCronJob",
        "v1beta1",
        json!({"name": "pull"}),
        json!({"schedule": "@daily", "template": template}),
    );

    let old = down(&new);

    assert_eq!(old["spec"]["template"], json!({}));
    assert_eq!(up(&old), new);
}

/// containerrecreaterequest 2.3: annotations are the protocol with agents of released versions.
#[test]
fn recreate_request_status_and_annotations_stand_for_each_other() {
    let snapshot = json!([{"name": "main", "ready": true, "restartCount": 1}]);
    let annotations = json!({
        "crr.apps.kruise.io/sync-container-statuses": snapshot.to_string(),
        "crr.apps.kruise.io/unready-acquired": "2026-01-31T12:00:00Z",
    });
    let mut old = object(
        "ContainerRecreateRequest",
        "v1alpha1",
        json!({"name": "r", "annotations": annotations}),
        json!({}),
    );
    old["status"] = json!({"phase": "Recreating"});

    let new = up(&old);

    assert_eq!(new["status"]["containerStatusSnapshot"], snapshot);
    let condition = &new["status"]["conditions"][0];
    assert_eq!(
        (&condition["type"], &condition["reason"]),
        (&json!("PreRecreateGrace"), &json!("PreRecreateGrace"))
    );
    assert_eq!(condition["lastTransitionTime"], "2026-01-31T12:00:00Z");

    let mut created = new;
    created["metadata"] = json!({"name": "r"});
    let seen = down(&created);
    assert_eq!(
        seen["metadata"]["annotations"]["crr.apps.kruise.io/unready-acquired"],
        "2026-01-31T12:00:00Z"
    );
    assert_eq!(seen["status"], json!({"phase": "Recreating"}));
    assert_eq!(up(&seen), created, "annotations must not show in v1beta1");
}

#[test]
fn recreate_request_annotations_that_cannot_be_read_set_nothing() {
    let annotations = json!({"crr.apps.kruise.io/sync-container-statuses": "{", "crr.apps.kruise.io/unready-acquired": "soon"});
    let old = object(
        "ContainerRecreateRequest",
        "v1alpha1",
        json!({"name": "r", "annotations": annotations}),
        json!({}),
    );

    assert!(up(&old).get("status").is_none());
}

/// podunavailablebudget C2 … C6, pub_b1.
#[test]
fn pub_b1_annotations_become_fields_and_the_ignored_selector_survives() {
    let annotations = json!({"kruise.io/pub-protect-operations": "EVICT, UPDATE,", "pub.kruise.io/protect-total-replicas": "7"});
    let old = object(
        "PodUnavailableBudget",
        "v1alpha1",
        json!({"name": "b", "annotations": annotations}),
        json!({"maxUnavailable": 1}),
    );
    let fields =
        json!({"maxUnavailable": 1, "protectOperations": ["EVICT", "UPDATE"], "protectTotalReplicas": 7});
    assert_eq!(up(&old)["spec"], fields);
    assert_eq!(down(&up(&old)), old);

    let spec =
        json!({"protectOperations": ["DELETE", "RESIZE"], "ignoredPodSelector": {"matchLabels": {"a": "b"}}});
    let new = object("PodUnavailableBudget", "v1beta1", json!({"name": "b"}), spec);
    let seen = down(&new);
    let shown = &seen["metadata"]["annotations"];
    assert_eq!(shown["kruise.io/pub-protect-operations"], "DELETE,RESIZE");
    assert_eq!(
        shown["policy.kruise.io/v1beta1-ignored-pod-selector"],
        json!({"matchLabels": {"a": "b"}}).to_string()
    );
    assert_eq!(seen["spec"], json!({}));
    assert_eq!(up(&seen), new);

    let odd = json!({"kruise.io/pub-protect-operations": "EXPLODE", "pub.kruise.io/protect-total-replicas": "many"});
    let unreadable =
        object("PodUnavailableBudget", "v1alpha1", json!({"name": "b", "annotations": odd}), json!({}));
    assert_eq!(
        up(&unreadable)["spec"],
        json!({}),
        "C6: what cannot be read sets nothing and refuses nothing"
    );
}

/// A v1beta1 client removes a field whose annotation is still there: it must not come back.
#[test]
fn a_removed_field_does_not_come_back_from_its_annotation() {
    let annotations = json!({"apps.kruise.io/image-predownload-parallelism": "5"});
    let new = object(
        "CloneSet",
        "v1beta1",
        json!({"name": "web", "annotations": annotations}),
        json!({"scaleStrategy": {"enablePVCReuse": false}, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"podUpdatePolicy": "InPlaceOnly"}}}),
    );

    assert_eq!(up(&down(&new)), new);
}

#[test]
fn resourcedistribution_fields_are_renamed() {
    let mut old = object(
        "ResourceDistribution",
        "v1alpha1",
        json!({"name": "d"}),
        json!({"targets": {"namespaceLabelSelector": {}}}),
    );
    old["status"] = json!({"conditions": [{"type": "a", "failedNamespace": ["x"]}]});

    let new = up(&old);

    assert_eq!(new["spec"]["targets"], json!({"namespaceSelector": {}}));
    assert_eq!(new["status"]["conditions"][0]["failedNamespaces"], json!(["x"]));
    assert_eq!(down(&new), old);
}

#[test]
fn persistentpodstate_key_lists_are_renamed() {
    let spec = json!({"requiredPersistentTopology": {"nodeTopologyKeys": ["zone"]}, "preferredPersistentTopology": [{"weight": -1, "preference": {"nodeTopologyKeys": ["host"]}}]});
    let old = object("PersistentPodState", "v1alpha1", json!({"name": "s"}), spec);

    let new = up(&old);

    assert_eq!(new["spec"]["requiredPersistentTopology"]["keys"], json!(["zone"]));
    // persistentpodstate/D4: a weight that the hub's schema refuses is still read.
    assert_eq!(
        new["spec"]["preferredPersistentTopology"][0],
        json!({"weight": -1, "preference": {"keys": ["host"]}})
    );
    assert_eq!(down(&new), old);
}

#[test]
fn workloadspread_selectors_are_renamed_and_conditions_become_strict() {
    let spec =
        json!({"subsets": [{"name": "a", "requiredNodeSelectorTerm": {}, "preferredNodeSelectorTerms": []}]});
    let mut old = object("WorkloadSpread", "v1alpha1", json!({"name": "w"}), spec);
    old["status"] = json!({"subsetStatuses": [{"name": "a", "conditions": [{"type": "Schedulable", "status": "True"}]}], "versionedSubsetStatuses": {"v": [{"conditions": [{"type": "x", "status": "True", "reason": "not one word"}]}]}});

    let new = up(&old);

    assert_eq!(
        new["spec"]["subsets"][0],
        json!({"name": "a", "requiredNodeSelector": {}, "preferredNodeSelector": []})
    );
    let strict = json!({"type": "Schedulable", "status": "True", "reason": "Unknown", "message": "", "lastTransitionTime": "1970-01-01T00:00:00Z"});
    assert_eq!(new["status"]["subsetStatuses"][0]["conditions"][0], strict);
    assert_eq!(new["status"]["versionedSubsetStatuses"]["v"][0]["conditions"][0]["reason"], "Unknown");
    assert_eq!(down(&new), old);
}

/// uniteddeployment 2.3.
#[test]
fn uniteddeployment_maps_become_subset_statuses() {
    let mut old = object("UnitedDeployment", "v1alpha1", json!({"name": "u"}), json!({}));
    old["status"] = json!({
        "subsetStatuses": [{"name": "b", "replicas": 1}],
        "subsetReplicas": {"b": 2, "c": 0, "a": 4},
        "updateStatus": {"updatedRevision": "u-1", "currentPartitions": {"b": 1}},
    });

    let new = up(&old);

    let subsets =
        json!([{"name": "b", "replicas": 2, "partition": 1}, {"name": "a", "replicas": 4}, {"name": "c"}]);
    assert_eq!(new["status"], json!({"subsetStatuses": subsets, "updatedRevision": "u-1"}));
    assert_eq!(down(&new), old);
    let mut plain = new;
    plain["metadata"] = json!({"name": "u"});
    let shown = down(&plain);
    assert_eq!(shown["status"]["subsetReplicas"], json!({"b": 2, "a": 4, "c": 0}));
    assert_eq!(
        shown["status"]["updateStatus"],
        json!({"currentPartitions": {"b": 1, "a": 0, "c": 0}, "updatedRevision": "u-1"})
    );
}

#[test]
fn ud_b1_the_old_shape_of_a_cloneset_template_is_converted() {
    let old_shape = json!({"updateStrategy": {"type": "InPlaceIfPossible", "partition": 1}, "scaleStrategy": {"disablePVCReuse": true}});
    let old = object(
        "UnitedDeployment",
        "v1alpha1",
        json!({"name": "u"}),
        json!({"template": {"cloneSetTemplate": {"spec": old_shape}}}),
    );

    let new = up(&old);

    let spec = &new["spec"]["template"]["cloneSetTemplate"]["spec"];
    assert_eq!(
        spec["updateStrategy"]["rollingUpdate"],
        json!({"partition": 1, "podUpdatePolicy": "InPlaceIfPossible"})
    );
    assert_eq!(spec["scaleStrategy"], json!({"enablePVCReuse": false}));
    assert_eq!(down(&new), old);
    let new_shape = json!({"updateStrategy": {"rollingUpdate": {"partition": 1}}});
    let current = object(
        "UnitedDeployment",
        "v1alpha1",
        json!({"name": "u"}),
        json!({"template": {"cloneSetTemplate": {"spec": new_shape}}}),
    );
    assert_eq!(up(&current)["spec"], current["spec"]);
}

#[test]
fn nodeimage_secret_mode_survives_v1alpha1() {
    let secrets = json!([{"name": "s", "namespace": "n", "mode": "batch"}]);
    let new = object(
        "NodeImage",
        "v1beta1",
        json!({"name": "node"}),
        json!({"images": {"nginx": {"tags": [], "pullSecrets": secrets}}}),
    );

    let old = down(&new);

    assert_eq!(old["spec"]["images"]["nginx"]["pullSecrets"], json!([{"name": "s", "namespace": "n"}]));
    assert_eq!(up(&old), new);
}

#[test]
fn versions_of_one_shape_keep_everything_but_the_version() {
    for kind in ["BroadcastJob", "ImagePullJob", "ImageListPullJob"] {
        let old = object(kind, "v1alpha1", json!({"name": "j"}), json!({"anything": [1, null]}));
        let mut expected = old.clone();
        expected["apiVersion"] = json!("apps.kruise.io/v1beta1");
        assert_eq!(up(&old), expected);
    }
}

#[test]
fn an_annotation_of_ours_that_somebody_else_wrote_does_no_harm() {
    for text in ["", "{", "[1]", "[{\"path\":[],\"to\":1}]", "[{\"path\":[\"spec\",\"x\",\"y\"],\"to\":1}]"] {
        let annotations = json!({V1BETA1_FIELDS: text, V1ALPHA1_FIELDS: text});
        let old = object(
            "CloneSet",
            "v1alpha1",
            json!({"name": "web", "annotations": annotations}),
            json!({"replicas": 1}),
        );
        assert_eq!(up(&old)["spec"]["replicas"], 1, "{text}");
    }
}

#[test]
fn typed_objects_convert_too() {
    let json = object(
        "CloneSet",
        "v1alpha1",
        json!({"name": "web"}),
        json!({"selector": {}, "template": {}, "updateStrategy": {"type": "InPlaceOnly"}}),
    );
    let old: cloneset::v1alpha1::CloneSet = read_value(json).unwrap();

    let new: cloneset::CloneSet = convert_to(&old).unwrap();

    let rolling = new.spec.update_strategy.clone().and_then(|strategy| strategy.rolling_update).unwrap();
    assert_eq!(rolling.pod_update_policy, Some(kruise_api::parts::PodUpdatePolicy::InPlaceOnly));
    assert_eq!(convert_to::<cloneset::v1alpha1::CloneSet>(&new).unwrap(), old);
    assert!(convert_to::<statefulset::StatefulSet>(&old).is_err());
}
