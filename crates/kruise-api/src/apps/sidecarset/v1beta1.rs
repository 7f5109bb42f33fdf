//! SidecarSet v1beta1, the hub.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{
        Condition, Extra, IntOrString, LabelSelector, LocalObjectReference, ObjectFieldSelector, RawJson,
        StringMap, UpdatePriorityStrategy, UpdateScatterTerm,
    },
    wire_enum::wire_enum,
};

kind! {
    /// Puts containers into pods when they are created, and upgrades them later without touching the application.
    #[schemars(transform = rules::jobs::name)]
    Cluster SidecarSet(APPS_GROUP, "v1beta1", "sidecarsets") {
        /// Which containers go into which pods.
        spec: SidecarSetSpec,
        status: SidecarSetStatus,
    }
}

/// Which containers go into which pods.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::sidecarset::spec)]
pub struct SidecarSetSpec<X = Extra> {
    /// Sidecars.
    #[schemars(transform = rules::bounded)]
    pub containers: Option<Vec<SidecarContainer>>,
    /// Name that the user gives to the present revision.
    #[schemars(transform = rules::sidecarset::label_value)]
    pub custom_version: Option<String>,
    /// Secrets that pods get to pull the sidecars.
    pub image_pull_secrets: Option<Vec<LocalObjectReference>>,
    /// Init containers. With restartPolicy Always they are sidecars.
    #[schemars(transform = rules::sidecarset::init_containers)]
    pub init_containers: Option<Vec<SidecarContainer>>,
    /// Whether, and in which revision, new pods get the containers.
    pub injection_strategy: Option<InjectionStrategy>,
    /// Namespaces of the pods. All namespaces if not given.
    #[schemars(transform = rules::selector)]
    pub namespace_selector: Option<LabelSelector>,
    /// Annotations that pods get.
    #[schemars(transform = rules::sidecarset::patches)]
    pub patch_pod_metadata: Option<Vec<PatchPodMetadata>>,
    /// How many old revisions are kept. 10 if not given.
    #[schemars(range(min = 0))]
    pub revision_history_limit: Option<i32>,
    /// The pods. Must be given and must not be empty.
    #[schemars(transform = rules::selector)]
    pub selector: Option<LabelSelector>,
    /// How sidecars of running pods are upgraded.
    pub update_strategy: Option<SidecarSetUpdateStrategy>,
    /// Volumes that the containers may mount.
    #[serde(default, deserialize_with = "crate::parts::null_too")]
    pub volumes: Option<RawJson>,
    /// Fields of newer releases, and those that only an older version has.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: X,
}

/// A container as in a pod, with settings for injection and upgrade.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SidecarContainer {
    /// Before or after the pod's own containers.
    pub pod_inject_policy: Option<PodInjectPolicy>,
    /// Computes the resources from those of the pod's containers.
    pub resources_policy: Option<ResourcesPolicy>,
    /// Whether the volume devices of the pod's containers are shared.
    pub share_volume_device_policy: Option<ShareVolumePolicy>,
    /// Whether the volume mounts of the pod's containers are shared.
    pub share_volume_policy: Option<ShareVolumePolicy>,
    /// Environment variables to copy from the pod's containers.
    pub transfer_env: Option<Vec<TransferEnv>>,
    /// How this sidecar is upgraded.
    pub upgrade_strategy: Option<SidecarUpgradeStrategy>,
    /// The container itself: name, image and all else that a pod knows, as given.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// Where a sidecar stands in the list of containers.
    closed or empty enum PodInjectPolicy {
        /// Before the pod's own containers.
        BeforeAppContainer = "BeforeAppContainer",
        /// After the pod's own containers.
        AfterAppContainer = "AfterAppContainer",
    }
}

/// Computes resources from those of the pod's containers.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourcesPolicy {
    /// The formulas.
    #[schemars(transform = rules::sidecarset::expressions)]
    pub resources_expr: ResourcesExpr,
    /// sum adds the containers up, max takes the largest.
    pub target_containers_mode: TargetContainersMode,
    /// Which containers count, by a pattern for their names.
    #[schemars(length(min = 1), extend("x-default" = ".*"))]
    pub target_containers_name_regex: Option<String>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// How the resources of several containers become one number.
    closed enum TargetContainersMode {
        /// They are added up.
        Sum = "sum",
        /// The largest is taken.
        Max = "max",
    }
}

/// Formulas for limits and requests.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourcesExpr {
    /// Limits.
    pub limits: Option<ResourceFormulas>,
    /// Requests.
    pub requests: Option<ResourceFormulas>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Formulas with the variables cpu and memory.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceFormulas {
    /// Formula for cpu.
    pub cpu: Option<String>,
    /// Formula for memory.
    pub memory: Option<String>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Whether volumes of the pod's containers are shared.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShareVolumePolicy {
    /// enabled or disabled. disabled if not given.
    pub r#type: Option<ShareVolumeType>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// Whether volumes of the pod's containers are shared.
    closed or empty enum ShareVolumeType {
        /// They are.
        Enabled = "enabled",
        /// They are not.
        Disabled = "disabled",
    }
}

