//! The order of the steps (AS-5).

use std::collections::BTreeSet;

use jiff::Timestamp;
use kruise_api::labels;
use kruise_api::resource::REVISIONS;
use serde_json::json;

use super::ordinals::{Ordinal, Slots};
use super::spec::Spec;
use super::view::View;
use super::{claims, scale, status, update};
use crate::chain::{Chain, Identity, Op, Part, Patch, Purpose, Write};
use crate::fault::Fault;
use crate::ids::{RevisionHash, RevisionName};
use crate::lifecycle::AtTarget;
use crate::plan::{CREATIONS_MAX, Plan};
use crate::pod::{Edit, Guard, PodView};
use crate::predownload::{Download, PreDownload, Rollout, pre_download};
use crate::reason::Reason;
use crate::revision::{self, Revisions};
use crate::rollout::refresh::Refresher;
use crate::rollout::{Mode, Policy, TemplateHash};
use crate::workload::base::begin;

/// What every step gets.
#[derive(Debug, Clone)]
pub struct Cx<'a> {
    pub view: &'a View,
    pub spec: &'a Spec,
    pub revisions: Revisions<'a>,
    pub now: Timestamp,
    /// Every wanted ordinal that has a pod, and the first of those that have none, ascending (AS-16): no more of them than one plan
    /// creates, because a user may ask for any number.
    pub slots: Vec<Slot<'a>>,
    /// All of them.
    pub wanted: Slots,
    /// Claimed pods that no slot wants, highest ordinal first (AS-18).
    pub condemned: Vec<(Ordinal, &'a PodView)>,
    update_hash: RevisionHash,
}

/// A wanted ordinal and the pod that has it.
#[derive(Debug, Clone, Copy)]
pub struct Slot<'a> {
    /// Among all wanted ordinals.
    pub place: usize,
    pub ordinal: Ordinal,
    pub pod: Option<&'a PodView>,
}

impl<'a> Cx<'a> {
    pub fn of(view: &'a View, spec: &'a Spec, revisions: Revisions<'a>, now: Timestamp) -> Self {
        let wanted = spec.slots(&view.gates);
        let claimed = view.pods.iter().map(AsRef::as_ref).filter(|pod| view.claims_pod(pod));
        let mut by_ordinal: Vec<(Ordinal, &PodView)> =
            claimed.filter_map(|pod| Some((view.ordinal(pod)?, pod))).collect();
        by_ordinal.sort_by_key(|(ordinal, _)| *ordinal);
        let pod_of = |ordinal: Ordinal| {
            let at = by_ordinal.binary_search_by_key(&ordinal, |(one, _)| *one).ok()?;
            by_ordinal.get(at).map(|(_, pod)| *pod)
        };
        let mut slots: Vec<Slot<'_>> = Vec::new();
        let mut missing = 0;
        for (place, ordinal) in wanted.iter().enumerate() {
            let pod = pod_of(ordinal);
            slots.push(Slot { place, ordinal, pod });
            // A name that somebody else has is no pod that could be created.
            missing += usize::from(pod.is_none() && !view.strangers.contains(&view.pod_name(ordinal)));
            if missing == CREATIONS_MAX {
                break;
            }
        }
        let last = slots.last().map(|slot| slot.ordinal);
        let later =
            by_ordinal.iter().filter(|(ordinal, _)| Some(*ordinal) > last && wanted.contains(*ordinal));
        slots.extend(later.map(|(ordinal, pod)| Slot {
            place: wanted.place(*ordinal),
            ordinal: *ordinal,
            pod: Some(*pod),
        }));
        let condemned = by_ordinal.iter().rev().filter(|(ordinal, _)| !wanted.contains(*ordinal));
        let condemned = condemned.copied().collect();
        Self {
            view,
            spec,
            revisions,
            now,
            slots,
            wanted,
            condemned,
            update_hash: revisions.update.name.hash(),
        }
    }

    /// Pods that have a slot, ascending.
    pub fn replicas(&self) -> impl DoubleEndedIterator<Item = (Ordinal, &'a PodView)> {
        self.slots.iter().filter_map(|slot| Some((slot.ordinal, slot.pod?)))
    }

    /// Whether there is a slot for it.
    pub fn wants(&self, ordinal: Ordinal) -> bool {
        self.wanted.contains(ordinal)
    }

    /// Wanted ordinals without a pod that this plan does not look at.
    pub fn beyond(&self) -> usize {
        self.wanted.len().saturating_sub(self.slots.len())
    }

    /// All pods that are ours.
    pub fn pods(&self) -> impl Iterator<Item = &'a PodView> {
        self.replicas().chain(self.condemned.iter().copied()).map(|(_, pod)| pod)
    }

    pub fn is_updated(&self, pod: &PodView) -> bool {
        pod.is_at(&self.update_hash)
    }

    pub fn is_available(&self, pod: &PodView) -> bool {
        pod.deleted.is_none() && self.spec.is_available(pod, self.now)
    }
}

