//! The safety rules, over generated CloneSets: one plan at a time, and carried out in a world until nothing moves.

use proptest::prelude::*;

use super::*;
use crate::amount::{Amount, Bare, Rounding};
use crate::fixtures::world::{BROKEN, HOOK};
use crate::object::Item;

/// Rounds after which a rollout of at most seven pods must be over: each needs a few rounds, one after the other.
const ROUNDS: usize = 120;

/// A CloneSet in the middle of something.
#[derive(Debug, Clone)]
struct Case {
    replicas: u32,
    partition: Value,
    max_unavailable: Value,
    max_surge: Value,
    policy: &'static str,
    paused: bool,
    grace: u32,
    /// Which hook holds pods, if any; its owner lets go a round later.
    hook: Option<&'static str>,
    min_ready: u32,
    pods: Vec<(Side, Health)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Ready,
    NotReady,
    /// Ready, and somebody asked to delete it.
    Marked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Old,
    Middle,
    New,
}

fn amounts() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0..4u32).prop_map(|n| json!(n)),
        prop::sample::select(vec!["0%", "25%", "33.3%", "100%"]).prop_map(|p| json!(p))
    ]
}

fn sides() -> impl Strategy<Value = (Side, Health)> {
    let health = vec![Health::Ready, Health::Ready, Health::NotReady, Health::Marked];
    (prop::sample::select(vec![Side::Old, Side::Middle, Side::New]), prop::sample::select(health))
}

fn cases() -> impl Strategy<Value = Case> {
    let policies = prop::sample::select(vec!["ReCreate", "InPlaceIfPossible", "InPlaceOnly"]);
    let shape = (0..6u32, amounts(), amounts(), amounts(), policies);
    let hooks = prop::sample::select(vec![None, None, Some("preDelete"), Some("inPlaceUpdate")]);
    let timing = (
        prop::bool::weighted(0.15),
        prop::sample::select(vec![0, 0, 12u32]),
        prop::sample::select(vec![0, 0, 7u32]),
    );
    (shape, timing, hooks, prop::collection::vec(sides(), 0..7)).prop_map(
        |(
            (replicas, partition, max_unavailable, max_surge, policy),
            (paused, grace, min_ready),
            hook,
            pods,
        )| {
            let limits = (partition, max_unavailable, max_surge);
            let mut case = Case {
                replicas,
                partition: limits.0,
                max_unavailable: limits.1,
                max_surge: limits.2,
                policy,
                paused,
                grace,
                hook,
                min_ready,
                pods,
            };
            if policy == "InPlaceOnly" {
                case.max_surge = json!(0);
            }
            if case.unavailable() == 0 && case.surge() == 0 {
                case.max_unavailable = json!(1);
            }
            case
        },
    )
}

impl Case {
    fn amount(value: &Value) -> Amount {
        Amount::read(value, Bare::Refused).unwrap()
    }

    fn surge(&self) -> u32 {
        Self::amount(&self.max_surge).of(self.replicas, Rounding::Up)
    }

    fn unavailable(&self) -> u32 {
        let rounding = if self.surge() == 0 { Rounding::Up } else { Rounding::Down };
        Self::amount(&self.max_unavailable).of(self.replicas, rounding)
    }

    fn partition(&self) -> u32 {
        Self::amount(&self.partition).partition(self.replicas)
    }

    fn fixture(&self) -> Fixture {
        let mut fixture = cloneset()
            .replicas(self.replicas)
            .partition(self.partition.clone())
            .max_unavailable(self.max_unavailable.clone())
            .max_surge(self.max_surge.clone())
            .policy(self.policy);
        if self.paused {
            fixture = fixture.paused();
        }
        if self.grace > 0 {
            fixture = fixture.rolling("inPlaceUpdateStrategy", json!({"gracePeriodSeconds": self.grace}));
        }
        if let Some(hook) = self.hook {
            fixture = fixture.set("/lifecycle", json!({hook: {"labelsHandler": {HOOK: "on"}}}));
            fixture.old["metadata"]["labels"][HOOK] = json!("on");
            fixture.object["spec"]["template"]["metadata"]["labels"][HOOK] = json!("on");
        }
        fixture.set("/minReadySeconds", json!(self.min_ready))
    }

