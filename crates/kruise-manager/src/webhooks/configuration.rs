//! What the manager's webhooks look like to the API server: the entries that are made where a configuration is missing
//! (PL-B3), and the names of the CRDs whose conversion calls us.

use std::collections::BTreeSet;

use kruise_core::admission::selection::{Concern, Conditions, Place, Sight, select};
use serde_json::{Value, json};

use super::entries;
use super::entry::{Entry, Presence, Scope, Sort};

/// Entries of `kruise-mutating-webhook-configuration`, for an installation in this namespace.
pub fn mutating(namespace: &str) -> Vec<Value> {
    installed(Sort::Mutating, namespace)
}

/// Entries of `kruise-validating-webhook-configuration`, for an installation in this namespace.
pub fn validating(namespace: &str) -> Vec<Value> {
    installed(Sort::Validating, namespace)
}

/// Names of the entries whose selection the leading manager decides.
pub fn live() -> Vec<String> {
    let all = entries().into_iter().filter(|entry| entry.presence == Presence::Installed);
    all.filter(|entry| entry.scope == Scope::Live).map(|entry| entry.name).collect()
}

/// Names of the CRDs that convert by webhook.
pub fn conversion_crds() -> Vec<String> {
    let crds = kruise_api::crd::all_crds().into_iter();
    crds.filter(|crd| crd.pointer("/spec/conversion/strategy").is_some_and(|strategy| strategy == "Webhook"))
        .filter_map(|crd| crd.pointer("/metadata/name")?.as_str().map(str::to_owned))
        .collect()
}

fn installed(sort: Sort, namespace: &str) -> Vec<Value> {
    let all = entries();
    let these = all.iter().filter(|entry| entry.sort == sort && entry.presence == Presence::Installed);
    these.map(|entry| wire(entry, namespace)).collect()
}

fn wire(entry: &Entry, namespace: &str) -> Value {
    let rule = &entry.rule;
    let resources: Vec<String> = rule.subresources.iter().map(|one| one.of(rule.plural)).collect();
    let operations: Vec<&str> = rule.operations.iter().map(|operation| operation.text()).collect();
    let mut wire = json!({
        "name": entry.name,
        "admissionReviewVersions": ["v1", "v1beta1"],
        "clientConfig": {"service": {"name": "", "namespace": "", "path": entry.paths.first(), "port": 443}},
        "failurePolicy": entry.failure_policy.text(),
        "sideEffects": entry.side_effects.text(),
        "timeoutSeconds": entry.timeout_seconds,
        "rules": [{
            "apiGroups": [rule.group],
            "apiVersions": rule.versions,
            "operations": operations,
            "resources": resources,
        }],
    });
    if let (Scope::Live, Some(fields)) = (entry.scope, wire.as_object_mut()) {
        // Every pod at first: whoever leads narrows it.
        let place = Place { own_namespace: namespace.to_owned(), conditions: Conditions::Known };
        let everybody = select(&BTreeSet::from([Concern::Everybody]), Sight::New, &place);
        fields.insert("namespaceSelector".to_owned(), everybody.namespace_selector);
    }
    wire
}
