//! The limits of a rollout, checked at every change.

use super::{Live, hash, is_active, is_available};
use crate::workload::watcher::{Pods, Watcher};

/// What may happen while a rollout runs.
#[derive(Debug, Clone, Default)]
pub struct Budget {
    pub replicas: usize,
    pub max_unavailable: usize,
    pub max_surge: usize,
    /// Pods to keep at the revision that the rollout started from.
    pub partition: usize,
}

impl Budget {
    /// Watches a CloneSet whose pods are all available and at one revision.
    pub async fn watch(&self, live: &Live) -> Watcher {
        let old = hash(&live.pods_now().await[0]).to_owned();
        let budget = self.clone();
        live.watching(move |pods| budget.check(pods, &old)).await
    }

    /// CS-30, CS-31: never fewer available, never more in all, never fewer old pods than asked for.
    fn check(&self, pods: &Pods, old: &str) -> Result<(), String> {
        let active: Vec<_> = pods.values().filter(|pod| is_active(pod)).collect();
        let available = active.iter().filter(|pod| is_available(pod)).count();
        let kept = active.iter().filter(|pod| hash(pod) == old).count();
        let fault = if available + self.max_unavailable < self.replicas {
            format!("only {available} pods are available")
        } else if self.replicas + self.max_surge < active.len() {
            format!("there are {} pods", active.len())
        } else if kept < self.partition {
            format!("only {kept} pods are at the old revision")
        } else {
            return Ok(());
        };
        let seen: Vec<String> = pods.iter().map(|(name, pod)| describe(name, pod)).collect();
        Err(format!("{fault}, against {self:?}:\n{}", seen.join("\n")))
    }
}

fn describe(name: &str, pod: &k8s_openapi::api::core::v1::Pod) -> String {
    let available = is_available(pod);
    format!(
        "  {name} at {}: active {}, available {available}, {}",
        hash(pod),
        is_active(pod),
        super::state(pod)
    )
}
