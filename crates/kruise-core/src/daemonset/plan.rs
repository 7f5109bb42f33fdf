//! The order of the steps (DS-6).

use std::collections::BTreeSet;

use jiff::Timestamp;
use kruise_api::labels;
use kruise_api::reasons::event;
use serde_json::json;

use super::create::Names;
use super::places::Places;
use super::spec::Spec;
use super::view::View;
use super::{download, history, manage, reason, status, update};
use crate::chain::{Chain, Event, EventKind, Identity, Op, Part, Patch, Purpose, Write};
use crate::fault::Fault;
use crate::ids::RevisionHash;
use crate::lifecycle::AtTarget;
use crate::plan::{Plan, Room};
use crate::pod::PodView;
use crate::reason::Reason;
use crate::revision::{Revision, Revisions};
use crate::rollout::TemplateHash;
use crate::rollout::refresh::Refresher;
use crate::workload::base::begin;

/// What every step gets.
#[derive(Debug, Clone)]
pub struct Cx<'a> {
    pub view: &'a View,
    pub spec: &'a Spec,
    pub revision: &'a Revision,
    pub now: Timestamp,
    pub places: Places<'a>,
    /// Nodes that should have a pod now (B4).
    pub desired: u32,
    /// Of the wanted revision and of its duplicates (B11).
    hashes: BTreeSet<RevisionHash>,
}

/// How many pods this plan may still create, delete and update in place (DS-20, DS-32).
#[derive(Debug)]
pub struct Burst {
    pub limit: usize,
    created: usize,
    deleted: usize,
    in_place: usize,
    pub room: Room,
    pub names: Names,
}

impl Burst {
    pub fn of(limit: usize, names: Names) -> Self {
        Self { limit, created: 0, deleted: 0, in_place: 0, room: Room::default(), names }
    }

    pub fn create(&mut self) -> bool {
        !self.room.is_full() && take(&mut self.created, self.limit)
    }

    pub fn delete(&mut self) -> bool {
        take(&mut self.deleted, self.limit)
    }

    pub fn in_place(&mut self) -> bool {
        take(&mut self.in_place, self.limit)
    }
}

fn take(count: &mut usize, limit: usize) -> bool {
    let is_allowed = *count < limit;
    *count += usize::from(is_allowed);
    is_allowed
}

impl<'a> Cx<'a> {
    pub fn of(view: &'a View, spec: &'a Spec, revisions: Revisions<'a>, now: Timestamp) -> Self {
        let places = Places::of(view, |node| spec.needs.verdict(node));
        let (revision, desired) = (revisions.update, places.desired());
        let same = history::duplicates(view, revision);
        let hashes = same.chain([revision]).map(|one| one.name.hash()).collect();
        Self { view, spec, revision, now, places, desired, hashes }
    }

    /// DS-26.
    pub fn is_updated(&self, pod: &PodView) -> bool {
        let generation = pod.labels.get(labels::POD_TEMPLATE_GENERATION);
        self.hashes.iter().any(|hash| pod.is_at(hash))
            || (generation.is_some() && generation == self.view.template_generation())
    }

    /// DS-37.
    pub fn is_available(&self, pod: &PodView) -> bool {
        pod.is_update_ready(self.spec.min_ready_seconds, self.now)
    }

    pub fn pods(&self) -> impl Iterator<Item = &'a PodView> {
        self.places.all.iter().flat_map(|place| place.pods.iter().copied())
    }
}

/// The next writes for one DaemonSet, and for each node and pod left alone the reason.
pub fn plan(view: &View, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    if view.deleted.is_some() {
        return hold_all(view, plan, &Reason::OwnerDeleted);
    }
    if view.spec.as_ref().is_ok_and(|spec| spec.selector.is_empty()) {
        let message = "spec.selector is empty and would select every pod: nothing is done".to_owned();
        plan.events.push(Event { kind: EventKind::Warning, reason: event::SELECTING_ALL, message });
        return hold_all(view, plan, &Reason::UnreadableSpec { field: "spec.selector".to_owned() });
    }
    let report = |fault: &Fault, into: &mut Plan| status::unreadable(view, fault, now, into);
    let begun = begin(&view.spec, &mut plan, report, |spec| history::find(view, spec));
    let (spec, revisions) = match begun {
        Ok(begun) => begun,
        Err(reason) => return hold_all(view, plan, &reason),
    };
    let cx = Cx::of(view, spec, revisions, now);
    let mut burst = Burst::of(spec.burst(cx.desired), Names::of(view));
    own(&cx, &mut plan);
    history::repair(&cx, &mut plan);
    download::download(&cx, &mut plan);
    manage::manage(&cx, &mut burst, &mut plan);
    update::update(&cx, &mut burst, &mut plan);
    refresh(&cx, &mut plan);
    plan.act_if(history::truncate(&cx));
    plan = hold_all(view, plan, &view.leftover());
    status::settle(&cx, &mut plan);
    plan
}

/// DS-9: pods that the selector lost are let go, orphans that it matches are taken, each after a live read of the DaemonSet.
fn own(cx: &Cx<'_>, plan: &mut Plan) {
    let workload = cx.view.workload();
    let patch = |version: &str, owners: usize| {
        let add = match owners {
            0 => Op::add("/metadata/ownerReferences", json!([workload.owner_reference()])),
            _ => Op::add("/metadata/ownerReferences/-", workload.owner_reference()),
        };
        Patch::Json(vec![Op::test("/metadata/resourceVersion", version), add])
    };
    let confirm = Some(Identity { object: workload.itself(), uid: cx.view.uid.clone() });
    for one in cx.view.revisions.iter().filter(|one| cx.view.orphan_revisions.contains(&one.name)) {
        let object = workload.object(kruise_api::resource::REVISIONS, one.name.shared());
        let write = Write::patch(object, Part::Object, patch(one.version.as_str(), 0));
        plan.act(Chain { confirm: confirm.clone(), ..Chain::other(Purpose::Adopt, vec![write]) });
    }
    for pod in &cx.view.pods {
        if cx.view.adopts(pod) {
            let write =
                Write::patch(pod.object(), Part::Object, patch(pod.version.as_str(), pod.owners.len()));
            plan.act(Chain { confirm: confirm.clone(), ..Chain::about(Purpose::Adopt, pod, vec![write]) });
        } else if !cx.view.selects(pod) {
            plan.act(Chain::about(Purpose::Release, pod, workload.release(pod).into_iter().collect()));
        }
    }
}

/// DS-6 (10): running updates in place and readiness gates; also while paused.
fn refresh(cx: &Cx<'_>, plan: &mut Plan) {
    let refresher = Refresher {
        hooks: cx.spec.hooks.as_ref(),
        resize: cx.view.resize,
        min_ready_seconds: cx.spec.min_ready_seconds,
        template_hash: TemplateHash::Absent,
        now: cx.now,
    };
    for pod in cx.pods() {
        if pod.deleted.is_some() {
            plan.hold(pod, Reason::Terminating);
            continue;
        }
        let at_target = if cx.is_updated(pod) { AtTarget::Yes } else { AtTarget::No };
        refresher.pod(pod, at_target, plan);
    }
}

fn hold_all(view: &View, mut plan: Plan, reason: &Reason) -> Plan {
    for pod in &view.pods {
        plan.hold(pod, reason.clone());
    }
    // A node that nothing was said about has its pod, unless nothing was looked at.
    if *reason != Reason::Unexplained {
        for node in &view.nodes {
            plan.hold(reason::node(node), reason.clone());
        }
    }
    plan
}
