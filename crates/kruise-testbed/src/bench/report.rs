//! The result: a table for people, JSON for programs.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Write};
use std::time::Duration;

use serde::Serialize;

use super::Settings;
use super::audit::Writes;
use super::process::Usage;

/// User agents that work in every cluster and are nobody's manager.
const BYSTANDERS: [&str; 7] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    crate::simnodes::USER_AGENT,
    "kruise-testbed",
    "kubectl",
    "kubelet",
];

#[derive(Debug, Serialize)]
pub struct Report {
    kind: &'static str,
    replicas: usize,
    workloads: usize,
    nodes: usize,
    /// By manager, and the floor; in the order they ran.
    runs: Vec<Run>,
    simulated_kubelet_cpu_ms_per_write: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Run {
    name: String,
    phases: Vec<Phase>,
    /// The bound that 99 of 100 reconciles stay under.
    reconcile_p99_seconds: Option<f64>,
}

/// One phase of one run.
#[derive(Debug, Clone, Serialize)]
pub struct Phase {
    name: &'static str,
    pods: usize,
    seconds: f64,
    pods_per_second: f64,
    writes_per_pod: f64,
    /// By verb and resource, per pod.
    writes: BTreeMap<String, f64>,
    cpu_ms_per_pod: Option<f64>,
    rss_mib: Option<f64>,
}

impl Report {
    pub fn new(settings: &Settings) -> Self {
        Self {
            kind: settings.kind.name(),
            replicas: settings.replicas,
            workloads: settings.workloads,
            nodes: settings.nodes,
            runs: Vec::new(),
            simulated_kubelet_cpu_ms_per_write: None,
        }
    }

    pub fn add(&mut self, name: &str, phases: Vec<Phase>, reconcile_p99_seconds: Option<f64>) {
        self.runs.push(Run { name: name.to_owned(), phases, reconcile_p99_seconds });
    }

    pub fn simulated_kubelet(&mut self, usage: &Usage, writes: u64) {
        let writes = count(usize::try_from(writes).unwrap_or(usize::MAX));
        self.simulated_kubelet_cpu_ms_per_write = Some(usage.cpu.as_secs_f64() * 1_000.0 / writes.max(1.0));
    }

    fn floor_of(&self, phase: &str) -> Option<f64> {
        let floor = self.runs.iter().find(|run| run.name == super::floor::NAME)?;
        floor.phases.iter().find(|candidate| candidate.name == phase).map(|phase| phase.pods_per_second)
    }
}

impl Phase {
    pub fn new(name: &'static str, pods: usize, elapsed: Duration, writes: Writes) -> Self {
        let per_pod = |number: u64| count(usize::try_from(number).unwrap_or(usize::MAX)) / count(pods.max(1));
        let mut by_verb = BTreeMap::<String, u64>::new();
        for (_, verbs) in writes.into_iter().filter(|(agent, _)| !BYSTANDERS.contains(&agent.as_str())) {
            for (verb, number) in verbs {
                *by_verb.entry(verb).or_default() += number;
            }
        }
        let seconds = elapsed.as_secs_f64();
        Self {
            name,
            pods,
            seconds,
            pods_per_second: count(pods) / seconds.max(f64::EPSILON),
            writes_per_pod: per_pod(by_verb.values().sum()),
            writes: by_verb.into_iter().map(|(verb, number)| (verb, per_pod(number))).collect(),
            cpu_ms_per_pod: None,
            rss_mib: None,
        }
    }

    /// The same phase twice: as many pods in twice the time.
    pub fn and(&self, other: &Self) -> Self {
        let seconds = self.seconds + other.seconds;
        let pods = self.pods + other.pods;
        Self { pods, seconds, pods_per_second: count(pods) / seconds.max(f64::EPSILON), ..self.clone() }
    }

    pub fn by_manager(mut self, cpu: Duration, rss_bytes: u64) -> Self {
        self.cpu_ms_per_pod = Some(cpu.as_secs_f64() * 1_000.0 / count(self.pods.max(1)));
        self.rss_mib = Some(count(usize::try_from(rss_bytes >> 10).unwrap_or(usize::MAX)) / 1_024.0);
        self
    }

    pub fn line(&self) -> String {
        format!(
            "{}: {} pods in {:.1} s = {:.1} pods/s",
            self.name, self.pods, self.seconds, self.pods_per_second
        )
    }

    fn top_writes(&self) -> String {
        let mut writes: Vec<_> = self.writes.iter().filter(|(_, number)| **number >= 0.005).collect();
        writes.sort_by(|a, b| b.1.total_cmp(a.1));
        writes.iter().map(|(verb, number)| format!("{verb} {number:.2}")).collect::<Vec<_>>().join(", ")
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} {}(s) of {} pods on {} simulated nodes",
            self.workloads, self.kind, self.replicas, self.nodes
        )?;
        writeln!(
            f,
            "| run | phase | wall s | pods/s | of the floor | writes/pod | CPU ms/pod | RSS MiB | writes |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|---|")?;
        for run in &self.runs {
            for phase in &run.phases {
                let mut row = format!("| {} | {} ", run.name, phase.name);
                let ratio = self.floor_of(phase.name).map(|floor| phase.pods_per_second / floor);
                write!(row, "| {:.1} | {:.1} ", phase.seconds, phase.pods_per_second)?;
                write!(row, "| {} | {:.2} ", optional(ratio), phase.writes_per_pod)?;
                write!(row, "| {} | {} ", optional(phase.cpu_ms_per_pod), optional(phase.rss_mib))?;
                writeln!(f, "{row}| {} |", phase.top_writes())?;
            }
        }
        for run in &self.runs {
            if let Some(bound) = run.reconcile_p99_seconds {
                writeln!(f, "{}: 99 of 100 reconciles within {bound} s, their writes included", run.name)?;
            }
        }
        if let Some(cpu) = self.simulated_kubelet_cpu_ms_per_write {
            writeln!(f, "simulated kubelets: {cpu:.3} ms of CPU per write")?;
        }
        Ok(())
    }
}

fn optional(number: Option<f64>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| format!("{number:.2}"))
}

#[expect(clippy::cast_precision_loss, reason = "counts of pods and writes are far below 2^52")]
fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_of_bystanders_are_not_the_managers() {
        let verbs = |number: u64| BTreeMap::from([("patch pods/status".to_owned(), number)]);
        let writes =
            Writes::from([("kruise-manager".into(), verbs(20)), ("kube-scheduler".into(), verbs(10))]);

        let phase = Phase::new("create", 10, Duration::from_secs(2), writes);

        assert!((phase.writes_per_pod - 2.0).abs() < f64::EPSILON, "{phase:?}");
        assert_eq!(phase.line(), "create: 10 pods in 2.0 s = 5.0 pods/s");
    }
}
