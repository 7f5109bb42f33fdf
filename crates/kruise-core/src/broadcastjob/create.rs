//! New pods (BJ-19 … BJ-21).

use std::collections::BTreeSet;

use kruise_api::labels::{BROADCASTJOB_CONTROLLER_UID, BROADCASTJOB_NAME};
use kruise_api::reasons::event;
use kruise_api::resource::PODS;
use serde_json::{Value, json};

use super::census::Census;
use super::reason;
use super::spec::Spec;
use super::view::View;
use crate::chain::{Chain, Event, EventKind, Purpose, Siblings, Write};
use crate::cluster::node::Node;
use crate::plan::{Plan, Room};
use crate::pod::{Assign, Body, pin, string_map};
use crate::random::Random;

/// As many as `parallelism` has room for, by name of the node (B18), and as one plan has: the next one goes on.
pub fn create(view: &View, spec: &Spec, census: &Census<'_>, plan: &mut Plan) {
    let active = census.active().count();
    let limit = spec.limit(census.desired.len());
    if limit < active {
        let message = format!("{active} pods are active, and only {limit} may be: parallelism was lowered");
        plan.events.push(Event { kind: EventKind::Warning, reason: event::TOO_MANY_ACTIVE_PODS, message });
    }
    let mut slots = limit.saturating_sub(active);
    let (mut names, mut room) = (Names::of(view), Room::default());
    for node in census.desired.iter().filter(|place| place.pod.is_none()).map(|place| place.node) {
        if slots == 0 || room.is_full() {
            plan.hold(reason::node(node), reason::parallelism(active, limit));
            continue;
        }
        slots -= 1;
        let chain = chain(view, spec, node, &names.next());
        room.take(&chain);
        plan.act(chain);
    }
}

fn chain(view: &View, spec: &Spec, node: &Node, name: &str) -> Chain {
    let object = view.workload().object(PODS, name);
    let write = Write::create(object.clone(), &pod(view, spec, node, name));
    let message = format!("created pod {name} for node {}", node.name());
    Chain::about(Purpose::Create, object, vec![write]).slowly(Siblings::Alike).telling(
        event::SUCCESSFUL_CREATE,
        message,
        event::FAILED_CREATE,
    )
}

/// The pod for one node.
pub fn pod(view: &View, spec: &Spec, node: &Node, name: &str) -> Value {
    let mut labels = string_map(spec.template.pointer("/metadata/labels"));
    labels.insert(BROADCASTJOB_NAME.to_owned(), view.head.name.to_string());
    labels.insert(BROADCASTJOB_CONTROLLER_UID.to_owned(), view.head.uid.as_str().to_owned());
    let annotations = string_map(spec.template.pointer("/metadata/annotations"));
    let mut pod = Body::of(&spec.template, &view.workload(), name, (labels, annotations)).wire();
    let Some(fields) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return pod };
    match (view.assign, &spec.needs.node) {
        (Assign::Scheduler, None) => pin(fields, node.name()),
        // A template that names its node says the same itself.
        (Assign::Directly, _) | (Assign::Scheduler, Some(_)) => {
            fields.insert("nodeName".to_owned(), json!(node.name()));
        }
    }
    pod
}

/// Names that no pod of the job has.
struct Names<'a> {
    job: &'a str,
    random: Random,
    taken: BTreeSet<String>,
}

impl<'a> Names<'a> {
    fn of(view: &'a View) -> Self {
        let taken = view.pods.iter().map(|pod| pod.name.as_str().to_owned()).collect();
        Self { job: &view.head.name, random: Random::from_seed(view.seed), taken }
    }

    fn next(&mut self) -> String {
        loop {
            let name = format!("{}-{}", self.job, self.random.suffix());
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}
