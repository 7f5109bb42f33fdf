//! One stop from the event to the runtime's answer.

use std::sync::Arc;

use kruise_api::reasons::event::{FAILED_PRE_STOP_HOOK, KILLING};
use tokio::time::Instant;

use super::plan::{self, Target};
use crate::api::{About, Recorder, Severity};
use crate::cri::{Cri, CriError};
use crate::metrics::{Ended, Metrics};

/// Stops containers on behalf of one loop.
#[derive(Clone)]
pub struct Killer {
    pub events: Recorder,
    pub metrics: Arc<Metrics>,
    /// Who asks, in metrics.
    pub by: &'static str,
}

impl Killer {
    /// KC-3 … KC-8. The hook is given up when the grace period is over, and the container is stopped all the same.
    pub async fn stop(&self, cri: &Cri, target: &Target) -> Result<(), CriError> {
        self.tell(target, Severity::Normal, KILLING, &target.message);
        let began = Instant::now();
        if let (Some(hook), Some(limit)) = (&target.pre_stop, plan::hook_time(target.grace)) {
            let ip = cri.pod_ip(&target.id.id).await.unwrap_or_default();
            let run = hook.run(cri, &target.id.id, &target.ports, &ip);
            if let Ok(Err(error)) = tokio::time::timeout(limit, run).await {
                self.tell(
                    target,
                    Severity::Warning,
                    FAILED_PRE_STOP_HOOK,
                    &format!("PreStopHook failed: {error}"),
                );
            }
        }
        let left = plan::remaining(target.grace, began.elapsed());
        let stopped = cri.stop(&target.id.id, left).await;
        self.metrics.killed(self.by, Ended::of(&stopped));
        tracing::info!(
            pod = %format!("{}/{}", target.pod.namespace, target.pod.name), container = target.container,
            id = %target.id, grace = left, by = self.by, error = ?stopped.as_ref().err(), "container stopped"
        );
        stopped
    }

    fn tell(&self, target: &Target, severity: Severity, reason: &'static str, message: &str) {
        let about = About {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            namespace: target.pod.namespace.clone(),
            name: target.pod.name.clone(),
            uid: target.pod.uid.clone(),
            field_path: target.field_path.clone(),
        };
        self.events.tell(about, severity, reason, message);
    }
}

/// KC-2: a container that nobody described. Nothing if it is gone or does not run (CM-10).
pub async fn restored(
    cri: &Cri,
    id: crate::cri::ContainerId,
    message: &str,
) -> Result<Option<Target>, CriError> {
    let Some(status) = cri.container(&id.id).await? else { return Ok(None) };
    if !status.is_running() {
        return Ok(None);
    }
    Ok(Some(plan::restored(id, &status.labels, &status.annotations, message)))
}
