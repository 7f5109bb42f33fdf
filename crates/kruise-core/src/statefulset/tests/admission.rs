//! Sections 2.1 and 6 of the specification, against recorded objects and refusals.

use super::super::admission::{Storage, default, default_claims, validate, validate_name, warn};
use super::*;
use crate::golden;

fn all_gates() -> Gates {
    Gates::default()
        .with(Gate::DefaultHostNetworkHostPortsInPodTemplates)
        .with(Gate::StatefulSetAutoResizePvc)
        .with(Gate::InPlaceWorkloadVerticalScaling)
}

fn defaulted(spec: &Value, old: Option<&Value>, gates: &Gates) -> Value {
    let mut spec = spec.clone();
    default(&mut spec, old, gates).unwrap();
    default_claims(spec.as_object_mut().unwrap(), gates);
    spec
}

/// Fields at fault.
fn fields(spec: &Value, old: Option<&Value>) -> Vec<String> {
    let storage = Storage {
        classes: [("fast", Expansion::Allowed), ("silent", Expansion::Refused)]
            .map(|(name, can)| (name.to_owned(), can))
            .into(),
        default: Some("silent".to_owned()),
    };
    validate(spec, old, &storage, &all_gates()).iter().map(|fault| fault.field.clone()).collect()
}

/// A spec without faults.
fn good() -> Value {
    defaulted(&parallel().object["spec"], None, &all_gates())
}

/// [`good`] with a value at a path under `spec`.
fn with(path: &str, value: Value) -> Value {
    let mut spec = good();
    let (parent, key) = path.rsplit_once('/').unwrap();
    let mut at = &mut spec;
    for part in parent.split('/').filter(|part| !part.is_empty()) {
        at = match part.parse::<usize>() {
            Ok(position) => &mut at[position],
            Err(_) => &mut at[part],
        };
    }
    at[key] = value;
    spec
}

#[test]
fn defaults_match_every_recorded_object_and_recorded_refusals_are_refused() {
    let (mut stored, mut refusals) = (0, 0);
    for (file, recorded) in golden::folder("statefulset") {
        let spec = defaulted(&recorded["input"]["spec"], None, &all_gates());
        let faults = validate(&spec, None, &Storage::default(), &all_gates());
        if recorded["refused"].is_null() {
            assert_eq!(spec, recorded["stored_v1beta1"]["spec"], "{file}");
            assert!(faults.is_empty(), "{file}: {faults}");
            stored += 1;
        } else {
            assert!(!faults.is_empty(), "{file}");
            refusals += 1;
        }
    }
    assert!(stored >= 15 && refusals >= 2, "{stored} {refusals}");
}

#[test]
fn as_99_a_stored_template_is_left_alone_unless_the_request_changes_it() {
    let bare = json!({
        "template": {"spec": {"containers": [{"name": "a", "image": "i"}]}},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
    });
    let is_defaulted = |old: Option<&Value>, gates: &Gates| {
        let spec = defaulted(&bare, old, gates);
        let is_full = spec["template"]["spec"]["dnsPolicy"] == "ClusterFirst";
        assert_eq!(spec["volumeClaimTemplates"][0]["status"]["phase"] == "Pending", is_full);
        is_full
    };

    assert!(is_defaulted(None, &Gates::default()));
    assert!(!is_defaulted(Some(&bare), &Gates::default()), "nobody touched it");
    let mut other_claims = bare.clone();
    other_claims["volumeClaimTemplates"] = json!([]);
    assert!(!is_defaulted(Some(&other_claims), &Gates::default()), "claims alone get no defaults");
    assert!(is_defaulted(Some(&json!({"template": {}})), &Gates::default()));
    assert!(!is_defaulted(None, &Gates::default().with(Gate::TemplateNoDefaults)));
}

