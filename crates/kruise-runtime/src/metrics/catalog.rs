//! Every family of the page: the one list that the page and `docs/metrics.md` are made from.

/// One family of metrics.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    pub name: &'static str,
    /// The word of the text format.
    pub kind: &'static str,
    /// Separated by commas.
    pub labels: &'static str,
    pub help: &'static str,
}

/// In the order of the page.
pub const FAMILIES: [Family; 34] = [
    counter("controller_runtime_reconcile_total", "controller, result", "Plans by how they ended"),
    counter("controller_runtime_reconcile_errors_total", "controller", "Plans that failed"),
    counter(
        "controller_runtime_terminal_reconcile_errors_total",
        "controller",
        "Plans that failed and are not tried again: always 0, all are",
    ),
    counter(
        "controller_runtime_reconcile_panics_total",
        "controller",
        "Turns that panicked: a defect, should be 0",
    ),
    gauge(
        "controller_runtime_max_concurrent_reconciles",
        "controller",
        "Workers; 0 on a replica that does not lead",
    ),
    gauge("controller_runtime_active_workers", "controller", "Objects that are being worked on"),
    histogram("controller_runtime_reconcile_time_seconds", "controller", "Time per plan with its writes"),
    gauge("workqueue_depth", "name, controller", "Objects that wait for a worker"),
    counter("workqueue_adds_total", "name, controller", "Objects that were put into the queue"),
    counter("workqueue_retries_total", "name, controller", "Objects that came back because something failed"),
    histogram(
        "workqueue_queue_duration_seconds",
        "name, controller",
        "Time that objects waited for a worker",
    ),
    histogram("workqueue_work_duration_seconds", "name, controller", "Time that workers spent on an object"),
    gauge(
        "workqueue_unfinished_work_seconds",
        "name, controller",
        "Time spent so far on what is not finished, in all",
    ),
    gauge(
        "workqueue_longest_running_processor_seconds",
        "name, controller",
        "Time spent so far on what takes longest: growing means stuck",
    ),
    counter(
        "controller_runtime_webhook_requests_total",
        "webhook, code",
        "Webhook answers by path and code; 499 means that the caller hung up",
    ),
    gauge(
        "controller_runtime_webhook_requests_in_flight",
        "webhook",
        "Webhook requests that are being answered",
    ),
    histogram("controller_runtime_webhook_latency_seconds", "webhook", "Time per webhook request"),
    histogram(
        "kruise_webhook_admission_duration_seconds",
        "webhook",
        "The same under the name that the guide has",
    ),
    counter(
        "kruise_webhook_admission_requests_total",
        "webhook, operation, resource, allowed",
        "Admission requests by what was said",
    ),
    counter("controller_runtime_webhook_panics_total", "", "Webhooks that panicked: a defect, should be 0"),
    counter(
        "rest_client_requests_total",
        "code, method, host",
        "Requests to the API server; a code in angle brackets had no answer",
    ),
    counter("certwatcher_read_certificate_total", "", "Looks at the webhook certificates"),
    counter(
        "certwatcher_read_certificate_errors_total",
        "",
        "Of those, the ones that found no usable certificate",
    ),
    gauge("kruise_manager_is_leader", "", "1 on the replica that leads"),
    gauge("leader_election_master_status", "name", "1 on the replica that leads"),
    counter("process_cpu_seconds_total", "", "CPU time, of user and system"),
    gauge("process_resident_memory_bytes", "", "Memory in use"),
    gauge("process_virtual_memory_bytes", "", "Address space"),
    gauge("process_virtual_memory_max_bytes", "", "Limit of the address space; -1 for none"),
    gauge("process_open_fds", "", "Open files and connections"),
    gauge("process_max_fds", "", "Limit of those"),
    gauge("process_start_time_seconds", "", "When the process began, in seconds since 1970"),
    counter("process_network_receive_bytes_total", "", "Bytes that came in through all interfaces"),
    counter("process_network_transmit_bytes_total", "", "Bytes that went out through all interfaces"),
];

const fn counter(name: &'static str, labels: &'static str, help: &'static str) -> Family {
    Family { name, kind: "counter", labels, help }
}

const fn gauge(name: &'static str, labels: &'static str, help: &'static str) -> Family {
    Family { name, kind: "gauge", labels, help }
}

const fn histogram(name: &'static str, labels: &'static str, help: &'static str) -> Family {
    Family { name, kind: "histogram", labels, help }
}
