//! Plans carried out against a scripted server.

use std::sync::Arc;

use http::Method;
use kruise_core::chain::{Chain, Event, EventKind, Op, Part, Patch, Purpose, Write};
use kruise_core::ids::Uid;
use kruise_core::object::resource::{CLAIMS, CONFIG_MAPS, Description, Detail, PODS, REVISIONS};
use kruise_core::plan::Plan;
use kruise_core::pod::PodView;
use kruise_core::podunavailablebudget::{Operation, allowance};
use serde_json::json;

use super::*;
use crate::barrier::{Pass, Seen as Cache};
use crate::cache::Version;
use crate::clock::Clock;
use crate::queue::{BackOff, Queue};
use crate::testing::{Answer, Scripted, Seen};
use crate::{ObjectRef, Resource, Scope};

const CREATION: Charge = (Blame::Scale, Purpose::Create);
const UPDATE: Charge = (Blame::Update, Purpose::UpdateInPlace);

const WRITES: [Resource; 4] = [PODS, CLAIMS, REVISIONS, BUDGETS];
const BUDGETS: Resource = Resource::described(&Description {
    plural: "podunavailablebudgets",
    group: "policy.kruise.io",
    version: "v1beta1",
    kind: "PodUnavailableBudget",
    scope: Scope::Namespaced,
    detail: Detail::Whole,
});

fn pod(name: &str) -> ObjectRef {
    ObjectRef::new(PODS, "n", name)
}

/// A cache that has seen nothing yet.
struct Nothing;

impl Cache for Nothing {
    fn watch(&self, _: Resource) -> Option<Version> {
        Some(Version(0))
    }

    fn object(&self, _: &ObjectRef) -> Option<(Version, String)> {
        None
    }
}

fn create(name: &str) -> Chain {
    let write = Write::create(pod(name), &json!({"metadata": {"name": name}}));
    let event =
        |text: &str| Event { kind: EventKind::Normal, reason: "SuccessfulCreate", message: text.into() };
    Chain {
        done: Some(event(name)),
        failed: Some("FailedCreate"),
        ..Chain::about(Purpose::Create, pod(name), vec![write]).slowly(Siblings::Alike)
    }
}

fn drained_update(name: &str) -> Chain {
    let patch = |part| Write::patch(pod(name), part, Patch::Json(vec![Op::test("/metadata/uid", "u")]));
    Chain::about(Purpose::UpdateInPlace, pod(name), vec![patch(Part::Status), patch(Part::Object)])
}

async fn apply(server: &Scripted, barrier: &Barrier, chains: Vec<Chain>) -> Outcome {
    let mut plan = Plan::default();
    for chain in chains {
        plan.act(chain);
    }
    carry_out(server, barrier, &plan, &Progress::new(queue())).await
}

async fn carry_out(server: &Scripted, barrier: &Barrier, plan: &Plan, progress: &Progress) -> Outcome {
    let (caller, key) = (Caller::new(server.client(), "test", Clock::system()), key());
    Applier { caller: &caller, barrier, writes: &WRITES, key: &key, progress, first: None }.apply(plan).await
}

fn queue() -> Arc<Queue> {
    let moment = Duration::from_millis(5);
    Arc::new(Queue::new(BackOff { first: moment, longest: moment }))
}

fn key() -> Key {
    Key::new("n", "web")
}

#[tokio::test(start_paused = true)]
async fn sm_75_creations_start_slowly_and_stop_after_a_failing_batch() {
    // The third creation is refused: it is in the second batch (2 and 3), which is finished; 4 to 7 are not tried.
    let count = std::sync::atomic::AtomicU32::new(0);
    let server =
        Scripted::new(move |_: &Seen| match count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            2 => Answer::failure(403, "Forbidden"),
            _ => Answer::object(5),
        });

    let outcome =
        apply(&server, &Barrier::default(), (1..=7).map(|n| create(&format!("web-{n}"))).collect()).await;

    assert_eq!(server.seen().len(), 3);
    assert_eq!(outcome.next(), Next::BackOff);
    let told = |reason: &str| outcome.events.iter().filter(|event| event.reason == reason).count();
    assert_eq!((told("SuccessfulCreate"), told("FailedCreate")), (2, 1), "the failing batch is finished");
}

