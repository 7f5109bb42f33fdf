//! CS-100 … CS-106 against recorded objects and refusals.

use kruise_api::convert;

use super::*;
use crate::admission::Faults;
use crate::cloneset::admission::{Named, default, validate, validate_v1alpha1, warn};
use crate::golden;

/// The object as v1beta1.
fn hub(object: &Value) -> Value {
    convert(object.clone(), "v1beta1").unwrap()
}

fn all_gates() -> Gates {
    Gates::default().with(Gate::DefaultHostNetworkHostPortsInPodTemplates)
}

/// Everything that admission would say about a new object.
fn refused(object: &Value) -> Option<String> {
    let mut beta = hub(object);
    let alpha = if object["apiVersion"] == "apps.kruise.io/v1alpha1" {
        validate_v1alpha1(&object["spec"])
    } else {
        Faults::default()
    };
    if let Err(error) = default(&mut beta["spec"], None, &all_gates()) {
        return Some(error.to_string());
    }
    let faults = validate(&beta["spec"], None, &Named::default());
    (!faults.is_empty() || !alpha.is_empty()).then(|| format!("{alpha}{faults}"))
}

#[test]
fn cs_100_cs_101_and_sm_90_defaults_match_every_recorded_object() {
    let mut checked = 0;
    for (file, recorded) in golden::folder("cloneset") {
        if recorded["stored_v1beta1"].is_null() {
            continue;
        }
        let mut ours = hub(&recorded["input"]);

        default(&mut ours["spec"], None, &all_gates()).unwrap();

        // The original drops what is written but empty; ours keeps what the user wrote.
        for path in ["/spec/scaleStrategy", "/spec/updateStrategy/rollingUpdate"] {
            if let Some(Value::Object(object)) = ours.pointer_mut(path) {
                object.retain(|key, value| {
                    key == "enablePVCReuse" || !(*value == json!([]) || *value == json!(false))
                });
            }
        }
        assert_eq!(ours["spec"], recorded["stored_v1beta1"]["spec"], "{file}");
        checked += 1;
    }
    assert!(checked >= 24, "{checked}");
}

#[test]
fn cs_101_template_defaults_are_injected_only_when_the_template_changed() {
    let bare = json!({"replicas": 1, "template": {"spec": {"containers": [{"name": "a", "image": "i"}]}}});
    let defaulted = |old: Option<&Value>, gates: &Gates| {
        let mut spec = bare.clone();
        default(&mut spec, old, gates).unwrap();
        spec["template"]["spec"]["dnsPolicy"] == "ClusterFirst"
    };

    assert!(defaulted(None, &Gates::default()));
    assert!(!defaulted(Some(&bare), &Gates::default()));
    assert!(defaulted(Some(&json!({"template": {}})), &Gates::default()));
    assert!(!defaulted(None, &Gates::default().with(Gate::TemplateNoDefaults)));
}

#[test]
fn cs_102_and_cs_104_recorded_refusals_are_refused_and_recorded_objects_accepted() {
    let mut refusals = 0;
    let all = golden::folder("cloneset").into_iter().chain(golden::folder("refusals"));
    for (file, recorded) in all.filter(|(_, recorded)| recorded["input"]["kind"] == "CloneSet") {
        // An image that is missing is found by the API server itself.
        let ours = refused(&recorded["input"]);
        if recorded["refused"].is_string() && !file.contains("noimage") {
            assert!(ours.is_some(), "{file} must be refused: {}", recorded["refused"]);
            refusals += 1;
        } else if !recorded["stored_v1beta1"].is_null() {
            assert_eq!(ours, None, "{file}");
        }
    }
    assert!(refusals >= 10, "{refusals}");
}

