//! Label keys of the wire format. Each line says who writes the label and who reads it.

/// Written by every workload controller on pods (and by ImageListPullJob on its children); read by it and by the CLI. Short hash or full revision name, as the kind's specification says.
pub const REVISION: &str = "controller-revision-hash";
/// Written by the CloneSet controller on pods, always the short hash; read by people and by tools made for Deployments.
pub const POD_TEMPLATE_HASH: &str = "pod-template-hash";
/// Written by every controller on ControllerRevisions; read when revisions of equal content are looked up.
pub const REVISION_HASH: &str = "controller.kubernetes.io/hash";

/// Written by the CloneSet controller on pods and claims; read by it to tie a claim to its pod.
pub const CLONESET_INSTANCE_ID: &str = "apps.kruise.io/cloneset-instance-id";
/// Written by users on a v1alpha1 CloneSet (`true`); read by conversion, which turns it into a field.
pub const CLONESET_EXCLUDE_PREPARING_DELETE: &str =
    "apps.kruise.io/cloneset-scaling-exclude-preparing-delete";
/// Written by users and the CLI on pods (any value); read by workload controllers and the budget, which treat the pod as to be deleted.
pub const SPECIFIED_DELETE: &str = "apps.kruise.io/specified-delete";

/// Written by workload controllers and by users' hooks on pods; read by workload controllers: the step of the lifecycle.
pub const LIFECYCLE_STATE: &str = "lifecycle.apps.kruise.io/state";

/// Values of [`LIFECYCLE_STATE`]. Written by workload controllers, the hooks' owners only wait for them; read by both.
pub mod lifecycle {
    /// A new pod waits for its preNormal hook.
    pub const PREPARING_NORMAL: &str = "PreparingNormal";
    /// In service; also a pod without the label.
    pub const NORMAL: &str = "Normal";
    /// The pod waits for its inPlaceUpdate hook before it is changed.
    pub const PREPARING_UPDATE: &str = "PreparingUpdate";
    /// The pod is being changed in place.
    pub const UPDATING: &str = "Updating";
    /// The pod was changed and waits for its inPlaceUpdate hook.
    pub const UPDATED: &str = "Updated";
    /// The pod waits for its preDelete hook.
    pub const PREPARING_DELETE: &str = "PreparingDelete";
}

/// Written by the StatefulSet controller on pods; read by Services that select one pod.
pub const STATEFULSET_POD_NAME: &str = "statefulset.kubernetes.io/pod-name";
/// Written by the StatefulSet controller on pods (gate PodIndexLabel); read by users' tools.
pub const POD_INDEX: &str = "apps.kubernetes.io/pod-index";

/// Written by the DaemonSet controller on pods when the set carries the generation annotation; read by old tools.
pub const POD_TEMPLATE_GENERATION: &str = "pod-template-generation";

/// Written by the BroadcastJob controller on pods: name of the job; read by it and by users' selectors.
pub const BROADCASTJOB_NAME: &str = "broadcastjob-name";
/// Written by the BroadcastJob controller on pods: uid of the job; read by it.
pub const BROADCASTJOB_CONTROLLER_UID: &str = "broadcastjob-controller-uid";

/// Written by pre-download on a ControllerRevision once its pull jobs exist (the doubled prefix is how it is spelled); read by it.
pub const IMAGE_PREDOWNLOAD_CREATED: &str = "apps.kruise.io/pre-predownload-created";
/// Written by pre-download on a ControllerRevision that needs no pull job; read by it.
pub const IMAGE_PREDOWNLOAD_IGNORED: &str = "apps.kruise.io/image-predownload-ignored";
/// Written by tests on a NodeImage without node; read by the NodeImage controller, which then keeps it.
pub const FAKE_NODEIMAGE: &str = "apps.kruise.io/fake-nodeimage";
/// Written by releases up to 1.8 on synced pull secrets; read so that such secrets are reused.
pub const PULL_SECRET_SOURCE_UID: &str = "imagepulljobs.kruise.io/source-uid";

