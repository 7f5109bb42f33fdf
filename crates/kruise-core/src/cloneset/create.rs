//! New pods and their claims (CS-13, CS-41, CS-42, CS-61, CS-62).

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;
use kruise_api::resource::PODS;
use kruise_api::{annotations, conditions, labels, reasons::event};
use serde_json::Value;

use super::claims;
use super::spec::{ClaimReuse, Spec};
use super::view::View;
use crate::chain::{Chain, Purpose, Siblings, Write};
use crate::gates::Gate;
use crate::ids::{InstanceId, PodName};
use crate::lifecycle::LifecycleState;
use crate::pod::{Body, string_map};
use crate::random::Random;
use crate::revision::Revision;
use crate::time;

/// Seconds after which the name of a terminating pod is given up and a new id is used (B8): its node may be lost.
pub const NAME_WAIT_SECONDS: i64 = 30;

/// Ids for new pods: first those whose claims wait for a pod, then random ones, in sorted order (CS-61).
#[derive(Debug, PartialEq, Eq)]
pub struct Ids {
    pub ready: Vec<InstanceId>,
    /// Pods that are not created now, because the name that their claims belong to is still taken (B8).
    pub waiting: usize,
    pub revisit_at: Option<Timestamp>,
}

impl Ids {
    pub fn choose(view: &View, spec: &Spec, count: usize, now: Timestamp) -> Self {
        let mut ids = Self { ready: Vec::new(), waiting: 0, revisit_at: None };
        if spec.claim_reuse == ClaimReuse::On {
            ids.reuse(view, count, now);
        }
        let mut taken = taken(view);
        let mut random = Random::from_seed(view.seed);
        while ids.ready.len() + ids.waiting < count {
            let id = InstanceId::new(random.suffix());
            if taken.insert(id.clone()) {
                ids.ready.push(id);
            }
        }
        ids.ready.sort();
        ids
    }

    fn reuse(&mut self, view: &View, count: usize, now: Timestamp) {
        let pods: HashMap<&str, _> = view.pods.iter().map(|pod| (pod.name.as_str(), pod)).collect();
        for id in claims::without_active_pod(view) {
            if self.ready.len() + self.waiting == count {
                return;
            }
            let name = format!("{}-{id}", view.name);
            match pods.get(name.as_str()).map(|pod| pod.deleted) {
                None if view.strangers.contains(&PodName::new(name.as_str())) => {}
                None => self.ready.push(id),
                // A finished pod keeps its name for good: its claims wait, the new pod gets a new id.
                Some(None) => {}
                Some(Some(gone)) => {
                    let until = time::after(gone, NAME_WAIT_SECONDS);
                    if now < until {
                        self.waiting += 1;
                        self.revisit_at = Some(self.revisit_at.map_or(until, |there| there.min(until)));
                    }
                }
            }
        }
    }
}

/// Ids that a pod or claim carries, whoever owns it (B14, B22).
fn taken(view: &View) -> BTreeSet<InstanceId> {
    let of_pods = view.pods.iter().filter_map(|pod| pod.instance_id());
    let of_claims = view.claims.values().filter_map(|claim| claim.instance.clone());
    let of_names = view
        .pods
        .iter()
        .map(|pod| &pod.name)
        .chain(&view.strangers)
        .filter_map(|name| name.as_str().rsplit('-').next().map(InstanceId::new));
    of_pods.chain(of_claims).chain(of_names).collect()
}

/// The chain that creates one pod: its claims first, those that exist are kept.
pub fn chain(view: &View, spec: &Spec, revision: &Revision, id: &InstanceId, now: Timestamp) -> Chain {
    let name = format!("{}-{id}", view.name);
    let object = view.workload().object(PODS, name.as_str());
    let mut writes = claims::missing(view, spec, id, |_| true);
    writes.push(Write::create(object.clone(), &pod(view, spec, revision, id, now)));
    let message = format!("created pod {name}");
    Chain::about(Purpose::Create, object, writes).slowly(Siblings::Alike).telling(
        event::SUCCESSFUL_CREATE,
        message,
        event::FAILED_CREATE,
    )
}

/// The pod object: the revision's template, everything else from the live spec (CS-13).
pub fn pod(view: &View, spec: &Spec, revision: &Revision, id: &InstanceId, now: Timestamp) -> Value {
    let template = &revision.template;
    let hash = revision.name.hash();
    let is_short = view.gates.on(Gate::CloneSetShortHash);
    let mut labels = string_map(template.pointer("/metadata/labels"));
    let revision_label = if is_short { hash.as_str() } else { revision.name.as_str() };
    for (key, value) in [
        (labels::REVISION, revision_label),
        (labels::POD_TEMPLATE_HASH, hash.as_str()),
        (labels::CLONESET_INSTANCE_ID, id.as_str()),
        (labels::LIFECYCLE_STATE, LifecycleState::PreparingNormal.text()),
    ] {
        labels.insert(key.to_owned(), value.to_owned());
    }
    let mut annotations = string_map(template.pointer("/metadata/annotations"));
    annotations.insert(annotations::LIFECYCLE_TIMESTAMP.to_owned(), time::seconds(now));
    let name = format!("{}-{id}", view.name);
    let mut pod = Body::of(template, &view.workload(), &name, (labels, annotations));
    pod.readiness_gates(&[conditions::IN_PLACE_UPDATE_READY, conditions::KRUISE_POD_READY]);
    pod.claims(&spec.claim_templates, |volume| claims::name(view, volume, id));
    pod.wire()
}
