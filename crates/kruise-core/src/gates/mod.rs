//! Feature gates: every gate of the original with its stage, its default and what it needs. Specification: platform.md 3,
//! G1 … G6.

mod read;

use std::collections::BTreeSet;

pub use read::{GateFault, Said, names};

/// How likely a feature is to stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Alpha,
    Beta,
}

/// Whether a gate is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    On,
    Off,
}

/// What there is to know about a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// As users write it.
    pub name: &'static str,
    pub stage: Stage,
    pub default: Switch,
    /// The gate is off whenever one of these is off (G1, G2, G4).
    pub needs: &'static [Gate],
    /// What it switches.
    pub meaning: &'static str,
}

/// Declares [`Gate`] and what there is to know about each: name, stage, default, and the gates that it needs.
macro_rules! gates {
    ($( #[doc = $meaning:literal] $gate:ident = $name:literal $stage:ident $default:ident [$($needed:ident)*] )+) => {
        /// A feature gate of the original. Variants are called as users write them, without a `Gate` that only says what it is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Gate {
            $( #[doc = $meaning] $gate, )+
        }

        impl Gate {
            /// All gates, in the order of the specification.
            pub const ALL: &'static [Self] = &[$(Self::$gate),+];

            pub const fn about(self) -> About {
                match self {
                    $( Self::$gate => About {
                        name: $name,
                        stage: Stage::$stage,
                        default: Switch::$default,
                        needs: &[$(Self::$needed),*],
                        meaning: $meaning.trim_ascii_start(),
                    }, )+
                }
            }
        }
    };
}

gates! {
    /// Webhooks for pods, which most of the other kinds need
    PodWebhook = "PodWebhook" Beta On []
    /// Everything that needs the node agent
    KruiseDaemon = "KruiseDaemon" Beta On []
    /// The node agent watches the pods of its node
    DaemonWatchingPod = "DaemonWatchingPod" Beta On [KruiseDaemon]
    /// Pods of a CloneSet carry only the hash of their revision in its label
    CloneSetShortHash = "CloneSetShortHash" Alpha Off []
    /// Every pod gets the readiness gate `KruisePodReady`, not only pods of Kruise workloads
    KruisePodReadinessGate = "KruisePodReadinessGate" Alpha Off [PodWebhook]
    /// Nodes pull the new image of a CloneSet or StatefulSet before their pods are updated in place
    PreDownloadImageForInPlaceUpdate = "PreDownloadImageForInPlaceUpdate" Alpha Off [KruiseDaemon]
    /// A raised partition brings updated pods of a CloneSet back to the old revision
    CloneSetPartitionRollback = "CloneSetPartitionRollback" Alpha Off []
    /// Deletion protection for namespaces, CRDs, services and workloads
    ResourcesDeletionProtection = "ResourcesDeletionProtection" Beta Off []
    /// WorkloadSpread
    WorkloadSpread = "WorkloadSpread" Beta On [PodWebhook]
    /// PodUnavailableBudget guards against deletion and eviction
    PodUnavailableBudgetDelete = "PodUnavailableBudgetDeleteGate" Beta On [PodWebhook]
    /// PodUnavailableBudget guards against updates and resizes in place
    PodUnavailableBudgetUpdate = "PodUnavailableBudgetUpdateGate" Alpha Off [PodWebhook]
    /// Pod templates are stored without defaults
    TemplateNoDefaults = "TemplateNoDefaults" Alpha Off []
    /// Environment variables that come from labels or annotations are updated in place
    InPlaceUpdateEnvFromMetadata = "InPlaceUpdateEnvFromMetadata" Beta On [KruiseDaemon]
    /// Retention policy for the PVCs of a StatefulSet
    StatefulSetAutoDeletePvc = "StatefulSetAutoDeletePVC" Beta On []
    /// A SidecarSet may patch every annotation of a pod
    SidecarSetPatchPodMetadataDefaultsAllowed = "SidecarSetPatchPodMetadataDefaultsAllowed" Alpha Off [PodWebhook]
    /// Sidecars end with the main containers of a job
    SidecarTerminator = "SidecarTerminator" Alpha Off [KruiseDaemon]
    /// PodProbeMarker
    PodProbeMarker = "PodProbeMarkerGate" Beta On [KruiseDaemon]
    /// Nodes pull the new image of a DaemonSet before their pods are updated
    PreDownloadImageForDaemonSetUpdate = "PreDownloadImageForDaemonSetUpdate" Alpha Off [KruiseDaemon]
    /// A CloneSet is planned only for pod events that can change its plan
    CloneSetEventHandlerOptimization = "CloneSetEventHandlerOptimization" Alpha Off []
    /// Pods in state PreparingUpdate count as updated
    PreparingUpdateAsUpdate = "PreparingUpdateAsUpdate" Alpha Off []
    /// ImagePullJob and ImageListPullJob
    ImagePullJob = "ImagePullJobGate" Alpha Off [KruiseDaemon]
    /// ResourceDistribution
    ResourceDistribution = "ResourceDistributionGate" Beta Off []
    /// Deletion protection of a CRD looks at the objects that would go with it
    DeletionProtectionForCrdCascading = "DeletionProtectionForCRDCascadingGate" Alpha Off [ResourcesDeletionProtection]
    /// Liveness probes are run by a PodProbeMarker
    EnhancedLivenessProbe = "EnhancedLivenessProbe" Alpha Off [PodWebhook KruiseDaemon]
    /// Changed volume claim templates of a CloneSet recreate its pods
    RecreatePodWhenChangeVctInCloneSet = "RecreatePodWhenChangeVCTInCloneSetGate" Alpha Off []
    /// Ordinals of a StatefulSet begin at `spec.ordinals.start`
    StatefulSetStartOrdinal = "StatefulSetStartOrdinal" Alpha Off []
    /// Pods of a StatefulSet carry their ordinal in a label
    PodIndexLabel = "PodIndexLabel" Beta On []
    /// Certificates of the webhooks come from outside, for example from cert-manager
    EnableExternalCerts = "EnableExternalCerts" Alpha Off []
    /// PVCs of a StatefulSet grow with its volume claim templates
    StatefulSetAutoResizePvc = "StatefulSetAutoResizePVCGate" Alpha Off []
    /// The original forgets a deletion that it has waited for too long; here every write is waited for
    ForceDeleteTimeoutExpectation = "ForceDeleteTimeoutExpectationGate" Alpha Off []
    /// CPU and memory of a workload's pods are changed in place
    InPlaceWorkloadVerticalScaling = "InPlaceWorkloadVerticalScaling" Alpha Off []
    /// PodProbeMarker on serverless nodes
    EnablePodProbeMarkerOnServerless = "EnablePodProbeMarkerOnServerless" Alpha Off [PodWebhook]
    /// Sidecars are injected in the order of their names
    EnableSortSidecarContainerByName = "EnableSortSidecarContainerByName" Alpha Off []
    /// PodUnavailableBudget guards against resizes of pods
    InPlacePodVerticalScaling = "InPlacePodVerticalScaling" Alpha Off []
    /// Container ports of a template with host network get their host ports
    DefaultHostNetworkHostPortsInPodTemplates = "DefaultHostNetworkHostPortsInPodTemplates" Alpha Off []
    /// Nodes that a DaemonSet does not fit any more count neither for its partition nor for its limits
    DaemonSetPruneIneligibleNodes = "DaemonSetPruneIneligibleNodes" Alpha Off []
}

/// The gates that are on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gates(BTreeSet<Gate>);

impl Gates {
    pub fn on(&self, gate: Gate) -> bool {
        self.0.contains(&gate)
    }

    #[must_use]
    pub fn with(mut self, gate: Gate) -> Self {
        self.set(gate, Switch::On);
        self
    }

    #[must_use]
    pub fn without(mut self, gate: Gate) -> Self {
        self.set(gate, Switch::Off);
        self
    }

    fn set(&mut self, gate: Gate, state: Switch) {
        match state {
            Switch::On => self.0.insert(gate),
            Switch::Off => self.0.remove(&gate),
        };
    }

    fn set_stage(&mut self, stage: Stage, state: Switch) {
        // G6: who wants every experiment does not want to bring certificates.
        let meant = |gate: &Gate| gate.about().stage == stage && *gate != Gate::EnableExternalCerts;
        for gate in Gate::ALL.iter().copied().filter(meant) {
            self.set(gate, state);
        }
    }

    /// What follows from other gates overrides what was said about a gate itself.
    fn derive(&mut self) {
        for gate in Gate::ALL.iter().copied() {
            if !gate.about().needs.iter().all(|needed| self.on(*needed)) {
                self.set(gate, Switch::Off);
            }
        }
        // G3
        if self.on(Gate::PreDownloadImageForInPlaceUpdate)
            || self.on(Gate::PreDownloadImageForDaemonSetUpdate)
        {
            self.set(Gate::ImagePullJob, Switch::On);
        }
    }
}

/// The original's defaults.
impl Default for Gates {
    fn default() -> Self {
        Self(Gate::ALL.iter().copied().filter(|gate| gate.about().default == Switch::On).collect())
    }
}
