//! Resources that the original has webhooks for and that have no rules here yet. Their paths are served and let everything pass,
//! so that an installed configuration of the original, which fails closed, does not lock them.

use kruise_api::names::{APPS_GROUP, POLICY_GROUP};

use super::entry::kind_paths;

/// A resource without rules yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotYet {
    pub group: &'static str,
    pub plural: &'static str,
    /// Old and new ones.
    pub paths: Vec<String>,
}

/// Kinds of the group `apps.kruise.io`, as paths name them, and their plurals.
const KINDS: [(&str, &str); 2] =
    [("uniteddeployment", "uniteddeployments"), ("workloadspread", "workloadspreads")];

/// Group, plural and path of all others.
const OTHERS: [(&str, &str, &str); 8] = [
    ("apps", "deployments", "/validate-apps-deployment"),
    ("apps", "replicasets", "/validate-apps-replicaset"),
    ("apps", "statefulsets", "/validate-apps-statefulset"),
    ("apiextensions.k8s.io", "customresourcedefinitions", "/validate-customresourcedefinition"),
    ("", "namespaces", "/validate-namespace"),
    ("", "services", "/validate-service"),
    ("networking.k8s.io", "ingresses", "/validate-ingress"),
    (POLICY_GROUP, "podunavailablebudgets", "/validate-policy-kruise-io-podunavailablebudget"),
];

/// Kruise resources that the original has no webhook for either.
const NEVER: [&str; 1] = ["nodepodprobes"];

pub fn not_yet() -> Vec<NotYet> {
    let kinds = KINDS.into_iter().map(|(kind, plural)| {
        let paths = ["mutate", "validate"].into_iter().flat_map(|verb| kind_paths(verb, kind)).collect();
        NotYet { group: APPS_GROUP, plural, paths }
    });
    let others = OTHERS.into_iter().map(|(group, plural, path)| NotYet {
        group,
        plural,
        paths: vec![path.to_owned()],
    });
    kinds.chain(others).collect()
}

/// Whether it is known that requests about a Kruise resource are let pass.
pub fn is_without_rules(group: &str, plural: &str) -> bool {
    let is_kind = group == APPS_GROUP && KINDS.iter().any(|(_, one)| *one == plural);
    let is_never = group == APPS_GROUP && NEVER.contains(&plural);
    is_kind || is_never || OTHERS.iter().any(|(of, one, _)| *of == group && *one == plural)
}
