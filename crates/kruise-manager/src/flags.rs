//! The command line: the original's flags under the same names, so that a deployment can swap the image.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use kruise_core::cloneset::PreparingDelete;
use kruise_core::gates::{Gate, Gates};
use kruise_runtime::gates::{FeatureGates, GateError};
use kruise_runtime::lease::Timings;
use kruise_runtime::limit::LimitLayer;
use kruise_runtime::queue::BackOff;

use crate::webhooks::flags::WebhookFlags;

/// Runs the controllers of Kruise.
#[derive(Debug, Parser)]
#[command(name = "kruise-manager", version)]
pub struct Flags {
    /// Kubeconfig to use; in a cluster the pod's own account is used without it
    #[arg(long, default_value = "")]
    pub kubeconfig: String,

    /// Where /metrics is served
    #[arg(long, default_value = ":8080")]
    pub metrics_addr: String,

    /// Where /healthz and /readyz are served
    #[arg(long, default_value = ":8000")]
    pub health_probe_addr: String,

    /// Let only one replica run controllers
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub enable_leader_election: bool,

    /// Namespace of the lease; empty for the pod's own
    #[arg(long, default_value = kruise_api::names::NAMESPACE)]
    pub leader_election_namespace: String,

    /// Name of the lease
    #[arg(long, default_value = "kruise-manager")]
    pub leader_election_id: String,

    /// How long a lease holds that is not renewed
    #[arg(long, default_value = "15s", value_parser = duration)]
    pub leader_election_lease_duration: Duration,

    /// When a leader that cannot renew gives up
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub leader_election_renew_deadline: Duration,

    /// How often the lease is looked at
    #[arg(long, default_value = "2s", value_parser = duration)]
    pub leader_election_retry_period: Duration,

    /// Watch only this namespace
    #[arg(long, default_value = "")]
    pub namespace: String,

    /// Feature gates as Name=true,Other=false; AllAlpha and AllBeta set all of a stage
    #[arg(long, default_value = "")]
    pub feature_gates: String,

    /// First back-off of an object that fails
    #[arg(long, default_value = "5ms", value_parser = duration)]
    pub rate_limiter_base_delay: Duration,

    /// Longest back-off of an object that fails
    #[arg(long, default_value = "1000s", value_parser = duration)]
    pub rate_limiter_max_delay: Duration,

    /// CloneSets that are worked on at the same time; one whose writes are kept waiting does not count
    #[arg(long, default_value_t = 3, alias = "concurrent-cloneset-syncs")]
    pub cloneset_workers: usize,

    /// StatefulSets that are worked on at the same time, likewise
    #[arg(long, default_value_t = 3)]
    pub statefulset_workers: usize,

    /// PersistentPodStates that are worked on at the same time, likewise
    #[arg(long, default_value_t = 3)]
    pub persistentpodstate_workers: usize,

    /// Do not count pods in state PreparingDelete as replicas of any CloneSet
    #[arg(long, default_value_t = false, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub cloneset_scaling_exclude_preparing_delete: bool,

    /// Log level of the original: 4 and above shows why pods are left alone
    #[arg(short, long, default_value_t = 2)]
    pub v: u8,

    /// text or json
    #[arg(long, default_value = "text")]
    pub logging_format: String,

    /// Requests a second to the API server; not given or not positive: no limit of ours, the server has its own
    #[arg(long, allow_hyphen_values = true)]
    pub rest_config_qps: Option<f64>,

    /// How many requests may go out at once with --rest-config-qps
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

    pub fn back_off(&self) -> BackOff {
        BackOff { first: self.rate_limiter_base_delay, longest: self.rate_limiter_max_delay }
    }

    /// A limit of our own on requests, if one was asked for.
    pub fn limit(&self) -> Option<LimitLayer> {
        let burst = u32::try_from(self.rest_config_burst).unwrap_or(1).max(1);
        self.rest_config_qps.filter(|qps| *qps > 0.0).map(|qps| LimitLayer::new(qps, burst))
    }

