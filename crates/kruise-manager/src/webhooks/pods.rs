//! Webhook entries of pods, made of the steps that kinds register.

use std::collections::BTreeSet;
use std::sync::Arc;

use kruise_core::admission::Question;
use kruise_core::admission::pod::{self, PodSteps};

use super::entry::{Entry, FailurePolicy, Judge, Presence, Rule, Scope, Sort, TIMEOUT_SECONDS};
use crate::kinds;

const MUTATE: &str = "/mutate-pod";
const VALIDATE: &str = "/validate-pod";

/// What is done about pods, by all kinds.
pub fn steps() -> PodSteps {
    PodSteps::new(kinds::ALL.iter().filter_map(|kind| kind.pod_step).map(|step| step()))
}

pub fn entries() -> Vec<Entry> {
    let steps = Arc::new(steps());
    pod::Entry::ALL.map(|entry| of_pods(entry, &steps)).to_vec()
}

fn of_pods(entry: pod::Entry, steps: &Arc<PodSteps>) -> Entry {
    let all = Arc::clone(steps);
    let (sort, path, judge): (Sort, &str, Judge) = match entry {
        pod::Entry::Mutating => {
            (Sort::Mutating, MUTATE, Arc::new(move |request, known| all.mutate(&request, known)))
        }
        pod::Entry::Validating | pod::Entry::Evictions => {
            (Sort::Validating, VALIDATE, Arc::new(move |request, known| all.validate(&request, known)))
        }
    };
    let when = steps.when(entry);
    let operations: BTreeSet<_> = when.iter().map(|when| when.operation).collect();
    let subresources: BTreeSet<_> = when.iter().map(|when| when.subresource).collect();
    Entry {
        name: entry.name().to_owned(),
        sort,
        paths: vec![path.to_owned()],
        rule: Rule {
            group: "",
            versions: &["v1"],
            plural: "pods",
            subresources: subresources.into_iter().collect(),
            operations: operations.into_iter().collect(),
        },
        side_effects: steps.side_effects(entry),
        failure_policy: FailurePolicy::Fail,
        timeout_seconds: TIMEOUT_SECONDS,
        scope: Scope::Live,
        presence: if when.is_empty() { Presence::Foreign } else { Presence::Installed },
        asks: match entry {
            pod::Entry::Mutating => &[Question::SidecarSets],
            pod::Entry::Validating | pod::Entry::Evictions => &[],
        },
        judge,
    }
}