/// SM-75: a refusal that names no field is told like any other; nobody should have to guess why no pod appears.
#[tokio::test(start_paused = true)]
async fn sm_75_refused_creation_without_a_named_field_is_told() {
    let server = Scripted::new(|_: &Seen| Answer::failure(422, "Invalid"));

    let outcome = apply(&server, &Barrier::default(), vec![create("web-1")]).await;

    assert_eq!(outcome.next(), Next::BackOff);
    assert!(matches!(outcome.failures[&CREATION], ApplyError::Refused { .. }));
    assert_eq!(outcome.events.iter().map(|event| event.reason).collect::<Vec<_>>(), ["FailedCreate"]);
}

/// statefulset/B18: an ordinal that cannot be created keeps no other one from being tried; a wall of refusals ends it.
#[tokio::test(start_paused = true)]
async fn statefulset_b18_creations_that_stand_for_themselves_go_on_past_a_refusal() {
    let all =
        || (0..40).map(|n| create(&format!("web-{n}")).slowly(Siblings::Independent)).collect::<Vec<_>>();
    let count = std::sync::atomic::AtomicU32::new(0);
    let first =
        Scripted::new(move |_: &Seen| match count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 => Answer::failure(403, "Forbidden"),
            _ => Answer::object(5),
        });
    let outcome = apply(&first, &Barrier::default(), all()).await;
    assert_eq!(first.seen().len(), 40);
    assert_eq!(outcome.next(), Next::BackOff, "and it is tried again");

    let wall = Scripted::new(|_: &Seen| Answer::failure(403, "Forbidden"));
    apply(&wall, &Barrier::default(), all()).await;
    assert_eq!(wall.seen().len(), REFUSED_MAX);
}

/// statefulset/B18: what a wall of refusals hides gets its turn in the plans that follow; only after a whole round the key backs off.
#[tokio::test(start_paused = true)]
async fn statefulset_b18_creations_behind_a_wall_of_refusals_get_their_turn() {
    let number = |path: &str| path.rsplit('-').next().and_then(|number| number.parse::<u32>().ok()).unwrap();
    let server = Scripted::new(move |seen: &Seen| match number(&seen.path) {
        0..40 => Answer::failure(403, "Forbidden"),
        _ => Answer::object(5),
    });
    // The scripted server knows objects by their paths, and the path of a creation has no name.
    let chain = |n: u32| {
        let name = format!("web-{n}");
        let mut chain = create(&name).slowly(Siblings::Independent);
        chain.writes = vec![Write::patch(pod(&name), Part::Object, Patch::Merge(json!({})))];
        chain
    };
    let (caller, barrier, key) =
        (Caller::new(server.client(), "test", Clock::system()), Barrier::default(), key());
    let (mut wanted, mut first, mut story) = ((0..44).collect::<Vec<u32>>(), None, Vec::new());

    for _ in 0..4 {
        let mut plan = Plan::default();
        for n in &wanted {
            plan.act(chain(*n));
        }
        let applier = Applier {
            caller: &caller,
            barrier: &barrier,
            writes: &WRITES,
            key: &key,
            progress: &Progress::new(queue()),
            first: first.as_ref(),
        };
        let outcome = applier.apply(&plan).await;
        let made = outcome.events.iter().filter(|event| event.kind == EventKind::Normal);
        let made: Vec<u32> = made.map(|event| number(&event.message)).collect();
        wanted.retain(|n| !made.contains(n));
        first = outcome.untried.as_ref().map(|untried| untried.first.clone());
        story.push((first.as_ref().map(|pod| number(pod.name())), made, outcome.next()));
    }

    let soon = Next::After(BEHIND_THE_WALL);
    let expected = [
        (Some(16), vec![], soon),
        (Some(32), vec![], soon),
        (Some(8), vec![40, 41, 42, 43], Next::BackOff),
        (Some(24), vec![], soon),
    ];
    assert_eq!(story, expected);
}

#[tokio::test(start_paused = true)]
async fn sm_27_second_write_of_a_chain_waits_for_the_first_and_not_for_other_chains() {
    let server = Scripted::new(|seen: &Seen| match seen.path.as_str() {
        "/api/v1/namespaces/n/pods/bad/status" => Answer::failure(422, "Invalid"),
        _ => Answer::object(5),
    });

    let outcome =
        apply(&server, &Barrier::default(), vec![drained_update("bad"), drained_update("good")]).await;

    let paths: Vec<String> = server.seen().into_iter().map(|seen| seen.path).collect();
    let of = |name: &str| -> Vec<bool> {
        paths.iter().filter(|path| path.contains(name)).map(|path| path.ends_with("/status")).collect()
    };
    assert_eq!(of("bad"), [true], "no image change without drained traffic");
    assert_eq!(of("good"), [true, false]);
    assert_eq!(outcome.next(), Next::Replan, "a failed test is no error");
    assert!(outcome.events.is_empty());
}

