//! Asking a budget whether a pod may be disturbed (PUB-1, PUB-30 … PUB-32).
//!
//! A question is data, made where a plan is made; the answer is found where the plan is carried out, from a live read
//! of the budget. Its status is the one place where all managers and webhooks count, so an allowance is spent there, under
//! the version that was read, before the pod is touched.

use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::policy::podunavailablebudget::{PodUnavailableBudget, PubOperation};
use kruise_api::{Kind, annotations, labels};
use serde_json::json;

use crate::chain::{Allowance, Answer, Op, Question};
use crate::ids::PodName;
use crate::inplace::is_complete;
use crate::object::ObjectRef;
use crate::order::Selector;
use crate::pod::{Phase, PodView, Texts};
use crate::time;

/// More pods than this on the way and nobody confirms them any more (PUB-32).
const MOST_UNCONFIRMED: usize = 2000;

/// A pod and what is to be done to it: may it be disturbed?
#[derive(Debug, Clone, PartialEq)]
pub struct Disturbance {
    /// The budget's name, for what is said about it.
    budget: String,
    pod: PodName,
    labels: Texts,
    operation: PubOperation,
}

/// From the budget that guards the pod; `None` where none does, or where the pod is down anyway.
pub fn allowance(pod: &PodView, operation: PubOperation) -> Option<Allowance> {
    let named = |key: &str| pod.annotations.get(key).filter(|name| !name.is_empty());
    let budget =
        named(annotations::RELATED_PUB).or_else(|| named(annotations::RELATED_PUB_LEGACY))?.to_owned();
    let is_exempt = pod.annotations.get(annotations::PUB_NO_PROTECT).is_some_and(is_true);
    if is_exempt || !is_serving(pod) {
        return None;
    }
    let from = ObjectRef::new(PodUnavailableBudget::RESOURCE, Arc::clone(&pod.namespace), budget.as_str());
    let question = Disturbance { budget, pod: pod.name.clone(), labels: pod.labels.clone(), operation };
    Some(Allowance { from, question: Arc::new(question) })
}

impl Question for Disturbance {
    fn answer(&self, stored: Option<&str>, now: Timestamp) -> Answer {
        let Some(text) = stored else { return Answer::Allowed };
        match serde_json::from_str::<PodUnavailableBudget>(text) {
            Ok(budget) => self.judge(&budget, now),
            Err(error) => self.denied(&format!("it cannot be parsed: {error}")),
        }
    }
}

impl Disturbance {
    fn denied(&self, why: &str) -> Answer {
        Answer::Denied(format!("PodUnavailableBudget {} does not allow it: {why}", self.budget))
    }

    fn judge(&self, budget: &PodUnavailableBudget, now: Timestamp) -> Answer {
        let status = budget.status.clone().unwrap_or_default();
        match self.is_ignored(budget) {
            Ok(true) => return Answer::Allowed,
            Ok(false) => {}
            Err(why) => return self.denied(&why),
        }
        if status.desired_available == 0 || !self.is_guarded(budget) {
            return Answer::Allowed;
        }
        let disrupted = status.disrupted_pods.unwrap_or_default();
        let unavailable = status.unavailable_pods.unwrap_or_default();
        let name = self.pod.as_str();
        if disrupted.contains_key(name) || unavailable.contains_key(name) {
            return Answer::Allowed; // Paid for before (PUB-30.7); looked up in what will be written (PUB-B8).
        }
        if status.unavailable_allowed <= 0 {
            return self.denied(&format!(
                "no disruption allowed now: {} of {} pods are available, {} are required, and the remaining allowance is already in use",
                status.current_available, status.total_replicas, status.desired_available
            ));
        }
        if disrupted.len() + unavailable.len() > MOST_UNCONFIRMED {
            return self.denied(&format!(
                "more than {MOST_UNCONFIRMED} disruptions are allowed but not confirmed yet"
            ));
        }
        let map = match self.operation {
            PubOperation::Update | PubOperation::Resize => ("unavailablePods", unavailable.is_empty()), // PUB-B4
            PubOperation::Delete | PubOperation::Evict | PubOperation::Other(_) => {
                ("disruptedPods", disrupted.is_empty())
            }
        };
        Answer::Spend(self.spend(budget, status.unavailable_allowed - 1, map, now))
    }

