//! PodUnavailableBudget: how many pods of an application may be down because somebody took them down.
//! Specification: podunavailablebudget.md. So far only what workloads ask before they disturb a pod (PUB-35).

mod guard;

pub use guard::{Disturbance, allowance};
pub use kruise_api::policy::podunavailablebudget::PubOperation as Operation;
