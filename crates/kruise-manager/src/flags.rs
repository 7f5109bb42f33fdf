//! The command line: the original's flags under the same names, so that a deployment can swap the image.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser};
use kruise_core::cloneset::PreparingDelete;
use kruise_core::gates::{self, Gates, Said};
use kruise_core::pod::Assign;
use kruise_runtime::client::LimitLayer;
use kruise_runtime::lease::Timings;
use kruise_runtime::queue::BackOff;

use crate::go_duration::duration;
use crate::logging::Format;
use crate::webhooks::flags::WebhookFlags;
use crate::worker_flags::WorkerFlags;

/// An object that fails is never tried again without a pause: there is no common bucket that would slow it down.
const PAUSE_MIN: Duration = Duration::from_millis(1);

/// Candidates of the original look at the lease up to this much later than they say: 6/5.
const RETRY_JITTER: (u32, u32) = (6, 5);

/// Which features are on.
#[derive(Debug, Args)]
pub struct GateFlags {
    /// Feature gates as Name=true,Other=false; AllAlpha and AllBeta set all gates of a stage
    #[arg(long, default_value = "")]
    pub feature_gates: String,

    /// End with an error if --feature-gates has an unknown name or value, instead of reporting and ignoring it
    #[arg(long, default_value_t = false, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub strict_feature_gates: bool,
}

/// What only one kind asks for.
#[derive(Debug, Args)]
pub struct KindFlags {
    /// Do not count pods in state PreparingDelete as replicas of any CloneSet
    #[arg(long, default_value_t = false, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub cloneset_scaling_exclude_preparing_delete: bool,

    #[command(flatten)]
    pub assign: AssignFlags,

    #[command(flatten)]
    pub images: ImageFlags,
}

/// How nodes are told what to pull.
#[derive(Debug, Args)]
pub struct ImageFlags {
    /// How long a node must be ready before it gets a NodeImage
    #[arg(long, default_value = "30s", value_parser = duration, allow_hyphen_values = true)]
    pub nodeimage_creation_delay: Duration,

    /// Seconds that images of finished ImagePullJobs stay in NodeImages beyond what the job says
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(i64).range(0..=2_678_400))]
    pub default_ttlseconds_for_always_nodeimage: i64,

    /// Namespace of the copies of pull secrets, which node agents may read
    #[arg(long, env = kruise_api::env::DAEMON_CONFIG_NAMESPACE, default_value = kruise_api::names::DAEMON_CONFIG_NAMESPACE)]
    pub daemon_config_namespace: String,
}

/// Who binds pods that are made for a node.
#[derive(Debug, Args)]
pub struct AssignFlags {
    /// Let the scheduler bind the pods of BroadcastJobs to their nodes; false: the pods name their nodes themselves
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub assign_bcj_pods_by_scheduler: bool,

    /// Let the scheduler bind the pods of DaemonSets to their nodes; false: the pods name their nodes themselves
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub assign_pods_by_scheduler: bool,
}

/// Runs the Kruise controllers.
#[derive(Debug, Parser)]
#[command(name = "kruise-manager", version)]
pub struct Flags {
    /// Path of the kubeconfig; without it, the pod's own service account is used
    #[arg(long, default_value = "")]
    pub kubeconfig: String,

    /// Address that serves /metrics
    #[arg(long, default_value = ":8080")]
    pub metrics_addr: String,

    /// Address that serves /healthz and /readyz
    #[arg(long, default_value = ":8000")]
    pub health_probe_addr: String,

    /// Let only one replica run controllers
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub enable_leader_election: bool,

    /// Namespace of the lease; empty means the pod's own namespace
    #[arg(long, default_value = kruise_api::names::NAMESPACE)]
    pub leader_election_namespace: String,

    /// Name of the lease
    #[arg(long, default_value = "kruise-manager")]
    pub leader_election_id: String,

