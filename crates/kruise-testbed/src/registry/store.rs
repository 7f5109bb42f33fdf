//! What the registry knows: blobs by digest, manifests by name, faults and counters.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::Fault;
use crate::images::{BuiltImage, Digest, Reference};

/// All images of one registry.
#[derive(Debug, Default)]
pub(super) struct Store {
    blobs: BTreeMap<String, Bytes>,
    tags: BTreeMap<Reference, Digest>,
    faults: BTreeMap<Reference, Fault>,
    pulls: BTreeMap<Reference, u64>,
}

/// A manifest and what it is called.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub digest: String,
    pub bytes: Bytes,
}

impl Store {
    pub fn add(&mut self, image: BuiltImage) {
        for (digest, blob) in image.blobs {
            self.blobs.insert(digest.to_string(), blob);
        }
        for reference in image.references {
            self.tags.insert(reference, image.manifest.clone());
        }
    }

    pub fn fault(&mut self, reference: Reference, fault: Fault) {
        self.faults.insert(reference, fault);
    }

    pub fn heal(&mut self, reference: &Reference) {
        self.faults.remove(reference);
    }

    pub fn pulls(&self, reference: &Reference) -> u64 {
        self.pulls.get(reference).copied().unwrap_or_default()
    }

    /// Counts a look-up of a tag and says whether it shall fail.
    pub fn asked(&mut self, reference: &Reference) -> Option<Fault> {
        *self.pulls.entry(reference.clone()).or_default() += 1;
        self.faults.get(reference).copied()
    }

    pub fn tag(&self, reference: &Reference) -> Option<Found> {
        self.blob(self.tags.get(reference)?.as_str())
    }

    /// Manifests are blobs too, so both kinds of request by digest end here.
    pub fn blob(&self, digest: &str) -> Option<Found> {
        self.blobs.get(digest).map(|bytes| Found { digest: digest.to_owned(), bytes: bytes.clone() })
    }
}
