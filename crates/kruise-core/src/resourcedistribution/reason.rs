//! Why a namespace is left alone. The closed list of this kind, and the texts of conditions that programs look for.

use kruise_api::reasons::waiting as names;

use super::content::Distributed;
use crate::reason::{KindReason, Reason};

/// In the condition `NamespaceNotExists`; upstream's words.
pub const NO_NAMESPACE: &str = "namespace not found or is terminating";
/// In the condition `ConflictOccurred`; upstream's words.
pub const CONFLICT: &str =
    "conflict with existing resources because of the same namespace, group, version, kind and name";

pub fn no_namespace() -> Reason {
    let text = "the namespace does not exist or is being deleted: it gets its copy when it is there";
    of_kind(names::NO_NAMESPACE, 3, text.to_owned())
}

pub fn conflict(resource: &Distributed) -> Reason {
    let (kind, name) = (resource.sort.resource().kind(), &resource.name);
    let text = format!(
        "there is a {kind} {name} that this distribution does not control: delete it, and the copy takes its place"
    );
    of_kind(names::CONFLICT, 4, text)
}

pub fn fixed(why: String) -> Reason {
    of_kind(names::COPY_FIXED, 4, why)
}

pub fn unread(why: &str) -> Reason {
    of_kind(names::COPY_UNREAD, 3, format!("the copy could not be read: {why}"))
}

pub fn next_batch() -> Reason {
    of_kind(names::NEXT_BATCH, 0, "its turn comes when the namespaces before it are done".to_owned())
}

fn of_kind(name: &'static str, weight: u8, text: String) -> Reason {
    Reason::OfKind(KindReason { name, weight, text })
}
