//! Reasons of events and conditions. Written by the controller named in the section, read by people and alerts.

/// Written by CloneSet, StatefulSet, DaemonSet, BroadcastJob and SidecarSet controllers as event reasons.
pub mod event {
    /// Normal, on the lease: who leads, and who does not any more.
    pub const LEADER_ELECTION: &str = "LeaderElection";
    /// Warning, by the PersistentPodState controller, ours: another object of the same target comes first.
    pub const PPS_SUPERSEDED: &str = "Superseded";
    /// Warning, by the PersistentPodState controller, ours: a record names a node that is gone.
    pub const PPS_NODE_LOST: &str = "RecordedNodeLost";
    /// Warning, by the PersistentPodState controller, ours: the object becomes too large.
    pub const PPS_NEAR_LIMIT: &str = "RecordsNearLimit";
    /// Warning, by any controller: planning or carrying out a plan failed because of a defect of ours.
    pub const PLANNER_PANIC: &str = "PlannerPanic";
    /// Normal, by every workload controller: a pod was created.
    pub const SUCCESSFUL_CREATE: &str = "SuccessfulCreate";
    /// Warning, by every workload controller: a pod or claim could not be created.
    pub const FAILED_CREATE: &str = "FailedCreate";
    /// Normal, by every workload controller: a pod was deleted.
    pub const SUCCESSFUL_DELETE: &str = "SuccessfulDelete";
    /// Warning, by every workload controller: a pod could not be deleted.
    pub const FAILED_DELETE: &str = "FailedDelete";
    /// Normal, by the StatefulSet controller: a pod was repaired.
    pub const SUCCESSFUL_UPDATE: &str = "SuccessfulUpdate";
    /// Warning, by CloneSet (owner of a claim) and StatefulSet controllers.
    pub const FAILED_UPDATE: &str = "FailedUpdate";
    /// Normal, by CloneSet, StatefulSet and DaemonSet controllers.
    pub const SUCCESSFUL_UPDATE_POD_IN_PLACE: &str = "SuccessfulUpdatePodInPlace";
    /// Warning, by CloneSet, StatefulSet and DaemonSet controllers.
    pub const FAILED_UPDATE_POD_IN_PLACE: &str = "FailedUpdatePodInPlace";
    /// Normal, by the CloneSet controller: a pod was marked to be recreated.
    pub const SUCCESSFUL_UPDATE_POD_RECREATE: &str = "SuccessfulUpdatePodReCreate";
    /// Warning, by the CloneSet controller.
    pub const FAILED_UPDATE_POD_RECREATE: &str = "FailedUpdatePodReCreate";
    /// Normal, by CloneSet and StatefulSet controllers, ours: a lifecycle hook holds a pod that is to be updated or deleted.
    pub const WAITING_FOR_HOOK: &str = "WaitingForHook";
    /// Warning, by the CloneSet controller: scale-out is limited by maxUnavailable.
    pub const SCALE_UP_LIMITED: &str = "ScaleUpLimited";
    /// Normal, by pre-download of all workload kinds.
    pub const CREATED_IMAGE_PULL_JOB: &str = "CreatedImagePullJob";
    /// Normal (sic), by pre-download of all workload kinds.
    pub const FAILED_CREATE_IMAGE_PULL_JOB: &str = "FailedCreateImagePullJob";
    /// Normal, by the StatefulSet controller: a claim was expanded.
    pub const SUCCESSFUL_RESIZE: &str = "SuccessfulResize";
    /// Warning, by the StatefulSet controller: a claim could not be expanded.
    pub const FAILED_RESIZE: &str = "FailedResize";
    /// Warning, by the StatefulSet controller: a claim could not be written.
    pub const FAILED_UPDATE_PVC: &str = "FailedUpdatePVC";
    /// Warning, by the DaemonSet controller: the selector matches everything.
    pub const SELECTING_ALL: &str = "SelectingAll";
    /// Warning, by the DaemonSet controller: a failed pod was found on a node.
    pub const FAILED_DAEMON_POD: &str = "FailedDaemonPod";
    /// Warning, by the BroadcastJob controller: a failed pod paused the job.
    pub const PAUSED: &str = "Paused";
    /// Warning, by the BroadcastJob controller, ours: a failed pod ended the job.
    pub const FAILED_POD_FOUND: &str = "FailedPodFound";
    /// Warning, by the BroadcastJob controller, ours: the scheduler finds no room for a pod on its node.
    pub const POD_UNSCHEDULABLE: &str = "PodUnschedulable";
    /// Warning, by the BroadcastJob controller, ours: a pod restarted more often than allowed and was stopped.
    pub const RESTART_LIMIT_EXCEEDED: &str = "RestartLimitExceeded";
    /// Normal, by the BroadcastJob controller: a failed pod was ignored.
    pub const CONTINUE: &str = "Continue";
    /// Warning, by the BroadcastJob controller.
    pub const TOO_MANY_ACTIVE_PODS: &str = "TooManyActivePods";
    /// Warning, by the BroadcastJob controller.
    pub const DUPLICATE_POD_ON_NODE: &str = "DuplicatePodCreatedOnSameNode";
    /// Normal, by the BroadcastJob controller.
    pub const JOB_COMPLETE: &str = "JobComplete";
    /// Warning, by the BroadcastJob controller; also a condition reason of EphemeralJob.
    pub const DEADLINE_EXCEEDED: &str = "DeadlineExceeded";
    /// Warning, by the EphemeralJob controller; also a condition reason.
    pub const CREATE_FAILED: &str = "CreateFailed";
    /// Warning, by the EphemeralJob controller.
    pub const REMOVE_FAILED: &str = "RemoveFailed";
    /// Warning, by the EphemeralJob controller, ours: a stored job selects every pod of its namespace.
    pub const EMPTY_SELECTOR: &str = "EmptySelector";
    /// Warning, by the ContainerRecreateRequest controller, ours: a request ended before all its containers were restarted.
    pub const RECREATE_UNFINISHED: &str = "RecreateUnfinished";
    /// Normal, by the SidecarSet controller: pods that cannot be upgraded in place.
    pub const NOT_UPGRADABLE_PODS: &str = "NotUpgradablePods";
    /// Normal, by the SidecarSet controller on pods, after a hot upgrade.
    pub const RESET_CONTAINER_SUCCEED: &str = "ResetContainerSucceed";
    /// Warning, by the SidecarSet controller on pods.
    pub const RESET_CONTAINER_FAILED: &str = "ResetContainerFailed";
    /// Warning, by the SidecarSet controller, ours: pods that it selects were created without its sidecars.
    pub const NOT_INJECTED_PODS: &str = "NotInjectedPods";
    /// Warning, by the SidecarSet controller, ours: the pinned revision is gone, and new pods are refused.
    pub const PINNED_REVISION_MISSING: &str = "PinnedRevisionMissing";
    /// Warning, by the SidecarSet controller, ours: a pod could not be upgraded.
    pub const FAILED_UPGRADE: &str = "FailedUpgrade";
    /// Normal, by the sidecar terminator on pods.
    pub const SIDECAR_TERMINATOR: &str = "SidecarTerminator";
    /// Warning, by the sidecar terminator on pods, ours: a sidecar keeps its job from ending.
    pub const SIDECAR_KEEPS_RUNNING: &str = "SidecarKeepsRunning";
    /// Normal, by the node agent on pods: a container is being stopped.
    pub const KILLING: &str = "Killing";
    /// Warning, by the node agent on pods.
    pub const FAILED_PRE_STOP_HOOK: &str = "FailedPreStopHook";
    /// Warning, by the node agent on its node: no container runtime answers.
    pub const CONTAINER_RUNTIME_NOT_FOUND: &str = "ContainerRuntimeNotFound";
    /// Normal, by the node agent on a NodeImage.
    pub const PULL_IMAGE_SUCCEED: &str = "PullImageSucceed";
    /// Warning, by the node agent and the NodeImage controller on jobs and NodeImages.
    pub const PULL_IMAGE_FAILED: &str = "PullImageFailed";
    /// Warning, by the ImagePullJob controller, ours: a secret that the job names does not exist.
    pub const PULL_SECRET_MISSING: &str = "PullSecretMissing";
    /// Warning, by the ImagePullJob controller, ours: a pull secret could not be copied for the nodes.
    pub const PULL_SECRET_FAILED: &str = "PullSecretFailed";
    /// Warning, by the ImageListPullJob controller, ours.
    pub const CHILD_PULL_JOB_FAILED: &str = "FailedImagePullJob";
    /// Normal, by the ImageListPullJob controller (the blanks are upstream's).
    pub const CREATED_CHILD_PULL_JOB: &str = "Successful create ImagePullJob";
    /// Normal, by the ImageListPullJob controller (the blanks are upstream's).
    pub const DELETED_CHILD_PULL_JOB: &str = "Successful delete ImagePullJob";
    /// Normal, by the node agent on pods: a probe succeeded.
    pub const PROBE_SUCCEEDED: &str = "KruiseProbeSucceeded";
    /// Normal, by the node agent on pods: a probe failed or is unknown.
    pub const PROBE_FAILED: &str = "KruiseProbeFailed";
    /// Normal, by the PodUnavailableBudget controller.
    pub const NO_PODS: &str = "NoPods";
    /// Warning, by the PodUnavailableBudget controller.
    pub const CALCULATE_EXPECTED_FAILED: &str = "CalculateExpectedPodCountFailed";
    /// Warning, by the PodUnavailableBudget controller on pods.
    pub const NOT_DELETED: &str = "NotDeleted";
    /// Warning, by admission on pods that a budget guards.
    pub const PUB_PREVENT_POD_DELETION: &str = "PubPreventPodDeletion";
    /// Warning, by the UnitedDeployment controller.
    pub const FAILED_REVISION_PROVISION: &str = "FailedRevisionProvision";
    /// Warning, by the UnitedDeployment controller.
    pub const FAILED_FIND_SUBSETS: &str = "FailedFindSubsets";
    /// Warning, by the UnitedDeployment controller, beside [`FAILED_FIND_SUBSETS`] (the blank is upstream's).
    pub const FAILED_FIND_SUBSETS_SPACED: &str = "Failed FindSubsets";
    /// Warning, by the UnitedDeployment controller.
    pub const FAILED_DELETE_DUPLICATED_SUBSETS: &str = "FailedDeleteDuplicatedSubsets";
    /// Warning, by the UnitedDeployment controller (the blank is upstream's).
    pub const FAILED_SPECIFY_SUBSET_REPLICAS: &str = "Failed SpecifySubsetReplicas";
    /// Warning, by the UnitedDeployment controller.
    pub const FAILED_UPDATE_SUBSET: &str = "FailedUpdateSubset";
    /// Normal, by the UnitedDeployment controller.
    pub const SUCCESSFUL_UPDATE_SUBSET: &str = "SuccessfulUpdateSubset";
    /// Warning, by the WorkloadSpread controller.
    pub const CREATE_POD_FAILED: &str = "CreatePodFailed";
    /// Warning, by the WorkloadSpread controller.
    pub const DELETE_POD_FAILED: &str = "DeletePodFailed";
    /// Warning, by the WorkloadSpread controller.
    pub const PATCH_DELETION_COST_FAILED: &str = "PatchPodDeletionCostFailed";
    /// Normal, by the WorkloadSpread controller.
    pub const RECOVER_SCHEDULABLE: &str = "RecoverSchedulable";
    /// Warning, by the AdvancedCronJob controller: a tick was missed.
    pub const MISS_SCHEDULE: &str = "MissSchedule";
    /// Warning, by the AdvancedCronJob controller: many ticks were missed.
    pub const TOO_MANY_MISSED: &str = "TooManyMissed";
    /// Warning, by the AdvancedCronJob controller.
    pub const UNPARSABLE_SCHEDULE: &str = "UnparsableSchedule";
    /// Normal, by the AdvancedCronJob controller under the Forbid policy.
    pub const JOB_ALREADY_ACTIVE: &str = "JobAlreadyActive";
}

