//! The order of the steps.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::json;

use super::numbers::Side;
use super::spec::Spec;
use super::view::View;
use super::{claims, revisions, scale, status, update};
use crate::amount::Rounding;
use crate::chain::{Chain, Op, Part, Patch, Purpose, Write};
use crate::cluster::claim::Claim;
use crate::fault::Fault;
use crate::gates::Gate;
use crate::ids::{InstanceId, PodName, RevisionHash};
use crate::lifecycle::{AtTarget, LifecycleState};
use crate::plan::Plan;
use crate::pod::PodView;
use crate::predownload::{Download, Rollout, pre_download};
use crate::reason::Reason;
use crate::revision::Revisions;
use crate::rollout::TemplateHash;
use crate::rollout::refresh::Refresher;
use crate::workload::base::begin;

/// What every step gets.
#[derive(Debug, Clone)]
pub struct Cx<'a> {
    pub view: &'a View,
    pub spec: &'a Spec,
    pub revisions: Revisions<'a>,
    pub now: Timestamp,
    update_hash: RevisionHash,
    /// Selected once: every step walks over them.
    active: Vec<&'a PodView>,
    pub claims: BTreeMap<&'a InstanceId, Vec<&'a Claim>>,
}

impl<'a> Cx<'a> {
    pub fn of(view: &'a View, spec: &'a Spec, revisions: Revisions<'a>, now: Timestamp) -> Self {
        let update_hash = revisions.update.name.hash();
        let (active, claims) = (view.active().collect(), claims::by_instance(view));
        Self { view, spec, revisions, now, update_hash, active, claims }
    }

    pub fn pods(&self) -> impl Iterator<Item = &'a PodView> {
        self.active.iter().copied()
    }

    /// CS-23.
    pub fn is_new(&self, pod: &PodView, side: Side) -> bool {
        let early = side == Side::Scale && self.view.gates.on(Gate::PreparingUpdateAsUpdate);
        pod.is_at(&self.update_hash) || (early && LifecycleState::of(pod) == LifecycleState::PreparingUpdate)
    }
}

/// The next writes for one CloneSet, and for each pod left alone the reason.
pub fn plan(view: &View, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let report = |fault: &Fault, into: &mut Plan| status::unreadable(view, fault, now, into);
    let begun = begin(&view.spec, &mut plan, report, |spec| revisions::find(view, spec));
    let (spec, revisions) = match begun {
        Ok(begun) => begun,
        Err(reason) => return hold_all(view, plan, &reason),
    };
    let cx = Cx::of(view, spec, revisions, now);
    if view.deleted.is_none() {
        release(&cx, &mut plan);
        claims::clean_up(view, spec, &mut plan);
        download(&cx, &mut plan);
        scale::scale(&cx, &mut plan);
        update::update(&cx, &mut plan);
        scale::drop_broken(&cx, &mut plan);
        refresh(&cx, &mut plan);
        claims::restore(&cx, &mut plan);
        trim(&cx, &mut plan);
        plan.act_if(revisions::truncate(view, spec, revisions));
    }
    plan = hold_all(view, plan, &view.leftover()); // CS-2
    status::settle(&cx, &mut plan);
    plan
}

/// SM-80 … SM-83.
fn download(cx: &Cx<'_>, plan: &mut Plan) {
    let (spec, rolling) = (cx.spec, &cx.spec.rolling);
    let rollout = Rollout {
        replicas: spec.replicas,
        partition: rolling.partition.partition(spec.replicas),
        max_unavailable: rolling.max_unavailable.of(spec.replicas, Rounding::Down),
        policy: rolling.policy,
    };
    let found = (&cx.view.base, &spec.base);
    let download = Download::of(cx.view.workload(), found, cx.revisions, &rolling.pre_download, rollout);
    pre_download(&download, plan);
}

/// CS-70.
fn refresh(cx: &Cx<'_>, plan: &mut Plan) {
    let refresher = Refresher {
        hooks: cx.spec.hooks.as_ref(),
        resize: cx.view.resize,
        min_ready_seconds: cx.spec.min_ready_seconds,
        template_hash: TemplateHash::Written,
        now: cx.now,
    };
    for pod in cx.pods() {
        let at_target = if cx.is_new(pod, Side::Update) { AtTarget::Yes } else { AtTarget::No };
        refresher.pod(pod, at_target, plan);
    }
}

/// CS-5: pods that the selector lost are let go.
fn release(cx: &Cx<'_>, plan: &mut Plan) {
    let lost = cx.view.pods.iter().filter(|pod| pod.is_active() && !cx.spec.selector.matches(&pod.labels));
    for pod in lost {
        let write = cx.view.workload().release(pod);
        plan.act(Chain::about(Purpose::Release, pod, write.into_iter().collect()));
    }
}

/// CS-46: names that are done leave the list.
fn trim(cx: &Cx<'_>, plan: &mut Plan) {
    let listed = &cx.spec.pods_to_delete;
    if listed.is_empty() {
        return;
    }
    let there: BTreeSet<&PodName> = cx.pods().map(|pod| &pod.name).collect();
    let left: Vec<&str> = listed.iter().filter(|name| there.contains(name)).map(PodName::as_str).collect();
    if left.len() < listed.len() {
        let path = "/spec/scaleStrategy/podsToDelete".to_owned();
        let shorten =
            if left.is_empty() { Op::Remove { path } } else { Op::Replace { path, value: json!(left) } };
        let ops = vec![Op::test("/metadata/resourceVersion", cx.view.version.as_str()), shorten];
        let write = Write::patch(cx.view.workload().itself(), Part::Object, Patch::Json(ops));
        plan.act(Chain::other(Purpose::EditSpec, vec![write]));
    }
}

fn hold_all(view: &View, mut plan: Plan, reason: &Reason) -> Plan {
    for pod in view.active() {
        plan.hold(pod, reason.clone());
    }
    plan
}