/// A chain whose pod is guarded by the budget `b`.
fn guarded_update(name: &str) -> Chain {
    let view: PodView = serde_json::from_value(json!({
        "metadata": {
            "namespace": "n", "name": name, "uid": "u", "resourceVersion": "1",
            "annotations": {"pub.kruise.io/related-pub": "b"},
        },
        "spec": {"containers": []},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }))
    .unwrap();
    let mut chain = drained_update(name);
    chain.allowance = allowance(&view, Operation::Update);
    chain
}

fn budget(version: u32, allowed: u32) -> Answer {
    let body = json!({
        "apiVersion": "policy.kruise.io/v1beta1", "kind": "PodUnavailableBudget",
        "metadata": {"namespace": "n", "name": "b", "resourceVersion": version.to_string()}, "spec": {},
        "status": {
            "unavailableAllowed": allowed, "desiredAvailable": 1, "currentAvailable": 1, "totalReplicas": 1,
        },
    });
    Answer { code: 200, body: body.to_string() }
}

#[tokio::test(start_paused = true)]
async fn cs_76_cloneset_b10_pub_35_refusal_of_a_budget_ends_one_chain_and_is_asked_again_in_a_second() {
    let server = Scripted::new(|seen: &Seen| match (&seen.method, seen.path.as_str()) {
        (&Method::GET, "/apis/policy.kruise.io/v1beta1/namespaces/n/podunavailablebudgets/b") => budget(3, 0),
        _ => Answer::object(5),
    });

    let outcome =
        apply(&server, &Barrier::default(), vec![guarded_update("held"), drained_update("free")]).await;

    let about = |name: &str| server.seen().iter().filter(|seen| seen.path.contains(name)).count();
    assert_eq!((about("held"), about("free")), (0, 2));
    assert_eq!(outcome.next(), Next::After(std::time::Duration::from_secs(1)));
    assert_eq!(outcome.asked, BTreeMap::from([(pod("held").into(), Verdict::Denied)]));
    let told = outcome.failures[&UPDATE].to_string();
    assert!(
        told.starts_with("PodUnavailableBudget b does not allow it: no disruption allowed now: 1 of 1 pods"),
        "{told}"
    );
}

#[tokio::test(start_paused = true)]
async fn pub_32_allowance_that_somebody_else_spends_meanwhile_is_asked_for_again() {
    let tries = std::sync::atomic::AtomicU32::new(0);
    let server = Scripted::new(move |seen: &Seen| match (&seen.method, seen.path.as_str()) {
        (&Method::GET, "/apis/policy.kruise.io/v1beta1/namespaces/n/podunavailablebudgets/b") => budget(3, 1),
        (_, "/apis/policy.kruise.io/v1beta1/namespaces/n/podunavailablebudgets/b/status") => {
            match tries.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
                0 => Answer::failure(422, "Invalid"),
                _ => Answer::object(4),
            }
        }
        _ => Answer::object(5),
    });

    let outcome = apply(&server, &Barrier::default(), vec![guarded_update("web-1")]).await;

    assert_eq!(server.story()[..4], ["GET b", "PATCH status", "GET b", "PATCH status"]);
    assert_eq!(server.story().len(), 6, "then the pod itself");
    assert_eq!(outcome.asked, BTreeMap::from([(pod("web-1").into(), Verdict::Allowed)]));
    assert_eq!(outcome.next(), Next::Settle);
}

#[tokio::test(start_paused = true)]
async fn cs_82_sm_72_own_writes_are_awaited() {
    let server = Scripted::new(|_: &Seen| Answer::object(9));
    let barrier = Barrier::default();

    apply(&server, &barrier, vec![create("web-1")]).await;

    assert!(matches!(barrier.pass(&key(), &Nothing), Pass::Wait { .. }));
}

