//! Every family of the page: the one list that the page and `docs/metrics.md` are made from.

use std::fmt;

/// One family of metrics.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    pub name: &'static str,
    pub kind: FamilyType,
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FamilyType {
    Counter,
    Gauge,
    Histogram,
}

/// The word of the text format.
impl fmt::Display for FamilyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        })
    }
}

pub const RECONCILES: Family =
    counter("controller_runtime_reconcile_total", &["controller", "result"], "Plans by how they ended");
pub const RECONCILE_ERRORS: Family =
    counter("controller_runtime_reconcile_errors_total", &["controller"], "Plans that failed");
pub const TERMINAL_ERRORS: Family = counter(
    "controller_runtime_terminal_reconcile_errors_total",
    &["controller"],
    "Plans that failed and are not tried again: always 0, all are",
);
pub const RECONCILE_PANICS: Family = counter(
    "controller_runtime_reconcile_panics_total",
    &["controller"],
    "Turns that panicked: a defect, should be 0",
);
pub const WORKERS: Family = gauge(
    "controller_runtime_max_concurrent_reconciles",
    &["controller"],
    "Workers; 0 on a replica that does not lead",
);
pub const ACTIVE_WORKERS: Family =
    gauge("controller_runtime_active_workers", &["controller"], "Objects that are being worked on");
pub const RECONCILE_TIME: Family =
    histogram("controller_runtime_reconcile_time_seconds", &["controller"], "Time per plan with its writes");
pub const QUEUE_DEPTH: Family =
    gauge("workqueue_depth", &["name", "controller"], "Objects that wait for a worker");
pub const QUEUE_ADDS: Family =
    counter("workqueue_adds_total", &["name", "controller"], "Objects that were put into the queue");
pub const QUEUE_RETRIES: Family = counter(
    "workqueue_retries_total",
    &["name", "controller"],
    "Objects that came back because something failed",
);
pub const QUEUE_WAIT: Family = histogram(
    "workqueue_queue_duration_seconds",
    &["name", "controller"],
    "Time that objects waited for a worker",
);
pub const QUEUE_WORK: Family = histogram(
    "workqueue_work_duration_seconds",
    &["name", "controller"],
    "Time that workers spent on an object",
);
pub const QUEUE_UNFINISHED: Family = gauge(
    "workqueue_unfinished_work_seconds",
    &["name", "controller"],
    "Time spent so far on what is not finished, in all",
);
pub const QUEUE_LONGEST: Family = gauge(
    "workqueue_longest_running_processor_seconds",
    &["name", "controller"],
    "Time spent so far on what takes longest: growing means stuck",
);
pub const WEBHOOK_REQUESTS: Family = counter(
    "controller_runtime_webhook_requests_total",
    &["webhook", "code"],
    "Webhook answers by path and code; 499 means that the caller hung up",
);
pub const WEBHOOK_IN_FLIGHT: Family = gauge(
    "controller_runtime_webhook_requests_in_flight",
    &["webhook"],
    "Webhook requests that are being answered",
);
pub const WEBHOOK_LATENCY: Family =
    histogram("controller_runtime_webhook_latency_seconds", &["webhook"], "Time per webhook request");
pub const ADMISSION_DURATION: Family = histogram(
    "kruise_webhook_admission_duration_seconds",
    &["webhook"],
    "The same under the name that the guide has",
);
pub const ADMISSIONS: Family = counter(
    "kruise_webhook_admission_requests_total",
    &["webhook", "operation", "resource", "allowed"],
    "Admission requests by what was said",
);
pub const WEBHOOK_PANICS: Family =
    counter("controller_runtime_webhook_panics_total", &[], "Webhooks that panicked: a defect, should be 0");
pub const CLIENT_REQUESTS: Family = counter(
    "rest_client_requests_total",
    &["code", "method", "host"],
    "Requests to the API server; a code in angle brackets had no answer",
);
pub const CERTIFICATE_READS: Family =
    counter("certwatcher_read_certificate_total", &[], "Looks at the webhook certificates");
pub const CERTIFICATE_ERRORS: Family = counter(
    "certwatcher_read_certificate_errors_total",
    &[],
    "Of those, the ones that found no usable certificate",
);
pub const IGNORED_GATES: Family = gauge(
    "kruise_ignored_feature_gates",
    &[],
    "Entries of --feature-gates that have no effect: unknown names, values that are neither true nor false",
);
pub const POD_WEBHOOK_WIDTH: Family = gauge(
    "kruise_pod_webhook_width",
    &["webhook", "width"],
    "1 for how widely pods are selected: exact; namespaces or everything if too many objects select pods to be told apart",
);
pub const IS_LEADER: Family = gauge("kruise_manager_is_leader", &[], "1 on the replica that leads");
pub const MASTER_STATUS: Family =
    gauge("leader_election_master_status", &["name"], "1 on the replica that leads");
pub const CPU: Family = counter("process_cpu_seconds_total", &[], "CPU time, of user and system");
pub const RESIDENT_MEMORY: Family = gauge("process_resident_memory_bytes", &[], "Memory in use");
pub const VIRTUAL_MEMORY: Family = gauge("process_virtual_memory_bytes", &[], "Address space");
pub const VIRTUAL_MEMORY_MAX: Family =
    gauge("process_virtual_memory_max_bytes", &[], "Limit of the address space; -1 for none");
pub const OPEN_FILES: Family = gauge("process_open_fds", &[], "Open files and connections");
pub const FILES_MAX: Family = gauge("process_max_fds", &[], "Limit of those");
pub const START_TIME: Family =
    gauge("process_start_time_seconds", &[], "When the process began, in seconds since 1970");
pub const RECEIVED: Family =
    counter("process_network_receive_bytes_total", &[], "Bytes that came in through all interfaces");
pub const SENT: Family =
    counter("process_network_transmit_bytes_total", &[], "Bytes that went out through all interfaces");

/// All of them.
pub const FAMILIES: [Family; 36] = [
    RECONCILES,
    RECONCILE_ERRORS,
    TERMINAL_ERRORS,
    RECONCILE_PANICS,
    WORKERS,
    ACTIVE_WORKERS,
    RECONCILE_TIME,
    QUEUE_DEPTH,
    QUEUE_ADDS,
    QUEUE_RETRIES,
    QUEUE_WAIT,
    QUEUE_WORK,
    QUEUE_UNFINISHED,
    QUEUE_LONGEST,
    WEBHOOK_REQUESTS,
    WEBHOOK_IN_FLIGHT,
    WEBHOOK_LATENCY,
    ADMISSION_DURATION,
    ADMISSIONS,
    WEBHOOK_PANICS,
    CLIENT_REQUESTS,
    CERTIFICATE_READS,
    CERTIFICATE_ERRORS,
    IGNORED_GATES,
    POD_WEBHOOK_WIDTH,
    IS_LEADER,
    MASTER_STATUS,
    CPU,
    RESIDENT_MEMORY,
    VIRTUAL_MEMORY,
    VIRTUAL_MEMORY_MAX,
    OPEN_FILES,
    FILES_MAX,
    START_TIME,
    RECEIVED,
    SENT,
];

const fn counter(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Family {
    Family { name, kind: FamilyType::Counter, labels, help }
}

const fn gauge(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Family {
    Family { name, kind: FamilyType::Gauge, labels, help }
}

const fn histogram(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Family {
    Family { name, kind: FamilyType::Histogram, labels, help }
}
