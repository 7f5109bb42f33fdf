//! Container statuses: start, restart on a changed image, crash, end, become ready, take a resize.

use jiff::Timestamp;

use super::knobs::{ContainerTraits, Knobs, Pull, Ready};
use super::pod::{Container, ContainerStatus, Pod, Resources, State, Status, Terminated};
use super::quantity;

/// What a simulated node has of each: a container that asks for more cannot be resized to it.
const NODE_CPU_MILLI: i128 = 64 * 1_000;
const NODE_MEMORY_MILLI: i128 = (512 << 30) * 1_000;

/// First back-off of a crashing container; doubles up to five minutes, as with a real kubelet.
const BACK_OFF_SECONDS: i64 = 10;
const LONGEST_BACK_OFF_SECONDS: i64 = 300;

/// Exit code of a container that was asked to end (128 + SIGTERM).
const TERMINATED: i32 = 143;

pub struct Outcome {
    /// Container statuses and phase; conditions are not filled in.
    pub status: Status,
    /// When time alone changes something.
    pub revisit: Option<Timestamp>,
    pub resize_refused: Option<String>,
}

/// Moves all containers on as far as they get at `now`.
pub fn advance(pod: &Pod, knobs: &Knobs, now: Timestamp) -> Outcome {
    let mut turn = Turn { pod, knobs, now, revisit: None, resize_refused: None };
    let mut status = Status::default();
    let mut initialized = true;
    for container in &pod.spec.init_containers {
        let old = find(&pod.status.init_container_statuses, &container.name);
        let new = if initialized { turn.init(container, old) } else { not_started(container, old) };
        initialized &= new.ready;
        status.init_container_statuses.push(new);
    }
    for container in &pod.spec.containers {
        let old = find(&pod.status.container_statuses, &container.name);
        let new = if initialized { turn.main(container, old) } else { not_started(container, old) };
        status.container_statuses.push(new);
    }
    for container in &pod.spec.ephemeral_containers {
        let old = find(&pod.status.ephemeral_container_statuses, &container.name);
        // Ephemeral containers have no readiness, and run once whatever the pod's policy is.
        let once = Container { restart_policy: Some("Never".to_owned()), ..container.clone() };
        let mut new = turn.main(&once, old);
        new.ready = false;
        status.ephemeral_container_statuses.push(new);
    }
    status.phase = phase(pod, &status).to_owned();
    Outcome { status, revisit: turn.revisit, resize_refused: turn.resize_refused }
}

/// One look at one pod.
struct Turn<'a> {
    pod: &'a Pod,
    knobs: &'a Knobs,
    now: Timestamp,
    revisit: Option<Timestamp>,
    resize_refused: Option<String>,
}

