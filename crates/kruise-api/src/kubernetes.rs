//! Words of Kubernetes itself that we read or write. Each line says who writes the word and who reads it.

/// Status of a condition. Written by whoever owns the condition; read by everybody.
pub mod status {
    /// The condition holds.
    pub const TRUE: &str = "True";
    /// The condition does not hold.
    pub const FALSE: &str = "False";
    /// Its owner cannot say.
    pub const UNKNOWN: &str = "Unknown";
}

/// Types of events. Written by every controller; read by people and by monitoring.
pub mod event_type {
    /// Something went as it should.
    pub const NORMAL: &str = "Normal";
    /// Somebody should look.
    pub const WARNING: &str = "Warning";
}

/// Phases of a pod. Written by the kubelet; read by every controller that owns pods.
pub mod phase {
    /// Not all containers have started.
    pub const PENDING: &str = "Pending";
    /// At least one container runs.
    pub const RUNNING: &str = "Running";
    /// All containers ended well.
    pub const SUCCEEDED: &str = "Succeeded";
    /// A container ended badly for good.
    pub const FAILED: &str = "Failed";
}

/// Operators of label selectors and node selectors. Written by users and by us; read by us, the API server and the scheduler.
pub mod operator {
    /// The value is one of those given.
    pub const IN: &str = "In";
    /// The value is none of those given.
    pub const NOT_IN: &str = "NotIn";
    /// The key is there.
    pub const EXISTS: &str = "Exists";
    /// The key is not there.
    pub const DOES_NOT_EXIST: &str = "DoesNotExist";
    /// Node affinity only: the label is a larger number.
    pub const GT: &str = "Gt";
    /// Node affinity only: the label is a smaller number.
    pub const LT: &str = "Lt";
}

/// Taint of a cordoned node. Written by Kubernetes; read by us.
pub const TAINT_UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
/// Taint of a node. Written by Kubernetes; tolerated by every DaemonSet pod, as the next ones.
pub const TAINT_NOT_READY: &str = "node.kubernetes.io/not-ready";
/// Taint of a node. Written by Kubernetes when the node is not heard of.
pub const TAINT_UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// Taint of a node. Written by the kubelet.
pub const TAINT_DISK_PRESSURE: &str = "node.kubernetes.io/disk-pressure";
/// Taint of a node. Written by the kubelet.
pub const TAINT_MEMORY_PRESSURE: &str = "node.kubernetes.io/memory-pressure";
/// Taint of a node. Written by the kubelet.
pub const TAINT_PID_PRESSURE: &str = "node.kubernetes.io/pid-pressure";
/// Taint of a node. Written by Kubernetes; tolerated only by DaemonSet pods on the host network.
pub const TAINT_NETWORK_UNAVAILABLE: &str = "node.kubernetes.io/network-unavailable";

/// Reason of a waiting container. Written by the kubelet when it could not start one; read by the EphemeralJob planner.
pub const RUN_CONTAINER_ERROR: &str = "RunContainerError";

/// Pod condition. Written by the scheduler.
pub const POD_SCHEDULED: &str = "PodScheduled";

/// Pod condition. Written by the kubelet: all containers are ready; read by the readiness and launch-priority logic.
pub const CONTAINERS_READY: &str = "ContainersReady";
/// Claim condition. Written by the volume expander: the file system grows when a pod mounts it; read by the StatefulSet planner.
pub const FILE_SYSTEM_RESIZE_PENDING: &str = "FileSystemResizePending";
/// Restart policy of a pod. Written by users; the only one that workloads accept.
pub const RESTART_ALWAYS: &str = "Always";
/// `restartPolicy` of pods that run to their end, with retries by the kubelet.
pub const RESTART_ON_FAILURE: &str = "OnFailure";
/// `restartPolicy` of pods that run once.
pub const RESTART_NEVER: &str = "Never";
/// Resize policy of a container. Written by users: a new size needs a restart; read by the in-place engine.
pub const RESIZE_RESTARTS_CONTAINER: &str = "RestartContainer";
/// Image pull policy. Written by template defaults as the API server does; read by the kubelet.
pub const PULL_ALWAYS: &str = "Always";
/// Image pull policy. Written by template defaults as the API server does; read by the kubelet.
pub const PULL_IF_NOT_PRESENT: &str = "IfNotPresent";
/// Image pull policy. Written by users; read by the kubelet.
pub const PULL_NEVER: &str = "Never";
/// Where a container's last words come from. Written by users; read by the kubelet.
pub mod termination_message {
    /// The file at the path for it.
    pub const FILE: &str = "File";
    /// The end of the log if the file is empty and the container failed.
    pub const FALLBACK_TO_LOGS: &str = "FallbackToLogsOnError";
}
/// Node label with the node's name. Written by the kubelet; read by the spreading of pods.
pub const HOSTNAME: &str = "kubernetes.io/hostname";
