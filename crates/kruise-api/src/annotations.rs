//! Annotation keys of the wire format. Each line says who writes the annotation and who reads it.

/// Written by workload controllers on pods: when the lifecycle state last changed (RFC 3339); read by them.
pub const LIFECYCLE_TIMESTAMP: &str = "lifecycle.apps.kruise.io/timestamp";
/// Written by the in-place engine on pods: what was changed and what is still to do; read by it.
pub const INPLACE_UPDATE_STATE: &str = "apps.kruise.io/inplace-update-state";
/// Written by old releases; read by the in-place engine when the new key is missing, removed at its next write.
pub const INPLACE_UPDATE_STATE_LEGACY: &str = "inplace-update-state";
/// Written by the in-place engine on pods: the change that waits for the grace period; read by it.
pub const INPLACE_UPDATE_GRACE: &str = "apps.kruise.io/inplace-update-grace";
/// Written by old releases; read by the in-place engine when the new key is missing, removed at its next write.
pub const INPLACE_UPDATE_GRACE_LEGACY: &str = "inplace-update-grace";
/// Written by the node agent on pods: container ids, restarts and hashes; read by the in-place engine.
pub const RUNTIME_CONTAINERS_META: &str = "apps.kruise.io/runtime-containers-meta";
/// Written by users and the WorkloadSpread controller on pods; read by workload controllers and the ReplicaSet controller.
pub const POD_DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// Written by the CloneSet controller on ControllerRevisions; read by it to notice changed claim templates.
pub const CLONESET_CLAIM_TEMPLATE_HASH: &str = "kruise.io/cloneset-volumeclaimtemplate-hash";
/// Written by the StatefulSet controller on claims it expands: name of the set; read by the claim watch.
pub const OWNED_BY_STATEFULSET: &str = "apps.kruise.io/owned-by-asts";
/// On a storage class: claims without one get it.
pub const DEFAULT_STORAGE_CLASS: &str = "storageclass.kubernetes.io/is-default-class";
/// Written by users on a v1alpha1 DaemonSet (`true`); read by conversion, which turns it into `partitionedScaling`.
pub const DAEMONSET_PROGRESSIVE_CREATE: &str = "daemonset.kruise.io/progressive-create-pod";
/// Written by users on a DaemonSet migrated from an old release; read by the DaemonSet controller for a pod label.
pub const DAEMONSET_TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";
/// Written by users on a DaemonSet (`true`); read by its planner: outdated pods that are down count against maxUnavailable, too.
pub const DAEMONSET_STRICT_MAX_UNAVAILABLE: &str = "daemonset.kruise.io/strict-max-unavailable";

/// Written by users on workloads and by conversion on a v1alpha1 CloneSet; read by pre-download.
pub const IMAGE_PREDOWNLOAD_PARALLELISM: &str = "apps.kruise.io/image-predownload-parallelism";
/// Written by users on workloads and by conversion on a v1alpha1 CloneSet; read by pre-download.
pub const IMAGE_PREDOWNLOAD_TIMEOUT_SECONDS: &str = "apps.kruise.io/image-predownload-timeout-seconds";
/// Written by users on workloads and by conversion on a v1alpha1 CloneSet; read by pre-download.
pub const IMAGE_PREDOWNLOAD_MIN_UPDATED_READY_PODS: &str =
    "apps.kruise.io/image-predownload-min-updated-ready-pods";
/// Written by the node agent in the sandbox config of a pull; read by container runtimes that care who pulls.
pub const PULLING_IMAGE_BY: &str = "apps.kruise.io/pulling-image-by";
/// Written by the ImagePullJob controller on synced secrets: `namespace/name` of the source; read by it.
pub const PULL_SECRET_SOURCE_KEY: &str = "imagepulljobs.kruise.io/source-key";
/// Written by the ImagePullJob controller on synced secrets: jobs that use it; read by it.
pub const PULL_SECRET_REFERENCES: &str = "imagepulljobs.kruise.io/references";
/// Written by the ImagePullJob controller on synced secrets (`batch`); read by it.
pub const PULL_SECRET_MODE: &str = "imagepulljobs.kruise.io/mode";

