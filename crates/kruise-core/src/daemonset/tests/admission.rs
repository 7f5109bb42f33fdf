//! §6: defaults and rules, in both versions.

use kruise_api::convert;

use super::*;
use crate::admission::fixtures::Surroundings;
use crate::admission::versions::{self, Case, Rules, Version};
use crate::admission::{Fault, FaultKind, Request};
use crate::golden;

fn spec() -> Value {
    set(0).object["spec"].clone()
}

fn with(path: &str, value: Value) -> Value {
    set(0).spec(path, value).object["spec"].clone()
}

fn rolling(field: &str, value: Value) -> Value {
    with(&format!("updateStrategy/rollingUpdate/{field}"), value)
}

fn fields(spec: &Value, old: Option<&Value>) -> Vec<String> {
    let gates = Gates::default();
    let case = Case { name: "web", spec, old, facts: &(), template: &[], gates: &gates };
    DaemonSet::validate(&case).iter().map(|fault| fault.field.clone()).collect()
}

fn defaulted(spec: &Value) -> Value {
    let mut spec = spec.clone();
    DaemonSet::default(Version::V1beta1, &mut spec, None, &Gates::default()).unwrap();
    spec
}

/// The template is never given defaults.
#[test]
fn daemonset_defaults_match_every_recorded_object() {
    let mut checked = 0;
    for (file, recorded) in golden::folder("daemonset") {
        if recorded["stored_v1beta1"].is_null() {
            continue;
        }
        let mut input = recorded["input"].clone();
        let is_older = input["apiVersion"] == "apps.kruise.io/v1alpha1";
        if is_older {
            DaemonSet::complete_v1alpha1(&mut input);
        }
        let ours = defaulted(&convert(input, "v1beta1").unwrap()["spec"]);
        let mut theirs = recorded["stored_v1beta1"]["spec"].clone();
        // Upstream writes its empty fields into templates; ours leaves them as the user wrote them.
        theirs["template"] = ours["template"].clone();
        assert_eq!(ours, theirs, "{file}");
        assert_eq!(ours["template"], recorded["input"]["spec"]["template"], "{file}");
        checked += 1;
    }
    assert!(checked >= 4, "{checked}");
}

#[test]
fn with_one_amount_given_the_other_stays_unset() {
    let only = |field: &str| {
        let mut spec = spec();
        spec["updateStrategy"]["rollingUpdate"] = json!({field: 2});
        defaulted(&spec)["updateStrategy"]["rollingUpdate"].clone()
    };
    assert_eq!(only("maxSurge"), json!({"maxSurge": 2, "rollingUpdateType": "Standard"}));
    assert_eq!(only("maxUnavailable"), json!({"maxUnavailable": 2, "rollingUpdateType": "Standard"}));
    let on_delete = defaulted(&with("updateStrategy", json!({"type": "OnDelete"})));
    assert_eq!(on_delete["updateStrategy"], json!({"type": "OnDelete"}));
}

/// V2, V4 … V7, B6, acceptance 24.
#[test]
fn daemonset_v2_v4_v5_v6_v7_b6_each_rule_names_its_field() {
    let r = "spec.updateStrategy.rollingUpdate";
    for (spec, field) in [
        (with("selector", json!({})), "spec.selector".to_owned()),
        (
            with("selector", json!({"matchLabels": {"app": "other"}})),
            "spec.template.metadata.labels".to_owned(),
        ),
        (with("template/spec/restartPolicy", json!("Never")), "spec.template.spec.restartPolicy".to_owned()),
        (
            with("template/spec/activeDeadlineSeconds", json!(1)),
            "spec.template.spec.activeDeadlineSeconds".to_owned(),
        ),
        (with("minReadySeconds", json!(-1)), "spec.minReadySeconds".to_owned()),
        (with("revisionHistoryLimit", json!(-1)), "spec.revisionHistoryLimit".to_owned()),
        (with("lifecycle", json!({"inPlaceUpdate": {}})), "spec.lifecycle.inPlaceUpdate".to_owned()),
        (with("updateStrategy/type", json!("Sometimes")), "spec.updateStrategy.type".to_owned()),
        (with("updateStrategy", json!({"type": "RollingUpdate"})), r.to_owned()),
        (with("burstReplicas", json!("many")), "spec.burstReplicas".to_owned()),
        (rolling("maxUnavailable", json!(-1)), format!("{r}.maxUnavailable")),
        (rolling("maxUnavailable", json!("101%")), format!("{r}.maxUnavailable")),
        (rolling("maxUnavailable", json!("5")), format!("{r}.maxUnavailable")),
        (rolling("maxUnavailable", json!("0%")), format!("{r}.maxUnavailable")),
        (rolling("maxSurge", json!(1)), format!("{r}.maxSurge")),
        (rolling("partition", json!("200%")), format!("{r}.partition")),
        (rolling("partition", json!(-1)), format!("{r}.partition")),
        (
            rolling("selector", json!({"matchExpressions": [{"key": "a", "operator": "Near"}]})),
            format!("{r}.selector"),
        ),
    ] {
        assert_eq!(fields(&spec, None), [field], "{spec}");
    }
    let surge = json!({"maxSurge": 1, "maxUnavailable": 0, "rollingUpdateType": "InPlaceIfPossible"});
    assert_eq!(fields(&with("updateStrategy/rollingUpdate", surge), None), [format!("{r}.maxSurge")]);
    let unreadable = json!({"maxSurge": 1, "maxUnavailable": "abc", "rollingUpdateType": "Standard"});
    assert!(
        fields(&with("updateStrategy/rollingUpdate", unreadable), None)
            .contains(&format!("{r}.maxUnavailable"))
    );
    for fine in [
        spec(),
        rolling("partition", json!("100%")),
        rolling("maxUnavailable", json!("100%")),
        with("revisionHistoryLimit", json!(0)),
    ] {
        assert_eq!(fields(&fine, None), Vec::<String>::new(), "{fine}");
    }
}

