//! Names of environment variables: in containers (the wire) and of our own processes (the deployment).

/// In containers, written by users: start order, larger first; read by admission of pods.
pub const CONTAINER_PRIORITY: &str = "KRUISE_CONTAINER_PRIORITY";
/// In containers, written by admission of pods: the barrier a container waits for; read by the launch-priority controller.
pub const CONTAINER_BARRIER: &str = "KRUISE_CONTAINER_BARRIER";
/// In ephemeral containers, written by the EphemeralJob controller: uid of the job; read by it.
pub const EPHEMERALJOB_ID: &str = "KRUISE_EJOB_ID";
/// In injected containers (`true`), written by injection; read by the SidecarSet controller.
pub const IS_INJECTED: &str = "IS_INJECTED";
/// In hot-upgrade containers, written by injection; read by the container, left out of hashes by the node agent.
pub const SIDECARSET_VERSION: &str = "SIDECARSET_VERSION";
/// In hot-upgrade containers, written by injection: version of the twin; read by the container.
pub const SIDECARSET_VERSION_ALT: &str = "SIDECARSET_VERSION_ALT";
/// In containers, written by users (`true`): stop this sidecar when the job is done; read by the sidecar terminator.
pub const TERMINATE_SIDECAR: &str = "KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT";
/// In containers, written by users: image that ends the sidecar on virtual nodes; read by the sidecar terminator.
pub const TERMINATE_SIDECAR_WITH_IMAGE: &str = "KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT_WITH_IMAGE";
/// In containers, written by users (`true`): ignore the sidecar's exit code; read by the sidecar terminator.
pub const TERMINATE_SIDECAR_IGNORE_EXIT_CODE: &str = "KRUISE_TERMINATE_SIDECAR_IGNORE_EXIT_CODE";
/// In containers, written by the CLI's `rollout restart`; read by nobody, its change restarts pods.
pub const RESTARTED_AT: &str = "RESTARTED_AT";

/// Of the manager, written by the chart: namespace of the installation.
pub const POD_NAMESPACE: &str = "POD_NAMESPACE";
/// Of the manager, written by the chart: where synced pull secrets live.
pub const DAEMON_CONFIG_NAMESPACE: &str = "KRUISE_DAEMON_CONFIG_NS";
/// Of the manager, written by the chart: listen port of the webhook server.
pub const WEBHOOK_PORT: &str = "WEBHOOK_PORT";
/// Of the manager, written by the chart: external host of the webhook server.
pub const WEBHOOK_HOST: &str = "WEBHOOK_HOST";
/// Of the manager, written by the chart: folder of the certificate files.
pub const WEBHOOK_CERT_DIR: &str = "WEBHOOK_CERT_DIR";
/// Of the manager, written by the chart: `fs` or a secret.
pub const WEBHOOK_CERT_WRITER: &str = "WEBHOOK_CERT_WRITER";
/// Of the manager, written by the chart: name of the certificate secret.
pub const SECRET_NAME: &str = "SECRET_NAME";
/// Of the manager, written by the chart: name of the webhook service.
pub const SERVICE_NAME: &str = "SERVICE_NAME";
/// Of the manager, written by the chart: how long before expiry certificates are renewed.
pub const CERTS_RENEW_BEFORE: &str = "CERTS_RENEW_BEFORE";
/// Of the manager, written by the chart: kinds to serve.
pub const CUSTOM_RESOURCE_ENABLE: &str = "CUSTOM_RESOURCE_ENABLE";
/// Of the node agent, written by the chart: the node it runs on.
pub const NODE_NAME: &str = "NODE_NAME";
