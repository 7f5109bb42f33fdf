use std::sync::atomic::{AtomicUsize, Ordering};

use kruise_core::chain::{Allowance, Blame, Chain, Part, Patch, Purpose, Question, Write};
use kruise_core::object::resource::PODS;
use serde_json::json;

use super::*;
use crate::apply::Untried;
use crate::cache::{Slim, Thing, Version, thing};
use crate::metrics::Metrics;
use crate::testing::{Answer, Scripted};

/// statefulset/B18: while a wall of refusals hides creations, each plan meets others, and the condition stays as it is.
#[test]
fn statefulset_b18_message_stays_while_creations_take_turns() {
    let refused = |name: &str, hidden: Option<&str>| {
        let error = ApplyError::Refused { object: pod(name), message: "no".to_owned() };
        let mut outcome = Outcome::default();
        outcome.failures.insert(CREATION, error);
        outcome.slow = Some(CREATION);
        outcome.untried = hidden.map(|first| Untried::at(pod(first).into()));
        outcome
    };
    let told = |memory: &Memory| memory.failures.get(&CREATION).cloned();

    let first = Memory::default().after(&refused("web-0", Some("web-16")));
    let second = first.clone().after(&refused("web-16", None));
    let third = second.clone().after(&refused("web-3", None));

    assert_eq!(first.untried, Some(pod("web-16").into()));
    assert_eq!(told(&second), told(&first));
    assert_ne!(told(&third), told(&first), "no wall any more: the first that fails is always the same");
    assert_eq!(third.after(&Outcome::default()), Memory::default());
}

/// CS-92: a quota refuses pods whose names each plan draws anew. The condition keeps the first one while nothing else changes, or
/// every refusal would be a change of the status, which wakes its own object.
#[test]
fn cs_92_message_stays_while_names_are_drawn_anew() {
    let refused = |name: &str, why: &str| {
        let message = format!("pods \"{name}\" is forbidden: {why}");
        let mut outcome = Outcome { slow: Some(CREATION), alike: Some(CREATION), ..Outcome::default() };
        outcome.failures.insert(CREATION, ApplyError::Refused { object: pod(name), message });
        outcome
    };

    let first = Memory::default().after(&refused("web-abcde", "exceeded quota"));
    let second = first.clone().after(&refused("web-fghij", "exceeded quota"));
    let third = second.clone().after(&refused("web-klmno", "not today"));

    assert_eq!(second, first);
    assert!(
        third.failures[&CREATION].contains("web-klmno") && third.failures[&CREATION].contains("not today")
    );
}

/// A busy server is no news: the condition neither comes nor goes because of it.
#[test]
fn busy_server_changes_no_condition() {
    let object = pod("web-0");
    let outcome = |error: ApplyError| {
        let mut outcome = Outcome::default();
        outcome.failures.insert(CREATION, error);
        outcome
    };
    let after = Duration::from_secs(1);
    let busy = outcome(ApplyError::Busy { object: object.clone(), after, message: "later".to_owned() });
    let refused = outcome(ApplyError::Refused { object, message: "quota".to_owned() });

    assert_eq!(Memory::default().after(&busy), Memory::default());
    let with_quota = Memory::default().after(&refused);
    assert_eq!(with_quota.clone().after(&busy), with_quota);
}

const CREATION: Charge = (Blame::Scale, Purpose::Create);

fn pod(name: &str) -> ObjectRef {
    ObjectRef::new(PODS, "n", name)
}

/// Plans as the name of an object says, and counts how often.
#[derive(Default)]
struct Clumsy {
    turns: AtomicUsize,
}