#[tokio::test(start_paused = true)]
async fn cs_81_sm_71_write_without_a_certain_answer_is_read_live_and_never_left_to_a_time_out() {
    let server = Scripted::new(|_: &Seen| Answer::failure(500, "InternalError"));
    let barrier = Barrier::default();

    let outcome = apply(&server, &barrier, vec![create("web-1")]).await;

    assert_eq!(outcome.next(), Next::BackOff);
    assert_eq!(barrier.pass(&key(), &Nothing), Pass::Ask(vec![pod("web-1")]));
}

#[tokio::test(start_paused = true)]
async fn b7_claim_is_kept_when_a_live_read_finds_its_pod() {
    let claim = |name: &str| {
        let delete = Write::delete(ObjectRef::new(CLAIMS, "n", "data"), &Uid::new("u"));
        Chain::other(Purpose::Claims, vec![delete.unless(pod(name))])
    };
    let server = Scripted::new(|seen: &Seen| match seen.path.as_str() {
        "/api/v1/namespaces/n/pods/gone" => Answer::failure(404, "NotFound"),
        _ => Answer::object(5),
    });

    apply(&server, &Barrier::default(), vec![claim("there")]).await;
    assert_eq!(server.story(), ["GET there"]);

    apply(&server, &Barrier::default(), vec![claim("gone")]).await;
    assert_eq!(server.story()[1..], ["GET gone", "DELETE data"]);
}

#[tokio::test(start_paused = true)]
async fn deleting_what_is_gone_is_done() {
    let server = Scripted::new(|_: &Seen| Answer::failure(404, "NotFound"));
    let delete = Chain::other(Purpose::Delete, vec![Write::delete(pod("web-1"), &Uid::new("u"))]);

    let outcome = apply(&server, &Barrier::default(), vec![delete]).await;

    assert_eq!(outcome.next(), Next::Settle);
}

/// AS-3, AS-4: one live read confirms whom pods and revisions are adopted for.
#[tokio::test(start_paused = true)]
async fn as_3_as_4_nothing_is_adopted_for_a_namesake_or_for_a_set_that_is_being_deleted() {
    let adopt = |name: &str| {
        let patch = Patch::Json(vec![Op::test("/metadata/resourceVersion", "1")]);
        let identity = Identity { object: pod("web"), uid: Uid::new("ours") };
        let write = Write::patch(pod(name), Part::Object, patch);
        Chain { confirm: Some(identity), ..Chain::about(Purpose::Adopt, pod(name), vec![write]) }
    };
    for (metadata, expected, next) in [
        (json!({"uid": "ours"}), vec!["GET web", "PATCH a", "PATCH b"], Next::Settle),
        (json!({"uid": "namesake"}), vec!["GET web"], Next::Replan),
        (json!({"uid": "ours", "deletionTimestamp": "2026-01-01T00:00:00Z"}), vec!["GET web"], Next::Replan),
    ] {
        let live = json!({"metadata": metadata}).to_string();
        let server = Scripted::new(move |seen: &Seen| match seen.path.as_str() {
            "/api/v1/namespaces/n/pods/web" => Answer { code: 200, body: live.clone() },
            _ => Answer::object(5),
        });
        let mut plan = Plan::default();
        plan.act(adopt("a"));
        plan.act(adopt("b"));
        let barrier = Barrier::default();

        let outcome = carry_out(&server, &barrier, &plan, &Progress::new(queue())).await;

        assert_eq!(server.story(), expected, "{metadata}");
        assert_eq!(outcome.next(), next, "{metadata}");
        let is_asked = matches!(barrier.pass(&key(), &Nothing), Pass::Ask(_));
        assert_eq!(is_asked, next == Next::Replan, "{metadata}: the cache is brought up to date");
    }
}

/// AS-6: the status is written although a chain failed, and the failure is told; history is another chain and goes its own way.
#[tokio::test(start_paused = true)]
async fn as_6_status_and_history_are_written_although_a_pod_could_not_be() {
    let server = Scripted::new(|seen: &Seen| match seen.path.as_str() {
        "/api/v1/namespaces/n/pods" => Answer::failure(403, "Forbidden"),
        _ => Answer::object(5),
    });
    let mut plan = Plan::default();
    plan.act(create("web-1"));
    plan.act(Chain::other(
        Purpose::History,
        vec![Write::delete(ObjectRef::new(REVISIONS, "n", "web-old"), &Uid::new("u"))],
    ));
    let status = Patch::Merge(json!({"status": {"replicas": 0}}));
    plan.status = Some(Write::patch(pod("web"), Part::Status, status));
    let barrier = Barrier::default();

    let outcome = carry_out(&server, &barrier, &plan, &Progress::new(queue())).await;

    assert_eq!(server.story(), ["DELETE web-old", "POST pods", "PATCH status"]);
    assert_eq!(outcome.next(), Next::BackOff);
    assert_eq!(outcome.failures.keys().collect::<Vec<_>>(), [&CREATION]);
}

