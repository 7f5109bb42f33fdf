//! The rooms of the house: which crate must not depend on what. `ARCHITECTURE.md` says why.

use anyhow::Context;
use serde::Deserialize;

use crate::cargo;

/// Everything that performs I/O, knows the time or draws random numbers.
const WORLD: &[&str] = &[
    "tokio",
    "hyper",
    "axum",
    "reqwest",
    "rustls",
    "tonic",
    "kube",
    "kube-client",
    "rand",
    "getrandom",
    "fastrand",
    "tracing",
    "log",
    "chrono",
    "time",
];

/// What never ships in a production image.
const TEST_ONLY: &[&str] =
    &["kruise-sim", "kruise-testbed", "kruise-testapp", "proptest", "insta", "tempfile"];

/// Per crate: what it must not depend on, directly. Development dependencies are free.
fn forbidden(package: &str) -> Vec<&'static str> {
    let ours = ["kruise-core", "kruise-runtime", "kruise-manager", "kruise-daemon", "kubectl-kruise"];
    match package {
        "kruise-api" => [WORLD, TEST_ONLY, &ours].concat(),
        "kruise-core" => [WORLD, TEST_ONLY, ours.get(1..).unwrap_or_default()].concat(),
        "kruise-runtime" => [TEST_ONLY, &["kruise-manager", "kruise-daemon", "kubectl-kruise"]].concat(),
        "kruise-manager" => [TEST_ONLY, &["kruise-daemon", "kubectl-kruise"]].concat(),
        "kruise-daemon" => [TEST_ONLY, &["kruise-manager", "kruise-runtime", "kubectl-kruise"]].concat(),
        "kubectl-kruise" => [TEST_ONLY, &["kruise-manager", "kruise-daemon"]].concat(),
        _ => Vec::new(),
    }
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// Absent for an ordinary dependency, else "dev" or "build".
    kind: Option<String>,
}

/// Fails with every dependency that does not belong.
pub fn check() -> anyhow::Result<()> {
    let output = cargo().args(["metadata", "--no-deps", "--format-version", "1"]).output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Metadata = serde_json::from_slice(&output.stdout).context("reading cargo's metadata")?;
    let faults = faults(&metadata);
    anyhow::ensure!(faults.is_empty(), "ARCHITECTURE.md forbids:\n{}", faults.join("\n"));
    Ok(())
}

fn faults(metadata: &Metadata) -> Vec<String> {
    let mut faults = Vec::new();
    for package in &metadata.packages {
        let forbidden = forbidden(&package.name);
        for dependency in package.dependencies.iter().filter(|dependency| dependency.kind.is_none()) {
            if forbidden.contains(&dependency.name.as_str()) {
                faults.push(format!("{} depends on {}", package.name, dependency.name));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brain_with_a_clock_is_found_and_its_tests_are_free() {
        let dependency =
            |name: &str, kind: Option<&str>| Dependency { name: name.into(), kind: kind.map(str::to_owned) };
        let dependencies =
            vec![dependency("tokio", None), dependency("serde", None), dependency("proptest", Some("dev"))];
        let metadata = Metadata { packages: vec![Package { name: "kruise-core".into(), dependencies }] };

        assert_eq!(faults(&metadata), ["kruise-core depends on tokio"]);
    }

    #[test]
    fn house_is_in_order() {
        check().unwrap();
    }
}