#[test]
fn defaults_follow_type_and_gates() {
    let on_delete = defaulted(&json!({"updateStrategy": {"type": "OnDelete"}}), None, &Gates::default());
    assert_eq!(on_delete["updateStrategy"], json!({"type": "OnDelete"}));
    assert_eq!(on_delete["persistentVolumeClaimRetentionPolicy"]["whenScaled"], "Retain");
    assert_eq!(on_delete.get("volumeClaimUpdateStrategy"), None, "its gate is off");
    let without = Gates::default().without(Gate::StatefulSetAutoDeletePvc);
    assert_eq!(defaulted(&json!({}), None, &without).get("persistentVolumeClaimRetentionPolicy"), None);
}

#[test]
fn every_refusal_of_section_6_2_names_its_field() {
    let rolling = "/updateStrategy/rollingUpdate";
    let refused: Vec<(String, Value, &str)> = vec![
        ("/podManagementPolicy".into(), json!("Random"), "spec.podManagementPolicy"),
        ("/updateStrategy/type".into(), json!("Sometimes"), "spec.updateStrategy.type"),
        ("/updateStrategy/type".into(), json!("OnDelete"), "spec.updateStrategy.rollingUpdate"),
        (format!("{rolling}/partition"), json!(-1), "spec.updateStrategy.rollingUpdate.partition"),
        (
            format!("{rolling}/minReadySeconds"),
            json!(301),
            "spec.updateStrategy.rollingUpdate.minReadySeconds",
        ),
        (
            format!("{rolling}/minReadySeconds"),
            json!(-1),
            "spec.updateStrategy.rollingUpdate.minReadySeconds",
        ),
        (format!("{rolling}/maxUnavailable"), json!(0), "spec.updateStrategy.rollingUpdate.maxUnavailable"),
        (
            format!("{rolling}/maxUnavailable"),
            json!("0%"),
            "spec.updateStrategy.rollingUpdate.maxUnavailable",
        ),
        (
            format!("{rolling}/maxUnavailable"),
            json!("many"),
            "spec.updateStrategy.rollingUpdate.maxUnavailable",
        ),
        ("/scaleStrategy".into(), json!({"maxUnavailable": "0%"}), "spec.scaleStrategy.maxUnavailable"),
        (
            format!("{rolling}/podUpdatePolicy"),
            json!("InPlaceNever"),
            "spec.updateStrategy.rollingUpdate.podUpdatePolicy",
        ),
        (format!("{rolling}/podUpdatePolicy"), json!("InPlaceOnly"), "spec.template.spec.readinessGates"),
        ("/reserveOrdinals".into(), json!([1, "3"]), "spec.reserveOrdinals[1]"),
        ("/reserveOrdinals".into(), json!(["5-3"]), "spec.reserveOrdinals[0]"),
        ("/reserveOrdinals".into(), json!([-1]), "spec.reserveOrdinals[0]"),
        ("/replicas".into(), json!(-1), "spec.replicas"),
        ("/selector".into(), json!(null), "spec.selector"),
        ("/selector".into(), json!({}), "spec.selector"),
        ("/selector/matchLabels/app".into(), json!("other"), "spec.template.metadata.labels"),
        ("/template/spec/restartPolicy".into(), json!("Never"), "spec.template.spec.restartPolicy"),
        ("/template/spec/activeDeadlineSeconds".into(), json!(5), "spec.template.spec.activeDeadlineSeconds"),
        (
            "/persistentVolumeClaimRetentionPolicy/whenScaled".into(),
            json!("Forget"),
            "spec.persistentVolumeClaimRetentionPolicy.whenScaled",
        ),
        (
            format!("{rolling}/unorderedUpdate"),
            json!({"priorityStrategy": {"orderPriority": [{}]}}),
            "spec.updateStrategy.rollingUpdate.unorderedUpdate.priorityStrategy.orderPriority[0].orderedKey",
        ),
    ];
    assert_eq!(fields(&good(), None), Vec::<String>::new());
    for (path, value, field) in refused {
        assert!(fields(&with(&path, value.clone()), None).contains(&field.to_owned()), "{path} {value}");
    }
}

/// statefulset/B15: upstream accepts them and then cannot work with them.
#[test]
fn statefulset_b15_negative_start_and_history_are_refused() {
    assert_eq!(fields(&with("/ordinals", json!({"start": -1})), None), ["spec.ordinals.start"]);
    assert_eq!(fields(&with("/revisionHistoryLimit", json!(-1)), None), ["spec.revisionHistoryLimit"]);
}

