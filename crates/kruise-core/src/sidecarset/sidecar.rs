//! One sidecar: the container that goes into pods, and how it gets there.

use std::collections::BTreeSet;
use std::sync::Arc;

use kruise_api::apps::sidecarset::{
    PatchPodMetadata, PatchPolicy, PodInjectPolicy, ShareVolumePolicy, ShareVolumeType, SidecarContainer,
    TransferEnv, UpgradeType,
};
use kruise_api::kubernetes::RESTART_ALWAYS;
use serde_json::Value;

use super::resources::Policy;
use crate::fault::Fault;
use crate::pod::EnvSource;

/// Everything that a revision of a SidecarSet records.
#[derive(Debug, Clone, Default)]
pub struct Sidecars {
    pub containers: Vec<Sidecar>,
    pub init: Vec<Sidecar>,
    pub volumes: Vec<Value>,
    pub pull_secrets: Vec<Value>,
    pub patches: Vec<MetadataPatch>,
}

#[derive(Debug, Clone)]
pub struct Sidecar {
    pub name: Arc<str>,
    pub image: Arc<str>,
    /// As a pod has it: without what only Kruise knows.
    pub container: Value,
    pub place: Place,
    pub upgrade: Upgrade,
    pub volumes: Sharing,
    pub devices: Sharing,
    pub transfers: Vec<Transfer>,
    pub resources: Option<Policy>,
    /// `restartPolicy: Always` of an init container.
    pub is_native: bool,
}

/// Where it stands among the pod's own containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Before,
    After,
}

/// How it is upgraded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Upgrade {
    Cold,
    /// A twin with this image waits until it takes over.
    Hot {
        empty: Arc<str>,
    },
}

/// Whether it gets what the pod's own containers mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    Enabled,
    Disabled,
}

/// Variables to copy from a container of the pod (SS-37).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    pub from: TransferSource,
    /// Sorted, each once.
    pub names: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransferSource {
    Container(String),
    /// The label or annotation of the pod names the container.
    Field(EnvSource),
    /// A field that no pod has.
    Nowhere,
}

/// Annotations that pods get (SS-48).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataPatch {
    pub annotations: Vec<(String, String)>,
    pub policy: Patching,
}

/// What happens to an annotation that the pod has already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patching {
    Retain,
    Overwrite,
    MergeJson,
    /// A word that nobody knows: nothing is patched.
    Unknown,
}

/// What a container of a SidecarSet has beyond one of a pod.
pub const OWN_FIELDS: [&str; 6] = [
    "podInjectPolicy",
    "upgradeStrategy",
    "shareVolumePolicy",
    "shareVolumeDevicePolicy",
    "transferEnv",
    "resourcesPolicy",
];

impl Sidecars {
    /// From the spec of a SidecarSet, or from the data of a revision.
    pub fn read(spec: &Value) -> Result<Self, Fault> {
        let items = |field: &str| spec.get(field).and_then(Value::as_array).into_iter().flatten();
        let containers = |field: &'static str, default: Place| {
            let read = |(i, one): (usize, &Value)| {
                Sidecar::read(one, default)
                    .map_err(|fault| Fault { field: format!("spec.{field}[{i}].{}", fault.field), ..fault })
            };
            items(field).enumerate().map(read).collect::<Result<Vec<_>, _>>()
        };
        let patch = |one: &Value| kruise_api::read_part::<PatchPodMetadata>(one.clone()).ok();
        Ok(Self {
            containers: containers("containers", Place::Before)?,
            init: containers("initContainers", Place::After)?
                .into_iter()
                // SS-41: only a native sidecar runs long enough to be upgraded.
                .map(|one| if one.is_native { one } else { Sidecar { upgrade: Upgrade::Cold, ..one } })
                .collect(),
            volumes: items("volumes").cloned().collect(),
            pull_secrets: items("imagePullSecrets").cloned().collect(),
            patches: items("patchPodMetadata").filter_map(patch).map(MetadataPatch::of).collect(),
        })
    }

    /// Names on the side of the SidecarSet, of those that keep running (3.1).
    pub fn list(&self) -> Vec<&str> {
        let native = self.init.iter().filter(|one| one.is_native);
        let mut names: Vec<&str> =
            self.containers.iter().chain(native).map(|one| one.name.as_ref()).collect();
        names.sort_unstable();
        names
    }

    /// Names of all containers that it puts into a pod.
    pub fn pod_names(&self) -> impl Iterator<Item = String> {
        self.containers.iter().chain(&self.init).flat_map(Sidecar::pod_names)
    }

    pub fn has_hot(&self) -> bool {
        self.containers.iter().any(Sidecar::is_hot)
    }
}

