//! Which paths the webhook server has, and what a handler of each may look up. Decides nothing.

mod cloneset;
mod configuration;
mod dry_run;
pub mod flags;
mod start;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures::FutureExt;
use kruise_api::names::CONVERT_PATH;
use kruise_core::cloneset::admission::Named;
use kruise_core::gates::Gates;
use kruise_runtime::Key;
use kruise_runtime::metrics::Metrics;
use kruise_runtime::webhook::{Answer, Handler, Operation, Request, Webhooks};
use kube::Client;
use serde_json::Value;

use crate::stores::Stores;
use cloneset::Lookups;
pub use start::start;

/// What handlers share.
pub struct Context {
    pub client: Client,
    pub stores: Arc<Stores>,
    pub gates: Gates,
}

/// Paths under which charts of older releases call the same handlers.
const OLDER: &str = "-v1alpha1-cloneset";
const NEWER: &str = "-cloneset";

pub fn webhooks(cx: &Arc<Context>, metrics: Arc<Metrics>) -> Webhooks {
    let mut webhooks = Webhooks::new(metrics).conversion(CONVERT_PATH, |object, to| {
        kruise_api::convert(object, to).map_err(|error| error.to_string())
    });
    for suffix in [NEWER, OLDER] {
        webhooks = webhooks
            .admission(&format!("/mutate-apps-kruise-io{suffix}"), mutate_cloneset(cx))
            .admission(&format!("/validate-apps-kruise-io{suffix}"), validate_cloneset(cx));
    }
    configuration::without_rules_yet().fold(webhooks, |webhooks, path| {
        webhooks.admission(&path, Arc::new(|_| async { Answer::allowed() }.boxed()))
    })
}

fn mutate_cloneset(cx: &Arc<Context>) -> Handler {
    let cx = Arc::clone(cx);
    Arc::new(move |request| {
        let cx = Arc::clone(&cx);
        async move { cloneset::mutate(&request, &cx.gates) }.boxed()
    })
}

fn validate_cloneset(cx: &Arc<Context>) -> Handler {
    let cx = Arc::clone(cx);
    Arc::new(move |request| {
        let cx = Arc::clone(&cx);
        async move {
            let lookups = lookups(&cx, &request).await;
            cloneset::validate(&request, &lookups, &cx.gates)
        }
        .boxed()
    })
}

async fn lookups(cx: &Context, request: &Request) -> Lookups {
    if !matches!(request.operation, Operation::Create | Operation::Update) {
        return Lookups::default();
    }
    let uid = request.old.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
    let is_own = |name: &String| {
        let pod = cx.stores.pods.get(&Key::new(request.namespace.as_str(), name.as_str()));
        pod.is_some_and(|pod| {
            let is_controlled =
                pod.0.owners.iter().any(|owner| owner.is_controller && owner.uid.as_str() == uid);
            pod.0.deleted.is_none() && is_controlled
        })
    };
    let owned = cloneset::pods_to_look_up(request).into_iter().filter(is_own).collect();
    let template = match cloneset::template_to_try(request) {
        Some(template) => dry_run::faults(&cx.client, &request.namespace, &template).await,
        None => Vec::new(),
    };
    Lookups { named: Named { owned }, template }
}
