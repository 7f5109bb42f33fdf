//! The revision of the spec and the history (SS-54 … SS-57, SS-16).

use std::collections::BTreeSet;
use std::sync::Arc;

use kruise_api::annotations::LAST_APPLIED;
use kruise_api::labels::{REVISION_HASH, SIDECARSET_CUSTOM_VERSION, SIDECARSET_NAME};
use kruise_api::resource::REVISIONS;
use serde_json::{Value, json};

use super::census::Member;
use super::object::SidecarSet;
use super::spec::{PinName, Spec};
use super::stored::Stored;
use super::view::View;
use crate::chain::{Chain, Op, Part, Patch, Purpose, Write};
use crate::lookup::Slim;
use crate::object::ObjectRef;
use crate::plan::Plan;

/// The outcome of looking for the revision of the spec.
pub enum Found<'a> {
    Stored(&'a Stored),
    /// It is stored by this plan.
    Missing,
}

/// SS-55, SS-56. B20: compared by what it means, not by bytes.
pub fn register<'a>(view: &'a View, spec: &Spec, plan: &mut Plan) -> Found<'a> {
    let number = view.revisions.last().map_or(1, |newest| newest.number.saturating_add(1));
    let same = view.revisions.iter().rev().find(|one| one.data.as_ref() == Some(&spec.data));
    let (Some(found), Some(newest)) = (same, view.revisions.last()) else {
        plan.act(create(view, spec, number));
        return Found::Missing;
    };
    let mut ops = vec![Op::test("/metadata/resourceVersion", found.version.as_str())];
    if found.name != newest.name {
        ops.push(Op::Replace { path: "/revision".to_owned(), value: Value::from(number) });
    }
    if let Some(version) = &spec.custom_version
        && found.custom_version() != Some(version)
    {
        // Revisions of a set always have labels: its name is one.
        ops.push(Op::add(Op::path("/metadata/labels", SIDECARSET_CUSTOM_VERSION), version.as_str()));
    }
    if ops.len() > 1 {
        let write = Write::patch(revision(view, found.name.shared()), Part::Object, Patch::Json(ops));
        plan.act(Chain::other(Purpose::Revision, vec![write]));
    }
    Found::Stored(found)
}

/// SS-57: the oldest first; never the newest, one that a pod has, or the pinned one.
pub fn truncate(view: &View, spec: &Spec, members: &[Member<'_>], plan: &mut Plan) {
    let limit = usize::try_from(spec.history_limit.max(1)).unwrap_or(usize::MAX);
    let surplus = view.revisions.len().saturating_sub(limit);
    if surplus == 0 {
        return;
    }
    let used: BTreeSet<&str> = members.iter().map(|member| member.revision.as_str()).collect();
    let is_pinned = |one: &Stored| match spec.pin.as_ref().map(|pin| &pin.name) {
        Some(PinName::Revision(name)) => one.name.as_str() == name,
        Some(PinName::CustomVersion(version)) => one.custom_version() == Some(version),
        None => false,
    };
    let is_current = |one: &Stored| one.data.as_ref() == Some(&spec.data);
    let all_but_newest = view.revisions.iter().take(view.revisions.len().saturating_sub(1));
    let dead = all_but_newest
        .filter(|one| !used.contains(one.name.as_str()) && !is_pinned(one) && !is_current(one))
        .take(surplus);
    let writes: Vec<Write> =
        dead.map(|one| Write::delete(revision(view, one.name.shared()), &one.uid)).collect();
    plan.act(Chain::other(Purpose::History, writes));
}

fn create(view: &View, spec: &Spec, number: i64) -> Chain {
    let head = &view.head;
    if view.is_name_taken {
        let count = head.collisions().saturating_add(1);
        let body = json!({"metadata": {"uid": head.uid.as_str()}, "status": {"collisionCount": count}});
        let write = Write::patch(view.itself(), Part::Status, Patch::Merge(body));
        return Chain::other(Purpose::Revision, vec![write]);
    }
    let name = spec.data.name(&head.name, head.collisions());
    let mut labels = view.labels.as_ref().clone();
    labels.insert(REVISION_HASH.to_owned(), spec.data.name(&head.name, 0).hash().to_string());
    labels.insert(SIDECARSET_NAME.to_owned(), head.name.to_string());
    if let Some(version) = &spec.custom_version {
        labels.insert(SIDECARSET_CUSTOM_VERSION.to_owned(), version.clone());
    }
    let mut annotations = head.annotations.clone();
    annotations.remove(LAST_APPLIED); // B20
    // Parsed from the exact text, so that the keys keep the stored order.
    let data: Value = serde_json::from_str(spec.data.text()).unwrap_or_default();
    let owner = json!({
        "apiVersion": SidecarSet::RESOURCE.api_version(), "kind": SidecarSet::RESOURCE.kind(),
        "name": head.name, "uid": head.uid.as_str(), "controller": true, "blockOwnerDeletion": true,
    });
    let body = json!({
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": name.as_str(), "namespace": view.namespace, "labels": labels, "annotations": annotations,
            "ownerReferences": [owner],
        },
        "data": data,
        "revision": number,
    });
    Chain::other(Purpose::Revision, vec![Write::create(revision(view, name.shared()), &body)])
}

fn revision(view: &View, name: Arc<str>) -> ObjectRef {
    ObjectRef::new(REVISIONS, Arc::clone(&view.namespace), name)
}
