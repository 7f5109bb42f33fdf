//! Condition types and readiness gates of the wire format, with the states they name.

/// Readiness gate and pod condition. Written by the in-place engine and the kinds that use it; read by the kubelet and the node agent.
pub const IN_PLACE_UPDATE_READY: &str = "InPlaceUpdateReady";
/// Readiness gate and pod condition. Written by admission, the readiness controller and whoever takes a pod out of service; read by the kubelet.
pub const KRUISE_POD_READY: &str = "KruisePodReady";
/// Pod condition. Written by the SidecarSet controller: can every SidecarSet upgrade this pod in place; read by people.
pub const SIDECARSET_UPGRADABLE: &str = "SidecarSetUpgradable";
/// Pod condition. Written by the sidecar terminator; read by it and by admission of ContainerRecreateRequests.
pub const SIDECAR_TERMINATED: &str = "SidecarTerminated";
/// Pod condition. Written by the kubelet and, after a change of gates, by us; read by everybody.
pub const POD_READY: &str = "Ready";
/// Pod condition. Written by the kubelet: all init containers have finished; read by the marker controllers.
pub const POD_INITIALIZED: &str = "Initialized";
/// Pod conditions that Kubernetes or Kruise writes: no probe may.
pub const NATIVE: [&str; 6] =
    ["PodScheduled", POD_INITIALIZED, POD_READY, "ContainersReady", KRUISE_POD_READY, IN_PLACE_UPDATE_READY];

/// Condition of workloads, ours. Written by their controllers: why nothing moves; gone when something does; read by people and the CLI.
pub const WAITING: &str = "Waiting";
/// SidecarSet condition, ours. Written by its controller: pods that it selects do not have its sidecars, and why; read by people and the CLI.
pub const SIDECARSET_NOT_INJECTED: &str = "NotInjected";
/// SidecarSet condition, ours. Written by its controller: the revision that new pods are pinned to is gone; read by people.
pub const SIDECARSET_REVISION_MISSING: &str = "RevisionMissing";
/// CloneSet condition. Written by its controller when scaling failed; read by people.
pub const CLONESET_FAILED_SCALE: &str = "FailedScale";
/// CloneSet condition. Written by its controller when updating failed; read by people.
pub const CLONESET_FAILED_UPDATE: &str = "FailedUpdate";
/// CloneSet condition. Written by its controller; read by the CLI and deployment tools.
pub const CLONESET_PROGRESSING: &str = "Progressing";

/// StatefulSet condition. Written by its controller when a pod could not be created; read by people.
pub const STATEFULSET_FAILED_CREATE_POD: &str = "FailedCreatePod";
/// StatefulSet condition. Written by its controller when a pod could not be updated; read by people.
pub const STATEFULSET_FAILED_UPDATE_POD: &str = "FailedUpdatePod";

/// BroadcastJob condition. Written by its controller at a good end; read by AdvancedCronJob and the CLI.
pub const JOB_COMPLETE: &str = "Complete";
/// BroadcastJob condition. Written by its controller at a bad end; read by AdvancedCronJob and the CLI.
pub const JOB_FAILED: &str = "Failed";

/// EphemeralJob condition. Written by its controller at the first reconcile; read by people.
pub const EPHEMERALJOB_INITIALIZED: &str = "Initialized";
/// EphemeralJob condition. Written by its controller when no pod matches; read by people.
pub const EPHEMERALJOB_MATCHED_EMPTY: &str = "MatchedEmpty";
/// EphemeralJob condition. Written by its controller when all containers succeeded; read by people.
pub const EPHEMERALJOB_SUCCEEDED: &str = "JobSucceeded";
/// EphemeralJob condition. Written by its controller when the job failed; read by people.
pub const EPHEMERALJOB_FAILED: &str = "JobFailed";
/// EphemeralJob condition. Written by its controller when it cannot work at all; read by people.
pub const EPHEMERALJOB_ERROR: &str = "JobError";

/// UnitedDeployment condition. Written by its controller: all subset workloads exist; read by people.
pub const SUBSET_PROVISIONED: &str = "SubsetProvisioned";
/// UnitedDeployment condition. Written by its controller: all subset workloads are updated; read by people.
pub const SUBSET_UPDATED: &str = "SubsetUpdated";
/// UnitedDeployment condition. Written by its controller when a subset failed; read by people.
pub const SUBSET_FAILURE: &str = "SubsetFailure";
/// UnitedDeployment condition. Written by its controller: the wanted revision is in place; read by itself for reservation.
pub const UNITEDDEPLOYMENT_UPDATED: &str = "UnitedDeploymentUpdated";
/// Subset condition of UnitedDeployment and WorkloadSpread. Written by the controller; read by it and by admission of pods.
pub const SUBSET_SCHEDULABLE: &str = "Schedulable";

/// ResourceDistribution condition (True is bad). Written by its controller; read by people.
pub const DISTRIBUTION_GET_FAILED: &str = "GetResourceFailed";
/// ResourceDistribution condition (True is bad). Written by its controller; read by people.
pub const DISTRIBUTION_CREATE_FAILED: &str = "CreateResourceFailed";
/// ResourceDistribution condition (True is bad). Written by its controller; read by people.
pub const DISTRIBUTION_UPDATE_FAILED: &str = "UpdateResourceFailed";
/// ResourceDistribution condition (True is bad). Written by its controller; read by people.
pub const DISTRIBUTION_DELETE_FAILED: &str = "DeleteResourceFailed";
/// ResourceDistribution condition (True is bad). Written by its controller: a foreign object has the name; read by people.
pub const DISTRIBUTION_CONFLICT: &str = "ConflictOccurred";
/// ResourceDistribution condition (True is bad). Written by its controller: a listed namespace is missing; read by people.
pub const DISTRIBUTION_NAMESPACE_MISSING: &str = "NamespaceNotExists";
/// The six conditions of a ResourceDistribution in the order in which they are always written.
pub const DISTRIBUTION_ORDER: [&str; 6] = [
    DISTRIBUTION_GET_FAILED,
    DISTRIBUTION_CREATE_FAILED,
    DISTRIBUTION_UPDATE_FAILED,
    DISTRIBUTION_DELETE_FAILED,
    DISTRIBUTION_CONFLICT,
    DISTRIBUTION_NAMESPACE_MISSING,
];

/// ContainerRecreateRequest condition. Written by the manager when the pod was made unready; read by the node agent.
pub const PRE_RECREATE_GRACE: &str = "PreRecreateGrace";
/// ContainerRecreateRequest condition. Written by the node agent before it stops a container by force: which ones; read by it after a crash.
pub const STOP_ISSUED: &str = "StopIssued";

/// User agent in the message of [`KRUISE_POD_READY`]. Written and read by lifecycle hooks.
pub const NOT_READY_LIFECYCLE: &str = "Lifecycle";
/// Key beside [`NOT_READY_LIFECYCLE`] while a pre-delete hook holds a pod.
pub const NOT_READY_PRE_DELETE_HOOK: &str = "preDeleteHook";
/// Key beside [`NOT_READY_LIFECYCLE`] while a pre-update hook holds a pod.
pub const NOT_READY_PRE_UPDATE_HOOK: &str = "preUpdateHook";
/// User agent in the message of [`KRUISE_POD_READY`] while a ContainerRecreateRequest drains a pod.
pub const NOT_READY_CRR: &str = "ContainerRecreateRequest";
