//! §6: defaults and rules, in both versions.

use super::*;
use crate::admission::Request;
use crate::admission::fixtures::Surroundings;
use crate::admission::versions::{self, Case, Rules, Version};

fn spec() -> Value {
    cron().object["spec"].clone()
}

fn with(path: &str, value: Value) -> Value {
    let mut spec = spec();
    let mut at = &mut spec;
    for part in path.split('/') {
        at = &mut at[part];
    }
    *at = value;
    spec
}

fn images(more: Value) -> Value {
    let mut list = json!({"images": ["a:1"], "completionPolicy": {"type": "Always"}});
    let Value::Object(more) = more else { panic!("{more}") };
    list.as_object_mut().unwrap().extend(more);
    let mut spec = with("template", json!({"imageListPullJobTemplate": {"spec": list}}));
    spec["concurrencyPolicy"] = json!("Replace");
    spec
}

fn fields(name: &str, spec: &Value, old: Option<&Value>) -> Vec<String> {
    let gates = Gates::default();
    let case = Case { name, spec, old, facts: &(), template: &[], gates: &gates };
    AdvancedCronJob::validate(&case).iter().map(|fault| fault.field.clone()).collect()
}

fn defaulted(spec: &Value, old: Option<&Value>) -> Value {
    let mut spec = spec.clone();
    AdvancedCronJob::default(Version::V1beta1, &mut spec, old, &Gates::default()).unwrap();
    spec
}

/// advancedcronjob/B18: each field has its default of its own.
#[test]
fn advancedcronjob_d1_d2_d3_b18_defaults() {
    let job = defaulted(
        &json!({"schedule": "* * * * *", "template": {"jobTemplate": {"spec": {"template": pod()}}}}),
        None,
    );
    assert_eq!((&job["concurrencyPolicy"], &job["paused"]), (&json!("Allow"), &json!(false)));
    assert_eq!((&job["successfulJobsHistoryLimit"], &job["failedJobsHistoryLimit"]), (&json!(3), &json!(1)));
    assert_eq!(job["template"]["jobTemplate"]["spec"]["template"]["spec"]["dnsPolicy"], "ClusterFirst");
    let stored = spec();
    assert_eq!(defaulted(&stored, Some(&stored))["template"], stored["template"], "a stored template stays");

    let list = json!({"images": ["a:1"], "completionPolicy": {"type": "Always"}});
    let list = defaulted(&json!({"template": {"imageListPullJobTemplate": {"spec": list}}}), None);
    assert_eq!(list["concurrencyPolicy"], "Replace");
    let child = &list["template"]["imageListPullJobTemplate"]["spec"];
    assert_eq!(child["pullPolicy"], json!({"timeoutSeconds": 600, "backoffLimit": 3}));
    assert_eq!(child["imagePullPolicy"], "IfNotPresent");
}

/// advancedcronjob/B9.
#[test]
fn advancedcronjob_v1_b9_names_leave_room_for_the_time() {
    assert_eq!(fields(&"n".repeat(53), &spec(), None), ["metadata.name"]);
    assert!(fields(&"n".repeat(52), &spec(), None).is_empty());
    assert_eq!(fields("a.b", &spec(), None), ["metadata.name"]);
    assert!(fields(&"n".repeat(60), &spec(), Some(&spec())).is_empty(), "stored ones are tolerated");
}

/// advancedcronjob/B13: as the children are validated.
#[test]
fn advancedcronjob_v2_v3_v4_v5_b13_each_rule_names_its_field() {
    let mut zoned = with("schedule", json!("TZ=UTC * * * * *"));
    zoned["timeZone"] = json!("UTC");
    let mut two = spec();
    two["template"]["broadcastJobTemplate"] = json!({"spec": {"template": pod()}});
    let broadcast = |spec: Value| with("template", json!({"broadcastJobTemplate": {"spec": spec}}));
    for (spec, field) in [
        (with("schedule", json!("")), "spec.schedule"),
        (with("schedule", json!("* * *")), "spec.schedule"),
        (with("schedule", json!("TZ=UTC")), "spec.schedule"),
        (zoned, "spec.schedule"),
        (with("timeZone", json!("")), "spec.timeZone"),
        (with("timeZone", json!("LOCAL")), "spec.timeZone"),
        (with("timeZone", json!("Mars/Olympus")), "spec.timeZone"),
        (with("startingDeadlineSeconds", json!(-1)), "spec.startingDeadlineSeconds"),
        (with("failedJobsHistoryLimit", json!(-1)), "spec.failedJobsHistoryLimit"),
        (with("concurrencyPolicy", json!("Maybe")), "spec.concurrencyPolicy"),
        (two, "spec.template"),
        (with("template", json!({})), "spec.template"),
        (
            with("template/jobTemplate/spec/template/spec/restartPolicy", json!("Always")),
            "spec.template.jobTemplate.spec.template.spec.restartPolicy",
        ),
        (
            with("template/jobTemplate/spec/parallelism", json!(-1)),
            "spec.template.jobTemplate.spec.parallelism",
        ),
        (
            with("template/jobTemplate/spec/template/spec/containers", json!([])),
            "spec.template.jobTemplate.spec.template.spec.containers",
        ),
        (
            broadcast(json!({"template": pod(), "parallelism": "x"})),
            "spec.template.broadcastJobTemplate.spec.parallelism",
        ),
    ] {
        assert_eq!(fields("c", &spec, None), [field], "{spec}");
    }
    for fine in [
        spec(),
        broadcast(json!({"template": pod()})),
        images(json!({})),
        with("timeZone", json!("Europe/Berlin")),
    ] {
        assert!(fields("c", &fine, None).is_empty(), "{fine}");
    }
}