impl Turn<'_> {
    /// An init container ends at once; one that restarts always is a sidecar and stays.
    fn init(&mut self, container: &Container, old: Option<&ContainerStatus>) -> ContainerStatus {
        if container.restart_policy.as_deref() == Some("Always") {
            return self.main(container, old);
        }
        if let Some(done) = old.filter(|status| status.state.terminated.is_some()) {
            return done.clone();
        }
        if self.pull_fails(container) {
            return Self::pull_failed(container, old, self.now);
        }
        let mut status = self.started(container, old);
        status.state = State { terminated: Some(self.ended(&status, 0)), ..State::default() };
        status.ready = true;
        status.started = Some(false);
        status
    }

    fn main(&mut self, container: &Container, old: Option<&ContainerStatus>) -> ContainerStatus {
        let Some(old) = old.filter(|status| !status.container_id.is_empty()) else {
            return self.start(container, None);
        };
        if old.image != container.image {
            return self.start(container, Some(old));
        }
        if old.state.running.is_none() {
            return self.after_end(container, old);
        }
        if let Some((exit_code, at)) = self.exit_of(container, old) {
            if at <= self.now {
                return self.exit(container, old, exit_code);
            }
            self.wake(at);
        }
        let resized = self.resize(container, old);
        self.ready(container, resized)
    }

    fn start(&mut self, container: &Container, old: Option<&ContainerStatus>) -> ContainerStatus {
        if self.pull_fails(container) {
            return Self::pull_failed(container, old, self.now);
        }
        let status = self.started(container, old);
        match self.exit_of(container, &status) {
            Some((exit_code, at)) if at <= self.now => self.exit(container, &status, exit_code),
            Some((_, at)) => {
                self.wake(at);
                self.ready(container, status)
            }
            None => self.ready(container, status),
        }
    }

    fn started(&self, container: &Container, old: Option<&ContainerStatus>) -> ContainerStatus {
        let restart_count = old.map_or(0, |old| old.restart_count.saturating_add(1));
        ContainerStatus {
            name: container.name.clone(),
            image: container.image.clone(),
            image_id: image_id(self.traits(container).digest_of.as_ref().unwrap_or(&container.image)),
            container_id: container_id(&self.pod.metadata.uid, &container.name, restart_count),
            ready: false,
            started: Some(true),
            restart_count,
            state: State::running(self.now),
            last_state: old.map(|old| last_state(old, self.now)).unwrap_or_default(),
            resources: Some(container.resources.clone()),
            allocated_resources: container.resources.requests.clone(),
        }
    }

    /// Ready unless a knob says no or not yet.
    fn ready(&mut self, container: &Container, mut status: ContainerStatus) -> ContainerStatus {
        let started =
            status.state.running.as_ref().and_then(|running| running.started_at).unwrap_or(self.now);
        status.ready = match self.traits(container).ready {
            Ready::AtOnce => true,
            Ready::Never => false,
            Ready::After(delay) => {
                let at = started.checked_add(delay).unwrap_or(self.now);
                if self.now < at {
                    self.wake(at);
                }
                self.now >= at
            }
        };
        status
    }

    /// When and how the running container ends by itself.
    fn exit_of(&self, container: &Container, status: &ContainerStatus) -> Option<(i32, Timestamp)> {
        let started = status.state.running.as_ref()?.started_at?;
        let exit = self.traits(container).exit?;
        Some((exit.code, started.checked_add(exit.after).ok()?))
    }

    fn exit(&mut self, container: &Container, old: &ContainerStatus, exit_code: i32) -> ContainerStatus {
        let ended = self.ended(old, exit_code);
        let mut status = ContainerStatus { ready: false, started: Some(false), ..old.clone() };
        if self.restarts(container, exit_code) {
            status.state = State::waiting("CrashLoopBackOff");
            status.last_state = State { terminated: Some(ended), ..State::default() };
            self.wake(back_off_until(&status, self.now));
        } else {
            status.state = State { terminated: Some(ended), ..State::default() };
        }
        status
    }

    /// The container is not running: ended for good, or waiting to be started again.
    fn after_end(&mut self, container: &Container, old: &ContainerStatus) -> ContainerStatus {
        if old.state.terminated.is_some() {
            return old.clone();
        }
        if self.pull_fails(container) {
            return Self::pull_failed(container, Some(old), self.now);
        }
        let until = back_off_until(old, self.now);
        // Only a container that will end again is worth backing off from.
        if self.now < until && self.traits(container).exit.is_some() {
            self.wake(until);
            return old.clone();
        }
        self.start(container, Some(old))
    }

    fn restarts(&self, container: &Container, exit_code: i32) -> bool {
        match container.restart_policy.as_deref().unwrap_or(&self.pod.spec.restart_policy) {
            "Never" => false,
            "OnFailure" => exit_code != 0,
            _ => true,
        }
    }

    fn resize(&mut self, container: &Container, old: &ContainerStatus) -> ContainerStatus {
        let wanted = &container.resources;
        if old.resources.as_ref() == Some(wanted) {
            return old.clone();
        }
        if let Some(refusal) = does_not_fit(wanted) {
            self.resize_refused = Some(refusal);
            return old.clone();
        }
        let had = old.resources.clone().unwrap_or_default();
        let restart = container.resize_policy.iter().any(|policy| {
            policy.restart_policy == "RestartContainer" && changed(&had, wanted, &policy.resource_name)
        });
        if restart && old.resources.is_some() {
            return self.started(container, Some(old));
        }
        ContainerStatus {
            resources: Some(wanted.clone()),
            allocated_resources: wanted.requests.clone(),
            ..old.clone()
        }
    }

    fn pull_fails(&self, container: &Container) -> bool {
        self.traits(container).pull == Pull::Fails
    }

    fn traits(&self, container: &Container) -> ContainerTraits {
        self.knobs.of_container(self.pod, container)
    }

    /// The old container was stopped for the new image, which does not come.
    fn pull_failed(container: &Container, old: Option<&ContainerStatus>, now: Timestamp) -> ContainerStatus {
        let mut status = old.cloned().unwrap_or_else(|| ContainerStatus {
            name: container.name.clone(),
            image: container.image.clone(),
            ..ContainerStatus::default()
        });
        if status.state.running.is_some() {
            status.last_state = last_state(&status, now);
        }
        status.state = State::waiting("ImagePullBackOff");
        status.ready = false;
        status.started = Some(false);
        status
    }

    fn ended(&self, status: &ContainerStatus, exit_code: i32) -> Terminated {
        Terminated {
            exit_code,
            reason: if exit_code == 0 { "Completed" } else { "Error" }.to_owned(),
            started_at: status.state.running.as_ref().and_then(|running| running.started_at),
            finished_at: Some(self.now),
            container_id: status.container_id.clone(),
        }
    }

    fn wake(&mut self, at: Timestamp) {
        self.revisit = Some(self.revisit.map_or(at, |earlier| earlier.min(at)));
    }
}

