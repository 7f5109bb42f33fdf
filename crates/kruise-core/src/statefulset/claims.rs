//! Claims of pods: made with them, owned by whom their policy says, grown with their template (AS-81 … AS-90).

use kruise_api::reasons::event;
use kruise_api::resource::CLAIMS;
use kruise_api::{Kind, annotations, apps::statefulset::StatefulSet};
use serde_json::{Value, json};

use super::ordinals::Ordinal;
use super::plan::Cx;
use super::spec::{ClaimUpdate, Keep, Retention};
use super::view::View;
use crate::chain::{Chain, Op, Part, Patch, Purpose, Write};
use crate::cluster::claim::{self, Claim, ClaimOwner, FileSystem};
use crate::cluster::quantity::Quantity;
use crate::cluster::storage_class::Expansion;
use crate::gates::Gate;
use crate::ids::ClaimName;
use crate::object::ObjectRef;
use crate::plan::Plan;
use crate::pod::{Phase, PodView, string_map};

/// Why a pod cannot be created yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// The claim belongs to the pod's predecessor and goes with it (AS-83).
    Stale(ClaimName),
    /// The claim is being deleted (AS-81).
    Terminating(ClaimName),
}

/// How the claims of one pod stand to their templates (AS-85, AS-87).
#[derive(Debug, Clone, PartialEq)]
pub enum Fit {
    Fits,
    /// Asked for, not yet done.
    Growing(ClaimName),
    /// The first of those to be grown, by these chains.
    TooSmall(ClaimName, Vec<Chain>),
    /// Can never become what its template says.
    Unfit(ClaimName, Misfit),
}

/// What is wrong with a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misfit {
    /// Class or modes differ.
    Shape,
    /// Too small, and its class does not let it grow.
    Class,
}

impl Misfit {
    /// AS-87: by which event a user hears of it.
    pub fn event(self) -> &'static str {
        match self {
            Self::Shape => event::FAILED_UPDATE_PVC,
            Self::Class => event::FAILED_RESIZE,
        }
    }
}

/// Who owns the claims of a pod (AS-82).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Nobody,
    Set,
    Pod,
}

/// Where a pod stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    InRange,
    Condemned,
}

/// Names of sets that a claim of this name can belong to: template and set may both contain dashes.
pub fn sets_of_claim(claim: &str) -> Vec<&str> {
    let stem = Ordinal::split(claim).map_or("", |(stem, _)| stem);
    stem.match_indices('-').map(|(at, dash)| &stem[at + dash.len()..]).collect()
}

/// The table of AS-82.
pub fn owner(retention: Retention, place: Place) -> Owner {
    match (retention.when_scaled, retention.when_deleted, place) {
        (Keep::Delete, _, Place::Condemned) => Owner::Pod,
        (_, Keep::Delete, _) => Owner::Set,
        (_, Keep::Retain, _) => Owner::Nobody,
    }
}

pub fn obstacle(cx: &Cx<'_>, ordinal: Ordinal) -> Option<Obstacle> {
    let pod = cx.view.pod_name(ordinal);
    let is_of_pod = |owner: &ClaimOwner| owner.kind == "Pod" && owner.name == pod.as_str();
    let deletes = policy(cx).is_some_and(|policy| policy.when_scaled == Keep::Delete);
    claims(cx, ordinal).find_map(|(name, _, claim)| match claim? {
        claim if claim.deleted.is_some() => Some(Obstacle::Terminating(name)),
        claim if deletes && claim.owners.iter().any(is_of_pod) => Some(Obstacle::Stale(name)),
        _ => None,
    })
}

/// Creations of the claims that an ordinal still lacks, in template order, with the owner of a pod in range.
pub fn missing(cx: &Cx<'_>, ordinal: Ordinal) -> Vec<Write> {
    let by = policy(cx).map_or(Owner::Nobody, |policy| owner(policy, Place::InRange));
    let owners = if by == Owner::Set { vec![set_reference(cx.view)] } else { Vec::new() };
    let lacking = claims(cx, ordinal).filter(|(_, _, claim)| claim.is_none());
    lacking
        .map(|(name, template, _)| {
            let mut labels = string_map(template.pointer("/metadata/labels"));
            labels.extend(cx.spec.match_labels.clone());
            let body = claim::body(&cx.view.namespace, &name, template, (&labels, &owners));
            Write::create(object(cx.view, &name), &body)
        })
        .collect()
}

