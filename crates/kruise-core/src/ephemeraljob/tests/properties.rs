//! Drawn pods and limits.

use proptest::prelude::*;

use super::*;
use crate::reason::Reason;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Sort {
    Untouched,
    Silent,
    Waiting,
    Running,
    Succeeded,
    Failed,
    Taken,
    Leaving,
}

fn sorts() -> impl Strategy<Value = Sort> {
    use Sort::{Failed, Leaving, Running, Silent, Succeeded, Taken, Untouched, Waiting};
    prop::sample::select(vec![
        Untouched, Untouched, Untouched, Silent, Waiting, Running, Succeeded, Failed, Taken, Leaving,
    ])
}

#[derive(Debug, Clone)]
struct Case {
    pods: Vec<Sort>,
    parallelism: usize,
    replicas: Option<usize>,
    is_paused: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    let pods = prop::collection::vec(sorts(), 0..9);
    (pods, 0..5usize, prop::option::of(0..6usize), prop::bool::weighted(0.2))
        .prop_map(|(pods, parallelism, replicas, is_paused)| Case { pods, parallelism, replicas, is_paused })
}

impl Case {
    fn job(&self) -> Job {
        let pods = self.pods.iter().enumerate().map(|(i, sort)| {
            let name = format!("p{i}");
            match sort {
                Sort::Untouched => pod(&name),
                Sort::Silent => own(&name, &Value::Null),
                Sort::Waiting => own(&name, &waits("x")),
                Sort::Running => own(&name, &runs()),
                Sort::Succeeded => own(&name, &ended(0)),
                Sort::Failed => own(&name, &ended(1)),
                Sort::Taken => with(pod(&name), ("dbg", "another"), &runs()),
                Sort::Leaving => own(&name, &runs()).deleted("2026-06-01T12:00:00Z"),
            }
        });
        job()
            .spec("parallelism", json!(self.parallelism))
            .spec("replicas", json!(self.replicas))
            .spec("paused", json!(self.is_paused))
            .pods(pods)
    }

    fn count(&self, sorts: &[Sort]) -> usize {
        self.pods.iter().filter(|sort| sorts.contains(sort)).count()
    }
}

proptest! {
    /// Never twice into a pod, never beyond parallelism or replicas, never into a pod that has the name from another, never while paused.
    #[test]
    fn limits_hold_and_no_pod_is_injected_twice(case in cases()) {
        let new = touched(&case.job().plan());
        let busy = case.count(&[Sort::Silent, Sort::Waiting, Sort::Running]);
        let own = busy + case.count(&[Sort::Succeeded, Sort::Failed]);

        prop_assert!(new.is_empty() || busy + new.len() <= case.parallelism);
        prop_assert!(new.is_empty() || case.replicas.is_none_or(|limit| own + new.len() <= limit));
        prop_assert!(new.is_empty() || !case.is_paused);
        for name in &new {
            let place: usize = name.strip_prefix('p').unwrap().parse().unwrap();
            prop_assert_eq!(case.pods[place], Sort::Untouched);
        }
    }

    /// A job never hangs: unless it is paused or may not run anything, it injects, waits for containers, waits for pods, or is over (E1 … E3).
    #[test]
    fn some_step_is_always_next(case in cases()) {
        let plan = case.job().plan();
        let status = written(&plan);
        let waits = case.count(&[Sort::Silent, Sort::Waiting, Sort::Running]) > 0 || status["match"] == 0;
        let is_over = status["completionTime"].is_string();
        prop_assert!(case.is_paused || case.parallelism == 0 || waits || is_over || !touched(&plan).is_empty());
        prop_assert!(!is_over || touched(&plan).is_empty());
    }

    /// A plan is a function of its view, and every pod that it leaves alone has a reason.
    #[test]
    fn every_pod_left_alone_has_a_reason(case in cases()) {
        let plan = case.job().plan();
        prop_assert_eq!(&case.job().plan(), &plan);
        let new = touched(&plan);
        for (i, sort) in case.pods.iter().enumerate().filter(|(_, sort)| **sort != Sort::Leaving) {
            let name = format!("p{i}");
            let reason = plan.reason_of(&name);
            prop_assert!(new.contains(&name) != reason.is_some(), "{name} {sort:?}");
            prop_assert!(reason != Some(&Reason::Unexplained));
        }
    }
}