    /// The middle revision's image can never be pulled: its pods are down, and must not block their repair.
    fn world(&self) -> World {
        let fixture = self.fixture();
        let mut world = World::of(&fixture);
        let mut middle = fixture.old.clone();
        middle["spec"]["containers"][0]["image"] = json!(format!("{BROKEN}:1"));
        let names = [
            world.store(&fixture.old, 1),
            world.store(&middle, 2),
            world.store(&fixture.object["spec"]["template"], 3),
        ];
        world.object["status"] = json!({"currentRevision": names[0]});
        for (i, (side, health)) in self.pods.iter().enumerate() {
            let (name, pod) = match side {
                Side::Old => (&names[0], old()),
                Side::Middle => (
                    &names[1],
                    old().containers(json!([{"name": "main", "image": format!("{BROKEN}:1")}])).not_ready(),
                ),
                Side::New => (&names[2], new()),
            };
            let pod = match health {
                Health::Ready => pod,
                Health::NotReady => pod.not_ready(),
                Health::Marked => pod.marked(),
            };
            let pod = if self.hook.is_some() { pod.label(HOOK, "on") } else { pod };
            let pod = pod.named(&format!("web-{i:05}")).label("controller-revision-hash", name);
            let pod = pod.label("apps.kruise.io/cloneset-instance-id", &format!("{i:05}"));
            world.pods.insert(format!("web-{i:05}"), pod.0);
        }
        world
    }

    /// Ready pods of a broken image do not exist; every other pod becomes ready again by itself.
    fn wanted_new(&self) -> usize {
        usize::try_from(self.replicas - self.partition()).unwrap()
    }
}

fn size(count: u32) -> usize {
    usize::try_from(count).unwrap()
}

/// Pods that this plan takes out of service: deleted, or started to update.
fn taken(plan: &Plan) -> Vec<&str> {
    [Purpose::Delete, Purpose::Recreate, Purpose::UpdateInPlace]
        .into_iter()
        .flat_map(|purpose| touched(plan, purpose))
        .collect()
}

proptest! {
    #![proptest_config(workload::cases(300))]

    /// Pods may be down for their own reasons; what we add must stay within the limit.
    #[test]
    fn cs_38_cs_75_never_more_pods_down_at_our_hands_than_allowed(case in cases()) {
        let world = case.world();
        let (view, plan) = (world.view(), world.plan());
        let spec = view.spec.clone().unwrap();
        let available: Vec<&str> =
            view.active().filter(|pod| spec.is_available(pod, world.now)).map(|pod| pod.name.as_str()).collect();

        let lost = taken(&plan).into_iter().filter(|name| available.contains(name)).count();

        let floor = size(case.replicas.saturating_sub(case.unavailable()));
        prop_assert!(available.len() - lost >= floor.min(available.len()), "{} of {} lost, floor {floor}", lost, available.len());
    }

    /// Never above replicas plus surge at our hands.
    #[test]
    fn cs_35_never_more_pods_than_replicas_and_surge(case in cases()) {
        let world = case.world();

        let created = count(&world.plan(), Purpose::Create);

        let there = world.pods.len();
        prop_assert!(created == 0 || there + created <= size(case.replicas + case.surge()));
    }

    /// No more pods leave the old revisions than the partition lets go.
    #[test]
    fn cs_31_the_partition_is_respected(case in cases()) {
        let world = case.world();
        let plan = world.plan();

        let moved = count(&plan, Purpose::UpdateInPlace) + count(&plan, Purpose::Recreate);

        let outdated = case.pods.iter().filter(|(side, _)| *side != Side::New).count();
        prop_assert!(moved <= outdated.saturating_sub(size(case.partition())));
        prop_assert!(!case.paused || moved == 0);
    }

    /// Rule 2 of the design.
    #[test]
    fn every_pod_that_is_not_acted_on_has_a_reason(case in cases()) {
        let world = case.world();
        let plan = world.plan();

        for pod in world.view().active() {
            let reason = plan.reasons.get(&Item::from(pod.object()));
            prop_assert_eq!(reason.is_some(), !plan.acts_on(pod.object()), "{}", pod.name);
            prop_assert_ne!(reason, Some(&Reason::Unexplained));
        }
    }

    /// The same view gives the same plan.
    #[test]
    fn a_plan_is_a_function_of_its_view(case in cases()) {
        let world = case.world();

        prop_assert_eq!(world.plan(), world.plan());
    }
}