/// Changes of owner references so that the claims of a pod follow the policy (AS-82, AS-84); those of others stay.
pub fn owner_writes(cx: &Cx<'_>, pod: &PodView) -> Vec<Write> {
    let (Some(policy), Some(ordinal)) = (policy(cx), cx.view.ordinal(pod)) else {
        return Vec::new();
    };
    let is_condemned = !cx.wants(ordinal);
    let wanted = owner(policy, if is_condemned { Place::Condemned } else { Place::InRange });
    let there = claims(cx, ordinal).filter_map(|(_, _, claim)| claim);
    there
        .filter(|claim| claim.deleted.is_none())
        .filter_map(|claim| own(cx.view, pod, claim, wanted))
        .collect()
}

/// What no pod's own chain has done: references of pods that stay (AS-84), claims that pending pods lost (AS-35).
pub fn settle(cx: &Cx<'_>, plan: &mut Plan) {
    if cx.spec.claim_templates.is_empty() {
        return;
    }
    for pod in cx.pods() {
        if plan.acts_on(pod) {
            continue;
        }
        let mut writes = owner_writes(cx, pod);
        if let Some(ordinal) = cx.view.ordinal(pod)
            && pod.phase == Phase::Pending
            && pod.deleted.is_none()
        {
            writes.extend(missing(cx, ordinal));
        }
        let chain = Chain::other(Purpose::Claims, writes);
        plan.act(chain.or_tell(event::FAILED_UPDATE));
    }
}

/// Whether the pod was made before one of the claim templates was added or renamed (B11).
pub fn are_missing_in(cx: &Cx<'_>, pod: &PodView) -> bool {
    let mut names = cx.spec.claim_templates.iter().map(claim::template_name);
    names.any(|name| !pod.claim_volumes.iter().any(|volume| &**volume == name))
}

/// Whether a claim of this ordinal is on its way to the size that it asks for (AS-47), whatever the others are.
pub fn is_growing(cx: &Cx<'_>, ordinal: Ordinal) -> bool {
    follow(cx) && lasting(cx, ordinal).any(|(_, _, claim)| !is_grown(claim))
}

/// All claims that are too small are grown together; one that cannot become what it should keeps them all.
pub fn fit(cx: &Cx<'_>, ordinal: Ordinal) -> Fit {
    if !follow(cx) {
        return Fit::Fits;
    }
    let mut first = None;
    let mut growing = None;
    let mut chains = Vec::new();
    for (name, template, claim) in lasting(cx, ordinal) {
        if !same_shape(claim, template) {
            return Fit::Unfit(name, Misfit::Shape);
        }
        if is_too_small(claim, template) {
            if !can_grow(cx.view, claim) {
                return Fit::Unfit(name, Misfit::Class);
            }
            chains.push(grow(cx.view, claim, template));
            first.get_or_insert(name);
        } else if !is_grown(claim) {
            growing.get_or_insert(name);
        }
    }
    match (first, growing) {
        (Some(name), _) => Fit::TooSmall(name, chains),
        (None, Some(name)) => Fit::Growing(name),
        (None, None) => Fit::Fits,
    }
}

/// Whether existing claims follow their templates at all (AS-90).
fn follow(cx: &Cx<'_>) -> bool {
    cx.view.gates.on(Gate::StatefulSetAutoResizePvc)
        && cx.spec.claim_update == ClaimUpdate::OnPodRollingUpdate
}

/// The claims of an ordinal that are there and stay.
fn lasting<'a>(cx: &Cx<'a>, ordinal: Ordinal) -> impl Iterator<Item = (ClaimName, &'a Value, &'a Claim)> {
    let there = claims(cx, ordinal).filter_map(|(name, template, claim)| Some((name, template, claim?)));
    there.filter(|(_, _, claim)| claim.deleted.is_none())
}

/// AS-85: same class where both name one, same modes, and not smaller.
pub fn is_compatible(claim: &Claim, template: &Value) -> bool {
    same_shape(claim, template) && !is_too_small(claim, template)
}

/// AS-85: the volume has the size that was asked for.
pub fn is_ready(claim: &Claim) -> bool {
    claim.request <= claim.capacity
}

/// The claims of an ordinal in template order, where they exist.
pub fn claims<'a>(
    cx: &Cx<'a>,
    ordinal: Ordinal,
) -> impl Iterator<Item = (ClaimName, &'a Value, Option<&'a Claim>)> {
    let view = cx.view;
    cx.spec.claim_templates.iter().map(move |template| {
        let name = view.claim_name(claim::template_name(template), ordinal);
        let claim = view.claims.get(&name).map(AsRef::as_ref);
        (name, template, claim)
    })
}

