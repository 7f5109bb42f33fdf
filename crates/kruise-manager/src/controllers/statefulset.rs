//! Wires the StatefulSet controller: what wakes it and what its view is made of. Decides nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use kruise_core::claim::template_name;
use kruise_core::ids::PodName;
use kruise_core::plan::Plan;
use kruise_core::pod::PodView;
use kruise_core::statefulset::{Ordinal, View, plan, sets_of_claim};
use kruise_core::workload::Workload;
use kruise_runtime::Key;
use kruise_runtime::cache::{Cached, Change, Store};
use kruise_runtime::controller::Turn;
use kruise_runtime::queue::Queue;

use super::workload::{Context, Planned};
use crate::objects::{Claim, Pod, StatefulSet, StatefulSetKind, StorageClass, index};
use crate::stores::Stores;
use kruise_api::names::component;

pub struct StatefulSets;

impl Planned for StatefulSets {
    type Kind = StatefulSetKind;
    type View = View;
    const CONTROLLER: &'static str = component::STATEFULSET;

    fn store(stores: &Stores) -> &Arc<Store<StatefulSet>> {
        &stores.statefulsets
    }

    fn view(&self, cx: &Context, object: &StatefulSet, turn: &Turn) -> View {
        let view = View::of(&object.object);
        let selector = view.spec.as_ref().ok().map(|spec| &spec.selector);
        let found = cx.revisions(&view.namespace, &view.uid, selector);
        let orphans = found.orphans.iter().map(|one| one.name.clone()).collect();
        let pods = pods(cx, &view);
        let mut view = view.with(pods, found.owned.into_iter().chain(found.orphans).collect());
        view.orphan_revisions = orphans;
        cx.complete(&mut view.base, turn);
        add_ordinals(&cx.stores, &mut view);
        if let Some(classes) = &cx.stores.storage_classes {
            let all = classes.all();
            view.classes = all.iter().map(|one| (one.name().to_owned(), one.expansion())).collect();
        }
        view
    }

    fn plan(view: &View, now: Timestamp) -> Plan {
        plan(view, now)
    }

    fn workload(view: &View) -> Workload<'_> {
        view.workload()
    }

    /// Orphans, strangers and claims belong to a set by their name (AS-1, AS-4, AS-35).
    fn wake_further(stores: &Arc<Stores>, queue: &Arc<Queue>) {
        let woken = Woken { sets: Arc::clone(&stores.statefulsets), queue: Arc::clone(queue) };
        let by_pod = woken.clone();
        if let Some(classes) = &stores.storage_classes {
            let (by_class, claims) = (woken.clone(), Arc::clone(&stores.claims));
            classes.on_change(move |change| by_class.wake_by_class(change, &claims));
        }
        stores.pods.on_change(move |change| {
            let Some(pod) = change.new.or(change.old) else { return };
            if let Some((set, _)) = Ordinal::split(pod.0.name.as_str()) {
                by_pod.wake(&pod.0.namespace, set);
            }
        });
        stores.claims.on_change(move |change: &Change<'_, Claim>| {
            let Some(claim) = change.new.or(change.old) else { return };
            woken.wake_by_claim(claim);
        });
    }
}

/// Sets that are woken by name.
#[derive(Clone)]
struct Woken {
    sets: Arc<Store<StatefulSet>>,
    queue: Arc<Queue>,
}

impl Woken {
    fn wake(&self, namespace: &Arc<str>, set: &str) {
        let key = Key::new(Arc::clone(namespace), set);
        if self.sets.get(&key).is_some() {
            self.queue.add(key);
        }
    }

    fn wake_by_claim(&self, claim: &Claim) {
        let namespace = claim.key().namespace;
        let named = sets_of_claim(claim.view.name.as_str());
        for set in named.into_iter().chain(claim.view.grown_by.as_deref()) {
            self.wake(&namespace, set);
        }
    }

    /// What waits for a class that lets volumes grow (AS-87). Classes change so rarely that all claims may be looked at then.
    fn wake_by_class(&self, change: &Change<'_, StorageClass>, claims: &Store<Claim>) {
        let Some(class) = change.new else { return };
        if change.old.map(|old| old.expansion()) == Some(class.expansion()) {
            return;
        }
        let is_of_class = |claim: &Claim| claim.view.class.as_deref() == Some(class.name());
        claims.all().iter().filter(|claim| is_of_class(claim)).for_each(|claim| self.wake_by_claim(claim));
    }
}

/// Its own, and orphans that selector and name make its own.
fn pods(cx: &Context, view: &View) -> Vec<Arc<PodView>> {
    let mut pods = cx.owned_pods(&view.uid);
    let orphans = cx.stores.pods.by(index::ORPHAN, &Pod::orphan_of(&view.namespace, &view.name));
    let is_new = |pod: &PodView| view.adopts(pod) && pod.owners.iter().all(|owner| owner.uid != view.uid);
    pods.extend(orphans.iter().filter(|pod| is_new(&pod.0)).map(|pod| Arc::clone(&pod.0)));
    pods
}

/// What is looked up by the names of pods that are there or wanted: strangers and claims.
fn add_ordinals(stores: &Stores, view: &mut View) {
    let Ok(spec) = view.spec.clone() else { return };
    let there: BTreeSet<PodName> = view.pods.iter().map(|pod| pod.name.clone()).collect();
    let mut ordinals: BTreeSet<Ordinal> = view.pods.iter().filter_map(|pod| view.ordinal(pod)).collect();
    for ordinal in spec.slots(&view.gates).iter() {
        ordinals.insert(ordinal);
        let name = view.pod_name(ordinal);
        let key = || Key::new(view.namespace.as_str(), name.as_str());
        if !there.contains(&name) && stores.pods.get(&key()).is_some() {
            view.strangers.insert(name);
        }
    }
    for (ordinal, template) in
        ordinals.iter().flat_map(|ordinal| spec.claim_templates.iter().map(move |one| (*ordinal, one)))
    {
        let name = view.claim_name(template_name(template), ordinal);
        if let Some(claim) = stores.claims.get(&Key::new(view.namespace.as_str(), name.as_str())) {
            view.claims.insert(name, Arc::clone(&claim.view));
        }
    }
}
