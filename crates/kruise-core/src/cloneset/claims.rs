//! Claims of pods: made with them, reused, handed over or cleaned up (CS-60 … CS-64).

use std::collections::{BTreeMap, BTreeSet};

use kruise_api::labels;
use kruise_api::reasons::event;
use kruise_api::resource::{CLAIMS, PODS};
use serde_json::{Value, json};

use super::plan::Cx;
use super::spec::{ClaimReuse, Spec};
use super::view::View;
use crate::chain::{Chain, Op, Part, Patch, Purpose, Write};
use crate::cluster::claim::{self, Claim};
use crate::ids::{ClaimName, InstanceId, PodName};
use crate::object::ObjectRef;
use crate::plan::Plan;
use crate::pod::{Phase, PodView, string_map};

/// CS-60: without reuse, claims without an active pod go: with their pod if it still exists, else at once.
pub fn clean_up(view: &View, spec: &Spec, plan: &mut Plan) {
    if spec.claim_reuse == ClaimReuse::On {
        return;
    }
    let active: BTreeSet<InstanceId> = view.active().filter_map(PodView::instance_id).collect();
    let holders: BTreeMap<InstanceId, &PodView> =
        view.pods.iter().rev().filter_map(|pod| Some((pod.instance_id()?, pod.as_ref()))).collect();
    for claim in view.claims.values().filter(|claim| claim.deleted.is_none()) {
        let Some(position) = view.owned(claim) else {
            continue;
        };
        let id = claim.instance.as_ref();
        if id.is_some_and(|id| active.contains(id)) {
            continue;
        }
        match id.and_then(|id| holders.get(id)) {
            Some(pod) => plan.act(hand_over(view, claim, position, pod)),
            None => plan.act(delete_unless_used(view, claim)),
        }
    }
}

/// Ids of our claims that no active pod carries and whose claims are all usable (CS-61, B22), sorted.
pub fn without_active_pod(view: &View) -> BTreeSet<InstanceId> {
    let active: BTreeSet<InstanceId> = view.active().filter_map(PodView::instance_id).collect();
    let is_usable = |claim: &Claim| claim.deleted.is_none() && view.owned(claim).is_some();
    let spoiled: BTreeSet<&InstanceId> = view
        .claims
        .values()
        .filter(|claim| !is_usable(claim))
        .filter_map(|claim| claim.instance.as_ref())
        .collect();
    let ids =
        view.claims.values().filter(|claim| is_usable(claim)).filter_map(|claim| claim.instance.clone());
    ids.filter(|id| !active.contains(id) && !spoiled.contains(id)).collect()
}

/// Creations of the claims of these templates that an instance still lacks, in template order.
pub fn missing(view: &View, spec: &Spec, id: &InstanceId, which: impl Fn(&&Value) -> bool) -> Vec<Write> {
    let named = spec
        .claim_templates
        .iter()
        .filter(which)
        .map(|template| (name(view, claim::template_name(template), id), template));
    named
        .filter(|(name, _)| !view.claims.contains_key(name))
        .map(|(name, template)| Write::create(object(view, &name), &body(view, spec, template, id)))
        .collect()
}

/// Claims that pending pods lost are made again, as AS-35 has it: a creation that lands late may find that its claim, which had no pod,
/// is cleaned up already, and without it the pod would wait for ever.
pub fn restore(cx: &Cx<'_>, plan: &mut Plan) {
    if cx.spec.claim_templates.is_empty() {
        return;
    }
    for pod in cx.pods().filter(|pod| pod.phase == Phase::Pending) {
        let Some(id) = pod.instance_id().filter(|_| !plan.acts_on(pod)) else { continue };
        let is_mounted = |template: &&Value| {
            let name = claim::template_name(template);
            pod.claim_volumes.iter().any(|volume| &**volume == name)
        };
        let chain = Chain::other(Purpose::Claims, missing(cx.view, cx.spec, &id, is_mounted));
        plan.act(chain.or_tell(event::FAILED_CREATE));
    }
}

/// Deletions of an instance's claims, after its pod (CS-47, CS-63).
pub fn deletions(view: &View, of_instance: &[&Claim]) -> impl Iterator<Item = Write> {
    of_instance.iter().map(|claim| Write::delete(object(view, &claim.name), &claim.uid))
}

/// Our claims that are not going already, by instance.
pub fn by_instance(view: &View) -> BTreeMap<&InstanceId, Vec<&Claim>> {
    let mut all: BTreeMap<&InstanceId, Vec<&Claim>> = BTreeMap::new();
    for claim in view.claims.values().filter(|claim| claim.deleted.is_none() && view.owned(claim).is_some()) {
        if let Some(id) = &claim.instance {
            all.entry(id).or_default().push(claim);
        }
    }
    all
}

pub fn name(view: &View, template: &str, id: &InstanceId) -> ClaimName {
    ClaimName::new(format!("{template}-{}-{id}", view.name))
}

fn object(view: &View, name: &ClaimName) -> ObjectRef {
    view.workload().object(CLAIMS, name.shared())
}

fn body(view: &View, spec: &Spec, template: &Value, id: &InstanceId) -> Value {
    let mut labels = string_map(template.pointer("/metadata/labels"));
    labels.extend(spec.match_labels.clone());
    labels.insert(labels::CLONESET_INSTANCE_ID.to_owned(), id.to_string());
    let owners = [view.workload().owner_reference()];
    claim::body(
        &view.namespace,
        &name(view, claim::template_name(template), id),
        template,
        (&labels, &owners),
    )
}

/// The claim follows its pod: it goes when the pod object goes.
fn hand_over(view: &View, claim: &Claim, position: usize, pod: &PodView) -> Chain {
    let reference = json!({
        "apiVersion": "v1", "kind": "Pod", "name": pod.name.as_str(), "uid": pod.uid.as_str(),
        "controller": true, "blockOwnerDeletion": true,
    });
    let ops = vec![
        Op::test("/metadata/resourceVersion", claim.version.as_str()),
        Op::Replace { path: format!("/metadata/ownerReferences/{position}"), value: reference },
    ];
    let write = Write::patch(object(view, &claim.name), Part::Object, Patch::Json(ops));
    Chain::other(Purpose::Claims, vec![write]).or_tell(event::FAILED_UPDATE)
}

/// A claim whose pod runs under another owner, or under none, must survive (B7): the runtime looks once more before it deletes.
fn delete_unless_used(view: &View, claim: &Claim) -> Chain {
    let pod = claim.instance.as_ref().map(|id| PodName::new(format!("{}-{id}", view.name)));
    if pod.as_ref().is_some_and(|name| view.strangers.contains(name)) {
        return Chain::other(Purpose::Claims, Vec::new());
    }
    let delete = Write::delete(object(view, &claim.name), &claim.uid);
    let write = match pod {
        Some(pod) => delete.unless(view.workload().object(PODS, pod.shared())),
        None => delete,
    };
    Chain::other(Purpose::Claims, vec![write]).or_tell(event::FAILED_DELETE)
}