/// Reasons inside conditions, written by the controller that owns the condition.
pub mod condition {
    /// Failure conditions of workloads, ours: a write was refused. The original writes no reason, which tells its leftovers apart.
    pub const WRITE_FAILED: &str = "WriteFailed";
    /// Failure conditions of workloads, ours: the spec cannot be read.
    pub const UNREADABLE_SPEC: &str = "UnreadableSpec";
    /// Progressing of CloneSet: pods are being changed.
    pub const CLONESET_UPDATED: &str = "CloneSetUpdated";
    /// Progressing of CloneSet: done.
    pub const CLONESET_AVAILABLE: &str = "CloneSetAvailable";
    /// Progressing of CloneSet: stopped by `paused`.
    pub const CLONESET_PAUSED: &str = "CloneSetPaused";
    /// Progressing of CloneSet: all that the partition allows is done.
    pub const PROGRESS_PARTITION_AVAILABLE: &str = "ProgressPartitionAvailable";
    /// Progressing of CloneSet (False): the deadline passed.
    pub const PROGRESS_DEADLINE_EXCEEDED: &str = "ProgressDeadlineExceeded";
    /// InPlaceUpdateReady of a pod (False): an in-place update runs.
    pub const START_IN_PLACE_UPDATE: &str = "StartInPlaceUpdate";
    /// Ready of a pod (False): a readiness gate is not true.
    pub const READINESS_GATES_NOT_READY: &str = "ReadinessGatesNotReady";
    /// BroadcastJob: good end.
    pub const COMPLETE: &str = "Complete";
    /// BroadcastJob: bad end.
    pub const FAILED: &str = "Failed";
    /// EphemeralJob: first reconcile done.
    pub const INITIALIZED: &str = "Initialized";
    /// EphemeralJob: no pod matches.
    pub const MATCH_EMPTY: &str = "MatchEmpty";
    /// EphemeralJob: every container succeeded.
    pub const JOB_SUCCEEDED: &str = "JobSucceeded";
    /// EphemeralJob: a container failed.
    pub const JOB_FAILED: &str = "JobFailed";
    /// EphemeralJob and UnitedDeployment: something went wrong, see the message.
    pub const ERROR: &str = "Error";
    /// SidecarSetUpgradable of a pod (True).
    pub const ALL_SIDECARSETS_UPGRADABLE: &str = "AllSidecarsetUpgradable";
    /// SidecarSetUpgradable of a pod (False): more than images changed.
    pub const UPDATE_IMMUTABLE_FIELD: &str = "UpdateImmutableField";
    /// NotInjected of a SidecarSet: there are pods that it selects and that do not have its sidecars.
    pub const PODS_WITHOUT_SIDECARS: &str = "PodsWithoutSidecars";
    /// RevisionMissing of a SidecarSet: new pods are refused until it is corrected.
    pub const PINNED_REVISION_MISSING: &str = "PinnedRevisionMissing";
    /// UnitedDeploymentUpdated (False): a revision is being rolled out.
    pub const REVISION_UPDATING: &str = "UnitedDeploymentRevisionUpdating";
    /// UnitedDeploymentUpdated (True): the revision is in place.
    pub const REVISION_UPDATED: &str = "UnitedDeploymentRevisionUpdated";
    /// Schedulable of a UnitedDeployment subset (False).
    pub const RESCHEDULE: &str = "reschedule";
    /// Schedulable of a UnitedDeployment subset (True) after a pause.
    pub const RECOVER: &str = "recover";
    /// Schedulable of a UnitedDeployment subset that is new.
    pub const CREATED: &str = "created";
    /// Schedulable of a WorkloadSpread subset (True).
    pub const SUFFICIENT: &str = "Sufficient";
    /// Schedulable of a WorkloadSpread subset (False).
    pub const POD_UNSCHEDULABLE: &str = "PodUnschedulable";
    /// Written by conversion of WorkloadSpread where v1alpha1 has no reason and v1beta1 demands one.
    pub const UNKNOWN: &str = "Unknown";
    /// Conditions of ResourceDistribution (False): nothing failed.
    pub const SUCCEEDED: &str = "Succeeded";
    /// PreRecreateGrace of ContainerRecreateRequest.
    pub const PRE_RECREATE_GRACE: &str = "PreRecreateGrace";
}