/// The next writes for one StatefulSet, and for each pod left alone the reason.
pub fn plan(view: &View, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let report = |fault: &Fault, into: &mut Plan| status::unreadable(view, fault, now, into);
    let begun =
        begin(&view.spec, &mut plan, report, |spec| revision::find(&view.workload(), &spec.template, None));
    let (spec, revisions) = match begun {
        Ok(begun) => begun,
        Err(reason) => return hold_all(view, plan, &reason),
    };
    let cx = Cx::of(view, spec, revisions, now);
    if view.deleted.is_none() {
        adopt(&cx, &mut plan);
        release(&cx, &mut plan);
        download(&cx, &mut plan);
        let pass = scale::replicas(&cx, &mut plan);
        scale::condemned(&cx, &pass, &mut plan);
        update::update(&cx, &pass, &mut plan);
        claims::settle(&cx, &mut plan);
        refresh(&cx, &mut plan);
        plan.act_if(truncate(&cx));
    }
    plan = hold_all(view, plan, &view.leftover()); // AS-8
    status::settle(&cx, &mut plan);
    plan
}

/// AS-3, AS-4: revisions and pods of a deleted namesake become ours. Each write waits for a live read that confirms the uid of the set.
fn adopt(cx: &Cx<'_>, plan: &mut Plan) {
    let reference = cx.view.workload().owner_reference();
    let patch = |version: &str, owners: usize| {
        let add = match owners {
            0 => Op::add("/metadata/ownerReferences", json!([reference])),
            _ => Op::add("/metadata/ownerReferences/-", reference.clone()),
        };
        Patch::Json(vec![Op::test("/metadata/resourceVersion", version), add])
    };
    let confirm = Some(Identity { object: cx.view.workload().itself(), uid: cx.view.uid.clone() });
    let orphan = |name: &RevisionName| cx.view.orphan_revisions.contains(name);
    for one in cx.view.revisions.iter().filter(|one| orphan(&one.name)) {
        let object = cx.view.workload().object(REVISIONS, one.name.shared());
        let write = Write::patch(object, Part::Object, patch(one.version.as_str(), 0));
        plan.act(Chain { confirm: confirm.clone(), ..Chain::other(Purpose::Adopt, vec![write]) });
    }
    for pod in cx.pods().filter(|pod| cx.view.adopts(pod)) {
        let patch = patch(pod.version.as_str(), pod.owners.len());
        let write = Write::patch(pod.object(), Part::Object, patch);
        plan.act(Chain { confirm: confirm.clone(), ..Chain::about(Purpose::Adopt, pod, vec![write]) });
    }
}

/// AS-4: pods that selector or name no longer make ours are let go.
fn release(cx: &Cx<'_>, plan: &mut Plan) {
    for pod in cx.view.pods.iter().filter(|pod| !cx.view.claims_pod(pod)) {
        let write = cx.view.workload().release(pod);
        plan.act(Chain::about(Purpose::Release, pod, write.into_iter().collect()));
    }
}

/// AS-91 … AS-93.
fn download(cx: &Cx<'_>, plan: &mut Plan) {
    let (spec, replicas) = (cx.spec, cx.spec.replicas);
    let settings = PreDownload::of_annotations(&cx.view.annotations, replicas);
    let rollout = Rollout {
        replicas,
        partition: spec.rolling.partition,
        max_unavailable: spec.update_limit(),
        policy: match spec.mode {
            Mode::RollingUpdate => spec.rolling.policy,
            Mode::OnDelete => Policy::ReCreate, // Whoever deletes a pod gets a new one.
        },
    };
    let found = (&cx.view.base, &spec.base);
    let download = Download::of(cx.view.workload(), found, cx.revisions, &settings, rollout);
    pre_download(&download, plan);
}

/// AS-36, AS-44: also while paused and while the pass stands still.
fn refresh(cx: &Cx<'_>, plan: &mut Plan) {
    let refresher = Refresher {
        hooks: cx.spec.hooks.as_ref(),
        resize: cx.view.resize,
        min_ready_seconds: cx.spec.rolling.min_ready_seconds,
        template_hash: TemplateHash::Absent,
        now: cx.now,
    };
    for pod in cx.pods() {
        if pod.deleted.is_some() {
            plan.hold(pod, Reason::Terminating);
            continue;
        }
        let at_target = if cx.is_updated(pod) { AtTarget::Yes } else { AtTarget::No };
        repair(pod, plan);
        refresher.pod(pod, at_target, plan);
    }
}

/// AS-21: the label that the service of one pod selects it by.
fn repair(pod: &PodView, plan: &mut Plan) {
    if plan.acts_on(pod) || pod.labels.get(labels::STATEFULSET_POD_NAME) == Some(pod.name.as_str()) {
        return;
    }
    let mut edit = Edit::of(pod);
    edit.label(labels::STATEFULSET_POD_NAME, pod.name.as_str());
    plan.act(Chain::about(Purpose::Refresh, pod, edit.write(Guard::Version).into_iter().collect()));
}

/// AS-14.
fn truncate(cx: &Cx<'_>) -> Option<Chain> {
    let in_use: BTreeSet<RevisionHash> = cx.pods().filter_map(PodView::revision).collect();
    revision::truncate(&cx.view.workload(), cx.revisions, &in_use, cx.spec.history_limit)
}

fn hold_all(view: &View, mut plan: Plan, reason: &Reason) -> Plan {
    for pod in &view.pods {
        plan.hold(pod, reason.clone());
    }
    plan
}
