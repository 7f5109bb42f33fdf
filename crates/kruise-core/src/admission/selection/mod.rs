//! For which pods the pod webhook is registered: those that a Kruise object or the pod itself asks for, and no others. With
//! none of them no pod request leaves the API server, so a cluster in which Kruise does nothing to pods does not notice that the
//! manager is down.
//!
//! One match condition says it all, so that this one field is all that the manager owns of an entry: whoever applies the rest
//! again (helm, GitOps) does not touch it. A server without conditions (before 1.28) is told by selectors, and asks for some pods
//! too many, which are then let pass. A condition that would become too long falls back to namespaces, then to everything: an entry
//! may be too wide, never too narrow. [`Width`] says which of them it is.
//!
//! An object that selects pods is let in only when its pods are selected already ([`Record`] says how): the replica that is asked
//! about the object widens the entry, and only the leader narrows it, long after the last object that needed it.

mod condition;
mod probe;
mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use kruise_api::kubernetes::operator;
use kruise_api::labels;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::condition::Reach;
use crate::order::Selector;

pub use probe::{probe, probed, seen_by};
pub use record::{Pending, Record, Recorded};

/// Namespaces that never depend on us (HA-2): the cluster's own, and ours is added.
const NEVER: &str = "kube-system";
/// Name of the match condition that is ours.
pub const CONDITION: &str = "concerned";

/// Some pods that a step of pod admission acts on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Concern {
    /// All of them, by a feature gate.
    Everybody,
    /// Those that say themselves in which order their containers start. Only a condition can tell them from others: a
    /// server without conditions is never asked about them.
    Launching,
    /// Those whose controller is this workload.
    OwnedBy { namespace: String, kind: String, name: String },
    /// Those that carry an annotation.
    Annotated { namespaces: Namespaces, key: String },
    /// Those that a label selector selects. An empty selector selects all pods of the namespaces.
    Labelled { namespaces: Namespaces, selector: Selector },
}

/// Where pods are. A condition does not see the labels of namespaces: who selects by them says `All`, so that a namespace which was
/// created or labelled a moment ago counts, and decides when it is asked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Namespaces {
    All,
    Named(BTreeSet<String>),
}

/// What the API server can see of the pod when it decides whether to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// Pods that are created.
    New,
    /// Pods that exist. On deletion there is only the old object; on a change either of the two is enough.
    Stored,
    /// Nothing but its namespace: an eviction does not carry the pod.
    Namespace,
}

/// Whether the API server knows match conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conditions {
    Known,
    Unknown,
}

/// The API server and the installation that entries are made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub own_namespace: String,
    pub conditions: Conditions,
}

/// The narrowing fields of an entry, as JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    pub namespace_selector: Value,
    pub object_selector: Value,
    pub match_conditions: Value,
    pub width: Width,
}

/// How narrow an entry is, compared to what this API server could tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    Exact,
    /// Too many to be told apart: all pods of the namespaces in which there is a concern.
    Namespaces,
    /// Too many even for that: all pods.
    Everything,
}

impl Width {
    /// For logs and metrics.
    pub fn text(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Namespaces => "namespaces",
            Self::Everything => "everything",
        }
    }
}

/// The narrowest selection that has all pods of the concerns.
pub fn select(concerns: &BTreeSet<Concern>, sight: Sight, place: &Place) -> Selection {
    let never = [NEVER, &place.own_namespace];
    let mut namespaces =
        vec![json!({"key": labels::NAMESPACE_NAME, "operator": operator::NOT_IN, "values": never})];
    let (mut object_selector, mut condition, mut width) = (json!({}), None, Width::Exact);
    match (Reach::of(concerns, sight, place.conditions), place.conditions) {
        (Reach::Nobody, Conditions::Known) => condition = Some("false".to_owned()),
        (Reach::Nobody, Conditions::Unknown) => object_selector = nobody(),
        (Reach::Everybody, _) => {}
        (Reach::Some(pods), Conditions::Known) => (condition, width) = pods.narrowest(),
        (Reach::Some(pods), Conditions::Unknown) => match pods.few_namespaces() {
            Some(names) => namespaces
                .push(json!({"key": labels::NAMESPACE_NAME, "operator": operator::IN, "values": names})),
            None => width = Width::Everything,
        },
    }
    let conditions = condition.map(|expression| json!({"name": CONDITION, "expression": expression}));
    Selection {
        namespace_selector: json!({"matchExpressions": namespaces}),
        object_selector,
        match_conditions: conditions.into_iter().collect(),
        width,
    }
}

/// Keys of label selectors that only Kruise writes into an entry, beside the condition of the name [`CONDITION`]. What others
/// wrote there is not Kruise's to remove.
pub const OWN_SELECTOR_KEYS: [&str; 2] = [labels::NAMESPACE_NAME, labels::CONCERNS_NOBODY];

/// Matches no object at all, also where there are no labels.
fn nobody() -> Value {
    json!({"matchExpressions": [
        {"key": labels::CONCERNS_NOBODY, "operator": operator::EXISTS},
        {"key": labels::CONCERNS_NOBODY, "operator": operator::DOES_NOT_EXIST},
    ]})
}