    pub fn gates(&self) -> Result<FeatureGates, GateError> {
        FeatureGates::read(&self.feature_gates)
    }

    pub fn preparing_delete(&self) -> PreparingDelete {
        if self.cloneset_scaling_exclude_preparing_delete {
            PreparingDelete::Excluded
        } else {
            PreparingDelete::Counted
        }
    }
}

/// The gates that planners read, out of those of the process.
pub fn planner_gates(gates: &FeatureGates) -> Gates {
    let table = [
        ("CloneSetShortHash", Gate::CloneSetShortHash),
        ("CloneSetPartitionRollback", Gate::CloneSetPartitionRollback),
        ("PreparingUpdateAsUpdate", Gate::PreparingUpdateAsUpdate),
        ("RecreatePodWhenChangeVCTInCloneSetGate", Gate::RecreatePodWhenChangeVct),
        ("PreDownloadImageForInPlaceUpdate", Gate::PreDownloadImage),
        ("InPlaceWorkloadVerticalScaling", Gate::VerticalScaling),
        ("InPlaceUpdateEnvFromMetadata", Gate::EnvFromMetadata),
        ("PodUnavailableBudgetUpdateGate", Gate::PodUnavailableBudgetUpdate),
        ("TemplateNoDefaults", Gate::TemplateNoDefaults),
        ("DefaultHostNetworkHostPortsInPodTemplates", Gate::DefaultHostPorts),
        ("KruisePodReadinessGate", Gate::PodReadinessGate),
        ("StatefulSetStartOrdinal", Gate::StatefulSetStartOrdinal),
        ("StatefulSetAutoDeletePVC", Gate::StatefulSetAutoDeleteClaims),
        ("StatefulSetAutoResizePVCGate", Gate::StatefulSetAutoResizeClaims),
        ("PodIndexLabel", Gate::PodIndexLabel),
    ];
    table.into_iter().fold(
        Gates::default(),
        |all, (name, gate)| {
            if gates.on(name) { all.with(gate) } else { all.without(gate) }
        },
    )
}

/// Durations as Go writes them: `5ms`, `1000s`, `2m`, `1h30m`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text} is not a duration: write it like 5ms, 10s, 2m or 1h30m");
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let (number, unit) = rest.split_at(digits);
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let end = unit.find(|c: char| c.is_ascii_digit()).unwrap_or(unit.len());
        let (unit, later) = unit.split_at(end);
        let milliseconds = match unit {
            "ms" => number,
            "s" => number.saturating_mul(1_000),
            "m" => number.saturating_mul(60_000),
            "h" => number.saturating_mul(3_600_000),
            _ => return Err(wrong()),
        };
        total = total.saturating_add(Duration::from_millis(milliseconds));
        rest = later;
    }
    if total == Duration::ZERO { Err(wrong()) } else { Ok(total) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn original_command_line_is_accepted() {
        let line = "manager --enable-leader-election --metrics-addr=:8080 --health-probe-addr=:8000 --v=4 \
                    --feature-gates=AllAlpha=true --leader-election-namespace=kruise-system --cloneset-workers=7";

        let flags = Flags::try_parse_from(line.split_whitespace()).unwrap();

        assert_eq!((flags.cloneset_workers, flags.v, flags.enable_leader_election), (7, 4, true));
        assert!(planner_gates(&flags.gates().unwrap()).on(Gate::CloneSetShortHash));
    }

    #[test]
    fn durations_as_go_writes_them() {
        for (text, expected) in [("5ms", 5), ("1000s", 1_000_000), ("2m", 120_000), ("1h30m", 5_400_000)] {
            assert_eq!(duration(text).unwrap(), Duration::from_millis(expected), "{text}");
        }
        for text in ["", "5", "s", "5 s", "0s", "-1s"] {
            assert!(duration(text).unwrap_err().contains("not a duration"), "{text}");
        }
    }
}
