//! What the simulated API server asks: the same entries as a real one, each by its rule.

use std::fmt;

use kruise_api::names::{APPS_GROUP, POLICY_GROUP};
use kruise_core::admission::Request;

pub use super::entry::{Entry, Sort};
use super::{entries, not_yet};

/// All webhooks of the manager.
pub struct Webhooks(Vec<Entry>);

/// A Kruise resource that has no entry, and that is not known to have none yet: whoever added it forgot its admission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgotten {
    resource: String,
}

impl Default for Webhooks {
    fn default() -> Self {
        Self(entries())
    }
}

impl Webhooks {
    /// The entries of a sort that are asked about this, in the order of the configuration.
    pub fn asked(&self, sort: Sort, request: &Request) -> Result<Vec<&Entry>, Forgotten> {
        let (group, plural) = (request.resource.group.as_str(), request.resource.plural.as_str());
        let is_ours = [APPS_GROUP, POLICY_GROUP].contains(&group);
        let is_covered = self.0.iter().any(|entry| entry.is_about(group, plural));
        if is_ours && !is_covered && !not_yet::is_without_rules(group, plural) {
            return Err(Forgotten { resource: format!("{plural}.{group}") });
        }
        Ok(self.0.iter().filter(|entry| entry.sort == sort && entry.is_asked(request)).collect())
    }
}

impl fmt::Display for Forgotten {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{} has no webhook entry: give it one, or list it among the resources without rules",
            self.resource
        )
    }
}
