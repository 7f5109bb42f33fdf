//! Flags of the original that ours takes without needing them, so that every command line of the original starts ours.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, CommandFactory, FromArgMatches};

use crate::flags::Flags;

/// Name, default, why it does nothing here. A flag that a kind defines itself goes before one of this table.
const WITHOUT_EFFECT: [(&str, &str, &str); 30] = [
    ("enable-pprof", "true", "Profiles of the Go runtime: there is none here"),
    ("pprof-addr", "localhost:8090", "Where profiles of the Go runtime were served"),
    ("allow-privileged", "true", "Pod templates are judged by the API server itself"),
    ("leader-election-resource-lock", "leases", "Only leases are used"),
    ("sync-period", "", "Nothing is resynced by time: caches are kept current by watches"),
    (
        "controller-cache-sync-timeout",
        "2m",
        "Controllers wait for their caches; /readyz names the missing ones",
    ),
    ("rate-limiter-qps", "10", "Objects back off one by one; there is no common bucket"),
    ("rate-limiter-bucket-size", "100", "Objects back off one by one; there is no common bucket"),
    ("expectation-timeout", "5m", "The cache is waited for after every write"),
    ("disable-no-deepcopy", "false", "Objects of the cache are shared and cannot be changed"),
    ("protection-log-path", "/log", "Refused deletions are log lines"),
    ("default-ttlseconds-for-always-nodeimage", "300", "For kinds that come with the node agent"),
    ("nodeimage-creation-delay", "30s", "For kinds that come with the node agent"),
    ("ws-enabled-versioned-status", "deployment,replicaset", "For WorkloadSpread, which is not there yet"),
    ("assign-bcj-pods-by-scheduler", "true", "For BroadcastJob, which is not there yet"),
    ("assign-pods-by-scheduler", "true", "For DaemonSet, which is not there yet"),
    ("vmodule", "", "Use RUST_LOG for single modules"),
    ("log-flush-frequency", "5s", "Lines are written at once"),
    ("logtostderr", "true", "Lines always go to standard error"),
    ("alsologtostderr", "false", "Lines always go to standard error"),
    ("stderrthreshold", "2", "Lines always go to standard error"),
    ("log_dir", "", "Lines always go to standard error"),
    ("log_file", "", "Lines always go to standard error"),
    ("log_file_max_size", "1800", "Lines always go to standard error"),
    ("skip_headers", "false", "Lines have one form"),
    ("skip_log_headers", "false", "Lines have one form"),
    ("add_dir_header", "false", "Lines have one form"),
    ("one_output", "false", "Lines have one form"),
    ("log_backtrace_at", "", "For the Go runtime"),
    ("strict-feature-gates", "true", "Unknown gates are always refused, with the list of known ones"),
];

/// `<kind>-workers` and the name that the original's FAQ gives it.
macro_rules! workers {
    ($($kind:literal)*) => {
        [$((concat!($kind, "-workers"), concat!("concurrent-", $kind, "-syncs"))),*]
    };
}

/// All kinds whose workers the original can set.
const WORKERS: [(&str, &str); 17] = workers!(
    "advancedcronjob" "broadcastjob" "cloneset" "crr" "daemonset" "imagepulljob" "nodeimage" "nodepodprobe"
    "persistentpodstate" "podprobemarker" "podunavailablebudget" "resourcedistribution" "sidecarset"
    "sidecarterminator" "statefulset" "uniteddeployment" "workloadspread"
);

/// Logging flags of the original, which also come with one dash.
const ONE_DASH: [&str; 14] = [
    "add_dir_header",
    "alsologtostderr",
    "log-flush-frequency",
    "log_backtrace_at",
    "log_dir",
    "log_file",
    "log_file_max_size",
    "logtostderr",
    "one_output",
    "skip_headers",
    "skip_log_headers",
    "stderrthreshold",
    "v",
    "vmodule",
];

/// The command line with everything that the original accepts.
pub fn command() -> clap::Command {
    // The text must not depend on the machine that writes the documents.
    let mut command = Flags::command().mut_args(|arg| arg.hide_env_values(true)).term_width(100);
    let workers = WORKERS.map(|(name, _)| (name, "3", "For a kind that is not there yet"));
    for (name, default, why) in WITHOUT_EFFECT.into_iter().chain(workers) {
        if command.get_arguments().any(|known| known.get_long() == Some(name)) {
            continue;
        }
        let help = format!("{why} (default of the original: {default:?}; accepted, no effect)");
        let arg = Arg::new(name).long(name).help(help).action(ArgAction::Append);
        let arg = arg.num_args(0..=1).require_equals(true).default_missing_value("true");
        let alias = WORKERS.iter().find(|(known, _)| *known == name).map(|(_, alias)| *alias);
        command = command.arg(arg.aliases(alias).help_heading("Flags of the original without effect"));
    }
    command
}