    fn is_ignored(&self, budget: &PodUnavailableBudget) -> Result<bool, String> {
        let Some(ignored) = &budget.spec.ignored_pod_selector else { return Ok(false) };
        let selector = Selector::of(ignored).map_err(|error| format!("ignoredPodSelector: {error}"))?;
        Ok(selector.matches(&self.labels))
    }

    /// PUB-31; items of the annotation are trimmed (PUB-B14).
    fn is_guarded(&self, budget: &PodUnavailableBudget) -> bool {
        let listed = budget.spec.protect_operations.clone().unwrap_or_default();
        if !listed.is_empty() {
            return listed.contains(&self.operation);
        }
        let written = budget.metadata.annotations.as_ref();
        let written = written.and_then(|all| all.get(annotations::PUB_PROTECT_OPERATIONS));
        match written.filter(|text| !text.is_empty()) {
            Some(text) => text.split(',').any(|item| item.trim() == self.operation.as_str()),
            None => self.operation != PubOperation::Resize,
        }
    }

    fn spend(
        &self,
        budget: &PodUnavailableBudget,
        left: i32,
        (map, is_empty): (&str, bool),
        now: Timestamp,
    ) -> Vec<Op> {
        let path = format!("/status/{map}");
        let time = time::seconds(now);
        let record = if is_empty {
            Op::add(path, json!({self.pod.as_str(): time}))
        } else {
            Op::add(Op::path(&path, self.pod.as_str()), time)
        };
        let version = budget.metadata.resource_version.clone().unwrap_or_default();
        vec![
            Op::test("/metadata/resourceVersion", version),
            Op::add("/status/unavailableAllowed", left),
            record,
        ]
    }
}

/// Ready and consistent: such a pod counts as available, so disturbing it takes one down (PUB-7, PUB-8.4).
fn is_serving(pod: &PodView) -> bool {
    let is_taken_out = pod.labels.iter().any(|(key, _)| key.starts_with(labels::UNAVAILABLE_POD_PREFIX));
    let is_ready = pod.phase == Phase::Running && pod.is_ready() && pod.deleted.is_none();
    is_ready && !is_taken_out && is_complete(pod).is_ok()
}