impl Planner for Clumsy {
    fn name(&self) -> &'static str {
        "clumsy"
    }

    fn plan(&self, key: &Key, _: &Turn) -> Option<Plan> {
        self.turns.fetch_add(1, Ordering::Relaxed);
        assert_ne!(&*key.name, "fails-in-planning");
        if &*key.name == "large" {
            return Some(large());
        }
        let mut plan = Plan::default();
        let write = Write::patch(pod("x"), Part::Object, Patch::Merge(json!({})));
        let allowance = Allowance { from: pod("x"), question: Arc::new(Panics) };
        let is_asked = &*key.name == "fails-in-writing";
        plan.act(Chain {
            allowance: is_asked.then_some(allowance),
            ..Chain::other(Purpose::Refresh, vec![write])
        });
        Some(plan)
    }

    fn subject(&self, key: &Key) -> Option<Subject> {
        let (namespace, name) = (Arc::clone(&key.namespace), Arc::clone(&key.name));
        Some(Subject { api_version: "v1".to_owned(), kind: "Thing", namespace, name, uid: "u".to_owned() })
    }
}

/// A rule with a defect.
#[derive(Debug)]
struct Panics;

impl Question for Panics {
    fn answer(&self, _: Option<&str>, _: Timestamp) -> kruise_core::chain::Answer {
        panic!("a defect")
    }
}

/// Many writes.
fn large() -> Plan {
    let mut plan = Plan::default();
    for number in 0..100 {
        let write = Write::patch(pod(&format!("p-{number}")), Part::Object, Patch::Merge(json!({})));
        plan.act(Chain::other(Purpose::Refresh, vec![write]));
    }
    plan
}

fn controller(server: &Scripted) -> (Arc<Controller<Clumsy>>, Arc<Queue>, Arc<Metrics>) {
    controller_with(server, Arc::default())
}

fn controller_with(
    server: &Scripted,
    caches: Arc<Caches>,
) -> (Arc<Controller<Clumsy>>, Arc<Queue>, Arc<Metrics>) {
    let (clock, metrics) = (Clock::system(), Arc::new(Metrics::default()));
    let back_off = BackOff { first: Duration::from_secs(1), longest: Duration::from_hours(1) };
    let queue = Arc::new(Queue::new(back_off));
    let shared = Shared {
        client: server.client(),
        caches,
        recorder: Recorder::new("test", clock.clone()),
        clock,
        metrics: Arc::clone(&metrics),
        back_off,
        seed: 1,
    };
    (Controller::new(Clumsy::default(), &[PODS], Arc::clone(&queue), shared), queue, metrics)
}

