//! Simulated nodes: one agent that registers nodes and plays the kubelet for all pods bound to them.
//!
//! What a kubelet would do is decided by the model in `kruise_sim::kubelet`; here it meets a real API server. One
//! watch for all nodes, one status write per step, no state beyond what the pod itself tells.

mod agent;
mod nodes;
mod pods;

use std::sync::{Arc, PoisonError, RwLock};

use kruise_sim::kubelet::{Behaviour, Knobs, Rule, Which};
use kube::Client;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::TestbedError;

/// The user agent of the simulated kubelets, by which the audit log tells their writes apart.
pub const USER_AGENT: &str = "simulated-kubelet";

/// A running agent. Dropping it stops the simulation; the nodes stay registered.
#[derive(Debug)]
pub struct SimNodes {
    controls: Arc<Controls>,
    tasks: Vec<JoinHandle<()>>,
    names: Vec<String>,
}

/// What tests can turn while the agent runs.
#[derive(Debug, Default)]
struct Controls {
    knobs: RwLock<Arc<Knobs>>,
    changed: Notify,
}

impl SimNodes {
    /// Registers `count` nodes, `sim-0000` and so on, in three zones, and starts to play their kubelets.
    pub async fn start(client: Client, count: usize) -> Result<Self, TestbedError> {
        let names: Vec<String> = (0..count).map(|number| format!("sim-{number:04}")).collect();
        nodes::register(&client, &names).await?;
        let controls = Arc::new(Controls::default());
        let tasks = vec![
            tokio::spawn(nodes::keep_alive(client.clone(), names.clone(), Arc::clone(&controls))),
            tokio::spawn(agent::run(client, Arc::clone(&controls))),
        ];
        Ok(Self { controls, tasks, names })
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Adds a rule; pods that it concerns are looked at again at once.
    pub fn rule(&self, which: Which, behaviour: Behaviour) {
        self.change(|knobs| knobs.0.push(Rule { which, behaviour }));
    }

    /// Takes all rules back that `which` names exactly.
    pub fn forget(&self, which: &Which) {
        self.change(|knobs| knobs.0.retain(|rule| rule.which != *which));
    }

    fn change(&self, edit: impl FnOnce(&mut Knobs)) {
        let mut guard = self.controls.knobs.write().unwrap_or_else(PoisonError::into_inner);
        let mut knobs = Knobs::clone(&guard);
        edit(&mut knobs);
        *guard = Arc::new(knobs);
        drop(guard);
        self.controls.changed.notify_one();
    }
}

impl Drop for SimNodes {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Controls {
    fn knobs(&self) -> Arc<Knobs> {
        Arc::clone(&self.knobs.read().unwrap_or_else(PoisonError::into_inner))
    }
}
