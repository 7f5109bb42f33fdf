//! Faults that come at their time.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::actors::Kinds;
use super::faults::{Fault, Grace, Plan, Turn, everywhere};
use super::manager::{Abort, Slot};
use super::{Lease, World};
use crate::server::{Call, Name, Part, Server, Verb};

/// What strikes needs to reach everything.
struct Fates {
    world: World,
    /// The second manager, once there is one.
    standby: Option<Abort>,
}

impl World {
    /// Strikes at every time of the plan.
    pub(super) fn fates(&mut self, plan: &Plan, lease: Lease) -> impl Future<Output = ()> + use<> {
        let mut turns: Vec<_> = plan
            .faults
            .iter()
            .filter_map(|fault| match fault {
                Fault::AtTime(at, turn) => Some((*at, turn.clone())),
                Fault::AtWrite(_, _) => None,
            })
            .collect();
        turns.sort_by_key(|(at, _)| *at);
        let (rng, slot) = (self.rng.fork(), Slot { number: 1, ..self.slot.clone() });
        let mut fates = Fates { world: Self { slot, rng, ..self.clone() }, standby: None };
        async move {
            if lease == Lease::Contended {
                fates.stand_by();
            }
            for (at, turn) in turns {
                tokio::time::sleep_until(fates.world.start + at).await;
                fates.world.storm.strike(Fault::AtTime(at, turn.clone()).name());
                fates.strike(&turn);
            }
            // The second manager lives as long as this.
            std::future::pending::<()>().await;
        }
    }
}

impl World {
    /// Everybody has to list again.
    fn forget(&self) {
        self.server.lock().store.compact();
        self.storm.cut();
    }
}

impl World {
    /// The server starts anew from a backup.
    fn restore(&self, back: Duration) {
        // Every backup has what the scenario began with.
        let then = Instant::now().checked_sub(back).unwrap_or(self.start).max(self.start);
        let mut state = self.server.lock();
        let version = state.store.version_at(then);
        state.restore(version);
    }
}

impl Fates {
    fn strike(&mut self, turn: &Turn) {
        match turn {
            Turn::Hold(plural, lasts) => self.world.storm.hold(plural, *lasts),
            Turn::Lag(plural, lasts) => self.lag(plural, *lasts),
            Turn::Late(plural, by, lasts) => self.world.storm.late(plural, *by, *lasts),
            Turn::SlowReads(by, lasts) => self.world.storm.slow_reads(*by, *lasts),
            Turn::Silence(lasts) => self.world.storm.silence(*lasts),
            Turn::Restore(back) => self.world.restore(*back),
            Turn::Double(lasts) => self.world.storm.double(*lasts),
            Turn::Cut => self.world.storm.cut(),
            Turn::Forget => self.world.forget(),
            Turn::Outage(code, lasts) => self.world.storm.outage(*code, *lasts),
            Turn::Freeze(lasts) => {
                self.stand_by();
                self.world.storm.freeze(0, *lasts);
            }
            Turn::ClockJump(seconds) => self.world.clock.jump(*seconds),
            Turn::Knob(behaviour, lasts) => {
                self.world.ledger.disturb();
                let rule = everywhere(behaviour);
                self.world.knobs.lock().unwrap_or_else(PoisonError::into_inner).0.push(rule.clone());
                let (knobs, ledger, lasts) =
                    (Arc::clone(&self.world.knobs), self.world.ledger.clone(), *lasts);
                let (server, kinds) = (self.world.server.clone(), self.world.kinds);
                tokio::spawn(async move {
                    tokio::time::sleep(lasts).await;
                    knobs.lock().unwrap_or_else(PoisonError::into_inner).0.retain(|one| *one != rule);
                    ledger.disturb();
                    touch_all(&server, kinds);
                });
            }
            Turn::Edit(seed, lasts) => self.world.edit_by_lot(*seed, *lasts),
            Turn::Rework(seed, lasts) => self.world.rework_by_lot(*seed, *lasts),
            Turn::Scale(replicas) => self.world.scale(*replicas),
            Turn::DeletePod(grace) => self.delete_pod(*grace),
            Turn::Evict => {
                if let Some(name) = self.pick() {
                    let call =
                        Call::object(Verb::Create, self.world.kinds.pods, (&name.0, &name.1), json!({}));
                    drop(self.world.server.ask("somebody", &call.part(Part::Eviction)));
                }
            }
            Turn::Label => {
                if let Some(name) = self.pick() {
                    let label = json!({"metadata": {"labels": {"example.com/seen": "true"}}});
                    let call =
                        Call::object(Verb::MergePatch, self.world.kinds.pods, (&name.0, &name.1), label);
                    drop(self.world.server.ask("somebody", &call));
                }
            }
        }
    }

    fn stand_by(&mut self) {
        if self.standby.is_none() {
            let run = self.world.slot.clone().run(self.world.rng.fork());
            self.standby = Some(Abort(tokio::spawn(run)));
        }
    }

    fn lag(&self, plural: &'static str, lasts: Duration) {
        self.world.storm.hold(plural, lasts);
        self.world.storm.stop_lists(plural, lasts * 2);
        let world = self.world.clone();
        tokio::spawn(async move {
            tokio::time::sleep(lasts).await;
            world.forget();
        });
    }

    fn delete_pod(&mut self, grace: Grace) {
        let Some(name) = self.pick() else { return };
        let options = match grace {
            Grace::Given => Value::Null,
            Grace::Denied => json!({"gracePeriodSeconds": 0}),
        };
        let call = Call::object(Verb::Delete, self.world.kinds.pods, (&name.0, &name.1), options);
        drop(self.world.server.ask("somebody", &call));
    }

    fn pick(&mut self) -> Option<Name> {
        let names: Vec<Name> = self
            .world
            .server
            .lock()
            .store
            .list(self.world.kinds.pods.id, "default")
            .map(|(name, _)| name.clone())
            .collect();
        self.world.rng.pick(&names).cloned()
    }
}

/// Kubelets look again at every pod when their mood has changed.
fn touch_all(server: &Server, kinds: Kinds) {
    // Something new each time: what changes nothing wakes nobody.
    let touched = server.lock().store.version().to_string();
    let names: Vec<Name> =
        server.lock().store.list(kinds.pods.id, "default").map(|(name, _)| name.clone()).collect();
    for name in names {
        let body = json!({"metadata": {"annotations": {"example.com/touched": touched}}});
        drop(server.ask("somebody", &Call::object(Verb::MergePatch, kinds.pods, (&name.0, &name.1), body)));
    }
}