/// Written by the AdvancedCronJob controller on children: the planned time (RFC 3339); read by it.
pub const SCHEDULED_AT: &str = "apps.kruise.io/scheduled-at";
/// Written by the CLI on jobs made by hand from a cron job; read by people.
pub const CRONJOB_INSTANTIATE: &str = "cronjob.kubernetes.io/instantiate";

/// Written by injection on pods (JSON map) and by admission on a SidecarSet (plain hash); read by the SidecarSet controller and the node agent.
pub const SIDECARSET_HASH: &str = "kruise.io/sidecarset-hash";
/// Written by injection on pods and by admission on a SidecarSet; read by the SidecarSet controller: may only images differ?
pub const SIDECARSET_HASH_WITHOUT_IMAGE: &str = "kruise.io/sidecarset-hash-without-image";
/// Written by injection on pods: sorted, comma-joined SidecarSet names; read by the SidecarSet controller.
pub const SIDECARSET_INJECTED_LIST: &str = "kruise.io/sidecarset-injected-list";
/// Written by the SidecarSet controller on pods it upgrades; read by it.
pub const SIDECARSET_INPLACE_UPDATE_STATE: &str = "kruise.io/sidecarset-inplace-update-state";
/// Written by injection and hot upgrade on pods: which twin works; read by the SidecarSet controller and the CLI's `exec`.
pub const SIDECARSET_WORKING_HOTUPGRADE_CONTAINER: &str = "kruise.io/sidecarset-working-hotupgrade-container";
/// Prefix, a container name follows. Written by injection and hot upgrade on pods; read by the container through its environment.
pub const SIDECARSET_VERSION_PREFIX: &str = "version.sidecarset.kruise.io/";
/// Prefix, a container name follows. Written by injection and hot upgrade on pods: version of the twin; read by the container.
pub const SIDECARSET_VERSION_ALT_PREFIX: &str = "versionalt.sidecarset.kruise.io/";
/// Written by kubectl: the manifest as it was applied; left out of revisions of a SidecarSet.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Written by users on a SidecarSet (`Ignore`): pods may be created without its sidecars while no manager answers; read by selection and
/// the SidecarSet controller.
pub const INJECTION_FAILURE_POLICY: &str = "kruise.io/injection-failure-policy";
/// Written by users on a SidecarSet (`true`): it is a canary; read by injection and admission.
pub const SIDECARSET_CANARY: &str = "apps.kruise.io/sidecarset-canary";
/// Written by users on a canary SidecarSet: name of its base; read by injection and admission.
pub const SIDECARSET_BASE: &str = "apps.kruise.io/sidecarset-base";

/// Written by users on pods (`Ordered`); read by admission of pods: start containers in order.
pub const CONTAINER_LAUNCH_PRIORITY: &str = "apps.kruise.io/container-launch-priority";
/// Value of [`CONTAINER_LAUNCH_PRIORITY`].
pub const CONTAINER_LAUNCH_ORDERED: &str = "Ordered";
/// Written by the launch-priority controller on pods that are through (`true`); read by it.
pub const CONTAINER_LAUNCH_PRIORITY_COMPLETED: &str = "apps.kruise.io/container-launch-priority-completed";
/// Written by users in pod templates (`true`); read by admission of pods: move liveness probes to the annotation below.
pub const USING_ENHANCED_LIVENESS: &str = "apps.kruise.io/using-enhanced-liveness";
/// Written by admission of pods with enhanced liveness; read by nobody yet.
pub const CONTAINER_PROBE_CONTEXT: &str = "apps.kruise.io/container-probe-context";

