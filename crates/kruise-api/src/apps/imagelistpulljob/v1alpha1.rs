//! ImageListPullJob v1alpha1: the hub's shape, so conversion changes nothing but the version.

use super::v1beta1::{ImageListPullJobSpec, ImageListPullJobStatus};
use crate::{kind::kind, names::APPS_GROUP};

kind! {
    /// Pulls several images on many nodes before they are needed: one ImagePullJob per image.
    Namespaced ImageListPullJob(APPS_GROUP, "v1alpha1", "imagelistpulljobs") {
        /// What is pulled, and where.
        spec: ImageListPullJobSpec,
        status: ImageListPullJobStatus,
    }
}
