//! Wires the CloneSet controller: what its view is made of. Decides nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use kruise_core::cloneset::{PreparingDelete, View, plan};
use kruise_core::ids::PodName;
use kruise_core::plan::Plan;
use kruise_core::workload::Workload;
use kruise_runtime::Key;
use kruise_runtime::cache::{Cached, Index, Store};
use kruise_runtime::controller::Turn;

use super::workload::{Context, Planned};
use crate::objects::{Claim, CloneSet, CloneSetKind, index};
use crate::stores::Stores;
use kruise_api::names::component;

/// With the manager's flag for CS-35.
pub struct CloneSets(pub PreparingDelete);

impl Planned for CloneSets {
    type Kind = CloneSetKind;
    type View = View;
    const CONTROLLER: &'static str = component::CLONESET;

    fn store(stores: &Stores) -> &Arc<Store<CloneSet>> {
        &stores.clonesets
    }

    fn view(&self, cx: &Context, object: &CloneSet, turn: &Turn) -> View {
        let view = View::of(&object.object, self.0);
        let selector = view.spec.as_ref().ok().map(|spec| &spec.selector);
        let found = cx.revisions(&view.namespace, &view.uid, selector);
        let revisions = found.owned.into_iter().chain(found.orphans).collect();
        let pods = cx.owned_pods(&view.uid);
        let mut view = view.with(pods, revisions);
        add_claims(&cx.stores, &mut view);
        add_node_labels(&cx.stores, &mut view);
        cx.complete(&mut view.base, turn);
        view.denied.clone_from(&turn.denied);
        view.seed = turn.seed;
        view
    }

    fn plan(view: &View, now: Timestamp) -> Plan {
        plan(view, now)
    }

    fn workload(view: &View) -> Workload<'_> {
        view.workload()
    }
}

fn add_claims(stores: &Stores, view: &mut View) {
    let mut claims: BTreeMap<Key, Arc<Claim>> = BTreeMap::new();
    let mut add = |found: Vec<Arc<Claim>>| claims.extend(found.into_iter().map(|claim| (claim.key(), claim)));
    add(stores.claims.by(Index::Owner, view.uid.as_str()));
    if view.spec.as_ref().is_ok_and(|spec| !spec.claim_templates.is_empty()) {
        let middle = format!("-{}-", view.name);
        let mut named = stores.claims.by(index::INSTANCE, &view.namespace);
        named.retain(|claim| claim.view.name.as_str().contains(&middle));
        add(named);
    }
    let instances = claims.values().filter_map(|claim| claim.view.instance.as_ref());
    view.strangers = instances.filter_map(|id| stranger(stores, view, id.as_str())).collect();
    view.claims = claims.values().map(|claim| (claim.view.name.clone(), Arc::clone(&claim.view))).collect();
}

/// A pod of somebody else that has the name of one of our instances (B7).
fn stranger(stores: &Stores, view: &View, instance: &str) -> Option<PodName> {
    let key = Key::new(view.namespace.as_str(), format!("{}-{instance}", view.name));
    let pod = stores.pods.get(&key)?;
    let is_ours = pod.0.owners.iter().any(|owner| owner.uid == view.uid);
    (!is_ours).then(|| pod.0.name.clone())
}

/// Only the labels that the template spreads by.
fn add_node_labels(stores: &Stores, view: &mut View) {
    let keys: BTreeSet<String> = match &view.spec {
        Ok(spec) => spec.topology_keys().into_iter().map(str::to_owned).collect(),
        Err(_) => BTreeSet::new(),
    };
    if keys.is_empty() {
        return;
    }
    let names: BTreeSet<Arc<str>> = view.pods.iter().filter_map(|pod| pod.node.clone()).collect();
    for name in names {
        let Some(node) = stores.nodes.get(&Key::new("", Arc::clone(&name))) else { continue };
        let labels = node.labels().iter().filter(|(key, _)| keys.contains(*key));
        let labels = labels.map(|(key, value)| (key.clone(), value.clone())).collect();
        view.node_labels.insert(name.to_string(), labels);
    }
}
