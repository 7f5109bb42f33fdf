//! Which pod is deleted first (CS-50 … CS-52).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;
use kruise_api::kubernetes::HOSTNAME;

use crate::ids::PodName;
use crate::pod::PodView;

/// A topology spread constraint, reduced to the topology of each node: node name → label value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constraint {
    pub key: String,
    /// Nodes that are unknown or lack the label are not in it.
    pub topology_of: BTreeMap<String, String>,
}

/// The deletion order of one group of pods.
#[derive(Clone, Copy)]
pub struct DeleteOrder<'a> {
    /// Whether a pod is available, as the kind defines it.
    pub is_available: &'a dyn Fn(&PodView) -> bool,
    /// Those of the live template; empty → pods are ranked by node.
    pub constraints: &'a [Constraint],
}

/// Higher rank is deleted earlier. Weights are in millionths, so that the order does not depend on float noise.
type Ranks = BTreeMap<PodName, u64>;

impl DeleteOrder<'_> {
    /// First = deleted first.
    pub fn sort(&self, pods: &mut [&PodView]) {
        let ranks =
            if self.constraints.is_empty() { by_node(pods) } else { by_topology(pods, self.constraints) };
        pods.sort_by_cached_key(|pod| {
            let availability = ((self.is_available)(pod), pod.is_ready());
            key(pod, availability, ranks.get(&pod.name).copied().unwrap_or(0))
        });
    }
}

/// The comparison of CS-50; `availability` and `rank` are left constant where the rules leave them out.
#[expect(clippy::type_complexity, reason = "the tuple is the order itself, one element per rule of CS-50")]
fn key(
    pod: &PodView,
    availability: (bool, bool),
    rank: u64,
) -> (
    bool,
    crate::pod::Phase,
    (bool, bool),
    i32,
    Reverse<u64>,
    Option<(bool, Reverse<Option<Timestamp>>)>,
    Reverse<u32>,
    Reverse<Timestamp>,
    PodName,
) {
    let ready_since = pod
        .condition(kruise_api::conditions::POD_READY)
        .filter(|_| pod.is_ready())
        .map(|one| (one.since().is_some(), Reverse(one.since())));
    (
        pod.node.is_some(),
        pod.phase,
        availability,
        pod.deletion_cost(),
        Reverse(rank),
        ready_since,
        Reverse(pod.restarts_max()),
        Reverse(pod.created.unwrap_or(Timestamp::MAX)),
        pod.name.clone(),
    )
}

/// CS-51: among n pods of a node the first to go gets n - 1, the last 0; unscheduled pods get 0.
fn by_node(pods: &[&PodView]) -> Ranks {
    let mut nodes: BTreeMap<&str, Vec<&PodView>> = BTreeMap::new();
    for pod in pods {
        if let Some(node) = &pod.node {
            nodes.entry(node).or_default().push(pod);
        }
    }
    let mut ranks = Ranks::new();
    for mut group in nodes.into_values() {
        group.sort_by_cached_key(|pod| key(pod, (false, pod.is_ready()), 0));
        for (after, pod) in group.iter().rev().enumerate() {
            ranks.insert(pod.name.clone(), u64::try_from(after).unwrap_or(u64::MAX));
        }
    }
    ranks
}

/// CS-52: in a topology of k pods the i-th gets (k - i) × ln(T + 2), added up over the constraints.
fn by_topology(pods: &[&PodView], constraints: &[Constraint]) -> Ranks {
    let same_node = by_node(pods);
    let mut ranks = Ranks::new();
    for constraint in constraints {
        let mut topologies: BTreeMap<&str, Vec<&PodView>> = BTreeMap::new();
        for pod in pods {
            let value = pod.node.as_deref().and_then(|node| constraint.topology_of.get(node));
            if let Some(value) = value {
                topologies.entry(value).or_default().push(pod);
            }
        }
        let weight = weight_micro(topologies.len());
        for mut group in topologies.into_values() {
            group.sort_by_cached_key(|pod| {
                let inner = if constraint.key == HOSTNAME { None } else { same_node.get(&pod.name).copied() };
                key(pod, (false, pod.is_ready()), inner.unwrap_or(0))
            });
            for (after, pod) in group.iter().rev().enumerate() {
                let place = u64::try_from(after + 1).unwrap_or(u64::MAX);
                let rank = ranks.entry(pod.name.clone()).or_insert(0);
                *rank = rank.saturating_add(place.saturating_mul(weight));
            }
        }
    }
    ranks
}

/// ln(T + 2) in millionths.
fn weight_micro(topologies: usize) -> u64 {
    let count = u32::try_from(topologies.saturating_add(2)).unwrap_or(u32::MAX);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "ln of at least 2 is small and positive"
    )]
    let micro = (f64::from(count).ln() * 1e6).round() as u64;
    micro
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::pod;

    fn order(pods: &[PodView], constraints: &[Constraint]) -> Vec<String> {
        let mut refs: Vec<&PodView> = pods.iter().collect();
        DeleteOrder { is_available: &PodView::is_ready, constraints }.sort(&mut refs);
        refs.into_iter().map(|pod| pod.name.to_string()).collect()
    }

    #[test]
    fn cs_50_deletion_order_rule_by_rule() {
        let ready = |name: &str| pod(name).node(name).running().ready_since("2026-01-01T00:00:00Z");
        let pods = [
            ready("l").created("2026-01-01T00:00:00Z").view(),
            ready("k").created("2026-01-02T00:00:00Z").view(),
            ready("j").restarts(3).view(),
            pod("i").node("i").running().ready_since("2026-01-03T00:00:00Z").view(),
            ready("h").cost("-5").view(),
            pod("g").node("g").running().view(),
            pod("f").node("f").phase("Unknown").view(),
            pod("e").node("e").view(),
            pod("d").running().view(),
            ready("m").cost("10").view(),
        ];

        assert_eq!(order(&pods, &[]), ["d", "e", "f", "g", "h", "i", "j", "k", "l", "m"]);
    }

    #[test]
    fn cs_51_crowded_nodes_lose_pods_first() {
        let on = |name: &str, node: &str| {
            pod(name).node(node).running().ready_since("2026-01-01T00:00:00Z").view()
        };
        let pods = [on("a", "lonely"), on("b", "crowded"), on("c", "crowded"), on("d", "crowded")];

        // Ranks: b 2, c 1, d 0 on the crowded node, a 0 alone.
        assert_eq!(order(&pods, &[]), ["b", "c", "a", "d"]);
    }

    #[test]
    fn cs_52_crowded_zones_lose_pods_first() {
        let on = |name: &str, node: &str| {
            pod(name).node(node).running().ready_since("2026-01-01T00:00:00Z").view()
        };
        let pods = [on("a", "n1"), on("b", "n2"), on("c", "n3"), on("d", "unknown")];
        let zones = [("n1", "east"), ("n2", "west"), ("n3", "west")];
        let topology_of = zones.map(|(node, zone)| (node.to_owned(), zone.to_owned())).into();

        let order = order(&pods, &[Constraint { key: "zone".to_owned(), topology_of }]);

        assert_eq!(order, ["b", "a", "c", "d"]);
    }
}
