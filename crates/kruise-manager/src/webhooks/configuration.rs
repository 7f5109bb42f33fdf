//! What the manager's webhooks look like to the API server: the entries that are made where a configuration is missing
//! (PL-B3), and the names of the CRDs whose conversion calls us.

use kruise_api::names::APPS_GROUP;
use serde_json::{Value, json};

/// Kinds of the original whose rules are not written yet. Their paths are served and let everything pass, so that an
/// installed configuration of the original, which fails closed, does not lock these kinds.
const WITHOUT_RULES_YET: [&str; 22] = [
    "/validate-pod",
    "/validate-apps-deployment",
    "/validate-apps-replicaset",
    "/validate-apps-statefulset",
    "/validate-customresourcedefinition",
    "/validate-namespace",
    "/validate-service",
    "/validate-ingress",
    "/validate-policy-kruise-io-podunavailablebudget",
    "advancedcronjob",
    "broadcastjob",
    "containerrecreaterequest",
    "daemonset",
    "ephemeraljob",
    "imagelistpulljob",
    "imagepulljob",
    "nodeimage",
    "podprobemarker",
    "resourcedistribution",
    "sidecarset",
    "uniteddeployment",
    "workloadspread",
];

/// Their paths, old and new.
pub fn without_rules_yet() -> impl Iterator<Item = String> {
    WITHOUT_RULES_YET.iter().flat_map(|kind| {
        if kind.starts_with('/') {
            return vec![(*kind).to_owned()];
        }
        let paths = ["/mutate-apps-kruise-io", "/validate-apps-kruise-io"].into_iter();
        paths.flat_map(|path| [format!("{path}-{kind}"), format!("{path}-v1alpha1-{kind}")]).collect()
    })
}

/// Rules without defaults: nothing of it is mutated, and deletions pass unseen.
const ONLY_VALIDATED: (&str, &str) = ("persistentpodstate", "persistentpodstates");

/// Kinds of ours with rules, and their plurals.
const KINDS: [(&str, &str); 2] = [("cloneset", "clonesets"), ("statefulset", "statefulsets")];

/// Entries of `kruise-mutating-webhook-configuration`.
pub fn mutating() -> Vec<Value> {
    let operations = ["CREATE", "UPDATE"];
    KINDS.map(|(kind, plural)| entry(&format!("m{kind}.kb.io"), ("mutate", kind, plural), &operations)).into()
}

/// Entries of `kruise-validating-webhook-configuration`.
pub fn validating() -> Vec<Value> {
    let operations = ["CREATE", "UPDATE", "DELETE"];
    let all =
        KINDS.map(|(kind, plural)| entry(&format!("v{kind}.kb.io"), ("validate", kind, plural), &operations));
    let (kind, plural) = ONLY_VALIDATED;
    let states = entry(&format!("v{kind}.kb.io"), ("validate", kind, plural), &["CREATE", "UPDATE"]);
    all.into_iter().chain([states]).collect()
}

/// Names of the CRDs that convert by webhook.
pub fn conversion_crds() -> Vec<String> {
    let crds = kruise_api::crd::all_crds().into_iter();
    crds.filter(|crd| crd.pointer("/spec/conversion/strategy").is_some_and(|strategy| strategy == "Webhook"))
        .filter_map(|crd| crd.pointer("/metadata/name")?.as_str().map(str::to_owned))
        .collect()
}

/// Fails closed, as the original's chart: only objects of ours depend on it.
fn entry(name: &str, (verb, kind, plural): (&str, &str, &str), operations: &[&str]) -> Value {
    let path = format!("/{verb}-apps-kruise-io-{kind}");
    json!({
        "name": name,
        "admissionReviewVersions": ["v1", "v1beta1"],
        "clientConfig": {"service": {"name": "", "namespace": "", "path": path, "port": 443}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": 30,
        "rules": [{
            "apiGroups": [APPS_GROUP],
            "apiVersions": ["v1alpha1", "v1beta1"],
            "operations": operations,
            "resources": [plural],
        }],
    })
}
