//! `make test`: the parts one after the other, one summary at the end.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::programs::{self, Program};
use crate::{arch, cargo, crds, cri, generated, paths, wire};

/// Packages whose tests need a cluster; all others are unit tests.
const CLUSTER: &str = "tests/control-plane";
const NODE: &str = "tests/node";

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    Check,
    Unit,
    Sim,
    Cluster,
    Node,
}

/// One line of the summary.
struct Outcome {
    name: &'static str,
    took: Duration,
    counts: Counts,
    error: Option<String>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    skipped: u64,
}

/// Runs the given part, or all. A failing part does not keep the later ones from being run.
pub fn run(only: Option<Part>) -> anyhow::Result<()> {
    let parts = only.map_or_else(
        || vec![Part::Check, Part::Unit, Part::Sim, Part::Cluster, Part::Node],
        |part| vec![part],
    );
    let mut outcomes = Vec::new();
    for part in parts {
        for (name, step) in part.steps() {
            eprintln!("\n── {name}");
            let started = Instant::now();
            let (counts, error) = match step() {
                Ok(counts) if counts.failed == 0 => (counts, None),
                Ok(counts) => (counts, Some(format!("{} tests failed", counts.failed))),
                Err(error) => (Counts::default(), Some(format!("{error:#}"))),
            };
            outcomes.push(Outcome { name, took: started.elapsed(), counts, error });
        }
    }
    summarize(&outcomes)
}

type Step = (&'static str, fn() -> anyhow::Result<Counts>);

impl Part {
    fn steps(self) -> Vec<Step> {
        match self {
            Self::Check => vec![
                ("format", || tool(cargo().args(["fmt", "--all", "--check"]))),
                ("architecture", || arch::check().and_then(|()| wire::check()).map(|()| Counts::default())),
                ("paths and links", || paths::check().map(|()| Counts::default())),
                ("custom resource definitions", || crds::check().map(|()| Counts::default())),
                ("container runtime interface", || {
                    cri::run(&cri::Cri { check: true }).map(|()| Counts::default())
                }),
                ("chart and documents", || generated::check().map(|()| Counts::default())),
                ("clippy", || {
                    tool(cargo().args([
                        "clippy",
                        "--workspace",
                        "--all-targets",
                        "--quiet",
                        "--",
                        "-D",
                        "warnings",
                    ]))
                }),
            ],
            Self::Unit => vec![
                ("building tests", || programs::build().map(|_| Counts::default())),
                ("unit and property tests", || {
                    suite(|program| !program.is_in(CLUSTER) && !program.is_in(NODE), &[])
                }),
            ],
            Self::Sim => vec![("simulated worlds", || tool(&mut own("kruise-sim", &["check"])))],
            Self::Cluster => vec![
                ("Kubernetes parts", || {
                    tool(&mut own("kruise-testbed", &["build", "etcd", "kubernetes", "helm"]))
                }),
                ("control plane tests", || {
                    // They wait most of the time: for pods, for leases, for a node to be given up.
                    suite(|program| program.is_in(CLUSTER), &["--test-threads=12"])
                }),
            ],
            Self::Node => vec![
                ("node parts", || {
                    tool(&mut own("kruise-testbed", &["build", "etcd", "kubernetes", "containerd", "helm"]))
                }),
                ("node tests", || suite(|program| program.is_in(NODE), &["--nocapture"])),
            ],
        }
    }
}

/// A program of the workspace, built with the features of the whole workspace.
fn own(program: &str, args: &[&str]) -> Command {
    let mut command = cargo();
    command.args(["run", "--quiet", "--bin", program, "--"]).args(args);
    command
}

/// Runs the test programs that are chosen, one after the other. One with a failing test hides none of the others.
fn suite(chosen: impl Fn(&Program) -> bool, args: &[&str]) -> anyhow::Result<Counts> {
    let mut all = Counts::default();
    for program in programs::build()?.into_iter().filter(chosen) {
        let mut command = program.command();
        command.args(args);
        // One run of a change is like the next; other seeds are tried by hand: PROPTEST_RNG_SEED=… make test-unit.
        if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
            command.env("PROPTEST_RNG_SEED", "20261115");
        }
        let counts = tests(&mut command)?;
        all.passed += counts.passed;
        all.failed += counts.failed;
        all.skipped += counts.skipped;
    }
    anyhow::ensure!(all.passed + all.failed > 0, "no test was run");
    Ok(all)
}

fn tool(command: &mut Command) -> anyhow::Result<Counts> {
    crate::must(command)?;
    Ok(Counts::default())
}

/// Runs tests, shows their output as it comes and counts results.
fn tests(command: &mut Command) -> anyhow::Result<Counts> {
    eprintln!("\n     Running {}", command.get_program().display());
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("starting {command:?}"))?;
    let mut counts = Counts::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let line = line?;
            counts.read(&line);
            writeln!(std::io::stdout(), "{line}")?;
        }
    }
    let status = child.wait()?;
    anyhow::ensure!(status.success() || counts.failed > 0, "{command:?} failed ({status})");
    Ok(counts)
}

impl Counts {
    /// Adds what a closing line of the test harness says, and tests that announce that they were skipped.
    fn read(&mut self, line: &str) {
        if line.starts_with("skipped: ") {
            self.skipped += 1;
        }
        let Some(result) = line.strip_prefix("test result: ") else { return };
        for field in result.split(['.', ';']) {
            let mut words = field.split_whitespace();
            if let (Some(number), Some(what)) =
                (words.next().and_then(|word| word.parse::<u64>().ok()), words.next())
            {
                match what {
                    "passed" => self.passed += number,
                    "failed" => self.failed += number,
                    "ignored" => self.skipped += number,
                    _ => {}
                }
            }
        }
    }
}

fn summarize(outcomes: &[Outcome]) -> anyhow::Result<()> {
    println!("\n── summary");
    let mut all = Counts::default();
    let mut bad = Vec::new();
    for Outcome { name, took, counts, error } in outcomes {
        let verdict = if error.is_none() { "ok" } else { "FAILED" };
        let tests = if *counts == Counts::default() { String::new() } else { counts.to_string() };
        println!("{verdict:7} {name:26} {:5.0} s   {tests}", took.as_secs_f64());
        all.passed += counts.passed;
        all.failed += counts.failed;
        all.skipped += counts.skipped;
        bad.extend(error.as_ref().map(|error| format!("{name}: {error}")));
    }
    println!("{all}");
    anyhow::ensure!(bad.is_empty(), "{}", bad.join("\n"));
    Ok(())
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{CLUSTER, Counts, NODE};

    /// PL-B14: a suite is found by its folder, so that none can be forgotten.
    #[test]
    fn pl_b14_every_folder_of_tests_is_run() {
        let mut names: Vec<String> = std::fs::read_dir(crate::root().join("tests"))
            .unwrap()
            .map(|entry| format!("tests/{}", entry.unwrap().file_name().display()))
            .collect();
        names.sort();

        assert_eq!(names, [CLUSTER, NODE]);
    }

    #[test]
    fn closing_lines_are_added_up() {
        let mut counts = Counts::default();

        counts.read(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        );
        counts.read("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out");
        counts.read("skipped: real nodes: not root");
        counts.read("some other line with 7 passed");

        assert_eq!(counts, Counts { passed: 15, failed: 2, skipped: 2 });
        assert_eq!(counts.to_string(), "15 passed, 2 failed, 2 skipped");
    }
}
