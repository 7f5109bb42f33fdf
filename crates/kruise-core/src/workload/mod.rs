//! What the planner of any kind knows of its object, for the mechanisms that do not care which kind it is.

pub mod base;
pub mod conditions;

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use kruise_api::Resource;
use serde_json::{Value, json};

use crate::chain::{Op, Part, Patch, Write};
use crate::gates::Gates;
use crate::ids::RevisionHash;
use crate::inplace::Resize;
use crate::object::ObjectRef;
use crate::pod::PodView;
use crate::revision::Revision;
use crate::workload::base::Head;

/// Borrowed from the view of a kind.
#[derive(Debug, Clone, Copy)]
pub struct Workload<'a> {
    pub resource: Resource,
    pub head: &'a Arc<Head>,
    /// Oldest first.
    pub revisions: &'a [Arc<Revision>],
    /// The name of the revision to be stored next belongs to another object (SM-5).
    pub is_name_taken: bool,
    pub gates: &'a Gates,
    pub resize: Resize,
    /// Nodes without the node agent, where environment cannot be renewed (M5).
    pub virtual_nodes: &'a BTreeSet<String>,
}

impl Deref for Workload<'_> {
    type Target = Head;

    fn deref(&self) -> &Head {
        self.head
    }
}

impl<'a> Workload<'a> {
    /// The object that is planned.
    pub fn itself(&self) -> ObjectRef {
        self.object(self.resource, Arc::clone(&self.head.name))
    }

    /// An object in its namespace.
    pub fn object(&self, resource: Resource, name: impl Into<Arc<str>>) -> ObjectRef {
        ObjectRef::new(resource, Arc::clone(&self.head.namespace), name)
    }

    /// Reference that makes an object ours.
    pub fn owner_reference(&self) -> Value {
        json!({
            "apiVersion": self.resource.api_version(),
            "kind": self.resource.kind(),
            "name": self.name,
            "uid": self.uid.as_str(),
            "controller": true,
            "blockOwnerDeletion": true,
        })
    }

    pub fn revision(&self, hash: &RevisionHash) -> Option<&'a Revision> {
        self.revisions.iter().map(AsRef::as_ref).find(|one| one.name.hash() == *hash)
    }

    pub fn status_write(&self, status: &Value) -> Write {
        let body = json!({"metadata": {"uid": self.uid.as_str()}, "status": status});
        Write::patch(self.itself(), Part::Status, Patch::Merge(body))
    }

    /// The answer to a revision that could not be stored because another one has its name (SM-5): count, and plan again.
    pub fn collided(&self) -> Write {
        let count = self.collisions().saturating_add(1);
        self.status_write(&json!({"collisionCount": count}))
    }

    /// Takes our owner reference off a pod; `None` if it has none.
    pub fn release(&self, pod: &PodView) -> Option<Write> {
        let position = pod.owners.iter().position(|owner| owner.uid == self.uid)?;
        let path = format!("/metadata/ownerReferences/{position}");
        let ops = vec![Op::test(&format!("{path}/uid"), self.uid.as_str()), Op::Remove { path }];
        Some(Write::patch(pod.object(), Part::Object, Patch::Json(ops)))
    }
}
