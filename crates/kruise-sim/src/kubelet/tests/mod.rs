//! The kubelet model, step by step: each test lets a pod run and looks at its status.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Behaviour, Knobs, Pod, Rule, Step, Which, next};

/// A pod as the API server would store it, and the clock of its node.
struct World {
    pod: Value,
    knobs: Knobs,
    now: Timestamp,
    writes: usize,
}

fn world(spec: Value) -> World {
    let mut spec = spec;
    spec["nodeName"] = json!("node-1");
    spec["restartPolicy"] = spec.get("restartPolicy").cloned().unwrap_or(json!("Always"));
    let pod = json!({
        "metadata": {"name": "web-a", "namespace": "default", "uid": "u-1", "generation": 1,
                     "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": spec,
        "status": {"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
    });
    World { pod, knobs: Knobs::default(), now: "2026-01-01T00:00:00Z".parse().unwrap(), writes: 0 }
}

fn one_container() -> World {
    world(json!({"containers": [{"name": "main", "image": "nginx:1.25"}]}))
}

impl World {
    fn knob(mut self, behaviour: Behaviour) -> Self {
        self.knobs.0.push(Rule { which: Which::default(), behaviour });
        self
    }

    fn step(&self) -> Step {
        let pod: Pod = serde_json::from_value(self.pod.clone()).unwrap();
        next(&pod, &self.knobs, self.now)
    }

    /// Applies patches until the pod waits; says until when.
    fn settle(&mut self) -> Option<Timestamp> {
        for _ in 0..10 {
            match self.step() {
                Step::Wait(until) => return until,
                Step::Patch(patch) => {
                    self.writes += 1;
                    for op in &patch {
                        self.apply(op);
                    }
                }
                Step::Remove => panic!("removed"),
            }
        }
        panic!("does not settle: {}", self.pod);
    }

    fn apply(&mut self, op: &Value) {
        let path = op["path"].as_str().unwrap();
        if op["op"] == "test" {
            assert_eq!(self.pod.pointer(path), Some(&op["value"]), "{op}");
            return;
        }
        let (parent, key) = path.rsplit_once('/').unwrap();
        let target = self.pod.pointer_mut(parent).unwrap();
        if let Some(list) = target.as_array_mut() {
            if key == "-" {
                list.push(op["value"].clone());
            } else {
                list[key.parse::<usize>().unwrap()] = op["value"].clone();
            }
        } else {
            target[key] = op["value"].clone();
        }
    }

    fn later(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    fn container(&self) -> &Value {
        &self.pod["status"]["containerStatuses"][0]
    }

    fn condition(&self, kind: &str) -> &str {
        let conditions = self.pod["status"]["conditions"].as_array().unwrap();
        conditions.iter().find(|c| c["type"] == kind).map_or("absent", |c| c["status"].as_str().unwrap())
    }
}

#[test]
fn pod_becomes_ready_with_one_write() {
    let mut world = one_container();

    let until = world.settle();

    assert_eq!((until, world.writes), (None, 1));
    assert_eq!(world.pod["status"]["phase"], "Running");
    assert_eq!(world.condition("Ready"), "True");
    assert!(world.container()["imageID"].as_str().unwrap().starts_with("nginx@sha256:"));
}

#[test]
fn changed_image_restarts_the_container_in_the_same_pod() {
    let mut world = one_container();
    world.settle();
    let before = world.container().clone();

    world.later(5);
    world.pod["spec"]["containers"][0]["image"] = json!("nginx:1.26");
    world.settle();

    let after = world.container();
    assert_eq!(after["restartCount"], 1);
    assert_ne!(after["containerID"], before["containerID"]);
    assert_ne!(after["imageID"], before["imageID"]);
    assert_eq!(after["state"]["running"]["startedAt"], "2026-01-01T00:00:05Z");
    assert_eq!(after["lastState"]["terminated"]["containerID"], before["containerID"]);
}

#[test]
fn tag_with_the_same_digest_keeps_the_image_id() {
    let mut world = one_container();
    world.settle();
    let before = world.container().clone();
    let which = Which { image: Some("nginx:1.26".into()), ..Which::default() };
    world.knobs.0.push(Rule { which, behaviour: Behaviour::SameDigestAs("nginx:1.25".into()) });

    world.pod["spec"]["containers"][0]["image"] = json!("nginx:1.26");
    world.settle();

    assert_eq!(world.container()["imageID"], before["imageID"]);
    assert_ne!(world.container()["containerID"], before["containerID"]);
}

#[test]
fn readiness_gate_holds_ready_back() {
    let mut world = one_container();
    world.pod["spec"]["readinessGates"] = json!([{"conditionType": "InPlaceUpdateReady"}]);

    world.settle();
    assert_eq!((world.condition("ContainersReady"), world.condition("Ready")), ("True", "False"));

    let open = json!({"type": "InPlaceUpdateReady", "status": "True"});
    world.pod["status"]["conditions"].as_array_mut().unwrap().push(open);
    world.settle();
    assert_eq!(world.condition("Ready"), "True");
}

#[test]
fn delays_are_exact_times() {
    let mut world = one_container()
        .knob(Behaviour::StartsAfter(Duration::from_secs(3)))
        .knob(Behaviour::ReadyAfter(Duration::from_secs(4)));

    assert_eq!(world.settle(), Some("2026-01-01T00:00:03Z".parse().unwrap()));
    assert_eq!(world.writes, 0);

    world.later(3);
    assert_eq!(world.settle(), Some("2026-01-01T00:00:07Z".parse().unwrap()));
    assert_eq!(world.condition("Ready"), "False");

    world.later(4);
    assert_eq!(world.settle(), None);
    assert_eq!(world.condition("Ready"), "True");
}

#[test]
fn image_that_cannot_be_pulled_keeps_a_new_pod_pending() {
    let mut world = one_container().knob(Behaviour::PullFails);

    world.settle();

    assert_eq!(world.pod["status"]["phase"], "Pending");
    assert_eq!(world.container()["state"]["waiting"]["reason"], "ImagePullBackOff");

    world.knobs.0.clear();
    world.settle();
    assert_eq!(world.condition("Ready"), "True");
    assert_eq!(world.container()["restartCount"], 0);
}

#[test]
fn update_to_an_image_that_cannot_be_pulled_stops_the_old_container() {
    let mut world = one_container();
    world.settle();
    let before = world.container().clone();
    let which = Which { image: Some("nginx:none".into()), ..Which::default() };
    world.knobs.0.push(Rule { which, behaviour: Behaviour::PullFails });

    world.pod["spec"]["containers"][0]["image"] = json!("nginx:none");
    world.settle();

    assert_eq!(world.container()["imageID"], before["imageID"]);
    assert_eq!(world.container()["ready"], false);
    assert_eq!(world.pod["status"]["phase"], "Running");

    world.pod["spec"]["containers"][0]["image"] = json!("nginx:1.27");
    world.settle();
    assert_eq!((&world.container()["restartCount"], world.condition("Ready")), (&json!(1), "True"));
}

#[test]
fn crashing_container_backs_off_and_counts_restarts() {
    let mut world = one_container().knob(Behaviour::Crashes { exit_code: 1 });

    assert_eq!(world.settle(), Some("2026-01-01T00:00:10Z".parse().unwrap()));
    assert_eq!(world.container()["state"]["waiting"]["reason"], "CrashLoopBackOff");
    assert_eq!(world.container()["restartCount"], 0);

    world.later(10);
    assert_eq!(world.settle(), Some("2026-01-01T00:00:30Z".parse().unwrap()));
    assert_eq!(world.container()["restartCount"], 1);
    assert_eq!(world.condition("Ready"), "False");
}

#[test]
fn job_pod_ends_with_its_containers() {
    for (exit_code, phase) in [(0, "Succeeded"), (3, "Failed")] {
        let mut world =
            world(json!({"restartPolicy": "Never", "containers": [{"name": "main", "image": "job"}]}))
                .knob(Behaviour::Exits { exit_code, after: Duration::from_secs(2) });
        assert!(world.settle().is_some());

        world.later(2);
        world.settle();

        assert_eq!(world.pod["status"]["phase"], phase);
        assert_eq!(world.container()["state"]["terminated"]["exitCode"], exit_code);
    }
}

/// The clock has whole seconds: a time between two of them would be due before it changes anything, for ever.
#[test]
fn parts_of_a_second_are_waited_for_until_the_next_whole_one() {
    let mut world =
        world(json!({"restartPolicy": "Never", "containers": [{"name": "main", "image": "job"}]}))
            .knob(Behaviour::Exits { exit_code: 0, after: Duration::from_millis(200) });

    assert_eq!(world.settle(), Some("2026-01-01T00:00:01Z".parse().unwrap()));
    world.later(1);
    world.settle();

    assert_eq!(world.pod["status"]["phase"], "Succeeded");
}

#[test]
fn never_ready_container_runs() {
    let mut world = one_container().knob(Behaviour::NeverReady);

    assert_eq!(world.settle(), None);

    assert_eq!((world.pod["status"]["phase"].as_str(), world.condition("Ready")), (Some("Running"), "False"));
}

#[test]
fn deleted_pod_goes_at_once_after_a_delay_or_never() {
    let delete = |mut world: World| {
        world.pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:30Z");
        world.pod["metadata"]["deletionGracePeriodSeconds"] = json!(30);
        world
    };

    assert_eq!(delete(one_container()).step(), Step::Remove);
    assert_eq!(delete(one_container().knob(Behaviour::NeverStops)).step(), Step::Wait(None));
    let mut slow = delete(one_container().knob(Behaviour::StopsAfter(Duration::from_secs(10))));
    assert_eq!(slow.step(), Step::Wait(Some("2026-01-01T00:00:10Z".parse().unwrap())));
    slow.later(10);
    assert_eq!(slow.step(), Step::Remove);
}

#[test]
fn resize_is_taken_with_or_without_a_restart_or_refused() {
    let cpu = |amount: &str| json!({"requests": {"cpu": amount}});
    let pod = |policy: &str| {
        let resize = json!([{"resourceName": "cpu", "restartPolicy": policy}]);
        world(
            json!({"containers": [{"name": "main", "image": "x", "resources": cpu("1"), "resizePolicy": resize}]}),
        )
    };
    for (policy, wanted, restarts, status) in
        [("NotRequired", "2", 0, "2"), ("RestartContainer", "2", 1, "2"), ("NotRequired", "1000", 0, "1")]
    {
        let mut world = pod(policy);
        world.settle();

        world.pod["spec"]["containers"][0]["resources"] = cpu(wanted);
        world.settle();

        assert_eq!(world.container()["restartCount"], restarts, "{policy} {wanted}");
        assert_eq!(world.container()["resources"]["requests"]["cpu"], status, "{policy} {wanted}");
        assert_eq!(world.condition("PodResizePending") == "True", wanted == "1000");
    }
}

#[test]
fn init_containers_run_first_and_sidecars_stay() {
    let mut world = world(json!({
        "initContainers": [{"name": "setup", "image": "i"}, {"name": "proxy", "image": "p", "restartPolicy": "Always"}],
        "containers": [{"name": "main", "image": "m"}],
    }));

    world.settle();

    let init = &world.pod["status"]["initContainerStatuses"];
    assert_eq!(init[0]["state"]["terminated"]["reason"], "Completed");
    assert!(init[1]["state"]["running"].is_object());
    assert_eq!(world.condition("Ready"), "True");
}

#[test]
fn ephemeral_container_is_started() {
    let mut world = one_container();
    world.settle();

    world.pod["spec"]["ephemeralContainers"] = json!([{"name": "debug", "image": "busybox"}]);
    world.settle();

    assert!(world.pod["status"]["ephemeralContainerStatuses"][0]["state"]["running"].is_object());
    assert_eq!(world.condition("Ready"), "True");
}

#[test]
fn kubelet_that_hangs_leaves_pods_as_they_are() {
    assert_eq!(one_container().knob(Behaviour::Hangs).step(), Step::Wait(None));
}

#[test]
fn node_that_is_gone_does_nothing() {
    let world = one_container().knob(Behaviour::NodeGone);

    assert_eq!(world.step(), Step::Wait(None));
}

#[test]
fn rejected_pod_fails_with_the_reason() {
    let mut world = one_container().knob(Behaviour::Rejects { reason: "OutOfcpu".into() });

    world.settle();

    assert_eq!(
        (&world.pod["status"]["phase"], &world.pod["status"]["reason"]),
        (&json!("Failed"), &json!("OutOfcpu"))
    );
}