/// statefulset/B26: as the original: one at a time is what OrderedReady means.
#[test]
fn statefulset_b26_larger_limits_and_free_order_need_parallel() {
    let mut spec = with("/updateStrategy/rollingUpdate/maxUnavailable", json!("50%"));
    spec["updateStrategy"]["rollingUpdate"]["unorderedUpdate"] = json!({});
    spec["scaleStrategy"] = json!({"maxUnavailable": 2});
    assert_eq!(fields(&spec, None), Vec::<String>::new());

    spec["podManagementPolicy"] = json!("OrderedReady");

    let rolling = "spec.updateStrategy.rollingUpdate";
    let expected = [
        "spec.scaleStrategy.maxUnavailable".to_owned(),
        format!("{rolling}.maxUnavailable"),
        format!("{rolling}.unorderedUpdate"),
    ];
    assert_eq!(fields(&spec, None), expected);
}

/// statefulset/B25: only new objects have their name checked.
#[test]
fn statefulset_b25_names_are_labels() {
    for name in ["web", "a-1", "x".repeat(63).as_str()] {
        assert!(validate_name(name).is_empty(), "{name}");
    }
    for name in ["web.site", "-web", "web-", "Web", "x".repeat(64).as_str(), ""] {
        assert!(!validate_name(name).is_empty(), "{name}");
    }
}

#[test]
fn only_selector_service_and_management_are_immutable() {
    let old = good();
    for (path, value) in [
        ("/selector/matchLabels/more", json!("x")),
        ("/serviceName", json!("other")),
        ("/podManagementPolicy", json!("OrderedReady")),
    ] {
        let field = format!("spec.{}", path.split('/').nth(1).unwrap());
        assert!(fields(&with(path, value), Some(&old)).contains(&field), "{path}");
    }
    for (path, value) in [
        ("/replicas", json!(9)),
        ("/scaleStrategy", json!({"maxUnavailable": 1})),
        ("/reserveOrdinals", json!([3])),
        ("/ordinals", json!({"start": 2})),
        ("/lifecycle", json!({})),
        ("/revisionHistoryLimit", json!(2)),
        ("/persistentVolumeClaimRetentionPolicy/whenScaled", json!("Delete")),
        ("/volumeClaimTemplates", json!([])),
    ] {
        assert_eq!(fields(&with(path, value), Some(&old)), Vec::<String>::new(), "{path}");
    }
}

/// statefulset/B14, AS-59: what InPlaceOnly lets through is what an update in place can do, no less and no more.
#[test]
fn as_59_statefulset_b14_in_place_only_refuses_what_needs_a_new_pod() {
    let mut old = with("/updateStrategy/rollingUpdate/podUpdatePolicy", json!("InPlaceOnly"));
    old["template"]["spec"]["readinessGates"] = json!([{"conditionType": "InPlaceUpdateReady"}]);
    old["template"]["spec"]["containers"][0]["resources"] =
        json!({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}});
    let edit = |path: &str, value: Value| {
        let mut spec = old.clone();
        let (parent, key) = path.rsplit_once('/').unwrap();
        spec.pointer_mut(parent).unwrap()[key] = value;
        spec
    };
    let main = "/template/spec/containers/0";
    for (path, value) in [
        (format!("{main}/image"), json!("nginx:9")),
        ("/template/metadata/annotations".into(), json!({"a": "b"})),
        (format!("{main}/resources/limits/cpu"), json!("3")),
    ] {
        assert_eq!(fields(&edit(&path, value), Some(&old)), Vec::<String>::new(), "{path}");
    }
    for (path, value) in [
        (format!("{main}/imagePullPolicy"), json!("Never")),
        (format!("{main}/env"), json!([{"name": "A", "value": "b"}])),
        (format!("{main}/resources/limits/cpu"), json!("1")),
    ] {
        assert_eq!(fields(&edit(&path, value), Some(&old)).len(), 1, "{path}");
    }
    let small = edit(&format!("{main}/resources/limits/cpu"), json!("3"));
    let faults = validate(&small, Some(&old), &Storage::default(), &Gates::default());
    assert!(!faults.is_empty(), "without its gate a resize needs a new pod");
}