/// A server that says to many writes that it is too busy in a row is left alone for as long as it asks; busy answers here
/// and there, about single objects, stop no other chain.
#[tokio::test(start_paused = true)]
async fn busy_server_is_left_alone() {
    let all = || (0..10 * AT_ONCE).map(|n| drained_update(&format!("web-{n}"))).collect::<Vec<_>>();
    let busy = Scripted::new(|_: &Seen| Answer::failure(429, "TooManyRequests"));

    let outcome = apply(&busy, &Barrier::default(), all()).await;

    assert_eq!(busy.seen().len(), AT_ONCE + BUSY_MAX - 1, "those that were under way by then");
    assert_eq!(outcome.next(), Next::After(Duration::from_secs(1)));

    let for_some = Scripted::new(|seen: &Seen| {
        if seen.path.ends_with("0/status") {
            Answer::failure(429, "TooManyRequests")
        } else {
            Answer::object(5)
        }
    });
    let others = apply(&for_some, &Barrier::default(), all()).await;
    assert_eq!(for_some.seen().len(), 2 * 10 * AT_ONCE - AT_ONCE, "all but every tenth to their end");
    assert_eq!((others.next(), others.busy_for()), (Next::After(Duration::from_secs(1)), None));
}

/// By this a worker tells a plan that is long from one that is stuck.
#[tokio::test(start_paused = true)]
async fn every_chain_that_ends_is_a_step_of_progress() {
    let server = Scripted::new(|_| Answer::object(5));
    let mut plan = Plan::default();
    plan.act(drained_update("web-1"));
    plan.act(create("web-2"));
    plan.act(create("web-3"));
    let progress = Progress::new(queue());

    carry_out(&server, &Barrier::default(), &plan, &progress).await;

    assert_eq!(progress.so_far(), 3);
}

/// A plan for an object with very many pods, carried out when it has had its time already: how many chains
/// of it ended, and what comes next.
async fn carried_out_late(server: &Scripted, other: Option<Key>) -> (usize, Next) {
    let mut plan = Plan::default();
    for number in 0..AT_ONCE + 10 {
        plan.act(drained_update(&format!("old-{number}")));
        plan.act(create(&format!("new-{number}")));
    }
    let queue = queue();
    let progress = Progress::new(Arc::clone(&queue));
    if let Some(other) = other {
        queue.add(other);
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    let outcome = carry_out(server, &Barrier::default(), &plan, &progress).await;
    (progress.so_far(), outcome.next())
}

#[tokio::test(start_paused = true)]
async fn long_plan_makes_room_for_other_objects_and_is_made_anew() {
    let all = 2 * (AT_ONCE + 10);
    let well = Scripted::new(|_| Answer::object(5));
    let other = Key::new("n", "small");

    assert_eq!(carried_out_late(&well, None).await, (all, Next::Settle), "nobody waits");
    assert_eq!(carried_out_late(&well, Some(other.clone())).await, (AT_ONCE, Next::Replan));

    // Were it cut short at the first failures, those might be all that each plan ever tries.
    let with_failures = Scripted::new(|seen: &Seen| {
        if seen.path.ends_with("/status") { Answer::failure(403, "Forbidden") } else { Answer::object(5) }
    });
    assert_eq!(carried_out_late(&with_failures, Some(other)).await, (all, Next::BackOff));
}

/// A type that is left out of a registration is not listed anew by the next leader: it must not be written at all.
#[tokio::test(start_paused = true)]
async fn undeclared_type_is_never_written() {
    let server = Scripted::new(|_| Answer::object(5));
    let write = Write::delete(ObjectRef::new(CONFIG_MAPS, "n", "x"), &Uid::new("u"));

    let outcome = apply(&server, &Barrier::default(), vec![Chain::other(Purpose::Launch, vec![write])]).await;

    assert!(server.seen().is_empty());
    assert_eq!(outcome.next(), Next::BackOff);
}