fn spec() -> Value {
    json!({"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]}}, "updateStrategy": {"rollingUpdate": {"maxUnavailable": 1}}})
}

fn with(path: &str, value: Value) -> Value {
    let mut changed = spec();
    let (parent, key) = path.rsplit_once('/').unwrap();
    let mut at = &mut changed;
    for part in parent.split('/').filter(|part| !part.is_empty()) {
        at = &mut at[part];
    }
    at[key] = value;
    changed
}

fn fields(spec: &Value, old: Option<&Value>) -> Vec<String> {
    validate(spec, old, &Named::default()).iter().map(|fault| fault.field.clone()).collect()
}

#[test]
fn cs_102_cs_105_each_rule_names_its_field() {
    const R: &str = "/updateStrategy/rollingUpdate";
    for (path, value, field) in [
        ("/replicas", json!(-1), "spec.replicas"),
        ("/selector", json!({}), "spec.selector"),
        ("/selector", json!({"matchLabels": {"a": "c"}}), "spec.template.metadata.labels"),
        ("/template/spec/restartPolicy", json!("Never"), "spec.template.spec.restartPolicy"),
        ("/template/spec/activeDeadlineSeconds", json!(5), "spec.template.spec.activeDeadlineSeconds"),
        ("/scaleStrategy/podsToDelete", json!(["x"]), "spec.scaleStrategy.podsToDelete"),
        ("/updateStrategy/type", json!("InPlaceIfPossible"), "spec.updateStrategy.type"),
        (&format!("{R}/podUpdatePolicy"), json!("Odd"), "spec.updateStrategy.rollingUpdate.podUpdatePolicy"),
        (&format!("{R}/partition"), json!("5"), "spec.updateStrategy.rollingUpdate.partition"),
        (&format!("{R}/partition"), json!(-1), "spec.updateStrategy.rollingUpdate.partition"),
        (&format!("{R}/maxSurge"), json!("x%"), "spec.updateStrategy.rollingUpdate.maxSurge"),
        (&format!("{R}/maxUnavailable"), json!(0), "spec.updateStrategy.rollingUpdate.maxUnavailable"),
        (
            &format!("{R}/scatterStrategy"),
            json!([{"key": "a", "value": "b"}, {"key": "a", "value": "b"}]),
            "spec.updateStrategy.rollingUpdate.scatterStrategy[1]",
        ),
        (
            &format!("{R}/priorityStrategy"),
            json!({"weightPriority": [{"weight": 101, "matchSelector": {"matchLabels": {"a": "b"}}}]}),
            "spec.updateStrategy.rollingUpdate.priorityStrategy.weightPriority[0].weight",
        ),
        (
            &format!("{R}/priorityStrategy"),
            json!({"orderPriority": [{"orderedKey": ""}]}),
            "spec.updateStrategy.rollingUpdate.priorityStrategy.orderPriority[0].orderedKey",
        ),
        (
            &format!("{R}/inPlaceUpdateStrategy"),
            json!({"imagePreDownloadParallelism": "10%"}),
            "spec.updateStrategy.rollingUpdate.inPlaceUpdateStrategy.imagePreDownloadParallelism",
        ),
    ] {
        assert_eq!(fields(&with(path, value), None), [field], "{path}");
    }
    assert!(fields(&spec(), None).is_empty());
}

#[test]
fn cloneset_b1_no_unavailable_with_surge_is_accepted() {
    let surge = with("/updateStrategy/rollingUpdate", json!({"maxUnavailable": 0, "maxSurge": 1}));

    assert!(fields(&surge, None).is_empty());
    let only = with(
        "/updateStrategy/rollingUpdate",
        json!({"maxUnavailable": 1, "maxSurge": 1, "podUpdatePolicy": "InPlaceOnly"}),
    );
    assert_eq!(fields(&only, None), ["spec.updateStrategy.rollingUpdate.maxSurge"]);
}

#[test]
fn cs_103_only_the_selector_and_unknown_fields_are_immutable() {
    let old = spec();

    assert_eq!(
        fields(
            &with(
                "/selector",
                json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]})
            ),
            Some(&old)
        ),
        ["spec.selector"]
    );
    assert!(fields(&with("/replicas", json!(9)), Some(&old)).is_empty());
    assert!(fields(&with("/minReadySeconds", json!(9)), Some(&old)).is_empty());
}

#[test]
fn cs_104_named_pods_must_be_running_pods_of_this_object() {
    let new = with("/scaleStrategy/podsToDelete", json!(["mine", "other"]));
    let named = Named { owned: ["mine".to_owned()].into() };

    let faults = validate(&new, Some(&spec()), &named);

    assert_eq!(faults.iter().count(), 1);
    assert!(faults.to_string().contains("other"));
    let twice = with("/scaleStrategy/podsToDelete", json!(["mine", "mine"]));
    assert!(validate(&twice, Some(&spec()), &named).to_string().contains("twice"));
    assert!(validate(&new, Some(&new), &Named::default()).is_empty(), "names that were there stay");
    assert_eq!(validate(&new, None, &Named::default()).iter().count(), 2, "a new object has no pods to name");
}

