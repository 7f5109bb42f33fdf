//! The safety rules, over generated StatefulSets: one plan at a time, and carried out in a world until nothing moves.

use proptest::prelude::*;

use super::*;
use crate::fixtures::world::{self, BROKEN, HOOK};
use crate::object::Item;

type World = world::World<View>;

/// Rounds after which a rollout of at most six pods must be over: each needs a few rounds, one after the other.
const ROUNDS: usize = 160;

/// A StatefulSet in the middle of something.
#[derive(Debug, Clone)]
struct Case {
    is_parallel: bool,
    is_unordered: bool,
    replicas: u32,
    partition: u32,
    max_unavailable: u32,
    scale_limit: Option<u32>,
    policy: &'static str,
    hook: Option<&'static str>,
    reserved: Vec<u32>,
    retention: (&'static str, &'static str),
    claims: Claims,
    pods: Vec<(u32, Side, Health)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claims {
    Fit,
    /// Smaller than their template, which they follow.
    Grow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Old,
    /// Its image can never be pulled: its pods are down, and must not block their repair.
    Middle,
    New,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Ready,
    NotReady,
    Failed,
    Marked,
}

fn cases() -> impl Strategy<Value = Case> {
    let sides = prop::sample::select(vec![Side::Old, Side::Middle, Side::New]);
    let health = vec![Health::Ready, Health::Ready, Health::NotReady, Health::Failed, Health::Marked];
    let pods = prop::collection::vec((0..7u32, sides, prop::sample::select(health)), 0..7);
    let hooks = prop::sample::select(vec![None, None, Some("preDelete"), Some("inPlaceUpdate")]);
    let policies = prop::sample::select(vec!["ReCreate", "InPlaceIfPossible"]);
    let keep = || prop::sample::select(vec!["Retain", "Delete"]);
    let claims = prop::sample::select(vec![Claims::Fit, Claims::Grow]);
    let shape = (any::<bool>(), any::<bool>(), 0..6u32, 0..4u32, 1..4u32, prop::option::of(1..3u32));
    let rest = (policies, hooks, prop::collection::vec(0..6u32, 0..3), (keep(), keep()), pods, claims);
    (shape, rest).prop_map(|(shape, rest)| Case {
        is_parallel: shape.0,
        is_unordered: shape.0 && shape.1,
        replicas: shape.2,
        partition: shape.3,
        max_unavailable: if shape.0 { shape.4 } else { 1 },
        scale_limit: shape.5.filter(|_| shape.0),
        policy: rest.0,
        hook: rest.1,
        reserved: rest.2,
        retention: rest.3,
        pods: rest.4,
        claims: rest.5,
    })
}

impl Case {
    fn fixture(&self) -> Fixture {
        let mut fixture = if self.is_parallel { parallel() } else { ordered() };
        fixture = fixture
            .replicas(self.replicas)
            .claim_template("1Gi")
            .set("/reserveOrdinals", json!(self.reserved));
        fixture = fixture
            .rolling("partition", json!(self.partition))
            .rolling("podUpdatePolicy", json!(self.policy));
        fixture = fixture.rolling("maxUnavailable", json!(self.max_unavailable));
        if self.is_unordered {
            fixture = fixture.rolling("unorderedUpdate", json!({}));
        }
        if let Some(limit) = self.scale_limit {
            fixture = fixture.set("/scaleStrategy", json!({"maxUnavailable": limit}));
        }
        if let Some(hook) = self.hook {
            fixture = fixture.set("/lifecycle", json!({hook: {"labelsHandler": {HOOK: "on"}}}));
            fixture.old["metadata"]["labels"][HOOK] = json!("on");
            fixture.object["spec"]["template"]["metadata"]["labels"][HOOK] = json!("on");
        }
        for template in [&mut fixture.old, &mut fixture.object["spec"]["template"]] {
            template["spec"]["readinessGates"] = json!([{"conditionType": "InPlaceUpdateReady"}]);
        }
        if self.claims == Claims::Grow {
            fixture = fixture
                .claim_template("2Gi")
                .set("/volumeClaimUpdateStrategy", json!({"type": "OnPodRollingUpdate"}));
        }
        let (scaled, deleted) = self.retention;
        fixture.set(
            "/persistentVolumeClaimRetentionPolicy",
            json!({"whenScaled": scaled, "whenDeleted": deleted}),
        )
    }

