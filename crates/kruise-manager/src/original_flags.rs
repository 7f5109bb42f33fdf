//! Flags of the original that ours takes without needing them, so that every command line of the original starts ours.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, CommandFactory, FromArgMatches};

use crate::flags::Flags;

/// Name, default, why it does nothing here. A flag that a kind defines itself goes before one of this table.
const WITHOUT_EFFECT: [(&str, &str, &str); 25] = [
    ("enable-pprof", "true", "There is no Go runtime to profile"),
    ("pprof-addr", "localhost:8090", "There is no Go runtime to profile"),
    ("allow-privileged", "true", "The API server itself validates pod templates"),
    ("leader-election-resource-lock", "leases", "Only leases are used"),
    ("sync-period", "", "There is no periodic resync: watches keep the caches current"),
    (
        "controller-cache-sync-timeout",
        "2m",
        "Controllers wait for their caches; /readyz names the missing ones",
    ),
    ("rate-limiter-qps", "10", "Each object backs off on its own; there is no shared bucket"),
    ("rate-limiter-bucket-size", "100", "Each object backs off on its own; there is no shared bucket"),
    ("expectation-timeout", "5m", "Every write is awaited in the cache"),
    ("disable-no-deepcopy", "false", "Cached objects are shared and immutable"),
    ("protection-log-path", "/log", "Refused deletions are logged"),
    (
        "ws-enabled-versioned-status",
        "deployment,replicaset",
        "For WorkloadSpread, which is not implemented yet",
    ),
    ("vmodule", "", "Use RUST_LOG for individual modules"),
    ("log-flush-frequency", "5s", "Log lines are written immediately"),
    ("logtostderr", "true", "Logs always go to standard error"),
    ("alsologtostderr", "false", "Logs always go to standard error"),
    ("stderrthreshold", "2", "Logs always go to standard error"),
    ("log_dir", "", "Logs always go to standard error"),
    ("log_file", "", "Logs always go to standard error"),
    ("log_file_max_size", "1800", "Logs always go to standard error"),
    ("skip_headers", "false", "Log lines have one format"),
    ("skip_log_headers", "false", "Log lines have one format"),
    ("add_dir_header", "false", "Log lines have one format"),
    ("one_output", "false", "Log lines have one format"),
    ("log_backtrace_at", "", "For the Go runtime"),
];

/// `--<kind>-workers` and what the original's FAQ calls it.
struct Workers {
    flag: &'static str,
    alias: &'static str,
}

macro_rules! workers {
    ($($kind:literal)*) => {
        [$(Workers { flag: concat!($kind, "-workers"), alias: concat!("concurrent-", $kind, "-syncs") }),*]
    };
}

/// All kinds whose workers the original can set, whether they are there yet or not.
const WORKERS: [Workers; 17] = workers!(
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
    let workers = WORKERS.map(|workers| (workers.flag, "3", "For a kind that is not implemented yet"));
    let mut command = Flags::command();
    for (name, default, why) in WITHOUT_EFFECT.into_iter().chain(workers) {
        if command.get_arguments().any(|known| known.get_long() == Some(name)) {
            continue;
        }
        let help = format!("{why} (OpenKruise default: {default:?}; accepted, no effect)");
        let arg = Arg::new(name).long(name).help(help).action(ArgAction::Append);
        let arg = arg.num_args(0..=1).require_equals(true).default_missing_value("true");
        command = command.arg(arg.help_heading("OpenKruise flags without effect"));
    }
    // The text must not depend on the machine that writes the documents.
    command.mut_args(|arg| aliased(arg).hide_env_values(true)).term_width(100)
}

fn aliased(arg: Arg) -> Arg {
    let alias = WORKERS.iter().find(|workers| arg.get_long() == Some(workers.flag));
    arg.aliases(alias.map(|workers| workers.alias))
}

/// Reads the command line; also which flags were given that do nothing.
pub fn parse(args: impl Iterator<Item = OsString>) -> (Flags, Vec<String>) {
    let command = command();
    let matches = command.clone().get_matches_from(args.map(two_dashes));
    let ours = Flags::command();
    let has_effect = |id: &str| ours.get_arguments().any(|arg| arg.get_id() == id);
    let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    // Arguments only: matches also name the groups that flattened structs make.
    let ids = command.get_arguments().map(|arg| arg.get_id().as_str());
    let ignored = ids.filter(|id| !has_effect(id) && is_given(id)).map(str::to_owned).collect();
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
    use crate::worker_flags::WorkerFlags;

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
        let workers: Vec<String> = WORKERS.iter().map(|workers| format!("--{}=7", workers.flag)).collect();
        let (flags, ignored) = read(&format!("{line} {}", workers.join(" ")));

        assert_eq!((flags.v, flags.workers.of("cloneset")), (4, 7));
        assert!(ignored.contains(&"pprof-addr".to_owned()), "PL-B2: {ignored:?}");
        assert!(
            ignored.contains(&"sync-period".to_owned()) && !ignored.contains(&"v".to_owned()),
            "{ignored:?}"
        );
    }

    /// F12: every kind that has workers, or will have them, has the second name.
    #[test]
    fn install_f12_workers_have_the_name_of_the_faq_too() {
        let syncs: Vec<String> = WORKERS.iter().map(|workers| format!("--{}=5", workers.alias)).collect();

        let (flags, ignored) = read(&format!("manager {}", syncs.join(" ")));

        let used: Vec<usize> = WorkerFlags::kinds().map(|(name, _)| flags.workers.of(name)).collect();
        assert!(used.iter().all(|count| *count == 5), "{used:?}");
        assert_eq!(ignored.len(), WORKERS.len() - used.len(), "{ignored:?}");
        assert!(ignored.contains(&"workloadspread-workers".to_owned()), "{ignored:?}");
        let all =
            command().get_arguments().filter_map(clap::Arg::get_long).map(str::to_owned).collect::<Vec<_>>();
        let unlisted = all.iter().filter(|flag| flag.ends_with("-workers"));
        let unlisted = unlisted.filter(|flag| !WORKERS.iter().any(|workers| workers.flag == **flag));
        assert_eq!(unlisted.count(), 0, "a kind of ours is not in the list");
    }

    #[test]
    fn flags_that_work_are_not_reported_as_ignored() {
        let (_, ignored) =
            read("manager --feature-gates=A=true --strict-feature-gates --webhook-port=1 --v=4");
        assert_eq!(ignored, Vec::<String>::new());
    }

    #[test]
    fn logging_flags_come_with_one_dash_too() {
        let (flags, ignored) = read("manager -v=5 -logtostderr=true -vmodule=a=3");
        assert_eq!((flags.v, ignored), (5, vec!["vmodule".to_owned(), "logtostderr".to_owned()]));
    }

    #[test]
    fn help_explains_every_flag() {
        let command = command();
        for arg in command.get_arguments() {
            assert!(arg.get_help().is_some(), "{} has no explanation", arg.get_id());
        }
    }
}