/// V3.
#[test]
fn daemonset_v3_the_api_server_says_what_is_wrong_with_the_template() {
    let fault = Fault {
        field: "spec.template.spec.containers".to_owned(),
        kind: FaultKind::Required,
        message: String::new(),
    };
    let (spec, gates) = (spec(), Gates::default());
    let case = Case {
        name: "web",
        spec: &spec,
        old: None,
        facts: &(),
        template: std::slice::from_ref(&fault),
        gates: &gates,
    };
    assert_eq!(DaemonSet::validate(&case).iter().count(), 1);
}

/// V8.
#[test]
fn daemonset_v8_only_the_selector_cannot_be_changed() {
    let old = spec();
    let labels = json!({"app": "web", "more": "x"});
    let mut new = with("selector", json!({"matchLabels": labels}));
    new["template"]["metadata"]["labels"] = labels;
    assert_eq!(fields(&new, Some(&old)), ["spec.selector"]);
    let mut changed = with("template", template("nginx:9"));
    changed["burstReplicas"] = json!(1);
    changed["scaleStrategy"] = json!({"partitionedScaling": true});
    changed["minReadySeconds"] = json!(3);
    changed["lifecycle"] = json!({"preDelete": {}});
    assert_eq!(fields(&changed, Some(&old)), Vec::<String>::new());
}

/// V6 in v1alpha1, acceptance 21: Surging becomes maxSurge 1, and knows no maxUnavailable.
#[test]
fn daemonset_v6_surging_becomes_a_surge_of_one() {
    let object = |rolling: Value| {
        json!({
            "apiVersion": "apps.kruise.io/v1alpha1", "kind": "DaemonSet", "metadata": {"name": "web", "namespace": "ns"},
            "spec": with("updateStrategy/rollingUpdate", rolling),
        })
    };
    let mut surging = object(json!({"rollingUpdateType": "Surging"}));
    DaemonSet::complete_v1alpha1(&mut surging);
    let ours = defaulted(&convert(surging, "v1beta1").unwrap()["spec"]);
    assert_eq!(
        ours["updateStrategy"]["rollingUpdate"],
        json!({"maxSurge": 1, "maxUnavailable": 0, "rollingUpdateType": "Standard"})
    );

    let wrong = object(json!({"rollingUpdateType": "Surging", "maxUnavailable": 1}));
    let answer = versions::validate::<DaemonSet>(Request::create(wrong), &Surroundings::default().known());
    assert_eq!(answer.code(), 422);
}

/// B18: both versions, create and update.
#[test]
fn daemonset_b18_refusals_have_the_code_for_invalid_objects() {
    for version in ["v1alpha1", "v1beta1"] {
        let object = json!({
            "apiVersion": format!("apps.kruise.io/{version}"), "kind": "DaemonSet", "metadata": {"name": "web", "namespace": "ns"},
            "spec": rolling("partition", json!(-1)),
        });
        let answer =
            versions::validate::<DaemonSet>(Request::create(object), &Surroundings::default().known());
        assert_eq!(answer.code(), 422, "{version}");
    }
}

/// B17: a v1beta1 user who turns it off is not overruled by what v1alpha1 left behind.
#[test]
fn daemonset_b17_the_annotation_follows_the_field() {
    let annotated = |field: Value| {
        let mut object = json!({"metadata": {"annotations": {"daemonset.kruise.io/progressive-create-pod": "true", "a": "b"}}, "spec": spec()});
        object["spec"]["scaleStrategy"] = field;
        object
    };
    let mut off = annotated(json!({"partitionedScaling": false}));
    DaemonSet::align(Version::V1beta1, &mut off);
    assert_eq!(off["metadata"]["annotations"], json!({"a": "b"}));
    let mut on = annotated(json!({"partitionedScaling": true}));
    DaemonSet::align(Version::V1beta1, &mut on);
    assert_eq!(on["metadata"]["annotations"]["daemonset.kruise.io/progressive-create-pod"], "true");
    let mut older = annotated(Value::Null);
    DaemonSet::align(Version::V1alpha1, &mut older);
    assert_eq!(older["metadata"]["annotations"]["daemonset.kruise.io/progressive-create-pod"], "true");
}

#[test]
fn an_unknown_way_of_replacing_is_warned_about() {
    let gates = Gates::default();
    let spec = rolling("rollingUpdateType", json!("Fancy"));
    let case = Case { name: "web", spec: &spec, old: None, facts: &(), template: &[], gates: &gates };
    assert!(DaemonSet::warn(&case)[0].contains("works as Standard does"));
}