fn not_started(container: &Container, old: Option<&ContainerStatus>) -> ContainerStatus {
    old.filter(|status| !status.container_id.is_empty()).cloned().unwrap_or_else(|| ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone(),
        state: State::waiting("PodInitializing"),
        started: Some(false),
        ..ContainerStatus::default()
    })
}

fn phase(pod: &Pod, status: &Status) -> &'static str {
    if status.init_container_statuses.iter().any(|container| !container.ready) {
        return "Pending";
    }
    let all = &status.container_statuses;
    if all.iter().any(|c| c.state.waiting.is_some() && c.last_state.terminated.is_none()) {
        return "Pending";
    }
    let over = all.iter().all(|container| container.state.terminated.is_some());
    if !over || pod.spec.restart_policy == "Always" {
        return "Running";
    }
    let failed = all.iter().any(|c| c.state.terminated.as_ref().is_some_and(|ended| ended.exit_code != 0));
    if failed { "Failed" } else { "Succeeded" }
}

fn find<'a>(statuses: &'a [ContainerStatus], name: &str) -> Option<&'a ContainerStatus> {
    statuses.iter().find(|status| status.name == name)
}

fn last_state(old: &ContainerStatus, now: Timestamp) -> State {
    let Some(running) = &old.state.running else {
        return old.last_state.clone();
    };
    let terminated = Terminated {
        exit_code: TERMINATED,
        reason: "Error".to_owned(),
        started_at: running.started_at,
        finished_at: Some(now),
        container_id: old.container_id.clone(),
    };
    State { terminated: Some(terminated), ..State::default() }
}

fn back_off_until(status: &ContainerStatus, now: Timestamp) -> Timestamp {
    let doublings = u32::try_from(status.restart_count.clamp(0, 5)).unwrap_or(0);
    let seconds = (BACK_OFF_SECONDS << doublings).min(LONGEST_BACK_OFF_SECONDS);
    let ended = status.last_state.terminated.as_ref().and_then(|ended| ended.finished_at).unwrap_or(now);
    ended.checked_add(jiff::SignedDuration::from_secs(seconds)).unwrap_or(now)
}

fn changed(had: &Resources, wanted: &Resources, resource: &str) -> bool {
    had.limits.get(resource) != wanted.limits.get(resource)
        || had.requests.get(resource) != wanted.requests.get(resource)
}

fn does_not_fit(wanted: &Resources) -> Option<String> {
    for (resource, most) in [("cpu", NODE_CPU_MILLI), ("memory", NODE_MEMORY_MILLI)] {
        let asked = wanted.requests.get(resource).and_then(|text| quantity::milli(text));
        if asked.is_some_and(|asked| asked > most) {
            return Some(format!("Node didn't have enough capacity: {resource}"));
        }
    }
    None
}

/// Shaped like a registry digest; the same for the same text.
fn image_id(image: &str) -> String {
    let name_end = image.rfind('/').map_or(0, |slash| slash + 1);
    let tag = image.get(name_end..).and_then(|name| name.find([':', '@'])).map(|at| name_end + at);
    let repository = tag.and_then(|at| image.get(..at)).unwrap_or(image);
    format!("{repository}@sha256:{}", hex(image))
}

fn container_id(uid: &str, name: &str, restart_count: i32) -> String {
    format!("containerd://{}", hex(&format!("{uid}/{name}/{restart_count}")))
}

/// 64 hexadecimal digits that follow from the text: four FNV-1a sums with different starts.
fn hex(text: &str) -> String {
    let sum = |round: u64| {
        let start = 0xcbf2_9ce4_8422_2325_u64 ^ round;
        text.bytes().fold(start, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    };
    format!("{:016x}{:016x}{:016x}{:016x}", sum(0), sum(1), sum(2), sum(3))
}
