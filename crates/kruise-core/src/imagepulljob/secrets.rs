//! Copies of pull secrets: claimed while a job runs, released at its end (PJ-11 … PJ-14). A copy is shared by all jobs that name its source,
//! so each change names the version that was seen.

use std::sync::Arc;

use kruise_api::annotations::PULL_SECRET_REFERENCES;
use kruise_api::reasons::event;
use kruise_api::resource::SECRETS;

use super::secret::{SecretCopy, Source};
use super::view::{Secret, State, View};
use crate::chain::{Chain, Event, EventKind, Op, Part, Patch, Purpose, Write};
use crate::nodeimage::SecretRef;
use crate::object::ObjectRef;
use crate::plan::Plan;

/// What nodes are to be given, or the secret that has to be copied first.
pub fn claim(view: &View, plan: &mut Plan) -> Result<Vec<SecretRef>, Arc<str>> {
    let mut found = Ok(Vec::new());
    for secret in &view.secrets {
        let given = one(view, secret, plan);
        found = match (found, given) {
            (Ok(mut all), Ok(given)) => {
                all.extend(given);
                Ok(all)
            }
            (Err(first), _) => Err(first),
            (Ok(_), Err(())) => Err(Arc::clone(&secret.source.name)),
        };
    }
    // PJ-12: what this job used before and does not name any more.
    let is_wanted = |copy: &SecretCopy| view.secrets.iter().any(|one| one.source.to_string() == *copy.source);
    for copy in view.used.iter().filter(|copy| !is_wanted(copy)) {
        plan.act(Chain::other(Purpose::Release, vec![release(copy, &view.reference())]));
    }
    found
}

/// None if the source does not exist: the job goes on without it.
fn one(view: &View, secret: &Secret, plan: &mut Plan) -> Result<Option<SecretRef>, ()> {
    let chain =
        |write: Write| Chain::other(Purpose::Generate, vec![write]).or_tell(event::PULL_SECRET_FAILED);
    match &secret.state {
        State::Direct(reference) => Ok(Some(reference.clone())),
        State::Copied(copy, source) => {
            plan.act_if(refresh(view, copy, source.as_ref()).map(chain));
            Ok(Some(copy.reference()))
        }
        State::New(source, name) => {
            let object = ObjectRef::new(SECRETS, Arc::clone(&view.settings.secrets), Arc::clone(name));
            let body = source.copy(&object, &secret.source.to_string(), &view.reference());
            plan.act(chain(Write::create(object, &body)));
            Err(())
        }
        State::Missing => {
            let message =
                format!("pull secret {} does not exist: images are pulled without it", secret.source);
            plan.events.push(Event { kind: EventKind::Warning, reason: event::PULL_SECRET_MISSING, message });
            Ok(None)
        }
        State::Unread => Err(()),
    }
}

/// PJ-13: what differs. A source that is gone leaves its copy as it is.
fn refresh(view: &View, copy: &SecretCopy, source: Option<&Source>) -> Option<Write> {
    let mut ops = Vec::new();
    if let Some(source) = source.filter(|source| source.digest() != copy.digest) {
        ops.push(Op::add("/data", source.data()));
    }
    let job = view.reference();
    if !copy.is_used_by(&job) {
        let mut references = copy.references.clone();
        references.push(job);
        references.sort();
        ops.push(referenced_by(&references));
    }
    (!ops.is_empty()).then(|| guarded(copy, ops))
}

/// PJ-14.
pub fn release(copy: &SecretCopy, job: &str) -> Write {
    let others: Vec<String> = copy.references.iter().filter(|one| *one != job).cloned().collect();
    let (uid, version) = copy.identity();
    if others.is_empty() {
        return Write::delete_version(copy.object(), &uid, Some(version));
    }
    guarded(copy, vec![referenced_by(&others)])
}

fn referenced_by(jobs: &[String]) -> Op {
    Op::add(Op::path("/metadata/annotations", PULL_SECRET_REFERENCES), jobs.join(","))
}

fn guarded(copy: &SecretCopy, ops: Vec<Op>) -> Write {
    let (uid, version) = copy.identity();
    let tests =
        [Op::test("/metadata/uid", uid.as_str()), Op::test("/metadata/resourceVersion", version.as_str())];
    Write::patch(copy.object(), Part::Object, Patch::Json(tests.into_iter().chain(ops).collect()))
}
