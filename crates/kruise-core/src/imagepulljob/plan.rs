//! The order of the steps (PJ-2 … PJ-15).

use jiff::Timestamp;
use kruise_api::finalizers::IMAGE_PULL_JOB;
use kruise_api::reasons::condition;
use serde_json::json;

use super::census::Census;
use super::object::ImagePullJob;
use super::spec::{Completion, Spec};
use super::view::View;
use super::{ask, end, reason, secrets, status};
use crate::chain::{Chain, Event, EventKind, Op, Part, Patch, Purpose, Write};
use crate::nodeimage::sync::Progress;
use crate::plan::Plan;
use crate::time;

/// How often the secrets of a running job are read again. Nothing watches them.
pub const SECRETS_EVERY_SECONDS: i64 = 8;

/// The next writes for one job, and why other nodes are not asked now.
pub fn plan(view: &View, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    if view.head.deleted.is_some() || view.time("completionTime").is_some() {
        end::tidy(view, now, &mut plan);
        return plan;
    }
    let spec = match &view.spec {
        Ok(spec) => spec,
        Err(fault) => {
            let message = format!("{fault}: no node is asked until it is corrected");
            plan.events.push(Event { kind: EventKind::Warning, reason: condition::UNREADABLE_SPEC, message });
            return plan;
        }
    };
    if ImagePullJob::finalizer(&view.finalizers).is_none() {
        protect(view, &mut plan);
        return plan;
    }
    run(view, spec, now, &mut plan);
    plan
}

/// PJ-4: only on the very version that was seen, because the list is replaced.
fn protect(view: &View, plan: &mut Plan) {
    let mut wanted = view.finalizers.to_vec();
    wanted.push(IMAGE_PULL_JOB.to_owned());
    let ops = vec![
        Op::test("/metadata/uid", view.head.uid.as_str()),
        Op::test("/metadata/resourceVersion", view.head.version.as_str()),
        Op::add("/metadata/finalizers", json!(wanted)),
    ];
    let write = Write::patch(view.itself(), Part::Object, Patch::Json(ops));
    plan.act(Chain::about(Purpose::Refresh, view.itself(), vec![write]));
}

fn run(view: &View, spec: &Spec, now: Timestamp, plan: &mut Plan) {
    let secrets = secrets::claim(view, plan);
    let census = Census::of(view, spec);
    let started = view.time("startTime").unwrap_or(now);
    let ending = census.ending(spec, started, now);
    let mut active = census.count(Progress::Active);
    if ending.is_none() {
        match secrets {
            // The status counts them at once: one write less, and the next plan corrects it where a node could not be asked.
            Ok(secrets) => active = ask::nodes((view, spec), &census, &secrets, now, plan),
            Err(waits_for) => census.waiting().for_each(|(node, _)| {
                plan.hold(reason::node(&node.name), reason::secret(&waits_for));
            }),
        }
        if let Completion::Always { deadline_seconds: Some(seconds), .. } = spec.completion {
            plan.revisit(time::after(started, seconds).max(time::after(now, 1)));
        }
        if !view.secrets.is_empty() && *view.head.namespace != *view.settings.secrets {
            plan.revisit(time::after(now, SECRETS_EVERY_SECONDS));
        }
    }
    census.explain(plan);
    let outlook = status::Outlook { started, ending, active };
    status::settle(view, &census, outlook, now, plan);
}
