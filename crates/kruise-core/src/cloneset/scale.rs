//! Creating and deleting pods (CS-40 … CS-48). One step of the list acts, then the plan stands.

use jiff::Timestamp;
use kruise_api::reasons::event;

use super::create::{self, Ids};
use super::numbers::{Counts, Numbers, Rollout, Side};
use super::plan::Cx;
use super::spec::PreparingDelete;
use super::view::{is_pre_deleting, is_ready};
use super::{claims, view::View};
use crate::budget::{DeleteBudget, Permit, Price};
use crate::chain::{Chain, Event, EventKind, Purpose};
use crate::ids::ResourceVersion;
use crate::lifecycle;
use crate::order::{Constraint, DeleteOrder};
use crate::plan::{CREATIONS_MAX, Plan, Room};
use crate::pod::PodView;
use crate::reason::Reason;
use crate::rollout::removal::{self, Step};
use crate::rollout::{Mode, Policy};

pub fn scale(cx: &Cx<'_>, plan: &mut Plan) {
    let counts = cx.counts(Side::Scale);
    let numbers = cx.numbers(&counts);
    // CS-41: while pods are missing none is deleted.
    let steps: &[fn(&Cx<'_>, &Numbers, &mut Plan)] = if numbers.scale_up > 0 {
        &[cancel, create]
    } else {
        &[cancel, finish_deletions, delete_marked, scale_in]
    };
    for step in steps {
        step(cx, &numbers, plan);
        if plan.scales() {
            return;
        }
    }
}

/// CS-40: deletions that are no longer needed are cancelled.
fn cancel(cx: &Cx<'_>, _: &Numbers, plan: &mut Plan) {
    let spec = cx.spec;
    if spec.hooks.as_ref().is_some_and(lifecycle::Hooks::forbids_cancelling) {
        return;
    }
    let leaving = cx.pods().filter(|pod| spec.is_to_delete(pod) || is_pre_deleting(pod)).count();
    let room = i64::from(spec.replicas) - to_i64(cx.pods().count()) + to_i64(leaving);
    let wanted = cx.pods().filter(|pod| is_pre_deleting(pod) && !spec.is_to_delete(pod));
    for pod in wanted.take(usize::try_from(room).unwrap_or(0)) {
        let write = removal::cancel(pod, spec.hooks.as_ref(), cx.now);
        plan.act(Chain::about(Purpose::Delete, pod, write.into_iter().collect()));
    }
}

/// CS-41: new pods, the first ones at the current revision if old ones are missing.
fn create(cx: &Cx<'_>, numbers: &Numbers, plan: &mut Plan) {
    if numbers.scale_up_limit < numbers.scale_up {
        let message = format!(
            "creating {} of {} missing pods: limited by scaleStrategy.maxUnavailable",
            numbers.scale_up_limit, numbers.scale_up
        );
        plan.events.push(Event { kind: EventKind::Warning, reason: event::SCALE_UP_LIMITED, message });
    }
    let count = usize::try_from(numbers.scale_up_limit).unwrap_or(usize::MAX).min(CREATIONS_MAX);
    let old = usize::try_from(numbers.scale_up_old).unwrap_or(usize::MAX);
    let ids = Ids::choose(cx.view, cx.spec, count, cx.now);
    if let Some(at) = ids.revisit_at {
        plan.revisit(at);
    }
    let mut room = Room::default();
    for (i, id) in ids.ready.iter().enumerate() {
        if room.is_full() {
            break;
        }
        let revision = if i < old { cx.revisions.current } else { cx.revisions.update };
        let chain = create::chain(cx.view, cx.spec, revision, id, cx.now);
        room.take(&chain);
        plan.act(chain);
    }
    for pod in cx.pods().filter(|pod| cx.spec.is_to_delete(pod) || is_pre_deleting(pod)) {
        plan.hold(pod, Reason::CreationFirst);
    }
}

/// CS-43: pods whose preDelete hook has let go.
fn finish_deletions(cx: &Cx<'_>, _: &Numbers, plan: &mut Plan) {
    for pod in cx.pods().filter(|pod| is_pre_deleting(pod)) {
        delete(cx, &DeleteBudget::paid(pod), Purpose::Delete, plan);
    }
}

/// CS-44: pods that somebody asked to delete.
fn delete_marked(cx: &Cx<'_>, numbers: &Numbers, plan: &mut Plan) {
    let mut budget = ready_budget(cx, numbers);
    for pod in cx.pods().filter(|pod| cx.spec.is_to_delete(pod) && !is_pre_deleting(pod)) {
        match budget.spend(pod, price(pod, cx.now)) {
            Ok(permit) => delete(cx, &permit, Purpose::Delete, plan),
            Err(reason) => plan.hold(pod, reason),
        }
    }
}

/// CS-45: too many pods. Deletions under way count instead of blocking everything (B9).
fn scale_in(cx: &Cx<'_>, numbers: &Numbers, plan: &mut Plan) {
    let pending = match cx.view.preparing_delete(cx.spec) {
        PreparingDelete::Counted => cx.pods().filter(|pod| is_pre_deleting(pod)).count(),
        PreparingDelete::Excluded => 0,
    };
    let down = usize::try_from(numbers.scale_down).unwrap_or(0).saturating_sub(pending);
    if down == 0 {
        return;
    }
    let mut budget = ready_budget(cx, numbers);
    for pod in victims(cx, numbers, down) {
        match budget.spend(pod, price(pod, cx.now)) {
            Ok(permit) => delete(cx, &permit, Purpose::Delete, plan),
            Err(reason) => plan.hold(pod, reason),
        }
    }
}

/// While marked pods must wait, broken outdated pods beyond the partition go at once: they use up the very limit that the marked
/// ones wait for, and the counts of CS-33 take marked new pods for updated ones, so that nobody would ever move. Last resort:
/// only in a plan that does nothing else to any pod.
pub fn drop_broken(cx: &Cx<'_>, plan: &mut Plan) {
    let is_marked = |pod: &PodView| cx.spec.is_to_delete(pod) && !is_pre_deleting(pod);
    let is_rolling = cx.spec.mode == Mode::RollingUpdate && !cx.spec.rolling.is_paused;
    let moves = plan.chains.iter().any(|chain| chain.item.is_some());
    if moves || !is_rolling || cx.spec.rolling.policy == Policy::InPlaceOnly || !cx.pods().any(is_marked) {
        return;
    }
    let numbers = cx.numbers(&cx.counts(Side::Scale));
    let is_staying =
        |pod: &&PodView| !is_marked(pod) && !is_pre_deleting(pod) && !cx.is_new(pod, Side::Scale);
    let outdated = cx.pods().filter(is_staying).count();
    let beyond = outdated.saturating_sub(usize::try_from(numbers.partition).unwrap_or(usize::MAX));
    let broken = cx.pods().filter(is_staying).filter(|pod| !is_ready(pod, cx.now));
    for pod in broken.take(beyond) {
        if let Ok(permit) = DeleteBudget::of(0).spend(pod, price(pod, cx.now)) {
            delete(cx, &permit, Purpose::Recreate, plan);
        }
    }
}

/// What may go of the ready pods. The limit of CS-38 leaves marked pods out of the count; those that are down already still use
/// it up, or a ready pod would go on top of them.
fn ready_budget(cx: &Cx<'_>, numbers: &Numbers) -> DeleteBudget {
    let is_down_and_marked = |pod: &&PodView| {
        cx.spec.is_to_delete(pod) && !is_pre_deleting(pod) && !cx.spec.is_available(pod, cx.now)
    };
    let down = u32::try_from(cx.pods().filter(is_down_and_marked).count()).unwrap_or(u32::MAX);
    DeleteBudget::of(numbers.delete_ready_limit.saturating_sub(down))
}

/// Old pods first as far as they are too many, then new ones. Before all go pods that are down and of a revision that nobody wants
/// any more: a partition keeps a place for old pods, but one that was taken by a bad update is not worth a pod that serves, which
/// no limit may ever let go. While paused, new ones that are down go before all as well (B21).
fn victims<'a>(cx: &'a Cx<'_>, numbers: &Numbers, down: usize) -> Vec<&'a PodView> {
    let candidates = cx.pods().filter(|pod| !is_pre_deleting(pod) && !cx.spec.is_to_delete(pod));
    let (new, old): (Vec<&PodView>, Vec<&PodView>) = candidates.partition(|pod| cx.is_new(pod, Side::Scale));
    let (broken, new): (Vec<&PodView>, Vec<&PodView>) = if cx.spec.rolling.is_paused {
        new.into_iter().partition(|pod| !cx.spec.is_available(pod, cx.now))
    } else {
        (Vec::new(), new)
    };
    let current = cx.revisions.current.name.hash();
    let (left_over, old): (Vec<&PodView>, Vec<&PodView>) =
        old.into_iter().partition(|pod| !pod.is_at(&current) && !is_ready(pod, cx.now));
    let mut chosen = first(cx, left_over, down);
    let surplus = usize::try_from(numbers.scale_down_old).unwrap_or(usize::MAX).saturating_sub(chosen.len());
    chosen.extend(first(cx, broken, down.saturating_sub(chosen.len())));
    let rest = down.saturating_sub(chosen.len());
    let old_chosen = first(cx, old, surplus.min(rest));
    let from_new = rest.saturating_sub(old_chosen.len());
    chosen.extend(old_chosen);
    chosen.extend(first(cx, new, from_new));
    chosen
}

/// The first `count` in deletion order; sorted only if fewer than all are taken.
fn first<'a>(cx: &Cx<'_>, mut pods: Vec<&'a PodView>, count: usize) -> Vec<&'a PodView> {
    if count < pods.len() {
        let is_available = |pod: &PodView| cx.spec.is_available(pod, cx.now);
        let constraints = constraints(cx.view, &cx.spec.template.template);
        DeleteOrder { is_available: &is_available, constraints: &constraints }.sort(&mut pods);
        pods.truncate(count);
    }
    pods
}

fn constraints(view: &View, template: &serde_json::Value) -> Vec<Constraint> {
    let list = template.pointer("/spec/topologySpreadConstraints").and_then(serde_json::Value::as_array);
    let keys = list.into_iter().flatten().filter_map(|one| one.get("topologyKey")?.as_str());
    let topology_of = |key: &str| {
        let known = view.node_labels.iter();
        known.filter_map(|(node, labels)| Some((node.clone(), labels.get(key)?.clone()))).collect()
    };
    keys.map(|key| Constraint { key: key.to_owned(), topology_of: topology_of(key) }).collect()
}

/// CS-47: deletes a pod and its claims, or marks it where its hook holds it.
pub fn delete(cx: &Cx<'_>, permit: &Permit<'_>, purpose: Purpose, plan: &mut Plan) {
    let pod = permit.pod();
    let hooks = cx.spec.hooks.as_ref();
    let mut writes = match removal::step(permit, hooks, version_for(pod, purpose, cx.now), cx.now) {
        Step::Delete(write) => vec![write],
        Step::Mark(mut edit) => {
            if purpose == Purpose::Recreate {
                // Marks the intent, or the next plan would cancel the deletion (CS-40, CS-77).
                edit.label(kruise_api::labels::SPECIFIED_DELETE, kruise_api::labels::TRUE);
            }
            return removal::mark(&edit, pod, purpose, hooks, plan);
        }
    };
    let claims = pod.instance_id().and_then(|id| cx.claims.get(&id));
    writes.extend(claims.into_iter().flat_map(|of_instance| claims::deletions(cx.view, of_instance)));
    let (reason, failed) = if purpose == Purpose::Recreate {
        (event::SUCCESSFUL_UPDATE_POD_RECREATE, event::FAILED_UPDATE_POD_RECREATE)
    } else {
        (event::SUCCESSFUL_DELETE, event::FAILED_DELETE)
    };
    let message = format!("deleted pod {}", pod.name);
    plan.act(Chain::about(purpose, pod, writes).telling(reason, message, failed));
}

/// Somebody named a marked pod; a victim was chosen for what it looked like, so it must still look so (B17). A pod that costs nothing
/// because it is down must be down still: if it has begun to serve just now, there may be no room for it to go.
fn version_for(pod: &PodView, purpose: Purpose, now: Timestamp) -> Option<ResourceVersion> {
    if is_pre_deleting(pod) {
        return None;
    }
    let is_victim = purpose == Purpose::Delete && !pod.is_marked_for_deletion();
    (is_victim || !is_ready(pod, now)).then(|| pod.version.clone())
}

fn price(pod: &PodView, now: Timestamp) -> Price {
    if is_ready(pod, now) { Price::One } else { Price::Free }
}

fn to_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Cx<'_> {
    pub fn counts(&self, side: Side) -> Counts {
        let update = self.revisions.update.name.hash();
        Counts::of(self.pods(), &update, self.spec, (side, &self.view.gates), self.now)
    }

    pub fn numbers(&self, counts: &Counts) -> Numbers {
        let rollout = if self.revisions.are_same() { Rollout::Settled } else { Rollout::Running };
        Numbers::of(self.spec, counts, rollout, self.view.preparing_delete(self.spec), &self.view.gates)
    }
}
