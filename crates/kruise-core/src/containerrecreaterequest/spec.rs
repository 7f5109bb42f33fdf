//! `spec`, read once.

use std::sync::Arc;

use kruise_api::apps::containerrecreaterequest::ContainerRecreateRequestSpec;
use serde_json::Value;

use crate::fault::Fault;

/// What the user wants, with the identities that admission has frozen.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    pub pod: Arc<str>,
    pub containers: Vec<Named>,
    /// Seconds between taking the pod out of service and the first stop.
    pub unready_grace: Option<i64>,
    /// Seconds from creation to the end, done or not.
    pub deadline: Option<i64>,
    /// Seconds from the end to deletion.
    pub ttl: Option<i64>,
}

/// One container to restart.
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    pub name: Arc<str>,
    /// `None` for an object that admission has not seen.
    pub before: Option<Before>,
}

/// The container when the request was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Before {
    pub id: Arc<str>,
    pub restarts: i64,
}

impl Spec {
    pub fn read(spec: &Value) -> Result<Self, Fault> {
        let wire = kruise_api::read_part::<ContainerRecreateRequestSpec>(spec.clone())
            .map_err(|error| Fault::of_spec(&error))?;
        let containers = wire.containers.into_iter().map(|one| Named {
            name: one.name.into(),
            before: one.status_context.map(|context| Before {
                id: context.container_id.into(),
                restarts: i64::from(context.restart_count),
            }),
        });
        Ok(Self {
            pod: wire.pod_name.into(),
            containers: containers.collect(),
            unready_grace: wire.strategy.and_then(|strategy| strategy.unready_grace_period_seconds),
            deadline: wire.active_deadline_seconds,
            ttl: wire.ttl_seconds_after_finished.map(i64::from),
        })
    }
}
