//! SidecarSet: containers for other people's pods. Specification: SS-1 and following.

pub mod v1alpha1;
pub mod v1beta1;

pub use v1beta1::{
    InjectRevision, InjectionStrategy, PatchPodMetadata, PatchPolicy, PodInjectPolicy, ResourceFormulas,
    ResourcesExpr, ResourcesPolicy, RevisionPolicy, ShareVolumePolicy, ShareVolumeType, SidecarContainer,
    SidecarSet, SidecarSetSpec, SidecarSetStatus, SidecarSetUpdateStrategy, SidecarSetUpdateType,
    SidecarUpgradeStrategy, SourceContainerNameSource, TargetContainersMode, TransferEnv, UpgradeType,
};
