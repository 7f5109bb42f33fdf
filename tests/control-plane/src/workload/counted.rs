//! Writes of the manager in one namespace, as the API server's audit log has them.

use std::collections::BTreeMap;

use kruise_testbed::Scratch;
use kruise_testbed::bench::audit::{Log, Mark};

pub struct Counted(Log);

impl Counted {
    pub fn in_namespace(scratch: &Scratch) -> Self {
        Self(Log::at(Some(scratch.shared.cluster.audit_log())).within(&scratch.namespace))
    }

    pub fn mark(&self) -> Mark {
        self.0.mark().unwrap()
    }

    pub fn since(&self, mark: Mark) -> Writes {
        Writes(self.0.since(mark).unwrap().remove("kruise-manager").unwrap_or_default())
    }
}

/// By verb and resource, as in `patch pods/status`.
#[derive(Debug)]
pub struct Writes(BTreeMap<String, u64>);

impl Writes {
    /// How many have this text in their verb and resource.
    pub fn of(&self, text: &str) -> u64 {
        self.0.iter().filter(|(name, _)| name.contains(text)).map(|(_, count)| count).sum()
    }
}
