//! What a manager keeps in memory, measured in simulated worlds. This test binary counts every allocation, so its tests take turns.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kruise_api::conditions::KRUISE_POD_READY;
use kruise_api::env::CONTAINER_PRIORITY;
use kruise_api::resource::{EVENTS, PODS};
use kruise_core::cloneset::CloneSet;
use kruise_core::lookup::Slim;
use kruise_core::statefulset::StatefulSet;
use kruise_sim::world::Flags;
use kruise_sim::world::bare::Bare;
use peak_alloc::PeakAlloc;
use serde_json::{Value, json};

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

static TURNS: Mutex<()> = Mutex::new(());

/// Lives of pods in the soak, unless `SOAK_LIVES` asks for another number.
const LIVES: u64 = 10_000;

/// By how much the heap may grow for each life: less than the smallest entry of a map keyed by an object takes, which is two words for the
/// name and two for its namespace. Maps are swept only when there is something to gain, so it does not stay the same to the byte.
const BYTES_A_LIFE: u64 = 32;

/// A user asks for a million pods where a quota has room for three: the manager creates those, tries again ever more rarely, says why,
/// and takes no more memory than for a workload of usual size. When there is more room, it is used.
#[test]
fn cs_41_cs_92_million_replicas_under_a_quota_cost_little() {
    simulate(async || {
        let world = Bare::begin(1, &Flags::default()).unwrap();
        world.limit_pods(3);
        tokio::time::sleep(Duration::from_secs(10)).await;
        let before = HEAP.current_usage();
        HEAP.reset_peak_usage();

        world.create(CloneSet::RESOURCE, workload::<CloneSet>("web", 1_000_000)).unwrap();
        tokio::time::sleep(Duration::from_mins(10)).await;

        let (taken, refused) = (HEAP.peak_usage().saturating_sub(before), world.counts().refused);
        println!("{} KiB, {refused} refusals", taken >> 10);
        assert_eq!(world.all(PODS).len(), 3);
        assert!(taken < 32 << 20, "{taken} bytes");
        assert!((1..200).contains(&refused), "{refused} refusals in ten minutes");
        let status = &world.all(CloneSet::RESOURCE)[0].1.value["status"];
        assert!(status.to_string().contains("exceeded quota"), "{status}");

        world.limit_pods(5);
        tokio::time::sleep(Duration::from_mins(20)).await;

        assert_eq!(world.all(PODS).len(), 5);
    });
}

/// The same memory for ordinals. How often it tries is not bounded like that: of 500 ordinals without a pod each has its turn, 16 a
/// second, as any of them may be one that is not refused.
#[test]
fn statefulset_b16_million_replicas_under_a_quota_take_little_memory() {
    simulate(async || {
        let world = Bare::begin(1, &Flags::default()).unwrap();
        world.limit_pods(3);
        tokio::time::sleep(Duration::from_secs(10)).await;
        let before = HEAP.current_usage();
        HEAP.reset_peak_usage();

        let mut set = workload::<StatefulSet>("web", 1_000_000);
        set["spec"]["podManagementPolicy"] = json!("Parallel");
        world.create(StatefulSet::RESOURCE, set).unwrap();
        tokio::time::sleep(Duration::from_mins(1)).await;

        let (taken, refused) = (HEAP.peak_usage().saturating_sub(before), world.counts().refused);
        println!("{} KiB, {refused} refusals", taken >> 10);
        assert_eq!(world.all(PODS).len(), 3);
        assert!(taken < 32 << 20, "{taken} bytes");
    });
}

/// Pods and workloads come and go, some before they are ready: what is remembered of them goes, too, whatever remembers it. Of the
/// heap at its largest, no entry for each pod is left between the second and the last quarter of all lives.
#[test]
fn pods_that_came_and_went_leave_nothing_behind() {
    let lives = std::env::var("SOAK_LIVES").ok().map_or(LIVES, |text| text.parse().unwrap());
    simulate(async || {
        let world = Bare::begin(1, &Flags::default()).unwrap();
        world.create(CloneSet::RESOURCE, workload::<CloneSet>("web", 10)).unwrap();
        let (mut largest, mut round) = ([0; 4], 0);
        while world.counts().pods < lives {
            churn(&world, round).await;
            round += 1;
            let quarter = usize::try_from(world.counts().pods * 4 / lives).unwrap().min(3);
            largest[quarter] = largest[quarter].max(HEAP.current_usage());
        }

        println!("{} lives, heap in KiB by quarter: {:?}", world.counts().pods, largest.map(|one| one >> 10));
        let more = usize::try_from(lives / 2 * BYTES_A_LIFE).unwrap();
        assert!(largest[3] < largest[1] + more, "{largest:?}");
    });
}

/// Every pod goes, a workload of a new name takes the place of the last one, and pods without a workload come, which controllers know
/// one by one: some with launch priorities, some with the Kruise readiness gate.
async fn churn(world: &Bare, round: u32) {
    for (name, _) in world.all(PODS) {
        world.delete(PODS, &name.1).unwrap();
    }
    // As servers do when an hour is over.
    for (name, _) in world.all(EVENTS) {
        world.delete(EVENTS, &name.1).unwrap();
    }
    let name = |round: u32| format!("w-{round}");
    world.create(CloneSet::RESOURCE, workload::<CloneSet>(&name(round), 2)).unwrap();
    if let Some(last) = round.checked_sub(1) {
        world.delete(CloneSet::RESOURCE, &name(last)).unwrap();
    }
    let first = |name: &str, priority: &str| json!({"name": name, "image": "nginx:1", "env": [{"name": CONTAINER_PRIORITY, "value": priority}]});
    let launched = json!({"containers": [first("main", "0"), first("proxy", "10")]});
    let gated = json!({
        "containers": [{"name": "main", "image": "nginx:1"}],
        "readinessGates": [{"conditionType": KRUISE_POD_READY}],
    });
    for number in 0..20 {
        for (sort, spec) in [("launched", &launched), ("gated", &gated)] {
            let metadata = json!({"name": format!("{sort}-{round}-{number}")});
            let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
            world.create(PODS, pod).unwrap();
        }
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
}

/// Runs alone, under virtual time.
fn simulate(run: impl AsyncFnOnce()) {
    let _turn = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(run());
}

fn workload<T: Slim>(name: &str, replicas: u32) -> Value {
    let template = json!({
        "metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": "nginx:1"}]},
    });
    json!({
        "apiVersion": T::RESOURCE.api_version(), "kind": T::RESOURCE.kind(), "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template},
    })
}
