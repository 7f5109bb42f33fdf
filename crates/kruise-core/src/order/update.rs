//! Which pod is updated first.

use std::cmp::Reverse;

use jiff::Timestamp;
use kruise_api::conditions;
use kruise_api::parts::UpdatePriorityStrategy;

use super::selector::Selector;
use crate::fault::{Fault, count};
use crate::pod::{Condition, PodView, Status};

/// The user's wish for the order (SM-62).
#[derive(Debug, Clone, PartialEq)]
pub enum Priority {
    /// Sum of the weights of all selectors that match; higher first.
    Weights(Vec<(u32, Selector)>),
    /// First key that the pod has; the number at the end of its value, higher first.
    Keys(Vec<String>),
}

impl Priority {
    /// Weights win where both are written; `None` where neither is.
    pub fn of(wire: &UpdatePriorityStrategy, field: &str) -> Result<Option<Self>, Fault> {
        let weights = wire.weight_priority.as_deref().unwrap_or_default();
        if !weights.is_empty() {
            let terms = weights.iter().map(|term| {
                let selector =
                    Selector::of(&term.match_selector).map_err(|error| Fault::new(field, &error))?;
                let weight = count(&format!("{field}.weightPriority"), Some(term.weight))?;
                Ok((weight.unwrap_or(0), selector))
            });
            return terms.collect::<Result<_, Fault>>().map(|terms| Some(Self::Weights(terms)));
        }
        let keys = wire.order_priority.iter().flatten().map(|term| term.ordered_key.clone());
        let keys: Vec<String> = keys.collect();
        Ok((!keys.is_empty()).then_some(Self::Keys(keys)))
    }
}

/// SM-60: what is lost least by being updated comes first.
pub fn by_default(pods: &mut [&PodView]) {
    pods.sort_by_cached_key(|pod| {
        let ready = pod.condition(conditions::POD_READY).filter(|one| one.status == Status::True);
        let since = ready.map(Condition::since);
        (
            pod.node.is_some(),
            pod.phase,
            ready.is_some(),
            // Among ready pods the most recently ready first, an unknown time before all.
            since.map(|time| (time.is_some(), Reverse(time))),
            Reverse(pod.restarts_max()),
            Reverse(pod.created.unwrap_or(Timestamp::MAX)),
            pod.name.clone(),
        )
    });
}

/// SM-62, stable on top of the default order.
pub fn by_priority(pods: &mut [&PodView], priority: &Priority) {
    match priority {
        Priority::Weights(terms) => pods.sort_by_cached_key(|pod| {
            let matching = terms.iter().filter(|(_, selector)| selector.matches(&pod.labels));
            Reverse(matching.map(|(weight, _)| u64::from(*weight)).sum::<u64>())
        }),
        Priority::Keys(keys) => pods.sort_by_cached_key(|pod| {
            let found = keys.iter().enumerate().find_map(|(at, key)| Some((at, pod.labels.get(key)?)));
            // A pod with none of the keys comes before all others.
            found.map(|(at, value)| (at, Reverse(trailing_number(value))))
        }),
    }
}

/// Digits at the very end of a text; none or too many → 0.
fn trailing_number(text: &str) -> u64 {
    let start = text.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    text.get(start..).and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixtures::pod;

    fn names(pods: &[&PodView]) -> Vec<String> {
        pods.iter().map(|pod| pod.name.to_string()).collect()
    }

    #[test]
    fn sm_60_default_order_takes_what_is_lost_least_first() {
        let pods = [
            pod("h").node("n").running().ready_since("2026-01-01T00:00:00Z").view(),
            pod("g").node("n").running().ready_since("2026-01-02T00:00:00Z").view(),
            pod("f").node("n").running().restarts(1).view(),
            pod("e").node("n").running().restarts(5).view(),
            pod("d").node("n").phase("Unknown").view(),
            pod("c").node("n").created("2026-01-01T00:00:00Z").view(),
            pod("b").node("n").created("2026-01-02T00:00:00Z").view(),
            pod("a2").view(),
            pod("a1").view(),
        ];
        let mut order: Vec<&PodView> = pods.iter().collect();

        by_default(&mut order);

        assert_eq!(names(&order), ["a1", "a2", "b", "c", "d", "e", "f", "g", "h"]);
    }

    #[test]
    fn sm_62_weights_add_up_and_higher_goes_first() {
        let selector = |value: &str| Selector::read(&json!({"matchLabels": {"env": value}})).unwrap();
        let any = Selector::read(&json!({"matchExpressions": [{"key": "x", "operator": "Exists"}]})).unwrap();
        let priority = Priority::Weights(vec![(50, selector("test")), (30, any.clone()), (30, any)]);
        let pods = [
            pod("a").view(),
            pod("b").label("env", "test").view(),
            pod("c").label("x", "").view(),
            pod("d").label("env", "test").label("x", "").view(),
            pod("e").view(),
        ];
        let mut order: Vec<&PodView> = pods.iter().collect();

        by_priority(&mut order, &priority);

        assert_eq!(names(&order), ["d", "c", "b", "a", "e"]);
    }

    #[test]
    fn sm_62_keys_put_pods_without_any_first_then_by_trailing_number() {
        let priority = Priority::Keys(vec!["k1".to_owned(), "k2".to_owned()]);
        let pods = [
            pod("a").label("k1", "x-2").view(),
            pod("b").label("k1", "x-10").view(),
            pod("c").label("k2", "99").view(),
            pod("d").view(),
            pod("e").label("k1", "none").view(),
        ];
        let mut order: Vec<&PodView> = pods.iter().collect();

        by_priority(&mut order, &priority);

        assert_eq!(names(&order), ["d", "b", "a", "e", "c"]);
    }
}
