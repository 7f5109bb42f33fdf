//! Which webhooks there are, and what the handler of each may look up. Decides nothing.

pub mod configuration;
mod dry_run;
pub mod entry;
pub mod flags;
mod fresh;
mod live;
mod not_yet;
pub mod pods;
pub mod selecting;
pub mod simulated;
mod start;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use kruise_core::admission::pod::{self, PodSteps};
use kruise_core::admission::{Answer, DryRun, Known, Live, Request};
use kruise_core::gates::Gates;
use kruise_core::random::Random;
use kruise_runtime::clock::Clock;
use kruise_runtime::metrics::Metrics;
use kruise_runtime::webhook::{Handler, Route, Webhooks};
use kube::Client;

use crate::kinds;
use crate::stores::Stores;
use entry::{Entry, Judge, Sort};
pub use fresh::Fresh;
use selecting::{Wanted, Widener};
pub use start::{Started, start};

/// What handlers share.
pub struct Context {
    pub client: Client,
    pub stores: Arc<Stores>,
    pub gates: Gates,
    pub clock: Clock,
    /// Of the installation, where the administrator's configuration is.
    pub namespace: String,
    /// Ends of names for pods that have none yet.
    pub names: Mutex<Random>,
    /// What is done about pods.
    pub steps: Arc<PodSteps>,
    /// Selects pods before an object that needs them is let in.
    pub widener: Widener,
    /// Makes sure that no SidecarSet is missed.
    pub fresh: Fresh,
}

/// A client without an API server behind it.
#[cfg(test)]
pub fn nobody() -> Client {
    let nobody = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("no API server"))
    });
    Client::new(nobody, "default")
}

#[cfg(test)]
impl Context {
    /// No API server behind it, no object, default gates.
    fn for_tests() -> Self {
        let stores = Arc::new(Stores::new(&Gates::default()));
        stores.assume_complete();
        Self {
            client: nobody(),
            stores,
            gates: Gates::default(),
            clock: Clock::system(),
            namespace: String::new(),
            names: Mutex::new(Random::from_seed(1)),
            steps: Arc::new(pods::steps()),
            widener: Widener::none(),
            fresh: Fresh::off(),
        }
    }
}

/// All webhook entries: about pods, and those that kinds register.
pub fn entries() -> Vec<Entry> {
    let kinds = kinds::ALL.iter().flat_map(|kind| (kind.entries)());
    pods::entries().into_iter().chain(kinds).collect()
}

/// The paths of the webhook server.
pub fn webhooks(cx: &Arc<Context>, metrics: Arc<Metrics>) -> Webhooks {
    let webhooks = Webhooks::new(metrics).conversion(kruise_api::names::CONVERT_PATH, |object, to| {
        kruise_api::convert(object, to).map_err(|error| error.to_string())
    });
    routes(cx).into_values().fold(webhooks, Webhooks::admission)
}

/// By path: several entries can have the same, and then the same handler.
fn routes(cx: &Arc<Context>) -> BTreeMap<String, Route> {
    let mut routes = BTreeMap::new();
    let mut add = |path: &String, plural: &'static str, handler: &Handler| {
        let route = routes.entry(path.clone()).or_insert_with(|| Route {
            path: path.clone(),
            resources: Vec::new(),
            handler: Arc::clone(handler),
        });
        route.resources.push(plural);
    };
    for entry in entries() {
        let handler = handler(cx, &entry);
        for path in &entry.paths {
            add(path, entry.rule.plural, &handler);
        }
    }
    let allowed: Handler = Arc::new(|_| async { Answer::allowed() }.boxed());
    for one in not_yet::not_yet() {
        for path in &one.paths {
            add(path, one.plural, &allowed);
        }
    }
    routes
}

fn handler(cx: &Arc<Context>, entry: &Entry) -> Handler {
    let (cx, judge, asks, sort) = (Arc::clone(cx), Arc::clone(&entry.judge), entry.asks, entry.sort);
    Arc::new(move |request| {
        let (cx, judge) = (Arc::clone(&cx), Arc::clone(&judge));
        async move {
            let live = live::ask(&cx, asks, &request).await;
            let adds = match sort {
                Sort::Validating => cx.adds(&request),
                Sort::Mutating => Wanted::new(),
            };
            let announced = fresh::announced(&request, sort);
            let answer = cx.judge(&judge, request, &live);
            if answer.denial.is_some() {
                return answer;
            }
            if let Some(announced) = announced
                && let Err(why) = fresh::announce(&cx, &announced).await
            {
                return Answer::denied(503, format!("{NOT_ANNOUNCED}: {why}; try again"));
            }
            if adds.is_empty() {
                return answer;
            }
            match cx.widener.widen(adds).await {
                Ok(()) => answer,
                Err(why) => Answer::denied(503, format!("{NOT_SELECTED}: {why}; try again")),
            }
        }
        .boxed()
    })
}

/// An object whose pods the API server would not ask about is not let in.
const NOT_SELECTED: &str = "the pod webhook cannot be told to select the pods of this object";

/// A set that a replica could miss is not let in.
const NOT_ANNOUNCED: &str = "the other managers cannot be told of this SidecarSet";

impl Context {
    /// Pods that have to be selected before the object of this request is stored. Nothing is stored for one that is only tried.
    fn adds(&self, request: &Request) -> Wanted {
        if request.dry_run == DryRun::Yes {
            return Wanted::new();
        }
        let of = |entry| (entry, self.steps.adds(entry, request, &self.gates));
        pod::Entry::ALL.into_iter().map(of).filter(|(_, adds)| !adds.is_empty()).collect()
    }

    fn judge(&self, judge: &Judge, request: Request, live: &Live) -> Answer {
        let suffix = || self.names.lock().unwrap_or_else(PoisonError::into_inner).suffix();
        let supported = self.stores.custom.supported();
        let known = Known {
            lookup: self.stores.lookup(),
            gates: &self.gates,
            supported: &supported,
            suffix: &suffix,
            now: self.clock.now(),
            live,
            namespace: &self.namespace,
        };
        judge(request, &known)
    }
}
