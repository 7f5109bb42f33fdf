//! Faults that come at their time.

use std::sync::{Arc, PoisonError};

use serde_json::{Value, json};
use tokio::time::Instant;

use super::World;
use super::actors::{Kinds, SharedKnobs};
use super::clock::WorldClock;
use super::faults::{Fault, Grace, Plan, Turn, everywhere};
use super::manager::{Abort, Slot};
use super::rules::Ledger;
use super::weather::Storm;
use crate::rng::Rng;
use crate::server::{Call, Name, Part, Server, Verb};

/// What strikes needs to reach everything.
struct Fates {
    server: Server,
    clock: WorldClock,
    storm: Storm,
    ledger: Ledger,
    knobs: SharedKnobs,
    kinds: Kinds,
    slot: Slot,
    rng: Rng,
    start: Instant,
    /// The second manager, once there is one.
    standby: Option<Abort>,
}

impl World {
    /// Strikes at every time of the plan.
    pub(super) fn fates(&mut self, plan: &Plan) -> impl Future<Output = ()> + use<> {
        let mut turns: Vec<_> = plan
            .faults
            .iter()
            .filter_map(|fault| match fault {
                Fault::AtTime(at, turn) => Some((*at, turn.clone())),
                Fault::AtWrite(_, _) => None,
            })
            .collect();
        turns.sort_by_key(|(at, _)| *at);
        let mut fates = Fates {
            server: self.server.clone(),
            clock: self.clock.clone(),
            storm: self.storm.clone(),
            ledger: self.ledger.clone(),
            knobs: Arc::clone(&self.knobs),
            kinds: self.kinds,
            slot: Slot { number: 1, ..self.slot.clone() },
            rng: self.rng.fork(),
            start: self.start,
            standby: None,
        };
        async move {
            for (at, turn) in turns {
                tokio::time::sleep_until(fates.start + at).await;
                fates.storm.strike(Fault::AtTime(at, turn.clone()).name());
                fates.strike(&turn);
            }
            // The second manager lives as long as this.
            std::future::pending::<()>().await;
        }
    }
}

impl Fates {
    fn strike(&mut self, turn: &Turn) {
        match turn {
            Turn::Hold(plural, lasts) => self.storm.hold(plural, *lasts),
            Turn::Double(lasts) => self.storm.double(*lasts),
            Turn::Cut => self.storm.cut(),
            Turn::Forget => {
                self.server.lock().store.compact();
                self.storm.cut();
            }
            Turn::Outage(code, lasts) => self.storm.outage(*code, *lasts),
            Turn::Freeze(lasts) => {
                if self.standby.is_none() {
                    self.standby = Some(Abort(tokio::spawn(self.slot.clone().run(self.rng.fork()))));
                }
                self.storm.freeze(0, *lasts);
            }
            Turn::ClockJump(seconds) => self.clock.jump(*seconds),
            Turn::Knob(behaviour, lasts) => {
                self.ledger.disturb();
                let rule = everywhere(behaviour);
                self.knobs.lock().unwrap_or_else(PoisonError::into_inner).0.push(rule.clone());
                let (knobs, ledger, lasts) = (Arc::clone(&self.knobs), self.ledger.clone(), *lasts);
                let (server, kinds) = (self.server.clone(), self.kinds);
                tokio::spawn(async move {
                    tokio::time::sleep(lasts).await;
                    knobs.lock().unwrap_or_else(PoisonError::into_inner).0.retain(|one| *one != rule);
                    ledger.disturb();
                    touch_all(&server, kinds);
                });
            }
            Turn::DeletePod(grace) => self.delete_pod(*grace),
            Turn::Evict => {
                if let Some(name) = self.pick() {
                    let call = Call::object(Verb::Create, self.kinds.pods, (&name.0, &name.1), json!({}));
                    drop(self.server.ask("somebody", &call.part(Part::Eviction)));
                }
            }
            Turn::Label => {
                if let Some(name) = self.pick() {
                    let label = json!({"metadata": {"labels": {"example.com/seen": "true"}}});
                    let call = Call::object(Verb::MergePatch, self.kinds.pods, (&name.0, &name.1), label);
                    drop(self.server.ask("somebody", &call));
                }
            }
        }
    }

    fn delete_pod(&mut self, grace: Grace) {
        let Some(name) = self.pick() else { return };
        let options = match grace {
            Grace::Given => Value::Null,
            Grace::Denied => json!({"gracePeriodSeconds": 0}),
        };
        let call = Call::object(Verb::Delete, self.kinds.pods, (&name.0, &name.1), options);
        drop(self.server.ask("somebody", &call));
    }

    fn pick(&mut self) -> Option<Name> {
        let names: Vec<Name> = self
            .server
            .lock()
            .store
            .list(self.kinds.pods.id, "default")
            .map(|(name, _)| name.clone())
            .collect();
        self.rng.pick(&names).cloned()
    }
}

/// Kubelets look again at every pod when their mood has changed.
fn touch_all(server: &Server, kinds: Kinds) {
    let names: Vec<Name> =
        server.lock().store.list(kinds.pods.id, "default").map(|(name, _)| name.clone()).collect();
    for name in names {
        let body = json!({"metadata": {"annotations": {"example.com/touched": "true"}}});
        drop(server.ask("somebody", &Call::object(Verb::MergePatch, kinds.pods, (&name.0, &name.1), body)));
    }
}
