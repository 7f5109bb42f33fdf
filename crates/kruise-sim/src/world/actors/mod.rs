//! Everybody else in the cluster: scheduler, kubelets, garbage collector, volume binder, owners of hooks, node agents that probe.
//!
//! One task plays them all. It reads what happened from the store, puts what somebody will do about it on an agenda, each
//! with a reaction time of its own, and does it when its time has come, from the state of that moment.

mod claims;
mod collector;
mod hooks;
mod kubelets;
mod probes;
mod scheduler;

pub use hooks::HOOK;
pub use scheduler::{NODES, ZONE, claims_of};

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kruise_api::resource::{CLAIMS, CONFIG_MAPS, NODES as NODES_RESOURCE, PODS, REVISIONS};
use kruise_core::lookup::Slim;
use kruise_core::nodepodprobe::NodePodProbe;
use serde_json::Value;
use tokio::time::Instant;

use super::clock::WorldClock;
use crate::kubelet::Knobs;
use crate::rng::Rng;
use crate::server::{Call, Event, KindId, Name, Object, Server, Verb, What, resources};

/// A reaction time that is not drawn.
const SOON: Duration = Duration::from_millis(250);

/// What somebody is about to do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Errand {
    Schedule(Name),
    Kubelet(Name),
    BindClaim(Name),
    ReleaseClaims,
    /// Containers that lacked something start.
    StartWaiting,
    /// Pods that no node was good for are tried again.
    ScheduleWaiting,
    Collect(KindId, Name),
    /// Dependents of an owner with this uid.
    CollectOrphans(String),
    Hook(Name),
    /// The agent of a node looks at what it has to probe.
    Probe(Name),
}

/// Knobs that faults turn while the actors run.
pub type SharedKnobs = Arc<Mutex<Knobs>>;

pub struct Actors {
    server: Server,
    clock: WorldClock,
    rng: Rng,
    knobs: SharedKnobs,
    /// Number of the next event to read.
    next: u64,
    /// How often the server had gone back by then.
    restores: u64,
    agenda: BTreeMap<(Instant, u64), Errand>,
    planned: BTreeMap<Errand, (Instant, u64)>,
    count: u64,
    kinds: Kinds,
}

/// Kinds that actors know, looked up once.
#[derive(Debug, Clone, Copy)]
pub struct Kinds {
    pub pods: &'static resources::Kind,
    pub claims: &'static resources::Kind,
    pub revisions: &'static resources::Kind,
    pub config_maps: &'static resources::Kind,
    pub nodes: &'static resources::Kind,
    pub probes: &'static resources::Kind,
}

impl Kinds {
    /// `None` only if the table of the server lost them.
    pub fn find() -> Option<Self> {
        Some(Self {
            pods: resources::of(PODS)?,
            claims: resources::of(CLAIMS)?,
            revisions: resources::of(REVISIONS)?,
            config_maps: resources::of(CONFIG_MAPS)?,
            nodes: resources::of(NODES_RESOURCE)?,
            probes: resources::of(NodePodProbe::RESOURCE)?,
        })
    }
}

impl Actors {
    pub fn new(server: &Server, clock: &WorldClock, rng: Rng, knobs: SharedKnobs) -> Option<Self> {
        Some(Self {
            server: server.clone(),
            clock: clock.clone(),
            rng,
            knobs,
            next: 0,
            restores: 0,
            agenda: BTreeMap::new(),
            planned: BTreeMap::new(),
            count: 0,
            kinds: Kinds::find()?,
        })
    }

    /// Plays until aborted.
    pub async fn run(mut self) {
        let mut changed = self.server.lock().store.subscribe_all();
        loop {
            changed.mark_unchanged();
            self.read();
            self.act(Instant::now());
            let next = self.agenda.keys().next().map(|(at, _)| *at);
            let Some(next) = next else {
                if changed.changed().await.is_err() {
                    return;
                }
                continue;
            };
            tokio::select! {
                biased;
                result = changed.changed() => if result.is_err() { return },
                () = tokio::time::sleep_until(next) => {}
            }
        }
    }

    fn read(&mut self) {
        let events: Vec<Arc<Event>> = {
            let state = self.server.lock();
            let restores = state.store.restores();
            if std::mem::replace(&mut self.restores, restores) != restores {
                drop(state);
                self.look_again();
                return;
            }
            let events = state.store.since(self.next).cloned().collect();
            self.next = state.store.count();
            events
        };
        for event in events {
            self.notice(&event);
        }
    }

