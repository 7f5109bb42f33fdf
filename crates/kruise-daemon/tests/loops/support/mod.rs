//! Doubles of what the agent talks to: a container runtime on a real socket, and an API server behind the real client.

pub mod runtime;
pub mod server;

use std::time::Duration;

use kruise_core::gates::Gates;
use kruise_daemon::cri::SocketPlaces;
use kruise_daemon::images::Plugins;
use kruise_daemon::run::{Agent, PullSettings};

pub const NODE: &str = "node-1";

/// Waits for a condition; a test never sleeps for a fixed time.
pub async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let waited = tokio::time::timeout(Duration::from_secs(30), async {
        loop {
            if let Some(found) = look() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("not within 30 s: {what}"))
}

/// An agent on a directory of sockets and a server.
pub fn agent(server: &server::Server, sockets: &std::path::Path, workers: i32) -> Agent {
    let places = SocketPlaces::new(sockets, "");
    let mut agent = Agent::new(server.client(), NODE, Gates::read("").gates, places);
    agent.start(PullSettings { workers, plugins: Plugins::default() });
    agent
}