    fn world(&self) -> World {
        let fixture = self.fixture();
        let mut middle = fixture.old.clone();
        middle["spec"]["containers"][0]["image"] = json!(format!("{BROKEN}:1"));
        let stored = [(&fixture.old, 1), (&middle, 2), (&fixture.object["spec"]["template"], 3)];
        let mut world = World::of(&fixture);
        if self.claims == Claims::Grow {
            world.gates = world.gates.with(Gate::StatefulSetAutoResizePvc);
        }
        let revisions = stored.map(|(template, number)| world.store(template, number));
        world.object["status"] = json!({"currentRevision": revisions[0]});
        for (ordinal, side, health) in &self.pods {
            let (revision, pod) = match side {
                Side::Old => (&revisions[0], old()),
                Side::Middle => (
                    &revisions[1],
                    old().containers(json!([{"name": "main", "image": format!("{BROKEN}:1")}])).not_ready(),
                ),
                Side::New => (&revisions[2], new()),
            };
            let pod = match health {
                Health::Ready => pod,
                Health::NotReady => pod.not_ready(),
                Health::Failed => pod.not_ready().phase("Failed"),
                Health::Marked => pod.marked(),
            };
            let name = format!("web-{ordinal}");
            let volumes =
                json!([{"name": "data", "persistentVolumeClaim": {"claimName": format!("data-{name}")}}]);
            let pod = pod.set("/spec/volumes", volumes);
            let pod = if self.hook.is_some() { pod.label(HOOK, "on") } else { pod };
            let pod = pod.named(&name).label("controller-revision-hash", revision);
            world.pods.insert(name.clone(), pod.label("statefulset.kubernetes.io/pod-name", &name).0);
            world.claims.insert(format!("data-{name}"), bound(*ordinal, "1Gi"));
        }
        world
    }
}

/// Pods that this plan takes out of service: deleted, or started to update.
fn taken(plan: &Plan) -> Vec<&str> {
    let purposes = [Purpose::Delete, Purpose::Recreate, Purpose::UpdateInPlace];
    purposes.into_iter().flat_map(|purpose| touched(plan, purpose)).collect()
}

fn is_over(last: &Plan, world: &World) -> bool {
    last.writes().count() == 0 && world.plan().writes().count() == 0
}

fn reached(case: &Case, world: &World) -> Result<(), TestCaseError> {
    let (view, plan) = (world.view(), world.plan());
    let spec = view.spec.clone().unwrap();
    prop_assert_eq!(plan.writes().count(), 0, "still writing: {:?} {:?}", plan, world.pods);
    let wanted: Vec<String> = spec.slots(&view.gates).iter().map(|one| format!("web-{one}")).collect();
    let mut there: Vec<String> = world.pods.keys().cloned().collect();
    there.sort_by_key(String::len);
    let is_broken = |pod: &Value| pod["spec"]["containers"][0]["image"].as_str().unwrap().contains(BROKEN);
    let is_replica = |name: &str| wanted.iter().any(|one| one == name);
    // AS-32, AS-33: in order everything waits for a replica that is down, condemned and failed pods too.
    let counts = |name: &str, pod: &Value| {
        case.is_parallel || (is_replica(name) && pod["status"]["phase"] != "Failed")
    };
    let kept_broken = world.pods.iter().filter(|(name, pod)| is_broken(pod) && counts(name, pod)).count();
    prop_assert!(
        kept_broken <= usize::try_from(case.partition).unwrap(),
        "only the partition may keep a broken pod"
    );
    if world.pods.values().all(|pod| !is_broken(pod)) {
        prop_assert_eq!(&there, &wanted, "{:?}", plan.reasons);
        let new = view.revisions.last().unwrap().name.hash();
        let updated = view.pods.iter().filter(|pod| pod.is_at(&new)).count();
        let quota = usize::try_from(case.replicas.saturating_sub(case.partition)).unwrap();
        prop_assert!(quota <= updated, "{:?}", plan.reasons);
        let is_large = |claim: &Value| claim["status"]["capacity"]["storage"] == "2Gi";
        let grown = wanted.iter().filter(|pod| is_large(&world.claims[&format!("data-{pod}")])).count();
        prop_assert!(
            case.claims == Claims::Fit || quota <= grown,
            "only the partition may keep a claim small"
        );
    }
    Ok(())
}

/// What a plan says about one moment.
struct Moment {
    world: World,
    view: View,
    plan: Plan,
    slots: Vec<Ordinal>,
}

impl Moment {
    fn of(case: &Case) -> Self {
        let world = case.world();
        let (view, plan) = (world.view(), world.plan());
        let slots = view.spec.clone().unwrap().slots(&view.gates).iter().collect();
        Self { world, view, plan, slots }
    }

