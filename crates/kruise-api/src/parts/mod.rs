//! Parts that several kinds share. Each exists once, with its description and its rules.

mod conditions;
mod in_place;
mod int_or_string;
mod lifecycle;
mod node;
mod priority;
mod probe;
mod pull;
mod raw;
mod references;
mod selector;
mod time;
mod update;

use std::collections::BTreeMap;

use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

pub use conditions::{Condition, JobCondition, StrictCondition};
pub use in_place::InPlaceUpdateStrategy;
pub use int_or_string::IntOrString;
pub use lifecycle::{Lifecycle, LifecycleHook};
pub use node::{NodeSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm, Toleration};
pub use priority::{OrderTerm, UpdatePriorityStrategy, UpdateScatterTerm, WeightTerm};
pub use probe::{ExecAction, GrpcAction, HttpGetAction, HttpHeader, Probe, TcpSocketAction};
pub use pull::{
    CompletionPolicy, CompletionPolicyType, ImagePullPolicy, NodeSelector, PullPolicy, SandboxConfig,
};
pub(crate) use raw::null_too;
pub use raw::{RawClaims, RawJson, RawTemplate};
pub use references::{LocalObjectReference, ObjectFieldSelector, ObjectReference, TargetReference};
pub use selector::{LabelSelector, LabelSelectorRequirement};
pub use time::Time;
pub use update::{PodUpdatePolicy, UpdateType};

/// Fields that this release does not know. Every struct of ours ends with one, so that nothing is lost by reading and
/// writing; it never shows in a CRD.
pub type Extra = BTreeMap<String, Value>;

/// Labels or annotations.
pub type StringMap = BTreeMap<String, String>;

/// Object metadata as CRDs must spell it: the API server knows the fields itself and refuses even a description.
pub(crate) fn metadata_schema(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({ "type": "object" })
}