impl Sidecar {
    fn read(container: &Value, default: Place) -> Result<Self, Fault> {
        let fault = |error: &kruise_api::ReadError| Fault::new(error.path.clone(), &error.problem);
        let wire: SidecarContainer =
            kruise_api::read_part(container.clone()).map_err(|error| fault(&error))?;
        let text = |field: &str| container.get(field).and_then(Value::as_str).unwrap_or_default();
        let mut bare = container.clone();
        if let Some(fields) = bare.as_object_mut() {
            fields.retain(|field, _| !OWN_FIELDS.contains(&field.as_str()));
        }
        let strategy = wire.upgrade_strategy.unwrap_or_default();
        let upgrade = match strategy.upgrade_type {
            Some(UpgradeType::HotUpgrade) => {
                Upgrade::Hot { empty: strategy.hot_upgrade_empty_image.unwrap_or_default().into() }
            }
            None | Some(UpgradeType::ColdUpgrade | UpgradeType::Other(_)) => Upgrade::Cold,
        };
        let place = match wire.pod_inject_policy {
            Some(PodInjectPolicy::BeforeAppContainer) => Place::Before,
            Some(PodInjectPolicy::AfterAppContainer) => Place::After,
            None | Some(PodInjectPolicy::Other(_)) => default,
        };
        let sharing = |policy: Option<ShareVolumePolicy>| match policy.and_then(|policy| policy.r#type) {
            Some(ShareVolumeType::Enabled) => Sharing::Enabled,
            None | Some(ShareVolumeType::Disabled | ShareVolumeType::Other(_)) => Sharing::Disabled,
        };
        Ok(Self {
            name: text("name").into(),
            image: text("image").into(),
            is_native: text("restartPolicy") == RESTART_ALWAYS,
            container: bare,
            place,
            upgrade,
            volumes: sharing(wire.share_volume_policy),
            devices: sharing(wire.share_volume_device_policy),
            transfers: wire.transfer_env.into_iter().flatten().map(Transfer::of).collect(),
            resources: wire.resources_policy.map(Policy::of).transpose()?,
        })
    }

    pub fn is_hot(&self) -> bool {
        match self.upgrade {
            Upgrade::Hot { .. } => true,
            Upgrade::Cold => false,
        }
    }

    /// Both twins of a hot upgrade, the first one first (SS-41).
    pub fn twins(&self) -> [String; 2] {
        [format!("{}-1", self.name), format!("{}-2", self.name)]
    }

    /// Its names in a pod.
    pub fn pod_names(&self) -> Vec<String> {
        if self.is_hot() { self.twins().to_vec() } else { vec![self.name.to_string()] }
    }
}

impl Transfer {
    fn of(wire: TransferEnv) -> Self {
        let names = wire.env_name.into_iter().chain(wire.env_names.into_iter().flatten());
        let field = wire.source_container_name_from.and_then(|from| from.field_ref);
        let from = match field {
            Some(field) => {
                EnvSource::read(&field.field_path).map_or(TransferSource::Nowhere, TransferSource::Field)
            }
            None => TransferSource::Container(wire.source_container_name.unwrap_or_default()),
        };
        Self { from, names: names.filter(|name| !name.is_empty()).collect() }
    }
}

impl MetadataPatch {
    fn of(wire: PatchPodMetadata) -> Self {
        let policy = match wire.patch_policy {
            None | Some(PatchPolicy::Retain) => Patching::Retain,
            Some(PatchPolicy::Overwrite) => Patching::Overwrite,
            Some(PatchPolicy::MergePatchJson) => Patching::MergeJson,
            Some(PatchPolicy::Other(word)) if word.is_empty() => Patching::Retain,
            Some(PatchPolicy::Other(_)) => Patching::Unknown,
        };
        Self { annotations: wire.annotations.into_iter().flatten().collect(), policy }
    }
}
