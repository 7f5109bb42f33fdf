//! BroadcastJob v1alpha1: the hub's shape, so conversion changes nothing but the version.

use super::v1beta1::{BroadcastJobSpec, BroadcastJobStatus};
use crate::{crd::rules, kind::kind, names::APPS_GROUP};

kind! {
    /// Runs a pod to its end on every node that fits.
    #[schemars(transform = rules::jobs::name)]
    Namespaced BroadcastJob(APPS_GROUP, "v1alpha1", "broadcastjobs") {
        /// What should run.
        spec: BroadcastJobSpec,
        status: BroadcastJobStatus,
    }
}
