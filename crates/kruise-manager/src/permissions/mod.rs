//! What the manager may do in a cluster, and why: the one list that the chart's roles and the table in `docs/security.md`
//! are generated from. A control plane test runs the manager under the rendered roles and compares both ways: a verb that
//! is used and not granted, and a verb that is granted and not used, fail it.

mod table;

use kruise_core::gates::Gate;

pub use table::{CACHE, blocks_owner, live, manager, seen, uses};

/// The role object that holds a permission; names are the original's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Cluster-wide work.
    Manager,
    /// Cluster-wide, about webhook configurations and definitions: who brings certificates of his own can do without.
    Certificates,
    /// In the namespace of the lease.
    LeaderElection,
    /// In the manager's own namespace.
    Webhook,
    /// In the namespace of the copies of pull secrets, which node agents read.
    DaemonConfig,
}

/// Whether a permission is granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Always,
    /// This feature gate is on.
    Gate(Gate),
    /// This feature gate is off.
    Unless(Gate),
    /// This value of the chart is true.
    Value(&'static str),
}

/// Which objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    Any,
    Only(&'static [&'static str]),
    /// The definitions that convert by webhook.
    ConvertedDefinitions,
}

/// How we know that the verb is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// The control plane test sees it in the audit log.
    Seen,
    /// It happens too rarely to be provoked there; this unit test shows the code that does it.
    Test(&'static str),
    /// The API server asks for it itself while it answers another request, in no log; without it that request fails.
    Asked,
}

/// One verb and what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verb {
    pub name: &'static str,
    pub why: &'static str,
    pub proof: Proof,
}

/// Some verbs on one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    pub role: Role,
    pub when: When,
    /// Who needs it: a controller, or a part of the process.
    pub part: &'static str,
    pub group: &'static str,
    /// With its subresource, `pods/status`.
    pub resource: &'static str,
    pub names: Names,
    pub verbs: Vec<Verb>,
}

impl Role {
    pub const ALL: [Self; 5] =
        [Self::Manager, Self::Certificates, Self::LeaderElection, Self::Webhook, Self::DaemonConfig];

    pub fn name(self) -> &'static str {
        match self {
            Self::Manager => "kruise-manager-role",
            Self::Certificates => "kruise-certs-role",
            Self::LeaderElection => "kruise-leader-election-role",
            Self::Webhook => "kruise-webhook-role",
            Self::DaemonConfig => "kruise-daemon-config-role",
        }
    }

    /// Where its rules hold, for humans.
    pub fn reach(self) -> &'static str {
        match self {
            Self::Manager | Self::Certificates => "all namespaces",
            Self::LeaderElection => "namespace of the lease",
            Self::Webhook => "own namespace",
            Self::DaemonConfig => "namespace `kruise-daemon-config`",
        }
    }
}

impl Names {
    pub fn list(self) -> Vec<String> {
        match self {
            Self::Any => Vec::new(),
            Self::Only(names) => names.iter().map(|name| (*name).to_owned()).collect(),
            Self::ConvertedDefinitions => crate::configuration::conversion_crds(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// CS, install 2.4, images/14: no wildcard; secrets only in namespaces of ours, but for single ones that jobs name, and that with a gate.
    #[test]
    fn images_14_nothing_is_granted_by_wildcard_and_no_list_of_secrets_cluster_wide() {
        for one in uses() {
            for text in [one.group, one.resource].into_iter().chain(one.verbs.iter().map(|verb| verb.name)) {
                assert!(!text.contains('*'), "{one:?}");
            }
            let is_by_name = one.verbs.iter().all(|verb| verb.name == "get");
            // RD-B10, RD-B11: whoever turns on distributions lets the manager write Secrets everywhere.
            let is_distributed = one.when == When::Gate(kruise_core::gates::Gate::ResourceDistribution);
            let is_narrow = matches!(one.role, Role::Webhook | Role::DaemonConfig)
                || is_distributed
                || (is_by_name && one.when == When::Gate(kruise_core::gates::Gate::ImagePullJob));
            assert!(one.resource != "secrets" || is_narrow, "{one:?}");
            assert!(!one.verbs.is_empty(), "{one:?}");
            // A name cannot be known before an object exists. Lists by name are those of one object, by a field selector.
            let is_created_by_name =
                one.names != Names::Any && one.verbs.iter().any(|verb| verb.name == "create");
            assert!(!is_created_by_name, "{one:?}");
        }
    }

    #[test]
    fn every_verb_has_a_reason_and_every_test_that_is_named_exists() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for verb in uses().iter().flat_map(|one| &one.verbs) {
            assert!(verb.why.len() > 10, "{verb:?}");
            if let Proof::Test(name) = verb.proof {
                let (file, test) = name.split_once("::").unwrap();
                let text = std::fs::read_to_string(crates.join(file)).unwrap();
                assert!(text.contains(&format!("fn {test}(")), "{name}");
            }
        }
    }
}
