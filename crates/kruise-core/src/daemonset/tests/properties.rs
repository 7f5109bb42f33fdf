//! Drawn nodes, pods and settings.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::fixtures::workload::cases;

#[derive(Debug, Clone, Copy, PartialEq)]
enum There {
    Nothing,
    Old,
    OldDown,
    OldGoing,
    New,
    NewDown,
    NewFailed,
    NewPending,
    Both,
}

const THERE: [There; 9] = [
    There::Nothing,
    There::Old,
    There::OldDown,
    There::OldGoing,
    There::New,
    There::NewDown,
    There::NewFailed,
    There::NewPending,
    There::Both,
];

#[derive(Debug, Clone)]
struct Case {
    places: Vec<(There, Option<&'static str>)>,
    unavailable: u32,
    surge: u32,
    partition: u32,
    burst: u32,
    in_place: bool,
    partitioned: bool,
}

fn drawn() -> impl Strategy<Value = Case> {
    let taints = prop::sample::select(vec![None, None, None, Some("NoSchedule"), Some("NoExecute")]);
    let places = prop::collection::vec((prop::sample::select(THERE.to_vec()), taints), 0..7);
    (places, 0..4u32, 0..3u32, 0..5u32, 1..4u32, any::<bool>(), any::<bool>()).prop_map(
        |(places, unavailable, surge, partition, burst, in_place, partitioned)| {
            let in_place = in_place && surge == 0;
            Case { places, unavailable, surge, partition, burst, in_place, partitioned }
        },
    )
}

impl Case {
    fn set(&self) -> Set {
        let mut drawn = set(self.places.len())
            .rolling("maxUnavailable", json!(if self.surge > 0 { 0 } else { self.unavailable }))
            .rolling("maxSurge", json!(self.surge))
            .rolling("partition", json!(self.partition))
            .spec("burstReplicas", json!(self.burst))
            .spec("scaleStrategy", json!({"partitionedScaling": self.partitioned}));
        if self.in_place {
            drawn = drawn.in_place();
        }
        for (place, (there, taint)) in self.places.iter().enumerate() {
            let name = format!("n{}", place + 1);
            if let Some(effect) = taint {
                drawn = drawn.taint(&name, "x", effect);
            }
            drawn = drawn.pods(match there {
                There::Nothing => vec![],
                There::Old => vec![old(&name)],
                There::OldDown => vec![old(&name).not_ready()],
                There::OldGoing => vec![old(&name).going()],
                There::New => vec![new(&name)],
                There::NewDown => vec![new(&name).not_ready()],
                There::NewFailed => vec![new(&name).failed()],
                There::NewPending => vec![new(&name).pending_on(&name)],
                There::Both => vec![old(&name), new(&name)],
            });
        }
        drawn
    }

    fn place(&self, node: &str) -> (There, Option<&'static str>) {
        self.places[node.strip_prefix('n').unwrap().parse::<usize>().unwrap() - 1]
    }
}

proptest! {
    #![proptest_config(cases(300))]

    /// Never two pods of one revision on a node at our hands, none on a node that takes none, and never more than burstReplicas at once.
    #[test]
    fn never_two_pods_of_one_revision_on_a_node(case in drawn()) {
        let plan = case.set().plan();
        let new = served(&plan);
        prop_assert!(new.len() <= case.burst as usize && deleted(&plan).len() <= case.burst as usize);
        let mut per_node: BTreeMap<&String, usize> = BTreeMap::new();
        for node in &new {
            *per_node.entry(node).or_default() += 1;
            let (there, taint) = case.place(node);
            prop_assert_eq!(taint, None, "{}", node);
            let holds_new = matches!(there, There::New | There::NewDown | There::NewFailed | There::NewPending | There::Both);
            prop_assert!(!holds_new, "{} {:?}", node, there);
            prop_assert!(there == There::Nothing || case.surge > 0, "{} {:?}", node, there);
        }
        prop_assert!(per_node.values().all(|count| *count == 1));
    }

    /// Of the nodes that the partition leaves, no more serve less at our hands than maxUnavailable says; and a pod that could not be
    /// made anew is deleted only where its node drives it off (B14).
    #[test]
    fn never_more_nodes_down_at_our_hands_than_allowed(case in drawn()) {
        let plan = case.set().plan();
        let mut taken = 0;
        for name in deleted(&plan).into_iter().chain(touched(&plan, Purpose::UpdateInPlace)) {
            let node = name.split_once('-').unwrap().1;
            let (there, taint) = case.place(node);
            let stays = name.starts_with("old") && there == There::Old && taint != Some("NoExecute");
            taken += u32::from(stays);
            if taint == Some("NoSchedule") && deleted(&plan).contains(&name) {
                prop_assert!(there == There::NewFailed || there == There::Both, "{} {:?}", name, there);
            }
        }
        let limit = if case.surge > 0 { 0 } else { case.unavailable.max(1) };
        prop_assert!(taken <= limit, "{} of {}", taken, limit);
    }

    /// A plan is a function of its view; every node without a pod and every pod left alone has a reason.
    #[test]
    fn every_node_and_pod_left_alone_has_a_reason(case in drawn()) {
        let set = case.set();
        let plan = set.plan();
        prop_assert_eq!(&set.plan(), &plan);
        prop_assert!(plan.reasons.values().all(|reason| *reason != Reason::Unexplained), "{:?}", plan.reasons);
        for pod in &set.view().pods {
            prop_assert!(plan.acts_on(pod) || plan.reason_of(pod.name.as_str()).is_some(), "{}", pod.name);
        }
        for (place, (there, _)) in case.places.iter().enumerate() {
            let node = format!("n{}", place + 1);
            if *there == There::Nothing {
                prop_assert!(served(&plan).contains(&node) || plan.reason_of(&node).is_some(), "{}", node);
            }
        }
    }

    /// With partitionedScaling no more nodes get the new template than the partition leaves (DS-18).
    #[test]
    fn ds_18_partitioned_scaling_never_goes_beyond_the_partition(case in drawn()) {
        let plan = case.set().plan();
        let desired = case.places.iter().filter(|(_, taint)| taint.is_none()).count();
        let is_new = |there: There| matches!(there, There::New | There::NewDown | There::NewFailed | There::NewPending | There::Both);
        let there = case.places.iter().filter(|(there, _)| is_new(*there)).count();
        if case.partitioned && case.partition > 0 && case.surge == 0 && !served(&plan).is_empty() {
            prop_assert!(there + served(&plan).len() <= desired.saturating_sub(case.partition as usize));
        }
    }
}
