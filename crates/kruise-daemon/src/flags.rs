//! The command line: the flags of OpenKruise's agent under the same names, so that a DaemonSet can swap the image.

use std::path::PathBuf;

use clap::Parser;

/// Flags of the log library of OpenKruise's agent. They have no effect.
const KLOG: [&str; 13] = [
    "add_dir_header",
    "alsologtostderr",
    "log_backtrace_at",
    "log_dir",
    "log_file",
    "log_file_max_size",
    "logtostderr",
    "one_output",
    "skip_headers",
    "skip_log_headers",
    "stderrthreshold",
    "vmodule",
    "zap_log_level",
];

/// Pulls images, restarts containers and runs probes on one node.
#[derive(Debug, Parser)]
#[command(name = "kruise-daemon", version)]
pub struct Flags {
    /// Address that serves /metrics and /healthz
    #[arg(long, default_value = ":10221")]
    pub addr: String,

    /// Accepted for compatibility; this agent serves no pprof
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub enable_pprof: bool,

    /// Accepted for compatibility; this agent serves no pprof
    #[arg(long, default_value = ":10222")]
    pub pprof_addr: String,

    /// Configuration of credential provider plugins, as the kubelet reads it
    #[arg(long, default_value = "/kruise/CredentialProviderPlugin.yaml")]
    pub plugin_config_file: PathBuf,

    /// Directory of credential provider plugins
    #[arg(long, default_value = "/kruise/plugins")]
    pub plugin_bin_dir: PathBuf,

    /// Images that are pulled at one time on this node; 0 or less: no limit
    #[arg(long, default_value_t = -1, allow_hyphen_values = true)]
    pub max_workers_for_pull_image: i32,

    /// Accepted for compatibility; the agent makes few requests and needs no limit
    #[arg(long, default_value_t = 0.0, allow_hyphen_values = true)]
    pub rest_config_qps: f64,

    /// Accepted for compatibility; the agent makes few requests and needs no limit
    #[arg(long, default_value_t = 0, allow_hyphen_values = true)]
    pub rest_config_burst: i32,

    /// Name of the container runtime's socket below the directory of sockets; empty: known names
    #[arg(long, default_value = "")]
    pub socket_file: String,

    /// Directory of the node's sockets
    #[arg(long, default_value = "/hostvarrun")]
    pub socket_dir: PathBuf,

    /// Feature gates as Name=true,Other=false; the same as the manager's
    #[arg(long, default_value = "")]
    pub feature_gates: String,

    /// Path of the kubeconfig; without it, the pod's own service account is used
    #[arg(long, default_value = "")]
    pub kubeconfig: String,

    /// Name of the node that this agent is for
    #[arg(long, env = kruise_api::env::NODE_NAME, default_value = "")]
    pub node_name: String,

    /// Log level: up to 3 information, 4 details, 5 everything
    #[arg(short, long, default_value_t = 2)]
    pub v: u8,
}

/// The arguments without those that only a log library of Go knows. Go takes one dash for two.
pub fn without_klog(arguments: impl IntoIterator<Item = String>) -> Vec<String> {
    let (mut kept, mut skip) = (Vec::new(), false);
    for argument in arguments {
        if std::mem::take(&mut skip) && !argument.starts_with('-') {
            continue;
        }
        let bare = argument.trim_start_matches('-');
        let name = bare.split('=').next().unwrap_or(bare).replace('-', "_");
        if argument.starts_with('-') && KLOG.contains(&name.as_str()) {
            // Only text flags take a value of their own; a truth value always follows an equals sign.
            skip = !bare.contains('=')
                && (name.starts_with("log_") || name == "vmodule" || name == "stderrthreshold");
            continue;
        }
        let is_single = argument.starts_with('-') && !argument.starts_with("--") && bare.len() > 2;
        kept.push(if is_single && !bare.starts_with("v=") { format!("-{argument}") } else { argument });
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Flags {
        let words = line.split_whitespace().map(str::to_owned);
        Flags::try_parse_from(without_klog(words)).unwrap()
    }

    /// daemon 2.1: the line of OpenKruise's chart, and everything that its flags can be.
    #[test]
    fn daemon_2_1_original_command_line_is_accepted() {
        let flags = parse(
            "/kruise-daemon --logtostderr=true --v=4 --addr=:10221 --feature-gates=ImagePullJobGate=true \
             --enable-pprof=true --pprof-addr=localhost:10222 --socket-file=containerd.sock",
        );
        assert_eq!(
            (flags.v, flags.addr.as_str(), flags.socket_file.as_str()),
            (4, ":10221", "containerd.sock")
        );
        let more = parse(
            "/kruise-daemon -v=5 -alsologtostderr --log_dir /tmp --vmodule=x=3 --enable-pprof --rest-config-qps=10 \
             --rest-config-burst=20 --max-workers-for-pull-image=-1 --plugin-bin-dir /p --plugin-config-file=/c",
        );
        assert_eq!((more.v, more.max_workers_for_pull_image), (5, -1));
        assert_eq!(more.plugin_bin_dir, PathBuf::from("/p"));
        let bare = parse("/kruise-daemon");
        assert_eq!(bare.socket_dir, PathBuf::from("/hostvarrun"));
    }
}