/// Events about an object are no reason to bother a server that asked for time.
#[tokio::test(start_paused = true)]
async fn busy_server_is_left_alone_also_while_events_come() {
    let server = Scripted::new(|_| Answer::failure(429, "TooManyRequests"));
    let (controller, queue, _) = controller(&server);

    let workers = controller.start(1);
    for _ in 0..250 {
        queue.add(Key::new("n", "large"));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    queue.close();
    for worker in workers {
        worker.await.unwrap();
    }

    assert_eq!(controller.planner.turns.load(Ordering::Relaxed), 3, "once a second");
}

/// An object is gone and written to once more, and while that is looked into a namesake comes: it is not taken for the one that went.
#[tokio::test(start_paused = true)]
async fn namesake_that_comes_during_a_live_read_stays() {
    let mut caches = Caches::default();
    caches.add::<Thing>();
    let caches = Arc::new(caches);
    let named = |uid: &str, version: &str| {
        let meta = json!({"namespace": "n", "name": "x", "uid": uid, "resourceVersion": version});
        json!({"metadata": meta}).to_string()
    };
    caches.refresh(Thing::RESOURCE, &named("old", "1")).unwrap();
    let (meanwhile, namesake) = (Arc::clone(&caches), named("new", "2"));
    let server = Scripted::new(move |seen| {
        if seen.method == "GET" {
            meanwhile.refresh(Thing::RESOURCE, &namesake).unwrap();
        }
        Answer::failure(404, "NotFound")
    });
    let (controller, _, _) = controller_with(&server, Arc::clone(&caches));
    let (key, object) = (Key::new("n", "set"), ObjectRef::new(Thing::RESOURCE, "n", "x"));
    controller.barrier.unsure(&key, &object, Instant::now());

    controller.read_live(&key, object.clone()).await.unwrap();

    assert_eq!(caches.object(&object).unwrap().1, "new");
}

/// A webhook may answer whatever it likes with the code of a conflict, and will do so again. After one that is followed by something
/// that goes well the next plan comes at once.
#[tokio::test(start_paused = true)]
async fn conflicts_and_nothing_else_are_no_reason_to_hurry() {
    for (is_last_well, turns) in [(false, 4), (true, 11)] {
        let round = AtomicUsize::new(0);
        let server = Scripted::new(move |_| match round.fetch_add(1, Ordering::Relaxed) {
            round if is_last_well && (round % 100 == 99 || 1_000 <= round) => Answer::object(5),
            _ => Answer::failure(409, "Conflict"),
        });
        let (controller, queue, _) = controller(&server);
        queue.add(Key::new("n", "large"));

        let workers = controller.start(1);
        tokio::time::sleep(Duration::from_secs(10)).await;
        queue.close();
        for worker in workers {
            worker.await.unwrap();
        }

        assert_eq!(controller.planner.turns.load(Ordering::Relaxed), turns);
    }
}

#[tokio::test(start_paused = true)]
async fn panic_ends_one_turn_is_counted_and_tried_again() {
    let server = Scripted::new(|_| Answer::object(5));
    let (controller, queue, metrics) = controller(&server);
    for name in ["fails-in-planning", "fails-in-writing", "good"] {
        queue.add(Key::new("n", name));
    }

    let workers = controller.start(1);
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    queue.close();
    for worker in workers {
        worker.await.expect("no worker is lost");
    }

    assert_eq!(server.story().iter().filter(|one| *one == "PATCH x").count(), 1, "the good one");
    assert_eq!(controller.planner.turns.load(Ordering::Relaxed), 5, "the others again after their back-off");
    let counted = "controller_runtime_reconcile_panics_total{controller=\"clumsy\"} 4";
    assert!(metrics.render().contains(counted), "{}", metrics.render());
}

/// A million pods come, are written once and go. Nobody looks at them again, as a controller whose pods are done does not: queue, barrier
/// and cache remember few of them at any time.
#[tokio::test(start_paused = true)]
async fn million_lives_leave_nothing_behind() {
    const LIVES: u64 = 1_000_000;
    const AT_MOST: usize = 5_000;
    let mut caches = Caches::default();
    caches.add::<Thing>();
    let store = Arc::clone(caches.store::<Thing>().unwrap());
    let (barrier, queue) = (Barrier::default(), Queue::new(BackOff { first: WAIT, longest: WAIT }));
    let mut most = (0, 0, 0);
    for life in 1..=LIVES {
        let (name, uid) = (format!("p-{life}"), format!("u-{life}"));
        let (key, version) = (Key::new("n", name.as_str()), life * 3);
        store.put(thing(&name, &uid, version, "set"));
        queue.add(key.clone());
        let taken = queue.next().await.unwrap();
        queue.rest(&taken, Instant::now() + WAIT);
        barrier.wrote(&key, &ObjectRef::new(Thing::RESOURCE, "n", name.as_str()), Version(version + 1));
        queue.done(taken, Done::Settled(None));
        store.put(thing(&name, &uid, version + 1, "set"));
        barrier.sweep(&caches);
        // Every tenth is found gone by a live read before the watch tells.
        if life % 10 == 0 {
            caches.lose(&ObjectRef::new(Thing::RESOURCE, "n", name.as_str()), &uid);
        }
        store.remove(&key, &uid, Version(version + 2));
        if life % 100 == 0 {
            tokio::time::advance(WAIT).await;
            most =
                (most.0.max(queue.remembered()), most.1.max(barrier.len()), most.2.max(store.remembered()));
        }
    }

    assert!(most.0 < AT_MOST && most.1 < AT_MOST && most.2 < 10, "queue, barrier, cache: {most:?}");
}

const WAIT: Duration = Duration::from_millis(10);
