//! ImagePullJobs, as far as a workload that pre-downloads images knows them.

use kruise_api::names::APPS_GROUP;
use kruise_core::ids::Uid;
use kruise_core::workload;
use kruise_runtime::Resource;
use kruise_runtime::cache::{Cached, Index};
use serde::Deserialize;

use super::Meta;

#[derive(Debug, Deserialize)]
pub struct PullJob {
    metadata: Meta,
}

impl PullJob {
    pub fn view(&self) -> workload::PullJob {
        workload::PullJob {
            name: self.metadata.name.to_string(),
            uid: Uid::new(self.metadata.uid.as_str()),
            deleted: self.metadata.deletion_timestamp,
        }
    }
}

impl Cached for PullJob {
    type Shared = ();
    const RESOURCE: Resource = Resource::namespaced(APPS_GROUP, "v1beta1", "imagepulljobs", "ImagePullJob");

    identified_by!(metadata);

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        for owner in self.metadata.owner_references.iter().filter(|owner| owner.controller) {
            put(Index::Owner, &owner.uid);
        }
    }
}
