//! The order of steps: copies that are missing or wrong, copies that are left over, status.

use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::conditions;

use super::content::Distributed;
use super::reason;
use super::spec::Spec;
use super::status::{Tally, settle};
use super::update::{self, Difference};
use super::view::{Known, Place, Target, View, item};
use crate::chain::{Chain, Purpose, Write};
use crate::ids::{ResourceVersion, Uid};
use crate::object::ObjectRef;
use crate::plan::{CREATIONS_MAX, Plan};
use crate::reason::Reason;

/// What the copies of one plan, or those that are read for it, may take together: each may have a mebibyte.
const BYTES_MAX: usize = 16 << 20;

/// Copies that one plan writes or reads; the rest follows in the next ones.
pub fn most_at_once(resource: &Distributed) -> usize {
    (BYTES_MAX / resource.bytes.max(1)).clamp(1, CREATIONS_MAX)
}

/// The next writes for one ResourceDistribution, and for each namespace left alone the reason.
pub fn plan(view: &View, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    if view.head.deleted.is_some() {
        plan.hold(view.itself(), Reason::Terminating); // Copies belong to the garbage collector (RD-16, RD-B6).
        return plan;
    }
    let spec = match &view.spec {
        Ok(spec) => spec,
        Err(fault) => {
            plan.hold(view.itself(), Reason::UnreadableSpec { field: fault.field.clone() }); // RD-20
            return plan;
        }
    };
    let mut tally = Tally::new(view.targets.len());
    distribute(view, spec, now, (&mut plan, &mut tally));
    clean_up(view, spec, (&mut plan, &mut tally));
    settle(view, &tally, now, &mut plan);
    plan
}

/// RD-9. Namespaces that failed before come last, so that they never keep others from their turn.
fn distribute(view: &View, spec: &Spec, now: Timestamp, (plan, tally): (&mut Plan, &mut Tally)) {
    let mut room = most_at_once(&spec.resource);
    let has_failed = |target: &&Target| view.failed.contains_key(&item(&target.namespace));
    let (last, first): (Vec<_>, Vec<_>) = view.targets.iter().partition(has_failed);
    for target in first.into_iter().chain(last) {
        let namespace = &target.namespace;
        match next(view, spec, target) {
            Next::Nothing => {
                tally.succeeded += 1;
                plan.hold(item(namespace), Reason::Done);
            }
            Next::Fails(condition, why, reason) => {
                tally.fail(condition, namespace, why);
                plan.hold(item(namespace), reason);
            }
            Next::Read => {
                tally.pending += 1;
                plan.revisit(now);
                plan.hold(item(namespace), reason::next_batch());
            }
            Next::Write(condition, purpose, write) => {
                match view.failed.get(&item(namespace)) {
                    Some(failed) => tally.fail(condition, namespace, failed.message.clone()),
                    None => tally.pending += 1,
                }
                if room == 0 {
                    plan.hold(item(namespace), reason::next_batch());
                    continue;
                }
                room -= 1;
                plan.act(Chain::about(purpose, item(namespace), vec![*write]).reported_by_item());
            }
        }
    }
}

/// What to do about one namespace.
enum Next {
    Nothing,
    Read,
    Fails(&'static str, String, Reason),
    Write(&'static str, Purpose, Box<Write>),
}

fn next(view: &View, spec: &Spec, target: &Target) -> Next {
    let resource = &spec.resource;
    match &target.place {
        Place::NoNamespace => {
            let why = reason::NO_NAMESPACE.to_owned();
            Next::Fails(conditions::DISTRIBUTION_NAMESPACE_MISSING, why, reason::no_namespace())
        }
        Place::Taken => {
            let why = reason::CONFLICT.to_owned();
            Next::Fails(conditions::DISTRIBUTION_CONFLICT, why, reason::conflict(resource))
        }
        Place::Free => {
            let name = Arc::clone(&resource.name);
            let object = ObjectRef::new(resource.sort.resource(), Arc::clone(&target.namespace), name);
            let body = update::body(&view.head, resource, &target.namespace);
            let write = Box::new(Write::create(object, &body));
            Next::Write(conditions::DISTRIBUTION_CREATE_FAILED, Purpose::Create, write)
        }
        Place::Own(_, Known::Failed(why)) => {
            Next::Fails(conditions::DISTRIBUTION_GET_FAILED, why.clone(), reason::unread(why))
        }
        Place::Own(_, Known::NotYet) => Next::Read,
        Place::Own(copy, Known::Content(content)) => {
            match update::difference(&view.head, resource, copy, content) {
                Difference::None => Next::Nothing,
                Difference::Forbidden(why) => {
                    Next::Fails(conditions::DISTRIBUTION_UPDATE_FAILED, why.clone(), reason::fixed(why))
                }
                Difference::Patch(write) => {
                    Next::Write(conditions::DISTRIBUTION_UPDATE_FAILED, Purpose::Refresh, write)
                }
            }
        }
    }
}

/// RD-14. The version is named: a copy that changes hands meanwhile stays (RD-23).
fn clean_up(view: &View, spec: &Spec, (plan, tally): (&mut Plan, &mut Tally)) {
    for copy in &view.leftovers {
        let namespace = &copy.key.namespace;
        if copy.owned.as_ref().is_some_and(|owned| owned.is_deleted) {
            plan.hold(item(namespace), Reason::Terminating);
            continue;
        }
        if let Some(failed) = view.failed.get(&item(namespace)).filter(|one| one.purpose == Purpose::Delete) {
            tally.fail(conditions::DISTRIBUTION_DELETE_FAILED, namespace, failed.message.clone());
        }
        let (uid, version) = (Uid::new(copy.uid.as_str()), ResourceVersion::new(copy.version.as_str()));
        let write = Write::delete_version(copy.object(spec.resource.sort), &uid, Some(version));
        plan.act(Chain::about(Purpose::Delete, item(namespace), vec![write]).reported_by_item());
    }
}
