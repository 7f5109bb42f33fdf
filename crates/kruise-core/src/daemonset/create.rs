//! New pods (DS-19 … DS-23): always from the newest template, whatever partition, selector, pause or OnDelete say.

use std::collections::BTreeSet;

use kruise_api::names::DAEMONSET_SCHEDULER;
use kruise_api::reasons::event;
use kruise_api::resource::PODS;
use kruise_api::{conditions, labels};
use serde_json::{Value, json};

use super::places::Place;
use super::plan::{Burst, Cx};
use super::reason;
use super::view::View;
use crate::chain::{Chain, Purpose, Siblings, Write};
use crate::cluster::node::Node;
use crate::eligibility::with_daemon_tolerations;
use crate::plan::Plan;
use crate::pod::{Assign, Body, pin, string_map};
use crate::random::Random;
use crate::rollout::Policy;

/// As Kubernetes cuts generated names, so that the name of a pod is also a host name.
const PREFIX_MAX: usize = 58;

/// A pod for this node, if there is still one to create.
pub fn create(cx: &Cx<'_>, place: &Place<'_>, burst: &mut Burst, plan: &mut Plan) {
    if !burst.create() {
        plan.hold(reason::node(place.node), reason::burst(burst.limit));
        return;
    }
    let name = burst.names.next();
    let object = cx.view.workload().object(PODS, name.as_str());
    let write = Write::create(object.clone(), &pod(cx, place.node, &name));
    let chain = Chain::about(Purpose::Create, object, vec![write]).slowly(Siblings::Alike).telling(
        event::SUCCESSFUL_CREATE,
        format!("Created pod: {name}"),
        event::FAILED_CREATE,
    );
    burst.room.take(&chain);
    plan.act(chain);
}

/// DS-22, DS-23.
pub fn pod(cx: &Cx<'_>, node: &Node, name: &str) -> Value {
    let template = &cx.revision.template;
    let mut labels = string_map(template.pointer("/metadata/labels"));
    labels.insert(labels::REVISION.to_owned(), cx.revision.name.hash().to_string());
    if let Some(generation) = cx.view.template_generation() {
        labels.insert(labels::POD_TEMPLATE_GENERATION.to_owned(), generation.to_owned());
    }
    let annotations = string_map(template.pointer("/metadata/annotations"));
    let mut body = Body::of(template, &cx.view.workload(), name, (labels, annotations));
    match cx.spec.rolling.policy {
        Policy::InPlaceIfPossible | Policy::InPlaceOnly => {
            body.readiness_gates(&[conditions::IN_PLACE_UPDATE_READY, conditions::KRUISE_POD_READY]);
        }
        Policy::ReCreate => body.readiness_gates(&[conditions::KRUISE_POD_READY]),
    }
    let mut pod = body.wire();
    let Some(fields) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return pod };
    let tolerations = with_daemon_tolerations(template.get("spec").unwrap_or(&Value::Null));
    fields.insert("tolerations".to_owned(), Value::Array(tolerations));
    match cx.view.assign {
        Assign::Scheduler => pin(fields, node.name()),
        Assign::Directly => {
            fields.insert("nodeName".to_owned(), json!(node.name()));
            fields.insert("schedulerName".to_owned(), json!(DAEMONSET_SCHEDULER));
        }
    }
    pod
}

/// Names that no pod of the DaemonSet has.
#[derive(Debug)]
pub struct Names {
    prefix: String,
    random: Random,
    taken: BTreeSet<String>,
}

impl Names {
    pub fn of(view: &View) -> Self {
        let taken = view.pods.iter().map(|pod| pod.name.as_str().to_owned()).collect();
        let prefix: String = format!("{}-", view.name).chars().take(PREFIX_MAX).collect();
        // A dot before the random end would make an invalid name.
        let prefix = prefix.trim_end_matches('.').to_owned();
        Self { prefix, random: Random::from_seed(view.seed), taken }
    }

    fn next(&mut self) -> String {
        loop {
            let name = format!("{}{}", self.prefix, self.random.suffix());
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}