    /// The server went back: nothing that was seen counts.
    fn look_again(&mut self) {
        let (pods, claims, lists): (Vec<(Name, bool)>, Vec<Name>, Vec<Name>) = {
            let state = self.server.lock();
            self.next = state.store.count();
            let is_bound = |pod: &Object| !pod.str("/spec/nodeName").is_empty();
            let pods = state.store.list(self.kinds.pods.id, "");
            let claims = state.store.list(self.kinds.claims.id, "");
            let lists = state.store.list(self.kinds.probes.id, "");
            (
                pods.map(|(name, pod)| (name.clone(), is_bound(pod))).collect(),
                claims.map(|(name, _)| name.clone()).collect(),
                lists.map(|(name, _)| name.clone()).collect(),
            )
        };
        for (name, is_bound) in pods {
            self.plan_soon(if is_bound {
                Errand::Kubelet(name.clone())
            } else {
                Errand::Schedule(name.clone())
            });
            self.plan_soon(Errand::Hook(name.clone()));
            self.plan_soon(Errand::Collect(self.kinds.pods.id, name));
        }
        for name in claims {
            self.plan_soon(Errand::BindClaim(name));
        }
        for name in lists {
            self.plan_soon(Errand::Probe(name));
        }
        self.plan_soon(Errand::ReleaseClaims);
    }

    fn notice(&mut self, event: &Event) {
        if event.what == What::Deleted {
            self.plan(Errand::CollectOrphans(event.object.uid().to_owned()), 200);
        }
        if event.kind == self.kinds.pods.id {
            self.notice_pod(event);
        } else if event.kind == self.kinds.claims.id {
            self.plan(Errand::BindClaim(event.name.clone()), 500);
            self.plan(Errand::ReleaseClaims, 500);
        } else if event.kind == self.kinds.config_maps.id {
            self.plan_soon(Errand::StartWaiting);
        } else if event.kind == self.kinds.nodes.id {
            self.plan_soon(Errand::ScheduleWaiting);
        } else if event.kind == self.kinds.probes.id {
            self.plan_soon(Errand::Probe(event.name.clone()));
        }
        if event.what == What::Added && event.object.value.pointer("/metadata/ownerReferences").is_some() {
            self.plan(Errand::Collect(event.kind, event.name.clone()), 1_000);
        }
    }

    fn notice_pod(&mut self, event: &Event) {
        if event.what == What::Deleted {
            self.plan(Errand::ReleaseClaims, 500);
        } else if event.object.str("/spec/nodeName").is_empty() {
            self.plan(Errand::Schedule(event.name.clone()), 300);
        } else {
            self.plan(Errand::Kubelet(event.name.clone()), 1_000);
            self.plan(Errand::Hook(event.name.clone()), 2_000);
        }
    }

    /// Somebody reacts within so many milliseconds; who is on the way already is not called twice.
    fn plan(&mut self, errand: Errand, within: u64) {
        let delay = Duration::from_millis(1 + self.rng.below(within));
        self.plan_at(errand, Instant::now() + delay);
    }

    /// Somebody reacts after a fixed time: no lot is drawn, so what others draw stays as it is.
    fn plan_soon(&mut self, errand: Errand) {
        self.plan_at(errand, Instant::now() + SOON);
    }

    /// The earlier of two appointments counts: a kubelet that waits for a back-off sees a deletion all the same.
    fn plan_at(&mut self, errand: Errand, at: Instant) {
        if let Some(planned) = self.planned.get(&errand) {
            if planned.0 <= at {
                return;
            }
            self.agenda.remove(planned);
        }
        self.count += 1;
        self.agenda.insert((at, self.count), errand.clone());
        self.planned.insert(errand, (at, self.count));
    }

    fn act(&mut self, now: Instant) {
        while let Some(entry) = self.agenda.first_entry() {
            if now < entry.key().0 {
                return;
            }
            let errand = entry.remove();
            self.planned.remove(&errand);
            match errand {
                Errand::Schedule(name) => self.schedule(&name),
                Errand::Kubelet(name) => self.kubelet(&name),
                Errand::BindClaim(name) => self.bind_claim(&name),
                Errand::ReleaseClaims => self.release_claims(),
                Errand::StartWaiting => self.start_waiting(),
                Errand::ScheduleWaiting => self.schedule_waiting(),
                Errand::Collect(kind, name) => self.collect(kind, &name),
                Errand::CollectOrphans(uid) => self.collect_orphans(&uid),
                Errand::Hook(name) => self.hook(&name),
                Errand::Probe(name) => self.probe(&name),
            }
        }
    }

    fn get(&self, kind: &resources::Kind, name: &Name) -> Option<Arc<Object>> {
        self.server.lock().store.get(kind.id, name).cloned()
    }

    /// A write that somebody else may have made impossible meanwhile: then the next event tells.
    fn write(&self, who: &'static str, call: &Call) {
        drop(self.server.ask(who, call));
    }

    fn knobs(&self) -> Knobs {
        self.knobs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn delete(kind: &'static resources::Kind, name: &Name, options: Value) -> Call {
    Call::object(Verb::Delete, kind, (&name.0, &name.1), options)
}