fn growing(class: Option<&str>, size: &str) -> Value {
    let mut spec = with("/volumeClaimUpdateStrategy", json!({"type": "OnPodRollingUpdate"}));
    spec["volumeClaimTemplates"] = json!([{
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": class, "resources": {"requests": {"storage": size}}},
    }]);
    spec
}

/// statefulset/B12: a class that says nothing about growth is refused at once, not by a rollout that never ends.
#[test]
fn statefulset_b12_only_classes_that_say_so_can_grow() {
    let resources = "spec.volumeClaimTemplates[0].spec.resources".to_owned();
    for (class, expected) in [
        (Some("fast"), vec![]),
        (Some("silent"), vec![resources.clone()]),
        (Some("gone"), vec![resources.clone()]),
        (None, vec![resources]),
    ] {
        let old = growing(class, "1Gi");
        assert_eq!(fields(&growing(class, "2Gi"), Some(&old)), expected, "{class:?}");
        assert_eq!(fields(&growing(class, "1024Mi"), Some(&old)), Vec::<String>::new(), "the same size");
    }
    let unchecked =
        validate(&growing(None, "2Gi"), Some(&growing(None, "1Gi")), &Storage::default(), &all_gates());
    assert!(unchecked.is_empty(), "no default class is known: {unchecked}");
    let shrunk = fields(&growing(Some("fast"), "512Mi"), Some(&growing(Some("fast"), "1Gi")));
    assert_eq!(shrunk, Vec::<String>::new(), "AS-89: it never shrinks a claim");
}

/// statefulset/B13: the strategy of the new object decides.
#[test]
fn statefulset_b13_claim_rules_follow_the_new_strategy() {
    let (old, mut new) = (growing(Some("silent"), "1Gi"), growing(Some("silent"), "2Gi"));
    new["volumeClaimUpdateStrategy"]["type"] = json!("OnDelete");
    assert_eq!(fields(&new, Some(&old)), Vec::<String>::new());
    assert_eq!(fields(&old, Some(&new)).len(), 1);

    let mut renamed = growing(Some("fast"), "1Gi");
    renamed["volumeClaimTemplates"][0]["metadata"]["name"] = json!("other");
    assert_eq!(fields(&renamed, Some(&growing(Some("fast"), "1Gi"))), ["spec.volumeClaimTemplates"]);
    assert_eq!(
        fields(&growing(Some("silent"), "1Gi"), Some(&growing(Some("fast"), "1Gi"))),
        ["spec.volumeClaimTemplates[0].spec.storageClassName"]
    );
}

/// statefulset/B11: adding or renaming a claim is possible, and its effect is told.
#[test]
fn statefulset_b11_changed_claims_are_warned_of() {
    let (old, mut new) = (good(), good());
    assert!(warn("web", &new, Some(&old)).is_empty());
    new["volumeClaimTemplates"] = json!([{"metadata": {"name": "more"}}]);
    assert_eq!(warn("web", &new, Some(&old)).len(), 1);
    assert!(warn("web", &new, None).is_empty(), "a new object surprises nobody");
    assert_eq!(warn(&"x".repeat(53), &old, None).len(), 1);
}

#[test]
fn percentage_that_rounds_to_no_pod_is_warned_of_and_counts_as_one() {
    let with = |unavailable: &str, scale: &str| {
        let rolling = json!({"rollingUpdate": {"maxUnavailable": unavailable}});
        json!({"replicas": 3, "updateStrategy": rolling, "scaleStrategy": {"maxUnavailable": scale}})
    };
    assert_eq!(warn("web", &with("34%", "100%"), None), Vec::<String>::new());
    let both = warn("web", &with("20%", "10%"), None);
    assert_eq!(both.len(), 2);
    assert!(
        both[0].contains("rollingUpdate.maxUnavailable: 20% of 3 replicas rounds to 0 pods; it counts as 1")
    );
    assert!(both[1].starts_with("spec.scaleStrategy.maxUnavailable: 10%"));
}
