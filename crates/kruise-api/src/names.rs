//! Fixed names of objects, event sources and groups.

/// API group of all kinds but one.
pub const APPS_GROUP: &str = "apps.kruise.io";
/// API group of PodUnavailableBudget.
pub const POLICY_GROUP: &str = "policy.kruise.io";
/// Namespace of the installation unless the environment says otherwise.
pub const NAMESPACE: &str = "kruise-system";
/// Namespace of synced pull secrets unless the environment says otherwise.
pub const DAEMON_CONFIG_NAMESPACE: &str = "kruise-daemon-config";
/// Service in front of the webhook server; written into CRDs and webhook configurations.
pub const WEBHOOK_SERVICE: &str = "kruise-webhook-service";
/// Secret with the certificates of the webhook server.
pub const WEBHOOK_CERTS_SECRET: &str = "kruise-webhook-certs";
/// Path of the webhook server that converts between versions; written into CRDs, read by the API server.
pub const CONVERT_PATH: &str = "/convert";

/// ConfigMap with whitelists; written by users, read by the manager.
pub const CONFIGURATION: &str = "kruise-configuration";
/// ConfigMap in the manager's namespace, ours. Written and read by the webhooks of all replicas: SidecarSets that are about to be stored.
pub const SIDECARSET_ADMISSIONS: &str = "kruise-sidecarset-admissions";
/// Key in [`CONFIGURATION`]: annotations a SidecarSet may patch.
pub const CONFIGURATION_SIDECARSET: &str = "SidecarSet_PatchPodMetadata_WhiteList";
/// Key in [`CONFIGURATION`]: workload kinds for PersistentPodState.
pub const CONFIGURATION_PERSISTENT_POD_STATE: &str = "PPS_Watch_Custom_Workload_WhiteList";
/// Key in [`CONFIGURATION`]: workload kinds for WorkloadSpread.
pub const CONFIGURATION_WORKLOADSPREAD: &str = "WorkloadSpread_Watch_Custom_Workload_WhiteList";

/// Prefix of ContainerRecreateRequests made by the sidecar terminator; the pod's uid follows.
pub const SIDECAR_TERMINATION_PREFIX: &str = "sidecar-termination-";
/// Suffix of the ConfigMap that orders container starts; the pod's name stands before it.
pub const BARRIER_SUFFIX: &str = "-barrier";
/// Prefix of keys in the barrier ConfigMap; the priority follows.
pub const BARRIER_KEY_PREFIX: &str = "p_";
/// Key of WorkloadSpread's versioned statuses for pods without a version.
pub const VERSION_IGNORED: &str = "versionIgnored";
/// Scheduler name that marks pods placed by the DaemonSet controller itself.
pub const DAEMONSET_SCHEDULER: &str = "kubernetes.io/daemonset-controller";

/// Event sources: the `component` of the events each part writes.
pub mod component {
    /// CloneSet controller.
    pub const CLONESET: &str = "cloneset-controller";
    /// StatefulSet controller.
    pub const STATEFULSET: &str = "statefulset-controller";
    /// DaemonSet controller.
    pub const DAEMONSET: &str = "daemonset-controller";
    /// BroadcastJob controller.
    pub const BROADCASTJOB: &str = "broadcastjob-controller";
    /// AdvancedCronJob controller.
    pub const ADVANCEDCRONJOB: &str = "advancedcronjob-controller";
    /// EphemeralJob controller.
    pub const EPHEMERALJOB: &str = "ephemeraljob-controller";
    /// SidecarSet controller.
    pub const SIDECARSET: &str = "sidecarset-controller";
    /// Sidecar terminator.
    pub const SIDECARTERMINATOR: &str = "sidecarterminator-controller";
    /// UnitedDeployment controller.
    pub const UNITEDDEPLOYMENT: &str = "uniteddeployment-controller";
    /// WorkloadSpread controller.
    pub const WORKLOADSPREAD: &str = "workloadspread-controller";
    /// ResourceDistribution controller.
    pub const RESOURCEDISTRIBUTION: &str = "resourcedistribution-controller";
    /// PodUnavailableBudget controller.
    pub const PODUNAVAILABLEBUDGET: &str = "podunavailablebudget-controller";
    /// Admission that refuses for a PodUnavailableBudget.
    pub const PUB_ADMISSION: &str = "pub-controller";
    /// PersistentPodState controller.
    pub const PERSISTENTPODSTATE: &str = "persistentpodstate-controller";
    /// Opens the readiness gate of pods that no workload of ours looks after.
    pub const POD_READINESS: &str = "pod-readiness-controller";
    /// Lets containers of a pod start one after the other.
    pub const LAUNCH_PRIORITY: &str = "container-launch-priority-controller";
    /// ContainerRecreateRequest controller.
    pub const CONTAINERRECREATEREQUEST: &str = "containerrecreaterequest-controller";
    /// NodeImage controller.
    pub const NODEIMAGE: &str = "nodeimage-controller";
    /// PodProbeMarker controller.
    pub const PODPROBEMARKER: &str = "podprobemarker-controller";
    /// NodePodProbe controller.
    pub const NODEPODPROBE: &str = "nodepodprobe-controller";
    /// ImagePullJob controller.
    pub const IMAGEPULLJOB: &str = "imagepulljob-controller";
    /// ImageListPullJob controller.
    pub const IMAGELISTPULLJOB: &str = "imagelistpulljob-controller";
    /// Image puller of the node agent.
    pub const DAEMON_IMAGEPULLER: &str = "kruise-daemon-imagepuller";
    /// Container recreation of the node agent.
    pub const DAEMON_CRR: &str = "kruise-daemon-crr";
    /// Probes of the node agent.
    pub const DAEMON_PODPROBE: &str = "kruise-daemon-podprobe";
    /// Container meta of the node agent.
    pub const DAEMON_CONTAINERMETA: &str = "kruise-daemon-containermeta";
}