/// Environment variables to copy from one of the pod's containers.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferEnv {
    /// Name of one variable.
    pub env_name: Option<String>,
    /// Names of further variables.
    pub env_names: Option<Vec<String>>,
    /// The container to copy from.
    pub source_container_name: Option<String>,
    /// Where the name of the container is found; wins over sourceContainerName.
    pub source_container_name_from: Option<SourceContainerNameSource>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Where the name of a container is found.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::sidecarset::source)]
pub struct SourceContainerNameSource {
    /// A label or annotation of the pod, such as `metadata.labels['app']`.
    pub field_ref: Option<ObjectFieldSelector>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// How a sidecar is upgraded.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::sidecarset::hot_upgrade)]
pub struct SidecarUpgradeStrategy {
    /// Image of the idle twin. Needed for HotUpgrade.
    pub hot_upgrade_empty_image: Option<String>,
    /// ColdUpgrade replaces the container; HotUpgrade starts a twin first. ColdUpgrade if not given.
    pub upgrade_type: Option<UpgradeType>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// How a sidecar is upgraded.
    closed or empty enum UpgradeType {
        /// It is replaced.
        ColdUpgrade = "ColdUpgrade",
        /// A twin takes over before it goes.
        HotUpgrade = "HotUpgrade",
    }
}

/// Whether, and in which revision, new pods get the containers.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InjectionStrategy {
    /// New pods get nothing.
    pub paused: Option<bool>,
    /// The revision that new pods get. The newest if not given.
    #[schemars(transform = rules::sidecarset::revision)]
    pub revision: Option<InjectRevision>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// A revision, by one of its names.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InjectRevision {
    /// Name that the user gave.
    pub custom_version: Option<String>,
    /// Always injects this revision; Partial follows the update strategy for the rest.
    #[schemars(extend("x-default" = "Always"))]
    pub policy: Option<RevisionPolicy>,
    /// Name of the ControllerRevision; wins over customVersion.
    pub revision_name: Option<String>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// How far a pinned revision goes.
    closed enum RevisionPolicy {
        /// Every new pod gets it.
        Always = "Always",
        /// New pods get it as far as the update strategy holds them back.
        Partial = "Partial",
    }
}

/// Annotations that pods get.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatchPodMetadata {
    /// The annotations.
    pub annotations: Option<StringMap>,
    /// What happens if the pod has them already. Retain if not given.
    pub patch_policy: Option<PatchPolicy>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// What happens if the pod has an annotation already.
    closed or empty enum PatchPolicy {
        /// The pod's value stays.
        Retain = "Retain",
        /// The pod's value is replaced.
        Overwrite = "Overwrite",
        /// Both values are JSON and are merged.
        MergePatchJson = "MergePatchJson",
    }
}

/// How sidecars of running pods are upgraded.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::sidecarset::strategy)]
pub struct SidecarSetUpdateStrategy {
    /// How many pods may be unavailable during an upgrade. 1 if not given.
    #[schemars(transform = rules::whole_amount)]
    pub max_unavailable: Option<IntOrString>,
    /// How many pods stay on the old revision. 0 if not given. Excludes selector.
    #[schemars(transform = rules::whole_amount)]
    pub partition: Option<IntOrString>,
    /// Stops upgrading.
    pub paused: Option<bool>,
    /// Which pods are upgraded first.
    #[schemars(transform = rules::unchecked)]
    pub priority_strategy: Option<UpdatePriorityStrategy>,
    /// Which pods are spread over the upgrade.
    #[schemars(transform = rules::sidecarset::scatter)]
    pub scatter_strategy: Option<Vec<UpdateScatterTerm>>,
    /// Only pods with these labels are upgraded.
    pub selector: Option<LabelSelector>,
    /// RollingUpdate upgrades step by step, NotUpdate leaves running pods alone. RollingUpdate if not given.
    pub r#type: Option<SidecarSetUpdateType>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// Whether sidecars of running pods are upgraded.
    closed or empty enum SidecarSetUpdateType {
        /// They stay as they are.
        NotUpdate = "NotUpdate",
        /// They are upgraded step by step.
        RollingUpdate = "RollingUpdate",
    }
}

/// What the controller observed last.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SidecarSetStatus {
    /// Number of hash collisions that revision names had to avoid.
    pub collision_count: Option<i32>,
    /// Why pods do not have the sidecars, or are not upgraded.
    pub conditions: Option<Vec<Condition>>,
    /// Name of the present revision.
    pub latest_revision: Option<String>,
    /// Pods with these sidecars.
    pub matched_pods: i32,
    /// Generation of the spec that this status belongs to.
    pub observed_generation: Option<i64>,
    /// Pods that are ready.
    pub ready_pods: i32,
    /// Pods whose sidecars are up to date.
    pub updated_pods: i32,
    /// Updated pods that are ready.
    pub updated_ready_pods: Option<i32>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}