    /// How long a lease is valid after its last renewal
    #[arg(long, default_value = "15s", value_parser = duration, allow_hyphen_values = true)]
    pub leader_election_lease_duration: Duration,

    /// How long a leader tries to renew before it gives up
    #[arg(long, default_value = "10s", value_parser = duration, allow_hyphen_values = true)]
    pub leader_election_renew_deadline: Duration,

    /// How often the lease is checked
    #[arg(long, default_value = "2s", value_parser = duration, allow_hyphen_values = true)]
    pub leader_election_retry_period: Duration,

    /// Watch only this namespace
    #[arg(long, default_value = "")]
    pub namespace: String,

    #[command(flatten)]
    pub features: GateFlags,

    /// First retry delay of a failing object
    #[arg(long, default_value = "5ms", value_parser = duration, allow_hyphen_values = true)]
    pub rate_limiter_base_delay: Duration,

    /// Longest retry delay of a failing object
    #[arg(long, default_value = "1000s", value_parser = duration, allow_hyphen_values = true)]
    pub rate_limiter_max_delay: Duration,

    #[command(flatten)]
    pub workers: WorkerFlags,

    #[command(flatten)]
    pub kinds: KindFlags,

    /// Log level of the original: 4 shows why pods are left alone, whenever that changes; 5 shows it for every pod and plan; 6 shows what libraries say
    #[arg(short, long, default_value_t = 2)]
    pub v: u8,

    /// text for people, or json for one object per line
    #[arg(long, default_value = "text")]
    pub logging_format: Format,

    /// Requests per second to the API server; absent or not positive: no client-side limit
    #[arg(long, allow_hyphen_values = true)]
    pub rest_config_qps: Option<f64>,

    /// Requests that may be sent at once with --rest-config-qps
    #[arg(long, default_value_t = 50, allow_hyphen_values = true)]
    pub rest_config_burst: i32,

    #[command(flatten)]
    pub webhook: WebhookFlags,
}

impl Flags {
    pub fn kubeconfig(&self) -> Option<PathBuf> {
        Some(self.kubeconfig.as_str()).filter(|path| !path.is_empty()).map(PathBuf::from)
    }

    pub fn timings(&self) -> Timings {
        Timings {
            duration: self.leader_election_lease_duration,
            renew_deadline: self.leader_election_renew_deadline,
            retry: self.leader_election_retry_period,
        }
    }

    /// A leader must be able to try again before it has to give up, and to give up before others may lead.
    pub fn check_timings(&self) -> anyhow::Result<()> {
        let Timings { duration, renew_deadline, retry } = self.timings();
        let can_be_kept = !retry.is_zero()
            && renew_deadline > retry.saturating_mul(RETRY_JITTER.0) / RETRY_JITTER.1
            && duration > renew_deadline;
        anyhow::ensure!(
            can_be_kept || !self.enable_leader_election,
            "--leader-election-lease-duration must be longer than --leader-election-renew-deadline, and that longer than 1.2 times --leader-election-retry-period, which must not be 0"
        );
        Ok(())
    }

    pub fn back_off(&self) -> BackOff {
        let first = self.rate_limiter_base_delay.max(PAUSE_MIN);
        BackOff { first, longest: self.rate_limiter_max_delay.max(first) }
    }

    /// A limit of our own on requests, if one was asked for.
    pub fn limit(&self) -> Option<LimitLayer> {
        let burst = u32::try_from(self.rest_config_burst).unwrap_or(1).max(1);
        self.rest_config_qps.filter(|qps| *qps > 0.0).map(|qps| LimitLayer::new(qps, burst))
    }
}

impl KindFlags {
    pub fn broadcast_assign(&self) -> Assign {
        if self.assign.assign_bcj_pods_by_scheduler { Assign::Scheduler } else { Assign::Directly }
    }

    pub fn daemon_assign(&self) -> Assign {
        if self.assign.assign_pods_by_scheduler { Assign::Scheduler } else { Assign::Directly }
    }