/// Written by the UnitedDeployment controller on workloads: the raw patch, maybe empty; read by it.
pub const SUBSET_PATCH: &str = "apps.kruise.io/subset-patch";
/// Written by admission of pods and by adoption: which spread and subset (JSON); read by the WorkloadSpread controller.
pub const MATCHED_WORKLOADSPREAD: &str = "apps.kruise.io/matched-workloadspread";
/// Written by users on a WorkloadSpread (`true`); read by adoption, which then leaves pod metadata alone.
pub const WORKLOADSPREAD_IGNORE_EXISTING_METADATA: &str =
    "workloadspread.kruise.io/ignore-patch-existing-pods-metadata";

/// Written by the ResourceDistribution controller on copies: SHA-256 of the resource; read by it.
pub const RESOURCEDISTRIBUTION_HASH: &str = "kruise.io/resourcedistribution.resource.hashcode";
/// Written by the ResourceDistribution controller on copies: name of the distribution; read by it and by people.
pub const RESOURCEDISTRIBUTION_FROM: &str = "kruise.io/resourcedistribution.resource.from";
/// Written by the ResourceDistribution controller on copies, ours: keys of the labels it distributed, with commas; read by it.
pub const RESOURCEDISTRIBUTION_LABELS: &str = "kruise.io/resourcedistribution.resource.labels";
/// Written by the ResourceDistribution controller on copies, ours: keys of the annotations it distributed, with commas; read by it.
pub const RESOURCEDISTRIBUTION_ANNOTATIONS: &str = "kruise.io/resourcedistribution.resource.annotations";
/// Written by old releases on copies; read by nobody, kept if present.
pub const RESOURCEDISTRIBUTION_TIMESTAMP_LEGACY: &str =
    "kruise.io/resourcedistribution.resource.distributed.timestamp";

/// Written by users on workloads (`true`); read by the PersistentPodState controller: generate an object for it.
pub const PPS_AUTO_GENERATE: &str = "kruise.io/auto-generate-persistent-pod-state";
/// Written by users on workloads: comma-separated node label keys; read when a PersistentPodState is generated.
pub const PPS_REQUIRED_TOPOLOGY: &str = "kruise.io/required-persistent-topology";
/// Written by users on workloads: comma-separated node label keys; read when a PersistentPodState is generated.
pub const PPS_PREFERRED_TOPOLOGY: &str = "kruise.io/preferred-persistent-topology";
/// Written by users on workloads: comma-separated annotation keys; read when a PersistentPodState is generated.
pub const PPS_POD_ANNOTATIONS: &str = "kruise.io/persistent-pod-annotations";
/// Written by admission of pods: name of the PersistentPodState that steered it; read by its controller.
pub const PPS_INJECTED: &str = "kruise.io/injected-persistent-pod-state";
/// Ours. Written by users on a PersistentPodState (`true`); read by its controller: records of nodes that are gone are dropped.
pub const PPS_DROP_LOST_NODES: &str = "kruise.io/drop-records-of-lost-nodes";
/// Ours. Written by users on a PersistentPodState (`true`); read by admission of pods: a node selector of the template wins over the record.
pub const PPS_TEMPLATE_WINS: &str = "kruise.io/template-node-selector-wins";

/// Written by admission of pods: name of the PodUnavailableBudget; read by its controller and by admission.
pub const RELATED_PUB: &str = "pub.kruise.io/related-pub";
/// Written beside [`RELATED_PUB`] for releases up to 1.9; read when the new key is missing.
pub const RELATED_PUB_LEGACY: &str = "kruise.io/related-pub";
/// Written by users on pods (a true boolean); read by admission: this pod is not guarded.
pub const PUB_NO_PROTECT: &str = "pub.kruise.io/no-protect";
/// Written by users and conversion on a v1alpha1 PodUnavailableBudget: comma-separated operations; read by conversion.
pub const PUB_PROTECT_OPERATIONS: &str = "kruise.io/pub-protect-operations";
/// Written by users and conversion on a v1alpha1 PodUnavailableBudget: expected replicas; read by conversion and the controller.
pub const PUB_PROTECT_TOTAL_REPLICAS: &str = "pub.kruise.io/protect-total-replicas";
/// Written by our conversion on the v1alpha1 form: the ignored-pod selector as JSON; read and removed on the way back.
pub const PUB_IGNORED_POD_SELECTOR: &str = "policy.kruise.io/v1beta1-ignored-pod-selector";