#[test]
fn advancedcronjob_v6_image_lists() {
    let p = "spec.template.imageListPullJobTemplate.spec";
    let always = |more: Value| {
        let mut policy = json!({"type": "Always"});
        policy.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        images(json!({"completionPolicy": policy}))
    };
    let many: Vec<String> = (0..256).map(|n| format!("a:{n}")).collect();
    let mut allowed = images(json!({}));
    allowed["concurrencyPolicy"] = json!("Allow");
    for (spec, field) in [
        (allowed, "spec.concurrencyPolicy".to_owned()),
        (images(json!({"images": []})), format!("{p}.images")),
        (images(json!({"images": many})), format!("{p}.images")),
        (images(json!({"images": ["a:1", "a:1"]})), format!("{p}.images")),
        (images(json!({"images": ["a b"]})), format!("{p}.images")),
        (
            images(json!({"selector": {"names": ["n1"], "matchLabels": {"a": "b"}}})),
            format!("{p}.selector.names"),
        ),
        (images(json!({"selector": {"names": ["n1", "n1"]}})), format!("{p}.selector.names")),
        (
            images(json!({"selector": {"names": ["n1"]}, "podSelector": {"matchLabels": {"a": "b"}}})),
            format!("{p}.podSelector"),
        ),
        (images(json!({"completionPolicy": {"type": "Never"}})), format!("{p}.completionPolicy.type")),
        (
            always(json!({"ttlSecondsAfterFinished": 1})),
            format!("{p}.completionPolicy.ttlSecondsAfterFinished"),
        ),
        (
            always(json!({"activeDeadlineSeconds": 599})),
            format!("{p}.completionPolicy.activeDeadlineSeconds"),
        ),
        (
            always(json!({"activeDeadlineSeconds": 86_401})),
            format!("{p}.completionPolicy.activeDeadlineSeconds"),
        ),
    ] {
        assert_eq!(fields("c", &spec, None), [field], "{spec}");
    }
    assert!(fields("c", &always(json!({"activeDeadlineSeconds": 600})), None).is_empty());
}

/// ACJ-22, acceptance 19.
#[test]
fn acj_22_templates_of_jobs_cannot_be_changed_and_image_lists_can() {
    let changed = with("template/jobTemplate/spec/backoffLimit", json!(2));
    assert_eq!(fields("c", &changed, Some(&spec())), ["spec.template.jobTemplate"]);
    assert!(fields("c", &images(json!({"images": ["b:1"]})), Some(&images(json!({})))).is_empty());
    assert_eq!(fields("c", &images(json!({})), Some(&spec())).len(), 2, "another kind of children");
    let mut other = with("schedule", json!("@daily"));
    other["paused"] = json!(true);
    other["timeZone"] = json!("UTC");
    assert!(fields("c", &other, Some(&spec())).is_empty());
}

/// B12.
#[test]
fn advancedcronjob_b12_a_deadline_of_nothing_is_warned_about() {
    let (spec, gates) = (with("startingDeadlineSeconds", json!(0)), Gates::default());
    let case = Case { name: "c", spec: &spec, old: None, facts: &(), template: &[], gates: &gates };
    assert!(AdvancedCronJob::warn(&case)[0].contains("nothing is ever started"));
}

/// B19, acceptance 20: what v1alpha1 cannot say is refused with a clear word.
#[test]
fn advancedcronjob_b19_refusals_are_clear_in_both_versions() {
    for version in ["v1alpha1", "v1beta1"] {
        let object = json!({
            "apiVersion": format!("apps.kruise.io/{version}"), "kind": "AdvancedCronJob", "metadata": {"name": "c", "namespace": "n"},
            "spec": with("template", json!({})),
        });
        let answer =
            versions::validate::<AdvancedCronJob>(Request::create(object), &Surroundings::default().known());
        assert_eq!(answer.code(), 422, "{version}");
        assert!(format!("{answer:?}").contains("v1alpha1 has no imageListPullJobTemplate"));
    }
}
