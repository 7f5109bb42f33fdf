//! What the planner of any kind knows of its object, for the mechanisms that do not care which kind it is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kruise_api::names;
use serde_json::{Value, json};

use crate::chain::{Op, Part, Patch, Resource, Write};
use crate::gates::Gates;
use crate::ids::{RevisionHash, Uid};
use crate::inplace::Resize;
use crate::pod::PodView;
use crate::revision::Revision;

/// Borrowed from the view of a kind.
#[derive(Debug, Clone, Copy)]
pub struct Workload<'a> {
    /// As owner references name it.
    pub kind: &'static str,
    pub name: &'a str,
    pub namespace: &'a str,
    pub uid: &'a Uid,
    pub generation: i64,
    pub annotations: &'a BTreeMap<String, String>,
    pub status: &'a Value,
    /// Oldest first.
    pub revisions: &'a [Arc<Revision>],
    pub gates: &'a Gates,
    pub resize: Resize,
    /// Nodes without our daemon, where environment cannot be renewed (M5).
    pub virtual_nodes: &'a BTreeSet<String>,
}

/// Messages of the chains that failed since the last plan that went through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failures {
    pub scale: Option<String>,
    pub update: Option<String>,
}

/// An ImagePullJob that a workload controls.
#[derive(Debug, Clone, PartialEq)]
pub struct PullJob {
    pub name: String,
    pub uid: Uid,
    pub deleted: Option<jiff::Timestamp>,
}

impl<'a> Workload<'a> {
    /// Reference that makes an object ours.
    pub fn owner_reference(&self) -> Value {
        json!({
            "apiVersion": format!("{}/v1beta1", names::APPS_GROUP),
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid.as_str(),
            "controller": true,
            "blockOwnerDeletion": true,
        })
    }

    /// Names of revisions that were taken so far (SM-5).
    pub fn collisions(&self) -> i32 {
        let count = self.status.get("collisionCount").and_then(Value::as_i64);
        count.and_then(|count| i32::try_from(count).ok()).unwrap_or(0)
    }

    pub fn revision(&self, hash: &RevisionHash) -> Option<&'a Revision> {
        self.revisions.iter().map(AsRef::as_ref).find(|one| one.name.hash() == *hash)
    }

    pub fn status_write(&self, status: &Value) -> Write {
        let body = json!({"metadata": {"uid": self.uid.as_str()}, "status": status});
        Write::patch(Resource::Workload, self.name, Part::Status, Patch::Merge(body))
    }

    /// The answer to a revision that could not be stored because another one has its name (SM-5): count, and plan again.
    pub fn collided(&self) -> Write {
        let count = self.collisions().saturating_add(1);
        let patch = Patch::Merge(json!({"status": {"collisionCount": count}}));
        Write::patch(Resource::Workload, self.name, Part::Status, patch)
    }

    /// Takes our owner reference off a pod; `None` if it has none.
    pub fn release(&self, pod: &PodView) -> Option<Write> {
        let position = pod.owners.iter().position(|owner| owner.uid == *self.uid)?;
        let path = format!("/metadata/ownerReferences/{position}");
        let ops = vec![Op::test(&format!("{path}/uid"), self.uid.as_str()), Op::Remove { path }];
        Some(Write::patch(Resource::Pod, pod.name.as_str(), Part::Object, Patch::Json(ops)))
    }
}
