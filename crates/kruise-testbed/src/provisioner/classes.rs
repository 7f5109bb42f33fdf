//! The storage classes of a test cluster, each with a conduct of its own.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use serde_json::{Value, json};

/// The default class; its claims can grow.
pub const STANDARD: &str = "standard";
/// Another one whose claims can grow.
pub const FAST: &str = "fast";
/// Claims of this class keep their size.
pub const FIXED: &str = "fixed";
/// Does not say whether its claims can grow: the API server refuses it then.
pub const UNSAID: &str = "unsaid";
/// Lets claims grow and never finishes, until the claim carries [`GO_ON`].
pub const SLOW: &str = "slow";
/// The volume grows, its file system only when another pod mounts it.
pub const OFFLINE: &str = "offline";
/// Has no room: its claims stay without a volume until they carry [`GO_ON`].
pub const BROKEN: &str = "broken";

/// Annotation by which a test repairs the storage behind one claim.
pub const GO_ON: &str = "testbed.kruise.io/go-on";

/// What the provisioner of these classes is called.
pub const PROVISIONER: &str = "testbed.kruise.io/host-path";

/// What happens to the claims of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conduct {
    Serves,
    /// Binds at once, grows when told to.
    GrowsWhenTold,
    /// Binds at once; the file system grows with the next pod.
    GrowsWithNextPod,
    BindsWhenTold,
}

/// Name, `allowVolumeExpansion`, conduct.
const CLASSES: [(&str, Option<bool>, Conduct); 7] = [
    (STANDARD, Some(true), Conduct::Serves),
    (FAST, Some(true), Conduct::Serves),
    (FIXED, Some(false), Conduct::Serves),
    (UNSAID, None, Conduct::Serves),
    (SLOW, Some(true), Conduct::GrowsWhenTold),
    (OFFLINE, Some(true), Conduct::GrowsWithNextPod),
    (BROKEN, Some(true), Conduct::BindsWhenTold),
];

/// Names and objects of all classes.
pub fn all() -> impl Iterator<Item = (&'static str, Value)> {
    CLASSES.into_iter().map(|(name, expands, _)| {
        let default = (name == STANDARD).to_string();
        let object = json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
            "metadata": {"name": name, "annotations": {"storageclass.kubernetes.io/is-default-class": default}},
            "provisioner": PROVISIONER, "allowVolumeExpansion": expands, "reclaimPolicy": "Delete",
        });
        (name, object)
    })
}

/// How the class of a claim behaves towards it. Classes that tests make themselves serve, if they name our provisioner.
pub fn conduct(claim: &PersistentVolumeClaim) -> Conduct {
    let name = claim.spec.as_ref().and_then(|spec| spec.storage_class_name.as_deref());
    let told = claim.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(GO_ON));
    match CLASSES.iter().find(|(class, ..)| Some(*class) == name).map(|(.., conduct)| *conduct) {
        Some(Conduct::GrowsWhenTold | Conduct::BindsWhenTold) if told => Conduct::Serves,
        found => found.unwrap_or(Conduct::Serves),
    }
}
