//! Drawn nodes, pods and policies.

use proptest::prelude::*;

use super::*;
use crate::reason::Reason;

#[derive(Debug, Clone, Copy)]
enum Sort {
    None,
    Waiting,
    Running,
    Leaving,
    Succeeded,
    Failed,
}

fn sorts() -> impl Strategy<Value = Sort> {
    use Sort::{Failed, Leaving, None, Running, Succeeded, Waiting};
    prop::sample::select(vec![None, None, Waiting, Running, Leaving, Succeeded, Failed])
}

#[derive(Debug, Clone)]
struct Case {
    places: Vec<(Sort, bool)>,
    parallelism: usize,
    policy: &'static str,
    completion: &'static str,
    paused: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    let places = prop::collection::vec((sorts(), prop::bool::weighted(0.2)), 0..7);
    let policy = prop::sample::select(vec!["Continue", "FailFast", "Pause"]);
    let completion = prop::sample::select(vec!["Always", "Never"]);
    (places, 0..6usize, policy, completion, any::<bool>()).prop_map(
        |(places, parallelism, policy, completion, paused)| Case {
            places,
            parallelism,
            policy,
            completion,
            paused,
        },
    )
}

impl Case {
    fn job(&self) -> Job {
        let mut job = job(self.places.len())
            .spec("parallelism", json!(self.parallelism))
            .spec("failurePolicy", json!({"type": self.policy}))
            .spec("completionPolicy", json!({"type": self.completion}))
            .spec("paused", json!(self.paused));
        for (place, (sort, cordoned)) in self.places.iter().enumerate() {
            let name = format!("n{}", place + 1);
            job = job.node(&name, "unschedulable", json!(cordoned));
            let here = match sort {
                Sort::None => continue,
                Sort::Waiting => waiting(&name),
                Sort::Running => pod(&name),
                Sort::Leaving => pod(&name).deleted("2026-06-01T12:00:00Z"),
                Sort::Succeeded => succeeded(&name),
                Sort::Failed => failed(&name),
            };
            job = job.pods([here]);
        }
        job
    }

    fn count(&self, test: fn(Sort) -> bool) -> usize {
        self.places.iter().filter(|(sort, _)| test(*sort)).count()
    }
}

proptest! {
    /// Never two pods for one node, never more active pods at our hands than parallelism, never a pod on a node that does not fit.
    #[test]
    fn never_two_pods_for_one_node_nor_more_than_parallelism(case in cases()) {
        let plan = case.job().plan();
        let new = served(&plan);
        let active = case.count(|sort| matches!(sort, Sort::Waiting | Sort::Running));

        prop_assert!(new.is_empty() || active + new.len() <= case.parallelism);
        for node in &new {
            let place = node.strip_prefix('n').unwrap().parse::<usize>().unwrap() - 1;
            let (sort, cordoned) = case.places[place];
            prop_assert!(matches!(sort, Sort::None) && !cordoned, "{node}");
        }
        let mut once = new.clone();
        once.dedup();
        prop_assert_eq!(once.len(), new.len());
    }

    /// What ended is never deleted, and a paused job writes no pod.
    #[test]
    fn what_ended_stays_and_a_paused_job_rests(case in cases()) {
        let plan = case.job().plan();
        for name in deleted(&plan) {
            let place = name.strip_prefix("b-n").unwrap().parse::<usize>().unwrap() - 1;
            prop_assert!(matches!(case.places[place].0, Sort::Waiting | Sort::Running), "{name}");
        }
        if case.paused {
            prop_assert!(served(&plan).is_empty() && deleted(&plan).is_empty());
        }
    }

    /// A plan is a function of its view, and every node and pod that it leaves alone has a reason.
    #[test]
    fn every_node_and_pod_left_alone_has_a_reason(case in cases()) {
        let job = case.job();
        let plan = job.plan();

        prop_assert_eq!(&job.plan(), &plan);
        prop_assert!(plan.reasons.values().all(|reason| *reason != Reason::Unexplained));
        let new = served(&plan);
        for (place, (sort, _)) in case.places.iter().enumerate() {
            let node = format!("n{}", place + 1);
            let pod = format!("b-{node}");
            let is_told = plan.reason_of(&node).is_some() || new.contains(&node) || plan.reason_of(&pod).is_some()
                || deleted(&plan).contains(&pod.as_str());
            prop_assert!(is_told, "{node} {sort:?}: {plan:?}");
        }
    }
}