#[test]
fn cs_104_v1alpha1_has_no_on_delete() {
    let alpha = |kind: &str| validate_v1alpha1(&json!({"updateStrategy": {"type": kind}})).is_empty();

    assert!(alpha("InPlaceOnly") && alpha("") && alpha("ReCreate"));
    assert!(!alpha("OnDelete") && !alpha("RollingUpdate"));
}

#[test]
fn cs_106_in_place_only_refuses_changes_that_would_never_be_made() {
    let only = |image: &str, command: Value| {
        let mut changed = with("/updateStrategy/rollingUpdate/podUpdatePolicy", json!("InPlaceOnly"));
        changed["template"]["spec"]["containers"][0] =
            json!({"name": "c", "image": image, "command": command});
        changed
    };
    let old = only("i", Value::Null);

    assert!(fields(&only("j", Value::Null), Some(&old)).is_empty());
    assert_eq!(fields(&only("i", json!(["sh"])), Some(&old)), ["spec.template.spec.containers.0.command"]);
}

#[test]
fn cs_106_and_cloneset_b16_negative_numbers_and_impossible_deadlines_are_refused() {
    for (path, field) in
        [("/minReadySeconds", "spec.minReadySeconds"), ("/revisionHistoryLimit", "spec.revisionHistoryLimit")]
    {
        assert_eq!(fields(&with(path, json!(-1)), None), [field]);
    }
    let grace =
        with("/updateStrategy/rollingUpdate/inPlaceUpdateStrategy", json!({"gracePeriodSeconds": -1}));
    assert_eq!(
        fields(&grace, None),
        ["spec.updateStrategy.rollingUpdate.inPlaceUpdateStrategy.gracePeriodSeconds"]
    );
    let mut late = with("/minReadySeconds", json!(60));
    late["progressDeadlineSeconds"] = json!(60);
    assert_eq!(fields(&late, None), ["spec.progressDeadlineSeconds"]);
    late["progressDeadlineSeconds"] = json!(i32::MAX);
    assert!(fields(&late, None).is_empty());
    let bare = with("/updateStrategy", json!({"type": "OnDelete", "rollingUpdate": {"maxUnavailable": 1}}));
    assert!(fields(&bare, None).is_empty(), "a partition that is not written is 0");
}

#[test]
fn cloneset_b20_long_names_are_warned_about() {
    assert_eq!(warn(&"n".repeat(52), &json!({}), &Gates::default()).len(), 0);
    assert_eq!(warn(&"n".repeat(53), &json!({}), &Gates::default()).len(), 1);
    assert_eq!(warn(&"n".repeat(53), &json!({}), &Gates::default().with(Gate::CloneSetShortHash)).len(), 0);
}

/// CS-30: legal, and surely not meant.
#[test]
fn cs_30_percentage_that_rounds_to_no_pod_is_warned_of() {
    let with = |replicas: u32, unavailable: Value, surge: Value| {
        let rolling = json!({"maxUnavailable": unavailable, "maxSurge": surge});
        json!({"replicas": replicas, "updateStrategy": {"rollingUpdate": rolling}})
    };
    for (spec, warned) in [
        (with(7, json!("10%"), json!(1)), true),
        (with(10, json!("10%"), json!(1)), false),
        (with(7, json!("10%"), json!(0)), false),
        (with(7, json!("0%"), json!(1)), false),
        (with(7, json!(0), json!("10%")), false),
        (with(0, json!("10%"), json!(1)), false),
    ] {
        let warnings = warn("web", &spec, &Gates::default());
        assert_eq!(!warnings.is_empty(), warned, "{spec}: {warnings:?}");
        let text = warnings.concat();
        assert!(
            !warned || text.contains("rollingUpdate.maxUnavailable: 10% of 7 replicas rounds to 0"),
            "{text}"
        );
        assert!(text.len() < 256, "the API server cuts longer ones");
    }
}