/// Written by the manager on a v1alpha1 ContainerRecreateRequest: the pod's view of new containers (JSON); read by old node agents and by conversion.
pub const CRR_SYNC_CONTAINER_STATUSES: &str = "crr.apps.kruise.io/sync-container-statuses";
/// Written by the manager on a v1alpha1 ContainerRecreateRequest: when the pod was made unready; read by old node agents and by conversion.
pub const CRR_UNREADY_ACQUIRED: &str = "crr.apps.kruise.io/unready-acquired";

/// Written by admission of pods on serverless nodes: the probes as JSON; read by the provider.
pub const POD_PROBE: &str = "kruise.io/podprobe";
/// Written by admission of pods on serverless nodes: sorted PodProbeMarker names; read by the marker controller.
pub const POD_PROBE_MARKER_LIST: &str = "kruise.io/podprobemarker-list";
/// Written by users on a PodProbeMarker (`true`), ours: an unknown result makes its conditions Unknown and leaves marks as they are.
pub const POD_PROBE_KEEP_UNKNOWN: &str = "kruise.io/podprobe-keep-unknown";

/// Written by our conversion on the v1alpha1 form of any kind: what that version cannot express; read and removed on the way to v1beta1.
pub const V1BETA1_FIELDS: &str = "apps.kruise.io/v1beta1-fields";
/// Written by our conversion on the v1beta1 form of any kind: what only the v1alpha1 form can say; read and removed on the way back.
pub const V1ALPHA1_FIELDS: &str = "apps.kruise.io/v1alpha1-fields";

/// Written by kubectl and users on workloads, copied to revisions; read by the CLI's history.
pub const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";
/// Written by the CLI in templates of built-in kinds; read by nobody, its change restarts pods.
pub const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";
/// Written by kruise-rollout on Deployments; read by the CLI's `undo`.
pub const ROLLOUT_IN_PROGRESSING: &str = "rollouts.kruise.io/in-progressing";
/// Written by kruise-rollout on Deployments; read by the CLI's `undo`.
pub const ROLLOUT_DEPLOYMENT_STRATEGY: &str = "rollouts.kruise.io/deployment-strategy";
/// Written by users on v1alpha1 Rollouts; read by the CLI's `describe`.
pub const ROLLOUT_TRAFFIC_ROUTING: &str = "rollouts.kruise.io/trafficrouting";
/// Prefix of everything kruise-rollout writes; read by the CLI's `undo`, which never copies such keys.
pub const ROLLOUT_PREFIX: &str = "rollouts.kruise.io/";

/// On a webhook configuration: what the selections of its pod entries are made of, JSON. Only the manager reads and writes it.
pub const POD_SELECTIONS: &str = "kruise.io/pod-selections";
/// On a pod that is only tried: asks whether the API server uses the selection with this stamp.
pub const SELECTION_PROBE: &str = "kruise.io/selection-probe";
/// Written by the BroadcastJob controller, ours: for how many failed pods the Pause policy paused the job; read by it.
pub const BROADCASTJOB_PAUSED_FOR: &str = "kruise.io/broadcastjob-paused-for-failures";
/// Written by the BroadcastJob controller on pods, ours: stopped because it restarted too often; read by it and by people.
pub const RESTART_LIMIT_EXCEEDED: &str = "kruise.io/restart-limit-exceeded";