/// Why a pod was left alone. Written by planners into the condition Waiting, and by the CLI; read by people, scripts and dashboards.
pub mod waiting {
    /// At the wanted revision and available: nothing to do.
    pub const DONE: &str = "Done";
    /// At the wanted revision, ready, but not yet for minReadySeconds.
    pub const MIN_READY_SECONDS: &str = "MinReadySeconds";
    /// At the wanted revision and not ready.
    pub const NOT_READY: &str = "NotReady";
    /// No step of the plan has said anything about it: a defect.
    pub const UNEXPLAINED: &str = "Unexplained";
    /// The owner is being deleted; its pods belong to the garbage collector.
    pub const OWNER_DELETED: &str = "OwnerDeleted";
    /// The spec cannot be read, so nothing is touched.
    pub const UNREADABLE_SPEC: &str = "UnreadableSpec";
    /// The revision of the template is being stored first.
    pub const REVISION_FIRST: &str = "RevisionFirst";
    /// Pods are being created or deleted; updates come after that.
    pub const SCALING_FIRST: &str = "ScalingFirst";
    /// To be deleted, but that would take more ready pods down than allowed.
    pub const DELETE_LIMIT: &str = "DeleteLimit";
    /// To be deleted; other pods must be created first.
    pub const CREATION_FIRST: &str = "CreationFirst";
    /// Kept at its revision by the partition.
    pub const PARTITION: &str = "Partition";
    /// The user stopped updates.
    pub const PAUSED: &str = "Paused";
    /// Updated when somebody deletes it.
    pub const ON_DELETE: &str = "OnDelete";
    /// Updating it would take more pods down than allowed.
    pub const MAX_UNAVAILABLE: &str = "MaxUnavailable";
    /// So many pods of the wanted revision are not available that the next one waits for them.
    pub const TARGET_UNAVAILABLE: &str = "TargetUnavailable";
    /// A lifecycle hook holds it.
    pub const HOOK_HELD: &str = "HookHeld";
    /// New; waits for a node.
    pub const WAITING_FOR_NODE: &str = "WaitingForNode";
    /// Its in-place update waits.
    pub const UPDATING: &str = "Updating";
    /// InPlaceOnly, and this change is not possible in place.
    pub const NOT_IN_PLACE: &str = "NotInPlace";
    /// Its lifecycle state is a value of nobody we know.
    pub const FOREIGN_STATE: &str = "ForeignState";
    /// Its deletion is under way.
    pub const TERMINATING: &str = "Terminating";
    /// Pods are handled one after the other, and this one comes first.
    pub const WAITS_FOR: &str = "WaitsFor";
    /// A pod of somebody else has its name.
    pub const NAME_TAKEN: &str = "NameTaken";
    /// Its claim of an earlier life must be gone first.
    pub const CLAIM_TERMINATING: &str = "ClaimTerminating";
    /// Its claim is growing; the pod follows when that is done.
    pub const CLAIM_RESIZING: &str = "ClaimResizing";
    /// Its claim can never become what the template says.
    pub const CLAIM_UNFIT: &str = "ClaimUnfit";
    pub const REMOVAL_HALTED: &str = "RemovalHalted";
    /// BroadcastJob, DaemonSet: the node takes no pod of this object.
    pub const NODE_UNFIT: &str = "NodeUnfit";
    /// Jobs: as many pods run as may.
    pub const PARALLELISM: &str = "Parallelism";
    /// Jobs: the pod runs.
    pub const RUNNING: &str = "Running";
    /// Jobs: the job is over.
    pub const FINISHED: &str = "Finished";
    /// EphemeralJob: the job has as many pods as it may have.
    pub const BEYOND_REPLICAS: &str = "BeyondReplicas";
    /// EphemeralJob: the pod has an ephemeral container of that name which is not of this job.
    pub const CONTAINER_NAME_TAKEN: &str = "ContainerNameTaken";
    /// EphemeralJob: the job has no container to put into pods.
    pub const NO_CONTAINERS: &str = "NoContainers";
    /// ContainerRecreateRequest: the node agent has not begun yet.
    pub const AGENT: &str = "NodeAgent";
    /// ContainerRecreateRequest: another request for the same pod comes first.
    pub const QUEUED: &str = "Queued";
    /// ContainerRecreateRequest: containers are being restarted.
    pub const RECREATING: &str = "Recreating";
    /// SidecarTerminator: a sidecar was stopped and runs again.
    pub const SIDECAR_RUNS_AGAIN: &str = "SidecarRunsAgain";
    /// SidecarTerminator: a sidecar has never been started, so there is nothing to stop.
    pub const SIDECAR_NEVER_STARTED: &str = "SidecarNeverStarted";
    /// SidecarTerminator: nothing can stop this sidecar on its node.
    pub const SIDECAR_UNSTOPPABLE: &str = "SidecarUnstoppable";
    /// Node agents are switched off.
    pub const NO_AGENTS: &str = "NoNodeAgents";
    /// AdvancedCronJob: no run is due.
    pub const NEXT_RUN: &str = "NextRun";
    /// AdvancedCronJob: a run is due, and the last one is not over.
    pub const STILL_RUNS: &str = "StillRuns";
    /// DaemonSet: burstReplicas are in use; the rest follows.
    pub const BURST_REPLICAS: &str = "BurstReplicas";
    /// DaemonSet: the pod failed again and is replaced later.
    pub const BACK_OFF: &str = "BackOff";
    /// DaemonSet: the update selector does not match the node.
    pub const NODE_NOT_SELECTED: &str = "NodeNotSelected";
    /// DaemonSet: partitionedScaling keeps the node without a pod.
    pub const PARTITIONED_SCALING: &str = "PartitionedScaling";
    /// DaemonSet: as many nodes as maxSurge allows run two pods.
    pub const MAX_SURGE: &str = "MaxSurge";
    /// DaemonSet: the old pod stays until the new one beside it is available.
    pub const SURGING: &str = "Surging";
    /// DaemonSet: the node has more than one pod.
    pub const DUPLICATE: &str = "Duplicate";
    /// ImagePullJob: the node is pulling the image.
    pub const PULLING: &str = "Pulling";
    /// ImagePullJob: the node has ended with a failure.
    pub const PULL_FAILED: &str = "PullFailed";
    /// ImagePullJob, NodeImage: the node has no NodeImage yet.
    pub const NO_NODE_IMAGE: &str = "NoNodeImage";
    /// ImagePullJob: the copy of a pull secret comes first.
    pub const PULL_SECRET: &str = "PullSecret";
    /// ImagePullJob: its time to live is over, but the list that it belongs to still runs.
    pub const LIST_RUNS: &str = "ListRuns";
    /// SidecarSet: it injects only, and leaves running pods as they are.
    pub const NOT_UPDATE: &str = "NotUpdate";
    /// SidecarSet: its update strategy does not select the pod.
    pub const NOT_SELECTED: &str = "NotSelected";
    /// SidecarSet: more than images changed, which only a new pod gets.
    pub const NOT_UPGRADABLE: &str = "NotUpgradable";
    /// SidecarSet: the twin of a hot upgrade has not taken over yet.
    pub const HOT_UPGRADING: &str = "HotUpgrading";
    /// SidecarSet: the pod has the set in its list, but not its containers, or is not selected any more.
    pub const NOT_MANAGED: &str = "NotManaged";
    /// SidecarSet: an annotation of the pod cannot be read.
    pub const UNREADABLE_ANNOTATION: &str = "UnreadableAnnotation";
    /// PodProbeMarker: the node agent probes the pod.
    pub const PROBED: &str = "Probed";
    /// PodProbeMarker: init containers of the pod have not finished.
    pub const NOT_INITIALIZED: &str = "NotInitialized";
    /// PodProbeMarker: the node of the pod does not exist.
    pub const NODE_GONE: &str = "NodeGone";
    /// PodProbeMarker: the node has no NodePodProbe yet.
    pub const NO_NODE_POD_PROBE: &str = "NoNodePodProbe";
    /// PodProbeMarker: the probes are on their way to the node.
    pub const PROBES_PENDING: &str = "ProbesPending";
    /// PodProbeMarker: the pod is on a virtual node, whose provider probes it, or nobody.
    pub const SERVERLESS: &str = "Serverless";
    /// PodProbeMarker: nodes still have probes of a marker that is being deleted.
    pub const PROBES_LEFT: &str = "ProbesLeft";
    /// NodePodProbe: a probe names a port that its container does not have.
    pub const UNKNOWN_PORT: &str = "UnknownPort";
    /// NodePodProbe: the object cannot hold more probes.
    pub const PROBES_FULL: &str = "ProbesFull";
    /// NodePodProbe: two probes write the same condition.
    pub const CONDITION_CONFLICT: &str = "ConditionConflict";
    /// NodePodProbe: a probe names a condition that Kubernetes or Kruise writes.
    pub const RESERVED_CONDITION: &str = "ReservedCondition";
    /// NodePodProbe: the node agent has not said anything yet.
    pub const NO_RESULT: &str = "NoResult";
    /// NodePodProbe: the node is not Ready yet.
    pub const NODE_NOT_READY: &str = "NodeNotReady";
    /// ResourceDistribution: the namespace does not exist or is being deleted.
    pub const NO_NAMESPACE: &str = "NoNamespace";
    /// ResourceDistribution: an object that it does not control has the name of the copy.
    pub const CONFLICT: &str = "Conflict";
    /// ResourceDistribution: the copy differs and can never be changed.
    pub const COPY_FIXED: &str = "CopyFixed";
    /// ResourceDistribution: the copy could not be read.
    pub const COPY_UNREAD: &str = "CopyUnread";
    /// ResourceDistribution: other namespaces come first.
    pub const NEXT_BATCH: &str = "NextBatch";
}

/// Message of the condition `SidecarTerminated`.
pub const SIDECAR_TERMINATED_MESSAGE: &str = "Terminated by Sidecar Terminator";

/// Message of condition PreRecreateGrace; written by the manager and by conversion.
pub const PRE_RECREATE_GRACE_MESSAGE: &str =
    "Pod has been forced to not-ready for unreadyGracePeriodSeconds drain";