    pub fn preparing_delete(&self) -> PreparingDelete {
        if self.cloneset_scaling_exclude_preparing_delete {
            PreparingDelete::Excluded
        } else {
            PreparingDelete::Counted
        }
    }
}

impl GateFlags {
    /// What `--feature-gates` says; entries that mean nothing are an error only with `--strict-feature-gates`.
    pub fn read(&self) -> anyhow::Result<Said> {
        let said = Gates::read(&self.feature_gates);
        if self.strict_feature_gates && !said.faults.is_empty() {
            let faults: Vec<String> = said.faults.iter().map(ToString::to_string).collect();
            anyhow::bail!(
                "{}; known are {}",
                faults.join("; "),
                gates::names().collect::<Vec<_>>().join(", ")
            );
        }
        Ok(said)
    }
}

#[cfg(test)]
mod tests {
    use kruise_core::gates::Gate;

    use super::*;

    #[test]
    fn original_command_line_is_accepted() {
        let line = "manager --enable-leader-election --metrics-addr=:8080 --health-probe-addr=:8000 --v=4 \
                    --feature-gates=AllAlpha=true --leader-election-namespace=kruise-system --cloneset-workers=7";

        let flags = Flags::try_parse_from(line.split_whitespace()).unwrap();

        assert_eq!((flags.workers.of("cloneset"), flags.v, flags.enable_leader_election), (7, 4, true));
        assert!(flags.features.read().unwrap().gates.on(Gate::CloneSetShortHash));
    }

    /// What the original's library refuses, too: a leader would be deposed before it can renew.
    #[test]
    fn lease_that_cannot_be_kept_is_refused() {
        for (line, is_fine) in [
            ("", true),
            (
                "--leader-election-lease-duration=1.5s --leader-election-renew-deadline=1s --leader-election-retry-period=100ms",
                true,
            ),
            ("--leader-election-lease-duration=10s", false),
            ("--leader-election-retry-period=9s", false),
            ("--leader-election-retry-period=0s", false),
            ("--leader-election-retry-period=-1s", false),
            ("--leader-election-retry-period=0s --enable-leader-election=false", true),
        ] {
            let flags = Flags::try_parse_from(format!("manager {line}").split_whitespace()).unwrap();
            assert_eq!(flags.check_timings().is_ok(), is_fine, "{line}");
        }
    }

    #[test]
    fn logging_format_of_older_charts_is_accepted() {
        let read = |value: &str| {
            let flags = Flags::try_parse_from(["manager".to_owned(), format!("--logging-format={value}")]);
            flags.map(|flags| flags.logging_format).ok()
        };
        let formats = ["text", "json", " ", "", "xml"].map(read);
        assert_eq!(
            formats,
            [Some(Format::Text), Some(Format::Json), Some(Format::Text), Some(Format::Text), None]
        );
    }

    #[test]
    fn first_back_off_may_be_nothing_and_is_still_a_pause() {
        let flags = Flags::try_parse_from(["manager", "--rate-limiter-base-delay", "0s"]).unwrap();
        assert_eq!(flags.back_off().first, PAUSE_MIN);
    }

    /// install/F14, platform acceptance 9.
    #[test]
    fn install_f14_unknown_gate_is_refused_only_when_asked_for() {
        let line = ["manager", "--feature-gates=EnhancedLivenessProbeGate=true,CloneSetShortHash=true"];
        let said = Flags::try_parse_from(line).unwrap().features.read().unwrap();
        assert!(said.gates.on(Gate::CloneSetShortHash) && said.faults.len() == 1, "{:?}", said.faults);

        let strict = line.into_iter().chain(["--strict-feature-gates"]);
        let error = Flags::try_parse_from(strict).unwrap().features.read().unwrap_err().to_string();
        assert!(error.contains("did you mean EnhancedLivenessProbe?"), "{error}");
        assert!(error.contains("known are PodWebhook,") && error.ends_with("AllAlpha, AllBeta"), "{error}");
    }
}