/// What the original's language reads as true: a digit, a letter, or the word in small, capital or capitalised letters.
fn is_true(text: &str) -> bool {
    let is_word = ["true", "TRUE"].contains(&text) || text.strip_prefix('T') == Some("rue");
    matches!(text, "1" | "t" | "T") || is_word
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const NOW: &str = "2026-01-01T00:00:00Z";

    fn now() -> Timestamp {
        NOW.parse().unwrap()
    }

    fn pod(edit: impl FnOnce(&mut Value)) -> PodView {
        let mut pod = json!({
            "metadata": {
                "namespace": "n", "name": "web-1", "uid": "u", "resourceVersion": "7",
                "labels": {"app": "web"}, "annotations": {"kruise.io/related-pub": "old"},
            },
            "spec": {"containers": []},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        });
        edit(&mut pod);
        serde_json::from_value(pod).unwrap()
    }

    fn question() -> Arc<dyn Question> {
        allowance(&pod(|_| ()), PubOperation::Update).unwrap().question
    }

    fn answer(edit: impl FnOnce(&mut Value)) -> Answer {
        let mut budget = json!({
            "apiVersion": "policy.kruise.io/v1beta1", "kind": "PodUnavailableBudget",
            "metadata": {"namespace": "n", "name": "b", "resourceVersion": "9"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 1},
            "status": {
                "unavailableAllowed": 1, "currentAvailable": 3, "desiredAvailable": 2, "totalReplicas": 3,
            },
        });
        edit(&mut budget);
        question().answer(Some(&budget.to_string()), now())
    }

    #[test]
    fn pub_1_newer_annotation_names_the_budget() {
        let both = pod(|pod| pod["metadata"]["annotations"]["pub.kruise.io/related-pub"] = "new".into());

        let name = |pod: &PodView| allowance(pod, PubOperation::Update).map(|one| one.from.name().to_owned());

        assert_eq!(name(&both).as_deref(), Some("new"));
        assert_eq!(name(&pod(|_| ())).as_deref(), Some("old"));
        assert_eq!(name(&pod(|pod| pod["metadata"]["annotations"] = json!({}))), None);
    }

    #[test]
    fn pub_30_exempt_pods_and_those_that_are_down_ask_nobody() {
        let asks = |edit: fn(&mut Value)| allowance(&pod(edit), PubOperation::Update).is_some();

        assert!(asks(|_| ()));
        assert!(!asks(|pod| pod["metadata"]["annotations"]["pub.kruise.io/no-protect"] = "T".into()));
        assert!(asks(|pod| pod["metadata"]["annotations"]["pub.kruise.io/no-protect"] = "no".into()));
        assert!(!asks(|pod| pod["status"]["conditions"] = json!([])));
        assert!(!asks(|pod| pod["status"]["phase"] = "Pending".into()));
        assert!(!asks(|pod| pod["metadata"]["deletionTimestamp"] = NOW.into()));
        assert!(!asks(|pod| pod["metadata"]["labels"]["unavailable-pod.kruise.io/by"] = "me".into()));
        assert!(!asks(|pod| {
            pod["metadata"]["annotations"]["apps.kruise.io/inplace-update-grace"] =
                r#"{"revision":"r"}"#.into();
        }));
    }

    #[test]
    fn pub_30_what_allows_without_paying() {
        assert_eq!(question().answer(None, now()), Answer::Allowed);
        assert_eq!(
            answer(|b| b["spec"]["ignoredPodSelector"] = json!({"matchLabels": {"app": "web"}})),
            Answer::Allowed
        );
        assert_eq!(answer(|b| b["status"]["desiredAvailable"] = 0.into()), Answer::Allowed);
        assert_eq!(answer(|b| b["spec"]["protectOperations"] = json!(["DELETE"])), Answer::Allowed);
        let paid = |b: &mut Value| {
            b["status"]["unavailableAllowed"] = 0.into();
            b["status"]["unavailablePods"] = json!({"web-1": NOW});
        };
        assert_eq!(answer(paid), Answer::Allowed);
    }

    #[test]
    fn pub_31_guarded_operations_stand_in_the_spec_or_else_in_the_annotation() {
        let annotated = |text: &'static str| {
            answer(|b| b["metadata"]["annotations"] = json!({"kruise.io/pub-protect-operations": text}))
        };

        assert!(matches!(annotated("EVICT, UPDATE"), Answer::Spend(_)), "podunavailablebudget/PUB-B14");
        assert_eq!(annotated("EVICT"), Answer::Allowed);
        assert!(matches!(annotated(""), Answer::Spend(_)));
    }

    #[test]
    fn pub_32_spends_under_the_version_that_was_read() {
        let expected = vec![
            Op::test("/metadata/resourceVersion", "9"),
            Op::add("/status/unavailableAllowed", 0),
            Op::add("/status/unavailablePods", json!({"web-1": NOW})),
        ];
        assert_eq!(answer(|_| ()), Answer::Spend(expected));

        let Answer::Spend(ops) = answer(|b| b["status"]["unavailablePods"] = json!({"other": NOW})) else {
            panic!("has an allowance")
        };
        assert_eq!(ops.last(), Some(&Op::add("/status/unavailablePods/web-1", NOW)));
    }

    #[test]
    fn pub_32_denies_without_allowance_and_with_too_many_on_the_way() {
        let used_up = answer(|b| b["status"]["unavailableAllowed"] = 0.into());
        let Answer::Denied(message) = used_up else { panic!("{used_up:?}") };
        assert_eq!(
            message,
            "PodUnavailableBudget old does not allow it: \
             no disruption allowed now: 3 of 3 pods are available, 2 are required, and the remaining allowance is already in use"
        );

        let crowd: serde_json::Map<String, Value> =
            (0..2001).map(|i| (format!("p-{i}"), NOW.into())).collect();
        assert!(matches!(answer(|b| b["status"]["disruptedPods"] = crowd.into()), Answer::Denied(_)));
        assert!(matches!(question().answer(Some("{"), now()), Answer::Denied(_)));
    }
}
