//! The brain: per kind a pure function from a view to a plan, and the mechanisms that several kinds share.
//!
//! Lives here: everything that thinks.
//! Must not live here: I/O, async, a clock, randomness that was not passed in, logging.
//!
//! The vocabulary comes first: `plan`, `chain`, `reason`, `object`, `lookup`, `turn`, `ids`, `amount`. Then what several kinds share
//! (`workload`, `rollout`, `revision`, `inplace`, `lifecycle`, `order`, `budget`, `cluster`, `pod`), then one folder per kind.

pub mod admission;
pub mod advancedcronjob;
pub mod amount;
pub mod broadcastjob;
pub mod budget;
pub mod chain;
pub mod cloneset;
pub mod cluster;
pub mod containerrecreaterequest;
pub mod daemonset;
pub mod eligibility;
pub mod ephemeraljob;
pub mod fault;
pub mod gates;
pub mod ids;
pub mod image;
pub mod imagelistpulljob;
pub mod imagepulljob;
pub mod inplace;
pub mod launch;
pub mod lifecycle;
pub mod lookup;
pub mod merge;
pub mod nodeimage;
pub mod nodepodprobe;
pub mod object;
pub mod order;
pub mod persistentpodstate;
pub mod plan;
pub mod pod;
pub mod podprobemarker;
pub mod podunavailablebudget;
pub mod predownload;
pub mod random;
pub mod readiness;
pub mod reason;
pub mod resourcedistribution;
pub mod revision;
pub mod rollout;
pub mod sidecarset;
pub mod sidecarterminator;
pub mod statefulset;
pub mod template;
pub mod time;
pub mod turn;
pub mod workload;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod golden;
