//! ImagePullJobs, as far as the workload that made them knows them.

use kruise_api::apps::imagepulljob::ImagePullJob;
use kruise_api::{Kind, Resource};
use serde::Deserialize;

use crate::cluster::meta::{Meta, identified_by};
use crate::ids::Uid;
use crate::lookup::{Index, Slim};
use crate::object::ObjectRef;

#[derive(Debug, Deserialize)]
pub struct PullJob {
    metadata: Meta,
}

impl PullJob {
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    pub fn object(&self) -> ObjectRef {
        ObjectRef { resource: Self::RESOURCE, key: self.metadata.key() }
    }

    pub fn uid(&self) -> Uid {
        Uid::new(self.metadata.uid.as_str())
    }

    pub fn is_deleted(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }
}

impl Slim for PullJob {
    type Shared = ();
    const RESOURCE: Resource = ImagePullJob::RESOURCE;

    identified_by!(metadata);

    /// Only by the workload that controls it.
    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        for owner in self.metadata.owner_references.iter().filter(|owner| owner.controller) {
            put(Index::Owner, &owner.uid);
        }
    }
}
