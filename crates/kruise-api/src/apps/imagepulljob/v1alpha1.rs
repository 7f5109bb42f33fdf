//! ImagePullJob v1alpha1: the hub's shape, so conversion changes nothing but the version.

use super::v1beta1::{ImagePullJobSpec, ImagePullJobStatus};
use crate::{kind::kind, names::APPS_GROUP};

kind! {
    /// Pulls one image on many nodes before it is needed.
    Namespaced ImagePullJob(APPS_GROUP, "v1alpha1", "imagepulljobs") {
        /// What is pulled, and where.
        spec: ImagePullJobSpec,
        status: ImagePullJobStatus,
    }
}
