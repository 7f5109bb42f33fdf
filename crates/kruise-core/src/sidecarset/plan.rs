//! The order of the steps (SS-53).

use jiff::Timestamp;

use super::census::Member;
use super::revisions::{self, Found};
use super::spec::{Spec, UpdateKind};
use super::update::Rollout;
use super::view::View;
use super::{hot_upgrade, reason, status};
use crate::plan::Plan;
use crate::reason::Reason;

/// The next writes for one SidecarSet, and for each pod left alone the reason.
pub fn plan(view: &View, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    for pod in &view.others {
        plan.hold(pod, reason::not_managed());
    }
    if view.head.deleted.is_some() {
        return all_held(view, plan, &Reason::OwnerDeleted); // SS-58
    }
    let spec = match &view.spec {
        Ok(spec) => spec,
        Err(fault) => {
            status::unreadable(view, fault, now, &mut plan);
            return all_held(view, plan, &Reason::UnreadableSpec { field: fault.field.clone() });
        }
    };
    let members: Vec<Member<'_>> =
        view.pods.iter().map(|pod| Member::of(pod, view, &spec.sidecars)).collect();
    let Found::Stored(latest) = revisions::register(view, spec, &mut plan) else {
        return all_held(view, plan, &Reason::RevisionFirst);
    };
    revisions::truncate(view, spec, &members, &mut plan);
    let rollout = Rollout { view, spec, members: &members, latest, now };
    upgrade(&rollout, &mut plan);
    explain(&members, spec, &mut plan);
    status::settle(view, &members, latest.name.as_str(), now, &mut plan);
    plan
}

/// SS-53, steps 5 to 9.
fn upgrade(rollout: &Rollout<'_>, plan: &mut Plan) {
    let (view, spec) = (rollout.view, rollout.spec);
    let hold = if spec.update.kind == UpdateKind::Not {
        Some(reason::not_update())
    } else if spec.update.is_paused {
        Some(Reason::Paused)
    } else {
        None
    };
    if let Some(why) = hold {
        for member in rollout.members.iter().filter(|one| !one.is_updated) {
            plan.hold(member.pod, why.clone());
        }
        return;
    }
    if spec.sidecars.has_hot() {
        let resets: Vec<_> = rollout
            .members
            .iter()
            .filter_map(|member| hot_upgrade::reset(view, member, &spec.sidecars))
            .collect();
        if !resets.is_empty() {
            for chain in resets {
                plan.act(chain);
            }
            for member in rollout.members.iter().filter(|one| !one.is_updated) {
                plan.hold(member.pod, reason::hot_upgrading());
            }
            return;
        }
    }
    rollout.step(plan);
}

/// Pods that no step has said anything about.
fn explain(members: &[Member<'_>], spec: &Spec, plan: &mut Plan) {
    for member in members {
        let is_settled = spec.sidecars.containers.iter().all(|one| member.is_settled(one));
        let why = if member.is_good() {
            Reason::Done
        } else if !is_settled {
            reason::hot_upgrading()
        } else {
            Reason::NotReady { since: None }
        };
        plan.hold(member.pod, why);
    }
}

fn all_held(view: &View, mut plan: Plan, why: &Reason) -> Plan {
    for pod in &view.pods {
        plan.hold(pod, why.clone());
    }
    plan
}
