//! Drawn markers, pods, lists and results; plans are carried out until nothing is left to do.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::chain::{Act, Write};
use crate::fixtures::world::patch;
use crate::plan::Plan;
use crate::podprobemarker::tests::*;
use crate::reason::Reason;

#[derive(Debug, Clone)]
struct Case {
    /// Of markers `m0` …: selects app `web` or `db`, is being deleted, number of probes.
    markers: Vec<(bool, bool, usize)>,
    /// Of pods `p0` …: app, initialized, active, on the node.
    pods: Vec<(bool, bool, bool, bool)>,
    /// Entries of the stored list: pod, marker, probe.
    stored: Vec<(usize, usize, usize)>,
    /// Results: pod, marker, probe, state.
    said: Vec<(usize, usize, usize, &'static str)>,
}

fn cases() -> impl Strategy<Value = Case> {
    let markers = prop::collection::vec((any::<bool>(), prop::bool::weighted(0.2), 1..3usize), 0..4);
    let mostly = || prop::bool::weighted(0.8);
    let pods = prop::collection::vec((any::<bool>(), mostly(), mostly(), mostly()), 0..5);
    let stored = prop::collection::vec((0..5usize, 0..5usize, 0..3usize), 0..6);
    let state = prop::sample::select(vec!["Succeeded", "Failed", "Unknown", ""]);
    let said = prop::collection::vec((0..5usize, 0..5usize, 0..3usize, state), 0..6);
    (markers, pods, stored, said).prop_map(|(markers, pods, stored, said)| Case {
        markers,
        pods,
        stored,
        said,
    })
}

const APPS: [&str; 2] = ["db", "web"];

impl Case {
    fn world(&self) -> World {
        let mut world = world();
        for (i, (is_web, is_going, probes)) in self.markers.iter().enumerate() {
            let marks = |n: usize| {
                let policy = ("Succeeded", json!({format!("l{n}"): format!("m{i}")}), Value::Null);
                marking(probe(&format!("q{n}")), &[policy])
            };
            let mut one = marker(&format!("m{i}"), &(0..*probes).map(marks).collect::<Vec<_>>());
            one["spec"]["selector"] = json!({"matchLabels": {"app": APPS[usize::from(*is_web)]}});
            world = world.marker(if *is_going { deleted(one) } else { one });
        }
        for (i, (is_web, is_ready, is_active, is_here)) in self.pods.iter().enumerate() {
            let mut one = pod(&format!("p{i}")).label("app", APPS[usize::from(*is_web)]);
            one = if *is_ready { one } else { one.condition("Initialized", "False", "2026-06-01T12:00:00Z") };
            one = if *is_active { one } else { one.phase("Failed") };
            world = world.pods([if *is_here { one } else { one.node("n2") }]);
        }
        world.list(self.entries(), self.results())
    }

    fn entries(&self) -> Value {
        let mut by_pod: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        for (pod, marker, probe) in &self.stored {
            by_pod.entry(*pod).or_default().insert(format!("m{marker}#q{probe}"));
        }
        let one = |(pod, names): (&usize, &BTreeSet<String>)| {
            let probes: Vec<(&str, Value)> = names.iter().map(|name| (name.as_str(), check())).collect();
            entry(&format!("p{pod}"), &probes)
        };
        by_pod.iter().map(one).collect()
    }

    fn results(&self) -> Value {
        let mut by_pod: BTreeMap<usize, BTreeMap<String, &str>> = BTreeMap::new();
        for (pod, marker, probe, state) in &self.said {
            by_pod.entry(*pod).or_default().insert(format!("m{marker}#q{probe}"), state);
        }
        let one = |(pod, states): (&usize, &BTreeMap<String, &str>)| {
            let states: Vec<(&str, &str, &str)> =
                states.iter().map(|(name, state)| (name.as_str(), *state, "x")).collect();
            results(&format!("p{pod}"), &states)
        };
        by_pod.iter().map(one).collect()
    }

    /// PM-3, PM-4: what the node has to probe, said in another way than the planner does.
    fn wanted(&self) -> BTreeSet<(String, String)> {
        let mut all = BTreeSet::new();
        for (p, (pod_web, is_ready, is_active, is_here)) in self.pods.iter().enumerate() {
            for (m, (marker_web, is_going, probes)) in self.markers.iter().enumerate() {
                if *is_ready && *is_active && *is_here && !is_going && pod_web == marker_web {
                    all.extend((0..*probes).map(|probe| (format!("uid-p{p}"), format!("m{m}#q{probe}"))));
                }
            }
        }
        all
    }
}

/// Carries a plan out.
fn carry_out(world: &mut World, plan: &Plan) {
    for write in plan.writes() {
        if write.object.resource.plural() == "nodepodprobes" {
            apply(&mut world.lists[0], write);
        } else {
            let target =
                world.pods.iter_mut().find(|pod| pod["metadata"]["name"] == write.object.name()).unwrap();
            apply(target, write);
        }
    }
}

fn apply(object: &mut Value, write: &Write) {
    let Act::Patch(change) = &write.act else { panic!("{write:?}") };
    assert!(patch(object, change).is_ok(), "{write:?} on {object}");
}

fn listed(world: &World) -> BTreeSet<(String, String)> {
    let mut all = BTreeSet::new();
    for pod in world.lists[0]["spec"]["podProbes"].as_array().into_iter().flatten() {
        for probe in pod["probes"].as_array().into_iter().flatten() {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            assert!(all.insert((text(&pod["uid"]), text(&probe["name"]))), "listed twice: {pod}");
        }
    }
    all
}

proptest! {
    /// PM-6, PM-8, NC-3, 3: whatever was there, the node probes exactly what is wanted after one write, and then rests (11).
    #[test]
    fn pm_8_nc_3_one_write_leads_to_exactly_the_wanted_probes(case in cases()) {
        let mut world = case.world();
        let plan = world.plan_node();
        prop_assert!(plan.writes().filter(|write| write.object.name() == "n1").count() <= 1);
        carry_out(&mut world, &plan);

        prop_assert_eq!(listed(&world), case.wanted());
        let again = world.plan_node();
        prop_assert_eq!(again.writes().count(), 0, "{:?}", bodies(&again));
    }

    /// NC-4, NC-7: no pod is written without a result of a probe that is wanted for it.
    #[test]
    fn nc_4_nc_7_pods_are_written_only_for_results_that_count(case in cases()) {
        let world = case.world();
        let plan = world.plan_node();
        let wanted = case.wanted();
        for write in plan.writes().filter(|write| write.object.name() != "n1") {
            let uid = format!("uid-{}", write.object.name());
            let counts = |(pod, m, q, state): &(usize, usize, usize, &str)| {
                format!("uid-p{pod}") == uid && !state.is_empty() && wanted.contains(&(uid.clone(), format!("m{m}#q{q}")))
            };
            prop_assert!(case.said.iter().any(counts), "{write:?}");
        }
    }

    /// A plan is a function of its view, and every pod that is probed has a reason or a chain.
    #[test]
    fn every_pod_that_is_left_alone_has_a_reason(case in cases()) {
        let world = case.world();
        let plan = world.plan_node();

        prop_assert_eq!(&world.plan_node(), &plan);
        prop_assert!(plan.reasons.values().all(|reason| *reason != Reason::Unexplained));
        for (uid, _) in case.wanted() {
            let name = uid.strip_prefix("uid-").unwrap();
            let is_told = plan.reason_of(name).is_some() || plan.writes().any(|write| write.object.name() == name);
            prop_assert!(is_told, "{name}: {plan:?}");
        }
    }
}
