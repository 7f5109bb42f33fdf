//! The order of the steps (AS-5).

use std::collections::BTreeSet;

use jiff::Timestamp;
use kruise_api::labels;
use serde_json::json;

use super::ordinals::Ordinal;
use super::spec::Spec;
use super::view::View;
use super::{claims, scale, status, update};
use crate::base::begin;
use crate::chain::{Chain, Op, Part, Patch, Purpose, Resource, Write};
use crate::ids::{RevisionHash, RevisionName};
use crate::lifecycle::AtTarget;
use crate::plan::{Creations, Plan};
use crate::pod::{Edit, Guard, PodView};
use crate::predownload::{Download, PreDownload, Rollout, pre_download};
use crate::reader::Fault;
use crate::reason::Reason;
use crate::refresh::Refresher;
use crate::revision::{self, Revisions};
use crate::rollout::{Kind, Policy, TemplateHash};

/// What every step gets.
#[derive(Debug, Clone)]
pub struct Cx<'a> {
    pub view: &'a View,
    pub spec: &'a Spec,
    pub revisions: Revisions<'a>,
    pub now: Timestamp,
    /// One per wanted ordinal, ascending (AS-16).
    pub slots: Vec<Slot<'a>>,
    /// Claimed pods that no slot wants, highest ordinal first (AS-18).
    pub condemned: Vec<(Ordinal, &'a PodView)>,
    update_hash: RevisionHash,
}

/// A wanted ordinal and the pod that has it.
#[derive(Debug, Clone, Copy)]
pub struct Slot<'a> {
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
        let slots = wanted.iter().map(|ordinal| Slot { ordinal, pod: pod_of(ordinal) }).collect();
        let condemned = by_ordinal.iter().rev().filter(|(ordinal, _)| !wanted.contains(*ordinal));
        let condemned = condemned.copied().collect();
        Self { view, spec, revisions, now, slots, condemned, update_hash: revisions.update.name.hash() }
    }

    /// Pods that have a slot, ascending.
    pub fn replicas(&self) -> impl DoubleEndedIterator<Item = (Ordinal, &'a PodView)> {
        self.slots.iter().filter_map(|slot| Some((slot.ordinal, slot.pod?)))
    }

    /// Whether there is a slot for it.
    pub fn wants(&self, ordinal: Ordinal) -> bool {
        self.slots.binary_search_by_key(&ordinal, |slot| slot.ordinal).is_ok()
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
    plan.creations = Creations::EachItsOwn;
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
    plan = hold_all(view, plan, &Reason::OwnerDeleted); // AS-8: all others have their reason by now.
    status::settle(&cx, &mut plan);
    plan
}

/// AS-3, AS-4: revisions and pods of a deleted namesake become ours. The runtime confirms the uid of the set before it writes.
fn adopt(cx: &Cx<'_>, plan: &mut Plan) {
    let reference = cx.view.workload().owner_reference();
    let patch = |version: &str, owners: usize| {
        let add = match owners {
            0 => Op::add("/metadata/ownerReferences", json!([reference])),
            _ => Op::add("/metadata/ownerReferences/-", reference.clone()),
        };
        Patch::Json(vec![Op::test("/metadata/resourceVersion", version), add])
    };
    let orphan = |name: &RevisionName| cx.view.orphan_revisions.contains(name);
    for one in cx.view.revisions.iter().filter(|one| orphan(&one.name)) {
        let write =
            Write::patch(Resource::Revision, one.name.as_str(), Part::Object, patch(one.version.as_str(), 0));
        plan.act(Chain::other(Purpose::Adopt, vec![write]));
    }
    for pod in cx.pods().filter(|pod| cx.view.adopts(pod)) {
        let patch = patch(pod.version.as_str(), pod.owners.len());
        let write = Write::patch(Resource::Pod, pod.name.as_str(), Part::Object, patch);
        plan.act(Chain::pod(Purpose::Adopt, &pod.name, vec![write]));
    }
    let adopts = plan.chains.iter().any(|chain| chain.purpose == Purpose::Adopt);
    plan.adopter = adopts.then(|| cx.view.uid.clone());
}

/// AS-4: pods that selector or name no longer make ours are let go.
fn release(cx: &Cx<'_>, plan: &mut Plan) {
    for pod in cx.view.pods.iter().filter(|pod| !cx.view.claims_pod(pod)) {
        let write = cx.view.workload().release(pod);
        plan.act(Chain::pod(Purpose::Release, &pod.name, write.into_iter().collect()));
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
        policy: match spec.kind {
            Kind::RollingUpdate => spec.rolling.policy,
            Kind::OnDelete => Policy::ReCreate, // Whoever deletes a pod gets a new one.
        },
    };
    let download = Download {
        workload: cx.view.workload(),
        revisions: cx.revisions,
        jobs: &cx.view.pull_jobs,
        selector: &spec.selector_text,
        settings: &settings,
        rollout,
    };
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
            plan.hold(&pod.name, Reason::Terminating);
            continue;
        }
        let at_target = if cx.is_updated(pod) { AtTarget::Yes } else { AtTarget::No };
        repair(pod, plan);
        refresher.pod(pod, at_target, plan);
    }
}

/// AS-21: the label that the service of one pod selects it by.
fn repair(pod: &PodView, plan: &mut Plan) {
    if plan.acts_on(&pod.name) || pod.labels.get(labels::STATEFULSET_POD_NAME) == Some(pod.name.as_str()) {
        return;
    }
    let mut edit = Edit::of(pod);
    edit.label(labels::STATEFULSET_POD_NAME, pod.name.as_str());
    plan.act(Chain::pod(Purpose::Refresh, &pod.name, edit.write(Guard::Version).into_iter().collect()));
}

/// AS-14.
fn truncate(cx: &Cx<'_>) -> Option<Chain> {
    let in_use: BTreeSet<RevisionHash> = cx.pods().filter_map(PodView::revision).collect();
    revision::truncate(&cx.view.workload(), cx.revisions, &in_use, cx.spec.history_limit)
}

fn hold_all(view: &View, mut plan: Plan, reason: &Reason) -> Plan {
    for pod in &view.pods {
        plan.hold(&pod.name, reason.clone());
    }
    plan
}
