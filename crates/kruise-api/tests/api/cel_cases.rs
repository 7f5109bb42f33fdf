//! The table of accepted and refused objects is complete: every rule and every limit of the CRDs has its case.
//! The objects themselves go to a real API server in the control-plane tests.
//!
//! A file holds one valid object per version (`bases`) and cases. A case has merge patches onto the base: `accept` must be
//! accepted, `refuse` refused with the rule's text (or `message`, for limits); with `old`, the object is created from
//! base and `old` first and both patches are updates.

use std::{collections::BTreeSet, fs, path::PathBuf};

use kruise_api::crd::all_crds;
use serde_json::{Value, json};

use crate::support;

/// Keywords without a case of their own: they are one limit with the keyword beside them, or a bound that only an object of
/// half a thousand items reaches.
const SILENT: [&str; 2] = ["x-kubernetes-list-map-keys", "maxProperties"];

#[test]
fn every_rule_has_an_accepted_and_a_refused_object() {
    let mut wanted = BTreeSet::new();
    for crd in all_crds() {
        let plural = text(&crd["spec"]["names"]["plural"]);
        for version in list(&crd["spec"]["versions"]) {
            rules(&version["schema"]["openAPIV3Schema"], "", &mut |path, message| {
                wanted.insert(format!("{plural} {} {path}: {message}", text(&version["name"])));
            });
        }
    }
    let found: BTreeSet<_> =
        cases("rules", |case| format!("{}: {}", text(&case["path"]), text(&case["rule"])));

    assert_eq!(wanted.difference(&found).collect::<Vec<_>>(), Vec::<&String>::new(), "rules without a case");
    assert_eq!(found.difference(&wanted).collect::<Vec<_>>(), Vec::<&String>::new(), "cases without a rule");
}

#[test]
fn every_limit_of_ours_has_an_accepted_and_a_refused_object() {
    let rows =
        include_str!("../../testdata/crd-differences.txt").lines().skip_while(|line| !line.starts_with('#'));
    let mut wanted = BTreeSet::new();
    for row in rows.filter(|row| !row.starts_with('#')) {
        let parts: Vec<_> = row.splitn(4, ' ').collect();
        let [plural, versions, path, limit] = parts[..] else { continue };
        let Some((keyword, value)) = limit.split_once('=') else { continue };
        if path.starts_with("status")
            || SILENT.contains(&keyword)
            || (keyword == "maxItems" && value == "512")
        {
            continue;
        }
        wanted.extend(versions.split(',').map(|version| format!("{plural} {version} {path} {keyword}")));
    }
    let found: BTreeSet<_> = cases("limits", |case| text(&case["limit"]).to_owned());

    assert_eq!(wanted.difference(&found).collect::<Vec<_>>(), Vec::<&String>::new(), "limits without a case");
    assert_eq!(found.difference(&wanted).collect::<Vec<_>>(), Vec::<&String>::new(), "cases without a limit");
}

/// Rules and defects of the specification that the API server itself decides for us, each with the cases for all its parts
/// that a schema can express.
const NAMED: &[(&str, &str, &[&str])] = &[
    (
        "CS-102",
        "clonesets",
        &[
            "spec.replicas minimum",
            "spec.selector: must not be empty",
            "spec.scaleStrategy.podsToDelete x-kubernetes-list-type",
            "spec.updateStrategy.rollingUpdate.partition: must be a number",
            "spec.updateStrategy.rollingUpdate.maxUnavailable: must be a number",
            "spec.updateStrategy.rollingUpdate.maxSurge: must be a number",
            "spec.updateStrategy.rollingUpdate.priorityStrategy: weightPriority and orderPriority exclude",
            "spec.updateStrategy.rollingUpdate.scatterStrategy x-kubernetes-list-type",
            "spec.updateStrategy.rollingUpdate: maxSurge must be 0 with InPlaceOnly",
            "spec: maxUnavailable and maxSurge cannot both be 0",
        ],
    ),
    ("CS-103", "clonesets", &["spec.selector: cannot be changed"]),
    (
        "CS-105",
        "clonesets",
        &[
            "spec.updateStrategy.type enum",
            "spec.updateStrategy.rollingUpdate.podUpdatePolicy enum",
            "spec.updateStrategy.rollingUpdate.inPlaceUpdateStrategy.imagePreDownloadParallelism: must be a whole number",
            "spec.updateStrategy.rollingUpdate.inPlaceUpdateStrategy.imagePreDownloadTimeoutSeconds minimum",
            "spec.updateStrategy.rollingUpdate.inPlaceUpdateStrategy.imagePreDownloadMinUpdatedReadyPods minimum",
        ],
    ),
    (
        "CS-106",
        "clonesets",
        &[
            "spec: progressDeadlineSeconds must be greater",
            "spec.minReadySeconds minimum",
            "spec.revisionHistoryLimit minimum",
            "spec.updateStrategy.rollingUpdate.inPlaceUpdateStrategy.gracePeriodSeconds minimum",
        ],
    ),
    ("cloneset/B16", "clonesets", &["spec.revisionHistoryLimit minimum"]),
    (
        "statefulset/B15",
        "statefulsets",
        &["spec.ordinals.start minimum", "spec.revisionHistoryLimit minimum"],
    ),
    (
        "statefulset/B26",
        "statefulsets",
        &[
            "spec: rollingUpdate.maxUnavailable must be 1 unless",
            "spec: scaleStrategy.maxUnavailable must be 1 unless",
        ],
    ),
    (
        "daemonset/B6",
        "daemonsets",
        &[
            "spec.burstReplicas: must be a number",
            "spec.updateStrategy.rollingUpdate.maxUnavailable: must be a number",
            "spec.updateStrategy.rollingUpdate.selector.matchExpressions[]: In and NotIn need values",
        ],
    ),
    (
        "broadcastjob/B11",
        "broadcastjobs",
        &[
            "spec.parallelism: must be a number",
            "spec.completionPolicy.type enum",
            "spec.failurePolicy.type enum",
            "spec.failurePolicy.restartLimit minimum",
            "spec.completionPolicy.activeDeadlineSeconds minimum",
            "spec.completionPolicy.ttlSecondsAfterFinished minimum",
        ],
    ),
    (
        "sidecarset/B7",
        "sidecarsets",
        &[
            "spec.containers[].upgradeStrategy: HotUpgrade needs",
            "spec.updateStrategy.type enum",
            "spec.containers[].upgradeStrategy.upgradeType enum",
            "spec.patchPodMetadata[].patchPolicy enum",
            "spec.containers[].shareVolumeDevicePolicy.type enum",
        ],
    ),
    (
        "sidecarset/B8",
        "sidecarsets",
        &["spec.containers[].transferEnv[].sourceContainerNameFrom.fieldRef required"],
    ),
    ("sidecarset/B23", "sidecarsets", &["spec.customVersion pattern"]),
    ("ephemeraljob/E7", "ephemeraljobs", &["spec.selector: must not be empty"]),
    (
        "persistentpodstate/D3",
        "persistentpodstates",
        &[
            "spec.preferredPersistentTopology[].weight minimum",
            "spec.preferredPersistentTopology[].weight maximum",
        ],
    ),
    ("RD-B12", "resourcedistributions", &["spec.resource: metadata.name must be given"]),
    ("UD-B17", "uniteddeployments", &[": metadata.name must have at most 52"]),
    ("WS-B9", "workloadspreads", &["spec.subsets[].maxReplicas pattern"]),
    ("PUB A1", "podunavailablebudgets", &["spec: give exactly one of selector and targetRef"]),
    (
        "PUB A4",
        "podunavailablebudgets",
        &[
            "spec: give exactly one of maxUnavailable and minAvailable",
            "spec.maxUnavailable: must be a number",
            "spec.minAvailable: must be a number",
        ],
    ),
];

