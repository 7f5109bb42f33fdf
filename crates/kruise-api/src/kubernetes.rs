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
}

/// Pod condition. Written by the kubelet: all containers are ready; read by the readiness and launch-priority logic.
pub const CONTAINERS_READY: &str = "ContainersReady";
/// Claim condition. Written by the volume expander: the file system grows when a pod mounts it; read by the StatefulSet planner.
pub const FILE_SYSTEM_RESIZE_PENDING: &str = "FileSystemResizePending";
/// Restart policy of a pod. Written by users; the only one that workloads accept.
pub const RESTART_ALWAYS: &str = "Always";
/// Resize policy of a container. Written by users: a new size needs a restart; read by the in-place engine.
pub const RESIZE_RESTARTS_CONTAINER: &str = "RestartContainer";
/// Image pull policy. Written by template defaults as the API server does; read by the kubelet.
pub const PULL_ALWAYS: &str = "Always";
/// Image pull policy. Written by template defaults as the API server does; read by the kubelet.
pub const PULL_IF_NOT_PRESENT: &str = "IfNotPresent";
/// Node label with the node's name. Written by the kubelet; read by the spreading of pods.
pub const HOSTNAME: &str = "kubernetes.io/hostname";
