//! Test support: what admission knows in a test.

use std::sync::Arc;

use serde_json::Value;

use super::{Known, Live};
use crate::fixtures::t0;
use crate::gates::Gates;
use crate::lookup::{Lookup, Memory, Slim};
use crate::persistentpodstate::Supported;

/// No object, default gates, an API server that takes every template.
#[derive(Default)]
pub(crate) struct Surroundings {
    pub objects: Memory,
    pub gates: Gates,
    pub supported: Supported,
    pub live: Live,
}

impl Surroundings {
    /// With an object of the wire.
    #[must_use]
    pub(crate) fn with<T: Slim>(mut self, object: &Value) -> Self {
        self.objects.put(Arc::new(serde_json::from_value::<T>(object.clone()).unwrap()));
        self
    }

    pub(crate) fn lookup(&self) -> Lookup<'_> {
        Lookup::new(&self.objects)
    }

    pub(crate) fn known(&self) -> Known<'_> {
        Known {
            lookup: self.lookup(),
            gates: &self.gates,
            supported: &self.supported,
            suffix: &|| String::from("abcde"),
            now: t0(),
            live: &self.live,
            namespace: "kruise-system",
        }
    }
}