#[test]
fn named_rules_have_a_case_for_each_part() {
    let rules = cases("rules", |case| format!("{}: {}", text(&case["path"]), text(&case["rule"])));
    let found = &rules | &cases("limits", |case| text(&case["limit"]).to_owned());
    for (id, plural, parts) in NAMED {
        let served: Vec<_> = ["v1beta1", "v1alpha1"].map(|version| format!("{plural} {version} ")).into();
        for part in *parts {
            let is_there = served.iter().any(|prefix| {
                found
                    .iter()
                    .any(|name| name.strip_prefix(prefix.as_str()).is_some_and(|name| name.starts_with(part)))
            });
            assert!(is_there, "{id}: {part}");
        }
    }
}

/// statefulset/B25, UD-B17: an object that was stored with such a name can still be edited.
#[test]
fn names_are_checked_on_creation_only() {
    let of = |crd: &Value| text(&crd["spec"]["names"]["plural"]).to_owned();
    for crd in
        all_crds().iter().filter(|crd| ["statefulsets", "uniteddeployments"].contains(&of(crd).as_str()))
    {
        for version in list(&crd["spec"]["versions"]) {
            let rules = version["schema"]["openAPIV3Schema"]["x-kubernetes-validations"].as_array();
            for rule in
                rules.into_iter().flatten().filter(|rule| text(&rule["rule"]).contains("metadata.name"))
            {
                assert!(text(&rule["rule"]).starts_with("oldSelf.hasValue() || "), "{rule}");
                assert_eq!(rule["optionalOldSelf"], true, "{rule}");
            }
        }
    }
}

/// The original loses maxSurge and refuses the object.
#[test]
fn cloneset_b1_surge_without_unavailability_is_accepted() {
    let files = files();
    let (_, file) = files.iter().find(|(plural, _)| plural == "clonesets").unwrap();
    let accepted =
        json!({"spec": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}}});
    assert!(list(&file["rules"]).iter().any(|case| case["accept"] == accepted));
}

#[test]
fn accepted_objects_can_be_read() {
    for (plural, file) in files() {
        for case in list(&file["rules"]).iter().chain(list(&file["limits"])) {
            for version in list(&case["versions"]) {
                let object = support::merged(&file["bases"][text(version)], &case["accept"]);
                assert_eq!(support::read_and_write(&object).as_ref(), Ok(&object), "{plural}: {case}");
            }
        }
    }
}

fn cases(list_name: &str, name: impl Fn(&Value) -> String) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (plural, file) in files() {
        for case in list(&file[list_name]) {
            assert!(case["accept"].is_object() && case["refuse"].is_object(), "{plural}: {case}");
            found.extend(
                list(&case["versions"])
                    .iter()
                    .map(|version| format!("{plural} {} {}", text(version), name(case))),
            );
        }
    }
    found
}

fn files() -> Vec<(String, Value)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/cel");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths
        .map(|path| {
            let plural = path.file_stem().unwrap().to_string_lossy().into_owned();
            (plural, serde_json::from_slice(&fs::read(&path).unwrap()).unwrap())
        })
        .collect()
}

fn rules(schema: &Value, path: &str, found: &mut impl FnMut(&str, &str)) {
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        found(path, text(&rule["message"]));
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let dot = if path.is_empty() { "" } else { "." };
        rules(property, &format!("{path}{dot}{name}"), found);
    }
    for (child, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if schema[child].is_object() {
            rules(&schema[child], &format!("{path}{mark}"), found);
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}
