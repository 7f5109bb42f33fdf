//! Finalizers. Each is written and removed by the controller named in its line.

/// On an ImagePullJob, by its controller (and admission of v1alpha1): secrets must be released first.
pub const IMAGE_PULL_JOB: &str = "apps.kruise.io/deletion-protection";
/// On an EphemeralJob, by its controller: injected containers are looked after first.
pub const EPHEMERAL_JOB: &str = "apps.kruise.io/ephemeralcontainers-cleanup";
/// On a PodProbeMarker, by its controller: probes leave the NodePodProbes first.
pub const POD_PROBE_MARKER: &str = "kruise.io/node-pod-probe-cleanup";
/// On a ContainerRecreateRequest, by the manager: the pod must become ready again first.
pub const CONTAINER_RECREATE_REQUEST: &str = "crr.apps.kruise.io/unready-acquired";
