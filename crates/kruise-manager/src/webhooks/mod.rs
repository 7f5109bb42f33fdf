//! Which paths the webhook server has, and what a handler of each may look up. Decides nothing.

pub mod alone;
mod cloneset;
pub mod configuration;
mod dry_run;
pub mod flags;
mod persistentpodstate;
pub mod pods;
mod start;
mod statefulset;
#[cfg(test)]
mod tests;
mod workload;

use std::sync::{Arc, Mutex};

use futures::FutureExt;
use kruise_core::cloneset::admission::Named;
use kruise_core::gates::Gates;
use kruise_core::random::Random;
use kruise_core::statefulset::admission::Storage;
use kruise_runtime::Key;
use kruise_runtime::metrics::Metrics;
use kruise_runtime::webhook::{Answer, Handler, Operation, Request, Webhooks};
use kube::Client;
use serde_json::Value;

use crate::stores::Stores;
use cloneset::CloneSet;
pub use start::{Started, start};
use statefulset::StatefulSet;
use workload::{Lookups, Rules, template_to_try};

/// What handlers share.
pub struct Context {
    pub client: Client,
    pub stores: Arc<Stores>,
    pub gates: Gates,
    /// Of the installation, where the administrator's configuration is.
    pub namespace: String,
    /// Ends of names for pods that have none yet.
    pub names: Mutex<Random>,
}

#[cfg(test)]
impl Context {
    /// No API server behind it, no gate on.
    fn for_tests(stores: Stores) -> Self {
        let nobody = tower::service_fn(|_: http::Request<kube::client::Body>| async {
            Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("no API server"))
        });
        Self {
            client: Client::new(nobody, "default"),
            stores: Arc::new(stores),
            gates: Gates::default(),
            namespace: String::new(),
            names: Mutex::new(Random::from_seed(1)),
        }
    }
}

/// Charts of older releases call the same handlers with this before the kind.
const OLDER: &str = "v1alpha1-";

pub fn webhooks(cx: &Arc<Context>, metrics: Arc<Metrics>) -> Webhooks {
    let mut webhooks = Webhooks::new(metrics).conversion(kruise_api::names::CONVERT_PATH, |object, to| {
        kruise_api::convert(object, to).map_err(|error| error.to_string())
    });
    for prefix in ["", OLDER] {
        webhooks = webhooks
            .admission(&format!("/mutate-apps-kruise-io-{prefix}cloneset"), mutate::<CloneSet>(cx))
            .admission(&format!("/validate-apps-kruise-io-{prefix}cloneset"), validate::<CloneSet>(cx, named))
            .admission(&format!("/mutate-apps-kruise-io-{prefix}statefulset"), mutate::<StatefulSet>(cx))
            .admission(
                &format!("/validate-apps-kruise-io-{prefix}statefulset"),
                validate::<StatefulSet>(cx, storage),
            );
        let path = format!("/validate-apps-kruise-io-{prefix}persistentpodstate");
        webhooks = webhooks.admission(&path, validate_pod_state(cx));
    }
    webhooks = webhooks.admission(configuration::MUTATE_POD, mutate_pod(cx));
    configuration::without_rules_yet().fold(webhooks, |webhooks, path| {
        webhooks.admission(&path, Arc::new(|_| async { Answer::allowed() }.boxed()))
    })
}

fn mutate_pod(cx: &Arc<Context>) -> Handler {
    let cx = Arc::clone(cx);
    Arc::new(move |request| {
        let answer = pods::mutate(&request, &cx);
        async move { answer }.boxed()
    })
}

fn validate_pod_state(cx: &Arc<Context>) -> Handler {
    let cx = Arc::clone(cx);
    Arc::new(move |request| {
        let cx = Arc::clone(&cx);
        async move {
            let supported = persistentpodstate::supported(&cx.client, &cx.namespace).await;
            let rival = persistentpodstate::rival(&cx.stores, &request);
            persistentpodstate::validate(&request, rival.as_deref(), &supported)
        }
        .boxed()
    })
}

fn mutate<R: Rules>(cx: &Arc<Context>) -> Handler {
    let cx = Arc::clone(cx);
    Arc::new(move |request| {
        let answer = workload::mutate::<R>(request, &cx.gates);
        async move { answer }.boxed()
    })
}

/// `facts` looks up what the rules of the kind need.
fn validate<R: Rules>(cx: &Arc<Context>, facts: fn(&Context, &Request) -> R::Facts) -> Handler
where
    R::Facts: Send + Sync + 'static,
{
    let cx = Arc::clone(cx);
    Arc::new(move |request| {
        let cx = Arc::clone(&cx);
        async move {
            let lookups = match request.operation {
                Operation::Create | Operation::Update => {
                    let template = match template_to_try(&request) {
                        Some(template) => dry_run::faults(&cx.client, &request.namespace, &template).await,
                        None => Vec::new(),
                    };
                    Lookups { facts: facts(&cx, &request), template }
                }
                Operation::Delete | Operation::Connect => Lookups::default(),
            };
            workload::validate::<R>(request, &lookups, &cx.gates)
        }
        .boxed()
    })
}

/// Of the pods that a CloneSet names, those that are its own.
fn named(cx: &Context, request: &Request) -> Named {
    let uid = request.old.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
    let is_own = |name: &String| {
        let pod = cx.stores.pods.get(&Key::new(request.namespace.as_str(), name.as_str()));
        pod.is_some_and(|pod| {
            let is_controlled = pod.0.controller().is_some_and(|owner| owner.uid.as_str() == uid);
            pod.0.deleted.is_none() && is_controlled
        })
    };
    Named { owned: cloneset::pods_to_look_up(request).into_iter().filter(is_own).collect() }
}

/// The storage classes that claims of a StatefulSet may have; of several defaults the newest counts.
fn storage(cx: &Context, _: &Request) -> Storage {
    let all = cx.stores.storage_classes.as_ref().map(|classes| classes.all()).unwrap_or_default();
    let newest = all.iter().filter_map(|one| Some((one.default_since()?, one.name()))).max();
    Storage {
        classes: all.iter().map(|one| (one.name().to_owned(), one.expansion())).collect(),
        default: newest.map(|(_, name)| name.to_owned()),
    }
}