/// Written by users on a v1alpha1 SidecarSet and by the SidecarSet controller on ControllerRevisions; read by conversion and injection.
pub const SIDECARSET_CUSTOM_VERSION: &str = "apps.kruise.io/sidecarset-custom-version";
/// Written by the SidecarSet controller on ControllerRevisions; read by it and by injection.
pub const SIDECARSET_NAME: &str = "kruise.io/sidecarset-name";

/// Written by the UnitedDeployment controller on workloads and their pod templates; read by it.
pub const SUBSET_NAME: &str = "apps.kruise.io/subset-name";
/// Written by the UnitedDeployment controller on workloads and their pod templates: full revision name; read by it.
pub const UNITEDDEPLOYMENT_REVISION: &str = "apps.kruise.io/controller-revision-hash";
/// Written by the UnitedDeployment controller on pods in reservation mode (`true` or `false`); read by it and by its scale selector.
pub const UNITEDDEPLOYMENT_RESERVED_POD: &str = "apps.kruise.io/united-deployment-reserved-pod";

/// Written by admission on a ContainerRecreateRequest: uid of the pod; read by the manager and the node agent.
pub const CRR_POD_UID: &str = "crr.apps.kruise.io/pod-uid";
/// Written by admission on a ContainerRecreateRequest: name of the node; read by the node agent's watch.
/// See [`node_value`].
pub const CRR_NODE_NAME: &str = "crr.apps.kruise.io/node-name";
/// Written by admission on a ContainerRecreateRequest (`true`), removed by the manager at the end; read by the node agent's watch.
pub const CRR_ACTIVE: &str = "crr.apps.kruise.io/active";

/// Written by users on protected objects (`Always` or `Cascading`); read by the deletion webhooks.
pub const DELETE_PROTECTION: &str = "policy.kruise.io/delete-protection";
/// Prefix. Written by users on pods to take them out of service; read by PodUnavailableBudget only.
pub const UNAVAILABLE_POD_PREFIX: &str = "unavailable-pod.kruise.io/";

/// Written by the virtual kubelet on its nodes; read wherever a node cannot run the node agent.
pub const NODE_TYPE: &str = "type";
/// Value of [`NODE_TYPE`] on a virtual node.
pub const NODE_TYPE_VIRTUAL_KUBELET: &str = "virtual-kubelet";
/// Written by the API server on every Namespace; read by SidecarSets converted from a plain namespace name.
pub const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";
/// Written by kruise-rollout on pods; read by the CLI (`describe rollout`).
pub const ROLLOUT_BATCH_ID: &str = "rollouts.kruise.io/rollout-batch-id";

/// Ours. Carried by nobody: a selector that asks for it and forbids it at once selects nothing.
pub const CONCERNS_NOBODY: &str = "kruise.io/concerns-nobody";

/// Value of a label or annotation that only says yes.
pub const TRUE: &str = "true";

/// The value of a label that names a node: its name where that is a legal value, else the beginning of it and a hash of the whole,
/// because names of nodes may be longer than values of labels.
pub fn node_value(node: &str) -> std::borrow::Cow<'_, str> {
    const VALUE_MAX: usize = 63;
    const KEPT: usize = 50;
    if node.len() <= VALUE_MAX {
        return node.into();
    }
    // FNV-1a: short, and the same everywhere.
    let hash = node.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let kept: String = node.chars().take(KEPT).collect();
    format!("{}-{:08x}", kept.trim_end_matches(['-', '.', '_']), hash & 0xffff_ffff).into()
}

#[cfg(test)]
mod tests {
    use super::node_value;

    /// containerrecreaterequest/6: a request for a pod on a node with a long name can be created.
    #[test]
    fn node_with_a_long_name_has_a_legal_label_of_its_own() {
        let (one, other) = (format!("{}-a", "n".repeat(100)), format!("{}-b", "n".repeat(100)));
        assert_eq!(node_value("node-1.example.com"), "node-1.example.com");
        assert!(node_value(&one).len() <= 63);
        assert_ne!(node_value(&one), node_value(&other));
    }
}
