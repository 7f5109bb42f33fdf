//! One pod on every node that should have one, none elsewhere (DS-11 … DS-18). Goes on while updates are paused (DS-34).

use jiff::Timestamp;
use kruise_api::reasons::event;

use super::places::{Pair, Place, is_pre_deleting};
use super::plan::{Burst, Cx};
use super::remove::{self, Removal};
use super::spec::Scaling;
use super::{create, reason};
use crate::chain::Purpose;
use crate::plan::Plan;
use crate::pod::{Phase, PodView};

pub fn manage(cx: &Cx<'_>, burst: &mut Burst, plan: &mut Plan) {
    let mut missing = Vec::new();
    for place in &cx.places.all {
        if look(cx, place, burst, plan) {
            missing.push(place);
        }
    }
    for pod in &cx.places.stranded {
        strand(cx, pod, burst, plan);
    }
    for pod in &cx.places.nowhere {
        plan.hold(*pod, reason::nowhere());
    }
    fill(cx, &missing, burst, plan);
}

/// Whether the node needs a pod.
fn look(cx: &Cx<'_>, place: &Place<'_>, burst: &mut Burst, plan: &mut Plan) -> bool {
    if let Some(unfit) = place.verdict.unfit() {
        plan.hold(reason::node(place.node), reason::unfit(unfit));
    }
    if place.pods.is_empty() {
        return place.verdict.should_run(); // DS-11
    }
    if !place.verdict.should_continue() {
        for pod in place.live() {
            remove(cx, pod, "its node does not take it any more", burst, plan); // DS-16
        }
        return false;
    }
    let running = running(cx, place, burst, plan);
    if cx.spec.surges() {
        let is_free = surged(cx, place, &running, burst, plan);
        return place.verdict.should_run() && is_free;
    }
    for pod in running.iter().skip(1) {
        remove(cx, pod, "its node has another one", burst, plan); // DS-14
    }
    if let (None, Some(pod)) = (place.live().next(), place.pods.first()) {
        plan.hold(reason::node(place.node), reason::leaving(pod));
    }
    false
}

/// DS-12: without those that failed or are being prepared for deletion.
fn running<'a>(cx: &Cx<'_>, place: &Place<'a>, burst: &mut Burst, plan: &mut Plan) -> Vec<&'a PodView> {
    let mut running = Vec::new();
    for pod in place.live() {
        if pod.phase == Phase::Failed {
            failed(cx, place, pod, burst, plan);
        } else if is_pre_deleting(pod) {
            remove(cx, pod, "its preDelete hook released it", burst, plan); // DS-25
        } else {
            running.push(pod);
        }
    }
    running
}

/// DS-12, DS-13.
fn failed(cx: &Cx<'_>, place: &Place<'_>, pod: &PodView, burst: &mut Burst, plan: &mut Plan) {
    let is_waiting = |until: &&Timestamp| cx.now < **until;
    if let Some(until) = cx.view.back_off.get(place.node.name()).filter(is_waiting) {
        plan.revisit(*until);
        plan.hold(pod, reason::back_off(*until));
        return;
    }
    let message = format!("pod {} failed on node {}: deleted, to be replaced", pod.name, place.node.name());
    let removal = Removal { purpose: Purpose::Delete, told: (event::FAILED_DAEMON_POD, message) };
    remove::remove(cx, pod, removal, burst, plan);
}

/// DS-15: the oldest new and the oldest old one stay, the old one until the new one can take its place. Whether there is none.
fn surged(cx: &Cx<'_>, place: &Place<'_>, running: &[&PodView], burst: &mut Burst, plan: &mut Plan) -> bool {
    if running.is_empty() {
        // One that failed, or a held one of this very revision, keeps its place: a second one would be no better.
        return place.live().all(|pod| is_pre_deleting(pod) && !cx.is_updated(pod));
    }
    let (new, old): (Vec<&PodView>, Vec<&PodView>) = running.iter().partition(|pod| cx.is_updated(pod));
    for pod in new.iter().skip(1).chain(old.iter().skip(1)) {
        remove(cx, pod, "its node has another one of its revision", burst, plan);
    }
    if let (Some(new), Some(old)) = (new.first(), old.first()) {
        if !old.is_ready() {
            remove(cx, old, "it is not ready, and its node has a newer one", burst, plan);
        } else if cx.is_available(new) {
            remove(cx, old, "the new pod of its node is available", burst, plan);
        } else {
            plan.hold(*old, reason::surging(new));
        }
    }
    false
}

/// DS-17: a pod that waits for a node which is gone can never run; one that ran there is left to Kubernetes.
fn strand(cx: &Cx<'_>, pod: &PodView, burst: &mut Burst, plan: &mut Plan) {
    if pod.node.is_none() && pod.deleted.is_none() {
        remove(cx, pod, "its node does not exist any more", burst, plan);
    } else {
        plan.hold(pod, reason::no_node());
    }
}

/// DS-18: by name; with partitionedScaling only as many as the partition leaves.
fn fill(cx: &Cx<'_>, missing: &[&Place<'_>], burst: &mut Burst, plan: &mut Plan) {
    let partition = cx.spec.partition(cx.desired).min(cx.desired);
    let allowed = if cx.spec.scaling == Scaling::Partitioned && partition > 0 {
        let has_new = |place: &&Place<'_>| {
            matches!(place.pair(|pod| cx.is_updated(pod)), Pair::Of { new: Some(_), .. })
        };
        let new = cx.places.all.iter().filter(has_new).count();
        let desired = usize::try_from(cx.desired.saturating_sub(partition)).unwrap_or(usize::MAX);
        desired.saturating_sub(new)
    } else {
        usize::MAX
    };
    for (position, place) in missing.iter().enumerate() {
        if allowed <= position {
            plan.hold(reason::node(place.node), reason::partitioned(partition));
        } else {
            create::create(cx, place, burst, plan);
        }
    }
}

fn remove(cx: &Cx<'_>, pod: &PodView, why: &str, burst: &mut Burst, plan: &mut Plan) {
    let message = format!("deleted pod {}: {why}", pod.name);
    let removal = Removal { purpose: Purpose::Delete, told: (event::SUCCESSFUL_DELETE, message) };
    remove::remove(cx, pod, removal, burst, plan);
}