proptest! {
    // Each case is a whole rollout, a hundred plans or more.
    #![proptest_config(workload::cases(48))]

    /// With no faults the spec is reached, safely at every step, and then no further write is made.
    #[test]
    fn every_rollout_converges_and_then_stands_still(case in cases()) {
        let mut world = case.world();
        let floor = size(case.replicas.saturating_sub(case.unavailable()));
        let ceiling = size(case.replicas + case.surge());

        for _ in 0..ROUNDS {
            let (available, pods) = (world.available(), world.pods.len());
            let plan = world.round(usize::MAX);
            prop_assert!(world.available() >= floor.min(available), "availability fell below its floor");
            prop_assert!(world.pods.len() <= ceiling.max(pods), "more pods than replicas and surge");
            if is_over(&plan, &world) {
                break;
            }
        }

        reached(&case, &world)?;
    }

    /// A crash after any number of writes, any number of times: the rest is made up for.
    #[test]
    fn sm_27_any_prefix_of_writes_followed_by_a_crash_converges(case in cases(), crashes in prop::collection::vec(0..4usize, 0..12)) {
        let mut world = case.world();
        let floor = size(case.replicas.saturating_sub(case.unavailable()));

        for limit in crashes.into_iter().chain(std::iter::repeat_n(usize::MAX, ROUNDS)) {
            let available = world.available();
            let plan = world.round(limit);
            prop_assert!(world.available() >= floor.min(available), "availability fell below its floor");
            if is_over(&plan, &world) {
                break;
            }
        }

        reached(&case, &world)?;
    }
}

/// Neither the last plan nor the next one does anything, and time alone changes nothing.
fn is_over(last: &Plan, world: &World) -> bool {
    let next = world.plan();
    last.writes().count() == 0 && next.writes().count() == 0 && next.revisit_at.is_none()
}

fn reached(case: &Case, world: &World) -> Result<(), TestCaseError> {
    let plan = world.plan();
    prop_assert_eq!(plan.writes().count(), 0, "still writing: {:?}", plan);
    prop_assert!(
        !plan.reasons.values().any(|reason| matches!(reason, Reason::HookHeld { .. })),
        "{:?}",
        plan.reasons
    );
    if case.paused {
        return Ok(());
    }
    prop_assert!(world.at(&case.fixture().new_name()) >= case.wanted_new(), "{:?}", plan.reasons);
    let middle_left = world
        .pods
        .values()
        .filter(|pod| pod["spec"]["containers"][0]["image"].as_str().unwrap().contains(BROKEN))
        .count();
    prop_assert_eq!(world.available() + middle_left, world.pods.len(), "{:?}", plan.reasons);
    // Broken pods that the partition keeps may use up the limit that a scale-in would need.
    let is_exact = world.pods.len() == size(case.replicas);
    prop_assert!(
        is_exact || (middle_left > 0 && world.pods.len() > size(case.replicas)),
        "{:?}",
        plan.reasons
    );
    // A good pod that is to be deleted counts as new (CS-33) as long as broken ones use up the limit that its deletion needs (CS-38),
    // and where no pod may be recreated no broken one can be dropped instead: whoever marked the last good pods has to let one live.
    let is_marked = |pod: &&Value| pod["metadata"]["labels"].get("apps.kruise.io/specified-delete").is_some();
    let marked = if case.policy == "InPlaceOnly" { world.pods.values().filter(is_marked).count() } else { 0 };
    prop_assert!(middle_left <= size(case.partition()) + marked, "only the partition may keep a broken pod");
    Ok(())
}

#[test]
fn cs_79_an_in_place_rollout_keeps_every_pod_and_costs_three_writes_each() {
    let case = Case {
        replicas: 4,
        partition: json!(0),
        max_unavailable: json!(2),
        max_surge: json!(0),
        policy: "InPlaceIfPossible",
        paused: false,
        grace: 0,
        hook: None,
        min_ready: 0,
        pods: vec![(Side::Old, Health::Ready); 4],
    };
    let mut world = case.world();
    let before = world.uids();
    let mut pod_writes = 0;

    for _ in 0..20 {
        let plan = world.round(usize::MAX);
        pod_writes += plan
            .chains
            .iter()
            .filter(|chain| chain.item.is_some())
            .map(|chain| chain.writes.len())
            .sum::<usize>();
    }

    assert_eq!(world.uids(), before);
    assert_eq!(pod_writes, 12);
    assert_eq!(world.at(&case.fixture().new_name()), 4);
}

#[test]
fn cs_42_a_new_pod_costs_two_writes() {
    let mut world = Case {
        replicas: 3,
        partition: json!(0),
        max_unavailable: json!(1),
        max_surge: json!(0),
        policy: "ReCreate",
        paused: false,
        grace: 0,
        hook: None,
        min_ready: 0,
        pods: Vec::new(),
    }
    .world();
    let mut pod_writes = 0;

    for _ in 0..6 {
        let plan = world.round(usize::MAX);
        pod_writes += plan
            .chains
            .iter()
            .filter(|chain| chain.item.is_some())
            .map(|chain| chain.writes.len())
            .sum::<usize>();
    }

    assert_eq!(pod_writes, 6);
    assert_eq!(world.available(), 3);
}
