//! A simulated API server under the real client: objects, versions, watches, refusals as the real one makes them.
//!
//! `request` reads what is asked, `state` answers it (`create`, `change`, `delete`, `patch`), `store` remembers, `watch`
//! tells, `link` is the way to one client with everything that goes wrong on it, `service` is HTTP.
//!
//! A test of the control plane sends one set of requests to this server and to a real one and compares the answers.
//! Known differences, none of which a planner or the runtime can see:
//! - no managed fields, no server-side apply, no table output, no label and field selectors, no deletion of collections;
//! - our kinds only at their storage version; their CEL rules, patterns and list keys are not checked;
//! - of a pod's defaults only what planners and kubelets read; no service account, no tolerations, no priority;
//! - budgets of Kubernetes do not hold up an eviction.

mod admission;
mod builtin;
mod change;
mod create;
mod delete;
mod failure;
mod link;
mod lookup;
pub(crate) mod patch;
mod request;
pub mod resources;
mod schema;
mod service;
mod state;
mod store;
mod watch;

pub use admission::{Admission, GATES};
pub use builtin::CLAIM_PROTECTION;
pub use delete::{FOREGROUND, ORPHAN};
pub use failure::{Cause, Failure};
pub use link::{Calm, Fate, Landing, Link, Weather};
pub use request::{Call, Options, Part, Shape, Trial, Verb};
pub use resources::{Kind, KindId};
pub use schema::{DRAWN, Edit};
pub use service::{Door, GHOST, LATE_GHOST};
pub use state::{Answer, Change, Entry, Now, Observer, State, seconds};
pub use store::{Event, Name, Object, Store, What};

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The server; clones are the same one.
#[derive(Clone)]
pub struct Server(Arc<Mutex<State>>);

impl Server {
    pub fn new(seed: u64, now: Now) -> Self {
        Self(Arc::new(Mutex::new(State::new(seed, now))))
    }

    /// Asks directly, as an actor of the world does.
    pub fn ask(&self, who: &'static str, call: &Call) -> Result<Answer, Failure> {
        self.lock().handle(who, call)
    }

    pub fn door(&self, link: &Arc<Link>) -> Door {
        Door { server: self.clone(), link: Arc::clone(link) }
    }

    /// Short looks only: everything stands still meanwhile.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
