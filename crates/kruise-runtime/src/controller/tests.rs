use std::sync::atomic::{AtomicUsize, Ordering};

use kruise_core::chain::{Chain, Part, Patch, Resource as Target, Write};
use serde_json::json;

use super::*;
use crate::apply::Untried;
use crate::cache::{Cached, Store, Thing};
use crate::metrics::Metrics;
use crate::resource::Scope;
use crate::testing::{Answer, Scripted};

/// statefulset/B18: while a wall of refusals hides creations, each plan meets others, and the condition stays as it is.
#[test]
fn statefulset_b18_message_stays_while_creations_take_turns() {
    let refused = |name: &str, hidden: Option<&str>| {
        let error = ApplyError::Refused { object: Key::new("n", name), message: "no".to_owned() };
        let mut outcome = Outcome::default();
        outcome.failures.insert(Purpose::Create, error);
        outcome.untried = hidden.map(|first| Untried::at(PodName::new(first)));
        outcome
    };
    let told = |memory: &Memory| memory.failures.get(&Purpose::Create).cloned();

    let first = Memory::default().after(&refused("web-0", Some("web-16")));
    let second = first.clone().after(&refused("web-16", None));
    let third = second.clone().after(&refused("web-3", None));

    assert_eq!(first.untried, Some(PodName::new("web-16")));
    assert_eq!(told(&second), told(&first));
    assert_ne!(told(&third), told(&first), "no wall any more: the first that fails is always the same");
    assert_eq!(third.after(&Outcome::default()), Memory::default());
}

/// A busy server is no news: the condition neither comes nor goes because of it.
#[test]
fn busy_server_changes_no_condition() {
    let object = Key::new("n", "web-0");
    let outcome = |error: ApplyError| {
        let mut outcome = Outcome::default();
        outcome.failures.insert(Purpose::Create, error);
        outcome
    };
    let after = Duration::from_secs(1);
    let busy = outcome(ApplyError::Busy { object: object.clone(), after, message: "later".to_owned() });
    let refused = outcome(ApplyError::Refused { object, message: "quota".to_owned() });

    assert_eq!(Memory::default().after(&busy), Memory::default());
    let with_quota = Memory::default().after(&refused);
    assert_eq!(with_quota.clone().after(&busy), with_quota);
}

const PODS: Resource = Resource::core("pods", "Pod", Scope::Namespaced);

/// Plans as the name of an object says, and counts how often.
#[derive(Default)]
struct Clumsy {
    turns: AtomicUsize,
}

impl Resources for Clumsy {
    fn of(&self, resource: Target) -> Resource {
        assert_eq!(resource, Target::Pod, "this planner has only pods");
        PODS
    }
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
        let target = if &*key.name == "fails-in-writing" { Target::Revision } else { Target::Pod };
        let mut plan = Plan::default();
        plan.status = Some(Write::patch(target, "x", Part::Object, Patch::Merge(json!({}))));
        Some(plan)
    }

    fn subject(&self, key: &Key) -> Option<Subject> {
        let (namespace, name) = (Arc::clone(&key.namespace), Arc::clone(&key.name));
        Some(Subject { api_version: "v1".to_owned(), kind: "Thing", namespace, name, uid: "u".to_owned() })
    }
}

/// Many writes.
fn large() -> Plan {
    let mut plan = Plan::default();
    for number in 0..100 {
        let write = Write::patch(Target::Pod, &format!("p-{number}"), Part::Object, Patch::Merge(json!({})));
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
    (Controller::new(Clumsy::default(), Arc::clone(&queue), shared), queue, metrics)
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
    let store: Arc<Store<Thing>> = Arc::default();
    let mut caches = Caches::default();
    caches.add(&store);
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
    let (key, object) = (Key::new("n", "set"), Key::new("n", "x"));
    controller.barrier.unsure(&key, Thing::RESOURCE, &object, Instant::now());

    controller.read_live(&key, Thing::RESOURCE, object.clone()).await.unwrap();

    assert_eq!(caches.object(Thing::RESOURCE, &object).unwrap().1, "new");
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

    assert_eq!(server.story(), ["PATCH x"], "the good one");
    assert_eq!(controller.planner.turns.load(Ordering::Relaxed), 5, "the others again after their back-off");
    let counted = "controller_runtime_reconcile_panics_total{controller=\"clumsy\"} 4";
    assert!(metrics.render().contains(counted), "{}", metrics.render());
}
