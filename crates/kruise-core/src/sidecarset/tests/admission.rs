//! What is refused, and what users are warned of.

use serde_json::{Value, json};

use super::{Case, merge, set};
use crate::admission::fixtures::Surroundings;
use crate::admission::{Answer, Request};
use crate::gates::{Gate, Gates};
use crate::order::Selector;
use crate::revision::Known;
use crate::sidecarset::{SidecarSet, admission};

fn admit(object: &Value, around: &Surroundings) -> Answer {
    admission::admit(&Request::create(object.clone()), &around.known())
}

fn update(old: &Value, new: &Value, around: &Surroundings) -> Answer {
    admission::admit(&Request::update(old.clone(), new.clone()), &around.known())
}

fn refusal(answer: &Answer) -> String {
    answer.denial.as_ref().map(|denial| denial.message.clone()).unwrap_or_default()
}

fn side(more: Value) -> Value {
    let mut one = json!({"name": "side", "image": "side:1"});
    merge(&mut one, more);
    json!({"containers": [one]})
}

/// What is wrong with a set, and the field that has to be named.
fn wrong() -> Vec<(Value, &'static str)> {
    let native = json!({"initContainers": [{"name": "n", "image": "i", "restartPolicy": "Always"}]});
    let policy = |expressions: Value, regex: &str| {
        side(
            json!({"resourcesPolicy": {"targetContainersMode": "sum", "targetContainersNameRegex": regex, "resourcesExpr": expressions}}),
        )
    };
    vec![
        (json!({"selector": {}}), "spec.selector"),
        (json!({"namespaceSelector": {}}), "spec.namespaceSelector"),
        (json!({"containers": []}), "spec: required"),
        (native, "spec.updateStrategy.type"),
        (side(json!({"image": ""})), "spec.containers[0].image"),
        (side(json!({"name": "Bad_Name"})), "spec.containers[0].name"),
        (side(json!({"podInjectPolicy": "Between"})), "spec.containers[0].podInjectPolicy"),
        (
            side(json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]})),
            "spec.containers[0].volumeMounts[0].name",
        ),
        (
            side(json!({"upgradeStrategy": {"upgradeType": "HotUpgrade"}})),
            "spec.containers[0].upgradeStrategy.hotUpgradeEmptyImage",
        ),
        (
            side(json!({"transferEnv": [{"sourceContainerNameFrom": {}, "envName": "A"}]})),
            "spec.containers[0].transferEnv[0]",
        ),
        (
            side(
                json!({"transferEnv": [{"sourceContainerNameFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}),
            ),
            "spec.containers[0].transferEnv[0]",
        ),
        (
            policy(json!({"limits": {"cpu": "cpu*cpu"}}), ".*"),
            "spec.containers[0].resourcesPolicy.resourcesExpr",
        ),
        (
            policy(json!({"limits": {"cpu": "100mi"}}), ".*"),
            "spec.containers[0].resourcesPolicy.resourcesExpr.limits.cpu",
        ),
        (policy(json!({"limits": {"cpu": "1"}}), "("), "targetContainersNameRegex"),
        (policy(json!({}), ".*"), "resourcesExpr"),
        (json!({"updateStrategy": {"partition": "5"}}), "spec.updateStrategy.partition"),
        (json!({"updateStrategy": {"maxUnavailable": -1}}), "spec.updateStrategy.maxUnavailable"),
        (
            json!({"updateStrategy": {"partition": "0%", "selector": {"matchLabels": {"a": "b"}}}}),
            "spec.updateStrategy",
        ),
        (
            json!({"updateStrategy": {"scatterStrategy": [{"key": "a", "value": "b"}, {"key": "a", "value": "b"}]}}),
            "scatterStrategy[1]",
        ),
        (json!({"updateStrategy": {"type": "Weird"}}), "spec.updateStrategy.type"),
        (json!({"injectionStrategy": {"revision": {}}}), "spec.injectionStrategy.revision"),
        (json!({"injectionStrategy": {"revision": {"revisionName": "gone"}}}), "injectionStrategy.revision"),
        (json!({"patchPodMetadata": [{"annotations": {}}]}), "spec.patchPodMetadata[0].annotations"),
        (json!({"customVersion": "a b"}), "spec.customVersion"),
    ]
}

/// 6.2 no. 1 to 8, B7, B8, B9, B16, B23: each with the field that is wrong.
#[test]
fn sidecarset_b7_b8_b9_b16_b23_what_is_refused_names_its_field() {
    for (more, field) in wrong() {
        let mut object = set("s", json!({}));
        merge(&mut object["spec"], more.clone());
        if let Some(selector) = more.get("selector") {
            object["spec"]["selector"] = selector.clone();
        }
        let answer = admit(&object, &Surroundings::default());
        assert_eq!(answer.code(), 422, "{more}");
        assert!(refusal(&answer).contains(field), "{more}: {}", refusal(&answer));
    }
    assert_eq!(refusal(&admit(&set("s", json!({})), &Surroundings::default())), "");
    let mut odd = set("s", json!({}));
    odd["metadata"]["name"] = json!("a.b");
    assert!(refusal(&admit(&odd, &Surroundings::default())).contains("metadata.name"));
}

/// 6.2 no. 9.
#[test]
fn ss_86_containers_are_not_added_or_turned_and_may_be_removed() {
    let two = set("s", json!({"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]}));
    let one = set("s", json!({"containers": [{"name": "a", "image": "i"}]}));
    let around = Surroundings::default();
    assert_eq!(refusal(&update(&two, &one, &around)), "");
    assert!(refusal(&update(&one, &two, &around)).contains("spec.containers[1].name"));
    let hot = set(
        "s",
        json!({"containers": [{"name": "a", "image": "i", "upgradeStrategy": {"upgradeType": "HotUpgrade", "hotUpgradeEmptyImage": "e"}}]}),
    );
    assert!(refusal(&update(&one, &hot, &around)).contains("upgradeType"));
}

/// 6.2 no. 10 and 11, B15: decided exactly.
#[test]
fn sidecarset_b15_overlap_is_decided_exactly() {
    let selector = |value: Value| Selector::read(&value).unwrap();
    let labels = |key: &str, value: &str| selector(json!({"matchLabels": {key: value}}));
    let expression = |key: &str, operator: &str, values: &[&str]| {
        let values = if values.is_empty() { Value::Null } else { json!(values) };
        selector(json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]}))
    };
    for (one, other, can) in [
        (labels("a", "1"), labels("a", "2"), false),
        (labels("a", "1"), labels("b", "2"), true),
        (labels("a", "1"), expression("a", "NotIn", &["1"]), false),
        (labels("a", "1"), expression("a", "DoesNotExist", &[]), false),
        (expression("a", "Exists", &[]), labels("b", "1"), true),
        (expression("a", "In", &["1", "2"]), expression("a", "NotIn", &["1"]), true),
        (expression("a", "Exists", &[]), expression("a", "DoesNotExist", &[]), false),
    ] {
        assert_eq!(super::super::admission::overlap(&one, &other), can, "{one:?} {other:?}");
        assert_eq!(super::super::admission::overlap(&other, &one), can);
    }
}

/// 6.2 no. 10, B15, B2, 8.2 no. 40.
#[test]
fn sidecarset_b2_sidecarset_b15_conflicts_are_found_and_a_canary_is_none() {
    let there = set(
        "there",
        json!({"containers": [{"name": "mesh", "image": "i", "upgradeStrategy": {"upgradeType": "HotUpgrade", "hotUpgradeEmptyImage": "e"}}],
        "volumes": [{"name": "v", "emptyDir": {}}], "patchPodMetadata": [{"annotations": {"k": "1"}, "patchPolicy": "Overwrite"}]}),
    );
    let around = || {
        let mut around = Surroundings {
            gates: Gates::default().with(Gate::SidecarSetPatchPodMetadataDefaultsAllowed),
            ..Surroundings::default()
        };
        around = around.with::<SidecarSet>(&there);
        around
    };
    for (more, field) in [
        (json!({"containers": [{"name": "mesh-1", "image": "i"}]}), "spec.containers[0].name"),
        (json!({"initContainers": [{"name": "mesh-2", "image": "i"}]}), "spec.initContainers[0].name"),
        (json!({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}), "spec.volumes[0].name"),
        (
            json!({"patchPodMetadata": [{"annotations": {"k": "2"}, "patchPolicy": "MergePatchJson"}]}),
            "spec.patchPodMetadata[0]",
        ),
    ] {
        let refused = refusal(&admit(&set("s", more.clone()), &around()));
        assert!(refused.contains(field) && refused.contains("\"there\""), "{more}: {refused}");
    }
    for fine in [
        json!({"volumes": [{"name": "v", "emptyDir": {}}]}),
        json!({"selector": {"matchLabels": {"app": "else"}}, "containers": [{"name": "mesh-1", "image": "i"}]}),
        json!({"patchPodMetadata": [{"annotations": {"k": "2"}}]}),
    ] {
        assert_eq!(refusal(&admit(&set("s", fine.clone()), &around())), "", "{fine}");
    }
    let mut canary = set(
        "canary",
        json!({"containers": there["spec"]["containers"].clone(), "updateStrategy": {"type": "NotUpdate"}}),
    );
    merge(
        &mut canary["metadata"],
        json!({"annotations": {"apps.kruise.io/sidecarset-canary": "true", "apps.kruise.io/sidecarset-base": "there"}}),
    );
    assert_eq!(refusal(&admit(&canary, &around())), "");
    assert_eq!(
        refusal(&update(&there, &there, &around().with::<SidecarSet>(&canary))),
        "",
        "its base can be updated"
    );
    assert_eq!(refusal(&update(&canary, &canary, &Surroundings::default())), "", "its base is gone");
    let mut orphan = canary.clone();
    orphan["metadata"]["annotations"]["apps.kruise.io/sidecarset-base"] = json!("nobody");
    assert!(refusal(&admit(&orphan, &around())).contains("sidecarset-base"));
    assert!(refusal(&update(&canary, &orphan, &around())).contains("cannot be changed"));
    let mut rolling = canary;
    rolling["spec"]["updateStrategy"]["type"] = json!("RollingUpdate");
    assert!(refusal(&admit(&rolling, &around())).contains("NotUpdate"));
}

/// B4, 8.2 no. 42.
#[test]
fn sidecarset_b4_pin_must_be_a_revision_of_the_set() {
    let case = Case::of(set("s", json!({"customVersion": "v1"})), 0);
    let name = case.revisions[0]["metadata"]["name"].as_str().unwrap();
    let around = Surroundings::default().with::<Known>(&case.revisions[0]);
    let mut pinned = case.set.clone();
    pinned["spec"]["injectionStrategy"]["revision"] = json!({"revisionName": name});
    assert_eq!(refusal(&update(&case.set, &pinned, &around)), "");
    let mut foreign = case.revisions[0].clone();
    foreign["metadata"]["labels"]["kruise.io/sidecarset-name"] = json!("another");
    let around_again = Surroundings::default().with::<Known>(&foreign);
    assert!(refusal(&update(&case.set, &pinned, &around_again)).contains("has no revision"));
}

/// 6.3.
#[test]
fn ss_48_annotations_are_patched_only_as_the_administrator_allows() {
    let patching = set("s", json!({"patchPodMetadata": [{"annotations": {"team.io/a": "b"}}]}));
    let with = |list: Option<&str>, gates: Gates| {
        let mut around = Surroundings { gates, ..Surroundings::default() };
        if let Some(list) = list {
            around.live.configuration =
                Ok([("SidecarSet_PatchPodMetadata_WhiteList".to_owned(), list.to_owned())].into());
        }
        refusal(&admit(&patching, &around))
    };
    let open = Gates::default().with(Gate::SidecarSetPatchPodMetadataDefaultsAllowed);
    assert!(with(None, Gates::default()).contains("spec.patchPodMetadata"));
    assert_eq!(with(None, open.clone()), "");
    assert_eq!(
        with(Some(r#"{"rules":[{"allowedAnnotationKeyExprs":["^team.io/"]}]}"#), Gates::default()),
        ""
    );
    assert!(
        with(Some(r#"{"rules":[{"allowedAnnotationKeyExprs":["^other"]}]}"#), open).contains("team.io/a")
    );
    let other_labels =
        r#"{"rules":[{"selector":{"matchLabels":{"x":"y"}},"allowedAnnotationKeyExprs":[".*"]}]}"#;
    assert!(!with(Some(other_labels), Gates::default()).is_empty());
}

/// B18, B19.
#[test]
fn sidecarset_b18_sidecarset_b19_users_are_warned() {
    let old = set("s", json!({"containers": [{"name": "side", "image": "side:1"}]}));
    let new = set("s", json!({"containers": [{"name": "side", "image": "side:latest"}]}));
    assert!(update(&old, &new, &Surroundings::default()).warnings[0].contains("imagePullPolicy"));
    let alpha = json!({"apiVersion": "apps.kruise.io/v1alpha1", "kind": "SidecarSet", "metadata": {"name": "s"},
        "spec": {"namespace": "shop", "namespaceSelector": {"matchLabels": {"a": "b"}}, "selector": {"matchLabels": {"app": "web"}},
            "containers": [{"name": "side", "image": "side:1"}]}});
    let answer = admit(&alpha, &Surroundings::default());
    assert!(answer.denial.is_none() && answer.warnings[0].contains("spec.namespace"), "{answer:?}");
}
