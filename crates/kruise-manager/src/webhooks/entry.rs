//! One webhook entry: its name and rule in the webhook configurations, its paths, and who answers. Routes, configurations, the
//! labels of metrics, selections and the simulated admission are all derived from a list of these.

use std::sync::Arc;

use kruise_api::Resource;
use kruise_api::names::APPS_GROUP;
use kruise_core::admission::pod::SideEffects;
use kruise_core::admission::versions::{self, Rules};
use kruise_core::admission::{Answer, Known, Operation, Question, Request, Subresource};

/// Charts of older releases call the same handlers with this before the kind.
const OLDER: &str = "v1alpha1-";
/// As the original's chart.
pub const TIMEOUT_SECONDS: u8 = 30;

/// Decides about a request. Pure: what it needs to know comes in.
pub type Judge = Arc<dyn Fn(Request, &Known<'_>) -> Answer + Send + Sync>;

#[derive(Clone)]
pub struct Entry {
    /// As the original calls it, `mcloneset.kb.io`.
    pub name: String,
    pub sort: Sort,
    /// The first one is in the configurations that are made here; older charts call the others.
    pub paths: Vec<String>,
    pub rule: Rule,
    pub side_effects: SideEffects,
    pub failure_policy: FailurePolicy,
    pub timeout_seconds: u8,
    pub scope: Scope,
    pub presence: Presence,
    /// What has to be asked of the API server before the decision.
    pub asks: &'static [Question],
    pub judge: Judge,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    Mutating,
    Validating,
}

/// The requests that an entry is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub group: &'static str,
    pub versions: &'static [&'static str],
    pub plural: &'static str,
    pub subresources: Vec<Subresource>,
    pub operations: Vec<Operation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailurePolicy {
    Fail,
    Ignore,
}

/// Who says which objects an entry is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The rule alone.
    Fixed,
    /// The manager that leads, from the objects that there are; no object until then.
    Live,
}

/// Whether the configurations that are made here have the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Installed,
    /// Only configurations of the original have it. It is answered there, and nothing needs it.
    Foreign,
}

impl Entry {
    /// Of a kind in the group `apps.kruise.io` that is served in both versions. It fails closed, as in the original's chart: only
    /// Kruise objects depend on it.
    pub fn of_kind(resource: Resource, sort: Sort, operations: &[Operation], judge: Judge) -> Self {
        let kind = resource.kind().to_lowercase();
        let (initial, verb) = match sort {
            Sort::Mutating => ('m', "mutate"),
            Sort::Validating => ('v', "validate"),
        };
        Self {
            name: format!("{initial}{kind}.kb.io"),
            sort,
            paths: kind_paths(verb, &kind).to_vec(),
            rule: Rule {
                group: APPS_GROUP,
                versions: &["v1alpha1", "v1beta1"],
                plural: resource.plural(),
                subresources: vec![Subresource::Whole],
                operations: operations.to_vec(),
            },
            side_effects: SideEffects::None,
            failure_policy: FailurePolicy::Fail,
            timeout_seconds: TIMEOUT_SECONDS,
            scope: Scope::Fixed,
            presence: Presence::Installed,
            asks: &[],
            judge,
        }
    }

    /// Of a kind whose rules need nothing but the object: its defaults and its validation.
    pub fn of_rules<R: Rules>() -> Vec<Self> {
        let written = [Operation::Create, Operation::Update];
        let (mutate, validate) = (Arc::new(versions::mutate::<R>), Arc::new(versions::validate::<R>));
        vec![
            Self::of_kind(R::RESOURCE, Sort::Mutating, &written, mutate),
            Self::of_kind(R::RESOURCE, Sort::Validating, &written, validate),
        ]
    }

    /// Of a kind with a pod template: its defaults, and its validation with the API server's word about the template.
    pub fn of_template<R: Rules>() -> Vec<Self> {
        let asking = |entry: Self| match entry.sort {
            Sort::Mutating => entry,
            Sort::Validating => entry.asking(&[Question::Template]),
        };
        Self::of_rules::<R>().into_iter().map(asking).collect()
    }

    /// Of a workload whose deletion can be forbidden, too.
    pub fn of_workload<R: Rules>() -> Vec<Self> {
        let mut entries = Self::of_template::<R>();
        for entry in entries.iter_mut().filter(|entry| entry.sort == Sort::Validating) {
            entry.rule.operations.push(Operation::Delete);
        }
        entries
    }

    #[must_use]
    pub fn asking(self, asks: &'static [Question]) -> Self {
        Self { asks, ..self }
    }

    /// Objects of this entry select pods: they are selected before the object is let in, unless it is only tried.
    #[must_use]
    pub fn widening(self) -> Self {
        Self { side_effects: SideEffects::NoneOnDryRun, ..self }
    }

    pub fn is_about(&self, group: &str, plural: &str) -> bool {
        self.rule.group == group && self.rule.plural == plural
    }

    /// Whether the API server asks it about this, as far as the rule says.
    pub fn is_asked(&self, request: &Request) -> bool {
        let Rule { versions, subresources, operations, .. } = &self.rule;
        let resource = &request.resource;
        self.is_about(&resource.group, &resource.plural)
            && versions.contains(&resource.version.as_str())
            && subresources.contains(&request.subresource)
            && operations.contains(&request.operation)
    }
}

impl FailurePolicy {
    /// The word in a webhook configuration.
    pub fn text(self) -> &'static str {
        match self {
            Self::Fail => "Fail",
            Self::Ignore => "Ignore",
        }
    }
}

/// Paths of a kind in the group `apps.kruise.io`: the one of today, and that of older charts.
pub fn kind_paths(verb: &str, kind: &str) -> [String; 2] {
    ["", OLDER].map(|prefix| format!("/{verb}-apps-kruise-io-{prefix}{kind}"))
}