/// Nothing is owned or released without the gate.
fn policy(cx: &Cx<'_>) -> Option<Retention> {
    cx.view.gates.on(Gate::StatefulSetAutoDeletePvc).then_some(cx.spec.retention)
}

fn own(view: &View, pod: &PodView, claim: &Claim, wanted: Owner) -> Option<Write> {
    let is_set = |owner: &ClaimOwner| owner.uid == view.uid;
    let is_pod = |owner: &ClaimOwner| owner.uid == pod.uid;
    let fits = |owner: &ClaimOwner| match wanted {
        Owner::Nobody => !is_set(owner) && !is_pod(owner),
        Owner::Set => !is_pod(owner),
        Owner::Pod => !is_set(owner),
    };
    let missing = match wanted {
        Owner::Set if !claim.owners.iter().any(is_set) => Some(set_reference(view)),
        Owner::Pod if !claim.owners.iter().any(is_pod) => Some(pod_reference(pod)),
        Owner::Nobody | Owner::Set | Owner::Pod => None,
    };
    let path = "/metadata/ownerReferences";
    let removed: Vec<Op> = claim
        .owners
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, owner)| !fits(owner))
        .map(|(at, _)| Op::Remove { path: format!("{path}/{at}") })
        .collect();
    let added = missing.map(|reference| match &*claim.owners {
        [] => Op::add(path, json!([reference])),
        _ => Op::add(format!("{path}/-"), reference),
    });
    if removed.is_empty() && added.is_none() {
        return None;
    }
    let mut ops = vec![Op::test("/metadata/resourceVersion", claim.version.as_str())];
    ops.extend(removed.into_iter().chain(added));
    Some(Write::patch(object(view, &claim.name), Part::Object, Patch::Json(ops)))
}

fn object(view: &View, name: &ClaimName) -> ObjectRef {
    view.workload().object(CLAIMS, name.shared())
}

/// Neither controller nor blocking: the set does not manage its claims, it only takes them along.
fn set_reference(view: &View) -> Value {
    let version = StatefulSet::RESOURCE.api_version();
    json!({"apiVersion": version, "kind": StatefulSet::RESOURCE.kind(), "name": view.name, "uid": view.uid.as_str()})
}

fn pod_reference(pod: &PodView) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "name": pod.name.as_str(), "uid": pod.uid.as_str()})
}

fn same_shape(claim: &Claim, template: &Value) -> bool {
    let class = template.pointer("/spec/storageClassName").and_then(Value::as_str);
    let modes = template.pointer("/spec/accessModes").and_then(Value::as_array).into_iter().flatten();
    let same_class = class.is_none() || claim.class.is_none() || class == claim.class.as_deref();
    same_class && modes.filter_map(Value::as_str).eq(claim.modes.iter().map(String::as_str))
}

/// AS-89: a larger claim is fine.
fn is_too_small(claim: &Claim, template: &Value) -> bool {
    let text = template.pointer("/spec/resources/requests/storage").and_then(Value::as_str);
    claim.request < text.and_then(|text| Quantity::read(text).ok())
}

/// A claim without a volume has nothing to grow: its volume comes with the size that it asks for.
fn is_grown(claim: &Claim) -> bool {
    claim.capacity.is_none() || is_ready(claim) || claim.resize == FileSystem::ResizePending
}

/// AS-87: a claim without a class is not checked; a class that is gone or says nothing refuses.
fn can_grow(view: &View, claim: &Claim) -> bool {
    claim.class.as_ref().is_none_or(|class| view.classes.get(class) == Some(&Expansion::Allowed))
}

fn grow(view: &View, claim: &Claim, template: &Value) -> Chain {
    let resources = template.pointer("/spec/resources").cloned().unwrap_or_default();
    let body = json!({
        "metadata": {"resourceVersion": claim.version.as_str(), "annotations": {annotations::OWNED_BY_STATEFULSET: view.name}},
        "spec": {"resources": resources},
    });
    let write = Write::patch(object(view, &claim.name), Part::Object, Patch::Merge(body));
    let message = format!("resize claim {} in StatefulSet {} successful", claim.name, view.name);
    Chain::other(Purpose::GrowClaim, vec![write]).telling(
        event::SUCCESSFUL_RESIZE,
        message,
        event::FAILED_RESIZE,
    )
}
