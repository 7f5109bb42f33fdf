//! What is left to do for a job that is deleted or over (PJ-2, PJ-3): its secrets are released, it is let go, and it expires.

use jiff::Timestamp;
use kruise_api::finalizers::IMAGE_PULL_JOB;

use super::object::ImagePullJob;
use super::spec::Completion;
use super::view::{List, View};
use super::{reason, secrets};
use crate::chain::{Chain, Op, Part, Patch, Purpose, Write};
use crate::plan::Plan;
use crate::reason::Reason;
use crate::time;

/// Secrets go before the finalizer, so that a crash in between is made good. Where there are none, nothing has to be there (7).
pub fn tidy(view: &View, now: Timestamp, plan: &mut Plan) {
    let mut writes: Vec<Write> =
        view.used.iter().map(|copy| secrets::release(copy, &view.reference())).collect();
    if let Some(position) = ImagePullJob::finalizer(&view.finalizers) {
        let path = format!("/metadata/finalizers/{position}");
        let ops = vec![
            Op::test("/metadata/uid", view.head.uid.as_str()),
            Op::test(&path, IMAGE_PULL_JOB),
            Op::Remove { path },
        ];
        writes.push(Write::patch(view.itself(), Part::Object, Patch::Json(ops)));
    }
    if !writes.is_empty() {
        return plan.act(Chain::about(Purpose::Release, view.itself(), writes));
    }
    if view.head.deleted.is_some() {
        return plan.hold(view.itself(), Reason::Terminating);
    }
    expire(view, now, plan);
}

/// At its time to live, but not before the list has counted it (11).
fn expire(view: &View, now: Timestamp, plan: &mut Plan) {
    let ttl = match view.spec.as_ref().map(|spec| spec.completion) {
        Ok(Completion::Always { ttl_seconds, .. }) => ttl_seconds,
        Ok(Completion::Never) | Err(_) => None,
    };
    let Some((end, ttl)) = view.time("completionTime").zip(ttl) else {
        return plan.hold(view.itself(), reason::finished());
    };
    let at = time::after(end, ttl);
    if now < at {
        plan.revisit(at);
        return plan.hold(view.itself(), reason::finished());
    }
    if view.list == List::Runs {
        return plan.hold(view.itself(), reason::list_runs());
    }
    let write = Write::delete(view.itself(), &view.head.uid);
    plan.act(Chain::about(Purpose::Delete, view.itself(), vec![write]));
}