    fn is_available(&self, name: &str) -> bool {
        let spec = self.view.spec.clone().unwrap();
        let pod = self.view.pods.iter().find(|pod| pod.name.as_str() == name);
        pod.is_some_and(|pod| pod.deleted.is_none() && spec.is_available(pod, self.world.now))
    }

    fn is_there(&self, name: &str) -> bool {
        self.world.pods.contains_key(name)
    }
}

fn name(ordinal: Ordinal) -> String {
    format!("web-{ordinal}")
}

proptest! {
    #![proptest_config(workload::cases(300))]

    /// Condemned pods go because they are not wanted; of the others no more are taken than the limit lets go.
    #[test]
    fn as_46_never_more_pods_down_at_our_hands_than_allowed(case in cases()) {
        let world = case.world();
        let (view, plan) = (world.view(), world.plan());
        let spec = view.spec.clone().unwrap();
        let slots = spec.slots(&view.gates);
        let serving: Vec<&str> = view.pods.iter()
            .filter(|pod| view.ordinal(pod).is_some_and(|ordinal| slots.contains(ordinal)))
            .filter(|pod| pod.phase == crate::pod::Phase::Running && spec.is_available(pod, world.now))
            .map(|pod| pod.name.as_str()).collect();

        let lost = taken(&plan).into_iter().filter(|name| serving.contains(name)).count();

        let floor = usize::try_from(case.replicas.saturating_sub(case.max_unavailable)).unwrap();
        prop_assert!(serving.len() - lost >= floor.min(serving.len()), "{} of {} lost", lost, serving.len());
    }

    /// OrderedReady creates one pod at most and updates one at most; nobody is touched twice.
    #[test]
    fn as_32_one_at_a_time(case in cases()) {
        let world = case.world();
        let plan = world.plan();

        if !case.is_parallel {
            prop_assert!(count(&plan, Purpose::Create) <= 1);
            prop_assert!(count(&plan, Purpose::Recreate) + count(&plan, Purpose::UpdateInPlace) <= 1);
        }
        let mut names: Vec<&str> = plan.chains.iter().filter_map(|chain| chain.item.as_ref()).map(Item::name).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        prop_assert_eq!(names.len(), all, "one chain for one pod");
    }

    /// Every pod that is created has a wanted ordinal that nobody has, and no ordinal is given twice.
    #[test]
    fn never_two_pods_for_one_ordinal(case in cases()) {
        let moment = Moment::of(&case);

        let mut names: Vec<String> = created(&moment.plan).into_iter().map(|(name, _)| name).collect();
        for one in &names {
            prop_assert!(!moment.is_there(one), "{} is there already", one);
            prop_assert!(moment.slots.iter().any(|slot| name(*slot) == *one), "{} is not wanted", one);
        }
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        prop_assert_eq!(names.len(), all);
    }

    /// AS-23, AS-32, AS-39, AS-50: in order, a pod is created only above available ones, a condemned pod goes only when all replicas are
    /// available and none is above it, and a pod that serves is updated only when all above it that may be are.
    #[test]
    fn as_23_as_39_as_50_order_is_respected(case in cases().prop_filter("in order", |case| !case.is_parallel)) {
        let moment = Moment::of(&case);
        let place = |wanted: &str| moment.slots.iter().position(|slot| name(*slot) == wanted);
        let is_up = |slot: &Ordinal| moment.is_available(&name(*slot));

        for (one, _) in created(&moment.plan) {
            prop_assert!(moment.slots[..place(&one).unwrap()].iter().all(is_up), "{} is early", one);
        }
        let hooked = |one: &str| moment.world.pods[one]["metadata"]["labels"]["lifecycle.apps.kruise.io/state"] == "PreparingDelete";
        for one in touched(&moment.plan, Purpose::Delete) {
            if place(one).is_none() && !hooked(one) {
                prop_assert!(moment.slots.iter().all(is_up), "{} goes too early", one);
                let above = moment.world.pods.keys().filter(|other| place(other).is_none());
                prop_assert!(above.into_iter().all(|other| other.as_str() <= one), "{} is not the highest", one);
            }
        }
        let new = moment.view.revisions.last().unwrap().name.hash();
        let is_new = |slot: &Ordinal| {
            moment.view.pods.iter().any(|pod| pod.name.as_str() == name(*slot) && pod.is_at(&new))
        };
        for one in [Purpose::Recreate, Purpose::UpdateInPlace].into_iter().flat_map(|purpose| touched(&moment.plan, purpose)) {
            if moment.is_available(one) {
                let above = &moment.slots[place(one).unwrap() + 1..];
                prop_assert!(above.iter().all(|slot| is_new(slot) && is_up(slot)), "{} is updated too early", one);
            }
        }
    }

    /// AS-37: so many pods that are not available, and no more are made.
    #[test]
    fn as_37_the_scale_budget_is_kept(case in cases().prop_filter("a limit", |case| case.scale_limit.is_some())) {
        let moment = Moment::of(&case);
        let limit = usize::try_from(case.scale_limit.unwrap()).unwrap();
        let is_moving = |pod: &Value| {
            let state = pod["metadata"]["labels"]["lifecycle.apps.kruise.io/state"].as_str().unwrap_or_default();
            ["PreparingUpdate", "Updating", "Updated"].contains(&state)
        };
        let down = moment.slots.iter().filter(|slot| {
            moment.world.pods.get(&name(**slot)).is_some_and(|pod| !is_moving(pod)) && !moment.is_available(&name(**slot))
        });
        // Pods are looked at upward: those below the new ones count, and all new ones.
        let highest = created(&moment.plan).iter().filter_map(|(one, _)| moment.slots.iter().position(|slot| name(*slot) == *one)).max();
        let below = down.filter(|slot| moment.slots.iter().position(|one| one == *slot) < highest).count();
        let made = created(&moment.plan).len();
        prop_assert!(made == 0 || below + made <= limit, "{} made beside {}", made, below);
    }

    #[test]
    fn every_pod_that_is_not_acted_on_has_a_reason(case in cases()) {
        let world = case.world();
        let plan = world.plan();

        for pod in world.view().base.pods {
            let reason = plan.reasons.get(&Item::from(pod.object()));
            prop_assert_eq!(reason.is_some(), !plan.acts_on(pod.object()), "{}", pod.name);
            prop_assert_ne!(reason, Some(&Reason::Unexplained));
        }
        prop_assert_eq!(world.plan(), plan);
    }
}

proptest! {
    // Each case is a whole rollout, a hundred plans or more.
    #![proptest_config(workload::cases(48))]

    /// With no faults and after any crashes the spec is reached, and then no further write is made. On the way no claim is lost
    /// that the policy keeps.
    #[test]
    fn every_rollout_converges_and_loses_no_claim(case in cases(), crashes in prop::collection::vec(0..4usize, 0..6)) {
        let mut world = case.world();
        let spec = world.view().spec.unwrap();
        let slots = spec.slots(&Gates::default());
        let kept = |there: &World| -> Vec<String> {
            let is_kept = |name: &&String| {
                let ordinal = Ordinal::of_pod("web", name.strip_prefix("data-").unwrap()).unwrap();
                spec.retention.when_scaled == Keep::Retain || slots.contains(ordinal)
            };
            there.claims.keys().filter(is_kept).cloned().collect()
        };
        let before = kept(&world);

        for limit in crashes.into_iter().chain(std::iter::repeat_n(usize::MAX, ROUNDS)) {
            let plan = world.round(limit);
            if limit == usize::MAX && is_over(&plan, &world) {
                break;
            }
        }

        reached(&case, &world)?;
        for claim in before {
            prop_assert!(world.claims.contains_key(&claim), "{} is lost", claim);
        }
    }
}
