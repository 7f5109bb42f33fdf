//! The unmodified manager in its slot: started, killed with everything it had in flight, started again.

use std::sync::Arc;
use std::time::Duration;

use kruise_manager::{Ground, Settings, controllers_alone};
use kruise_runtime::clock::Clock;
use kruise_runtime::metrics::Metrics;
use tokio::task::JoinHandle;

use super::clock::WorldClock;
use super::weather::Storm;
use crate::planted::{self, Bug};
use crate::rng::Rng;
use crate::server::{Link, Server};

/// In the log of writes.
pub const WHO: &str = "manager";

/// Everything that a manager of this world needs to be started.
#[derive(Clone)]
pub struct Slot {
    pub server: Server,
    pub clock: WorldClock,
    pub storm: Storm,
    pub settings: Arc<Settings>,
    /// What is wrong with its manager, if anything.
    pub bug: Option<&'static Bug>,
    pub number: usize,
}

impl Slot {
    /// Runs managers one after the other until aborted; between two lives there is a pause.
    pub async fn run(self, mut rng: Rng) {
        let mut life = 0_u64;
        loop {
            life += 1;
            let link = Link::new(WHO, self.storm.over(self.number));
            let manager = Abort(tokio::spawn(self.clone().live(Arc::clone(&link), rng.draw(), life)));
            link.death().await;
            drop(manager);
            tokio::time::sleep(Duration::from_millis(rng.below(3_000))).await;
        }
    }

    async fn live(self, link: Arc<Link>, seed: u64, life: u64) {
        let (clock, number) = (self.clock.clone(), self.number);
        let client = planted::client(self.server.door(&link), self.bug);
        let ground = Ground {
            elector: client.clone(),
            client,
            clock: Clock::from_fn(move || clock.now()),
            metrics: Arc::new(Metrics::default()),
            seed,
            identity: format!("slot-{number}_{life:04}"),
        };
        // It ends by itself when it is deposed or cannot reach the server: a process that is started again.
        drop(controllers_alone(&self.settings, ground).await);
        link.kill();
    }
}

/// A task that ends with its handle.
pub struct Abort(pub JoinHandle<()>);

impl Drop for Abort {
    fn drop(&mut self) {
        self.0.abort();
    }
}
