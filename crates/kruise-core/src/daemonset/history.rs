//! Revisions of this kind (DS-41 … DS-45): pods and revisions carry the bare hash, and of several equal ones the newest counts.

use std::collections::BTreeSet;

use kruise_api::labels;
use kruise_api::resource::REVISIONS;
use serde_json::json;

use super::plan::Cx;
use super::spec::Spec;
use super::view::View;
use crate::chain::{Chain, Part, Patch, Purpose, Write};
use crate::ids::RevisionHash;
use crate::plan::Plan;
use crate::pod::{Edit, Guard, PodView};
use crate::revision::{Found, Revision, Stamp, find_stamped};

/// DS-41, DS-42, DS-45; a name that is taken is counted in its own status (B2).
pub fn find<'a>(view: &'a View, spec: &Spec) -> Found<'a> {
    let stamp = Stamp { hash_label: labels::REVISION, claim_hash: None };
    find_stamped(&view.workload(), &spec.template, stamp)
}

/// Stored revisions of the same template as this one. Both are canonical, so spelling makes no difference (DS-45).
pub fn duplicates<'a>(view: &'a View, kept: &'a Revision) -> impl Iterator<Item = &'a Revision> {
    let others = view.revisions.iter().map(AsRef::as_ref).filter(|one| one.name != kept.name);
    others.filter(move |one| *one.template == *kept.template)
}

/// DS-42: pods of duplicates, and only those (B11), get the kept hash; a duplicate goes when no pod names it any more. A revision without
/// the label gets it (B21).
pub fn repair(cx: &Cx<'_>, plan: &mut Plan) {
    let hash = cx.revision.name.hash();
    for one in duplicates(cx.view, cx.revision) {
        let twin = one.name.hash();
        let mut is_used = false;
        for pod in cx.view.pods.iter().filter(|pod| pod.is_at(&twin) && twin != hash) {
            is_used = true;
            let mut edit = Edit::of(pod);
            edit.label(labels::REVISION, hash.as_str());
            if !plan.acts_on(pod) && pod.deleted.is_none() {
                let writes = edit.write(Guard::Identity).into_iter().collect();
                plan.act(Chain::about(Purpose::Refresh, pod, writes));
            }
        }
        if !is_used {
            plan.act(Chain::other(Purpose::History, vec![delete(cx, one)]));
        }
    }
    let unlabelled = cx.view.revisions.iter().filter(|one| !one.labels.contains_key(labels::REVISION));
    for one in unlabelled {
        let patch =
            json!({"metadata": {"uid": one.uid.as_str(), "labels": {labels::REVISION: one.name.as_str()}}});
        let object = cx.view.workload().object(REVISIONS, one.name.shared());
        let write = Write::patch(object, Part::Object, Patch::Merge(patch));
        plan.act(Chain::other(Purpose::Revision, vec![write]));
    }
}

/// DS-44: as many of the oldest as there are old ones beyond the limit, but none that a pod is at.
pub fn truncate(cx: &Cx<'_>) -> Option<Chain> {
    let in_use: BTreeSet<RevisionHash> =
        cx.view.pods.iter().filter_map(|pod| PodView::revision(pod)).collect();
    let twins: BTreeSet<_> = duplicates(cx.view, cx.revision).map(|one| &one.name).collect();
    let is_old = |one: &&Revision| one.name != cx.revision.name && !twins.contains(&one.name);
    let old: Vec<&Revision> = cx.view.revisions.iter().map(AsRef::as_ref).filter(is_old).collect();
    let limit = usize::try_from(cx.spec.history_limit).unwrap_or(usize::MAX);
    let surplus = old.len().saturating_sub(limit);
    let dead = old.into_iter().filter(|one| !in_use.contains(&one.name.hash())).take(surplus);
    let writes: Vec<Write> = dead.map(|one| delete(cx, one)).collect();
    (!writes.is_empty()).then(|| Chain::other(Purpose::History, writes))
}

fn delete(cx: &Cx<'_>, revision: &Revision) -> Write {
    Write::delete(cx.view.workload().object(REVISIONS, revision.name.shared()), &revision.uid)
}
