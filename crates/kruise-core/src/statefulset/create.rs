//! New pods (AS-20, AS-71).

use kruise_api::resource::PODS;
use kruise_api::{annotations, conditions, labels, reasons::event};
use serde_json::Value;

use super::claims;
use super::ordinals::Ordinal;
use super::plan::Cx;
use crate::chain::{Chain, Purpose, Siblings, Write};
use crate::gates::Gate;
use crate::lifecycle::LifecycleState;
use crate::pod::{Body, string_map};
use crate::revision::Revision;
use crate::time;

/// The chain that creates one pod: its claims first, those that exist are kept (AS-81).
pub fn chain(cx: &Cx<'_>, ordinal: Ordinal, revision: &Revision) -> Chain {
    let name = cx.view.pod_name(ordinal);
    let object = cx.view.workload().object(PODS, name.shared());
    let mut writes = claims::missing(cx, ordinal);
    writes.push(Write::create(object.clone(), &pod(cx, ordinal, revision)));
    let message = format!("create Pod {name} in StatefulSet {} successful", cx.view.name);
    Chain::about(Purpose::Create, object, writes).slowly(Siblings::Independent).telling(
        event::SUCCESSFUL_CREATE,
        message,
        event::FAILED_CREATE,
    )
}

/// The pod object: the revision's template, everything else from the live spec.
pub fn pod(cx: &Cx<'_>, ordinal: Ordinal, revision: &Revision) -> Value {
    let (view, template) = (cx.view, &revision.template);
    let name = view.pod_name(ordinal);
    let mut labels = string_map(template.pointer("/metadata/labels"));
    let mut annotations = string_map(template.pointer("/metadata/annotations"));
    labels.insert(labels::STATEFULSET_POD_NAME.to_owned(), name.to_string());
    labels.insert(labels::REVISION.to_owned(), revision.name.to_string());
    if view.gates.on(Gate::PodIndexLabel) {
        labels.insert(labels::POD_INDEX.to_owned(), ordinal.to_string());
    }
    let pre_normal = cx.spec.hooks.as_ref().and_then(|hooks| hooks.pre_normal.as_ref());
    let state = match pre_normal {
        Some(hook) if !hook.is_all_in_template(template) => LifecycleState::PreparingNormal,
        Some(_) | None => LifecycleState::Normal,
    };
    labels.insert(labels::LIFECYCLE_STATE.to_owned(), state.text().to_owned());
    annotations.insert(annotations::LIFECYCLE_TIMESTAMP.to_owned(), time::seconds(cx.now));
    let mut body = Body::of(template, &view.workload(), name.as_str(), (labels, annotations));
    body.set("hostname", name.as_str());
    if !cx.spec.service_name.is_empty() {
        body.set("subdomain", &cx.spec.service_name);
    }
    body.readiness_gates(&[conditions::KRUISE_POD_READY]);
    body.claims(&cx.spec.claim_templates, |volume| view.claim_name(volume, ordinal));
    body.wire()
}