/// Reads the command line; also which flags were given that do nothing.
pub fn parse(args: impl Iterator<Item = OsString>) -> (Flags, Vec<String>) {
    let matches = command().get_matches_from(args.map(two_dashes));
    let is_given = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
    let ours = Flags::command();
    let known = |id: &str| ours.get_arguments().any(|arg| arg.get_id() == id);
    let ignored =
        matches.ids().map(clap::Id::as_str).filter(|id| is_given(id) && !known(id)).map(str::to_owned);
    let ignored = ignored.collect();
    let flags = Flags::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    (flags, ignored)
}

fn two_dashes(arg: OsString) -> OsString {
    let Some(text) = arg.to_str() else { return arg };
    let Some(rest) = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else { return arg };
    let name = rest.split_once('=').map_or(rest, |(name, _)| name);
    if ONE_DASH.contains(&name) { format!("--{rest}").into() } else { arg }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> (Flags, Vec<String>) {
        parse(line.split_whitespace().map(OsString::from))
    }

    /// Platform acceptance 9, F12, PL-B2 (there is no profiler: nothing listens, whatever is said about its address): the table of the specification, each flag with its default.
    #[test]
    fn install_f12_every_flag_of_the_original_is_accepted() {
        let line = "manager --metrics-addr=:8080 --health-probe-addr=:8000 --enable-pprof=true --pprof-addr=:8090 \
            --allow-privileged --enable-leader-election --leader-election-namespace=kruise-system \
            --leader-election-id=kruise-manager --leader-election-resource-lock=leases \
            --leader-election-lease-duration=15s --leader-election-renew-deadline=10s \
            --leader-election-retry-period=2s --namespace= --sync-period=0 --controller-cache-sync-timeout=2m \
            --webhook-initialize-timeout=60s --default-ttlseconds-for-always-nodeimage=300 --rest-config-qps=30 \
            --rest-config-burst=50 --feature-gates=CloneSetShortHash=true --rate-limiter-base-delay=5ms \
            --rate-limiter-max-delay=1000s --rate-limiter-qps=10 --rate-limiter-bucket-size=100 \
            --expectation-timeout=5m --protection-log-path=/log --disable-no-deepcopy=false \
            --ws-enabled-versioned-status=deployment --cloneset-scaling-exclude-preparing-delete=false \
            --assign-bcj-pods-by-scheduler=true --assign-pods-by-scheduler --nodeimage-creation-delay=30s \
            --kubeconfig= --logging-format=json --v=4 --vmodule= --log-flush-frequency=5s --logtostderr \
            --alsologtostderr=false --stderrthreshold=2 --log_dir= --log_file= --log_file_max_size=1800 \
            --skip_headers --skip_log_headers --add_dir_header --one_output --log_backtrace_at=:0";
        let workers: Vec<String> = WORKERS.iter().map(|(name, _)| format!("--{name}=7")).collect();
        let (flags, ignored) = read(&format!("{line} {}", workers.join(" ")));

        assert_eq!((flags.v, flags.cloneset_workers), (4, 7));
        assert!(ignored.contains(&"pprof-addr".to_owned()), "PL-B2: {ignored:?}");
        assert!(
            ignored.contains(&"sync-period".to_owned()) && !ignored.contains(&"v".to_owned()),
            "{ignored:?}"
        );
        let (short, unused) = read("manager --concurrent-cloneset-syncs=5 --concurrent-sidecarset-syncs=5");
        assert_eq!((short.cloneset_workers, unused), (5, vec!["sidecarset-workers".to_owned()]));
    }

    #[test]
    fn logging_flags_come_with_one_dash_too() {
        let (flags, ignored) = read("manager -v=5 -logtostderr=true -vmodule=a=3");
        assert_eq!((flags.v, ignored), (5, vec!["logtostderr".to_owned(), "vmodule".to_owned()]));
    }

    #[test]
    fn help_explains_every_flag() {
        let command = command();
        for arg in command.get_arguments() {
            assert!(arg.get_help().is_some(), "{} has no explanation", arg.get_id());
        }
    }
}
