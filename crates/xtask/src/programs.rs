//! The test programs of the workspace.
//!
//! They are built by one call of cargo and started here. `cargo test --package X` would choose the features of dependencies for X alone, and build
//! most of the workspace again for every suite.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use serde::Deserialize;

use crate::cargo;

/// One test program: the tests of a library, of a binary or of a file in `tests/`.
pub struct Program {
    /// The directory of its package, where cargo would start it.
    dir: PathBuf,
    file: PathBuf,
}

impl Program {
    /// Whether it belongs to the package in this directory of the repository.
    pub fn is_in(&self, dir: &str) -> bool {
        self.dir == crate::root().join(dir)
    }

    /// The program as `cargo test` starts it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.file);
        command.current_dir(&self.dir).env("CARGO_MANIFEST_DIR", &self.dir);
        command
    }
}

/// One line of cargo's report.
#[derive(Deserialize)]
struct Message {
    manifest_path: Option<PathBuf>,
    executable: Option<PathBuf>,
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// Builds all test programs; cargo shows its progress and errors on standard error.
pub fn build() -> anyhow::Result<Vec<Program>> {
    let mut command = cargo();
    command.args(["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"]);
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("starting {command:?}"))?;
    let mut programs = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            programs.extend(read(&line?)?);
        }
    }
    let status = child.wait()?;
    anyhow::ensure!(status.success(), "{command:?} failed ({status})");
    Ok(programs)
}

fn read(line: &str) -> anyhow::Result<Option<Program>> {
    let message: Message = serde_json::from_str(line).context("reading cargo's report")?;
    let Message {
        manifest_path: Some(manifest),
        executable: Some(file),
        profile: Some(Profile { test: true }),
    } = message
    else {
        return Ok(None);
    };
    let dir = manifest.parent().map(Path::to_owned).context("a manifest is in a directory")?;
    Ok(Some(Program { dir, file }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_told_from_libraries_and_binaries() {
        let manifest = crate::root().join("tests/node/Cargo.toml");
        let line = |executable: &str, test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":{manifest:?},"executable":{executable},"profile":{{"test":{test}}}}}"#
            )
        };

        let program = read(&line(r#""/t/deps/node_tests-1""#, true)).unwrap().unwrap();

        assert!(program.is_in("tests/node") && !program.is_in("tests"));
        assert!(read(&line("null", true)).unwrap().is_none());
        assert!(read(&line(r#""/t/kruise-manager""#, false)).unwrap().is_none());
        assert!(read(r#"{"reason":"build-finished","success":true}"#).unwrap().is_none());
    }

    /// Features that only tests ask for would have programs and tests built with different dependencies: everything twice.
    #[test]
    fn programs_and_tests_are_built_with_the_same_features() {
        let features = |edges: &str| -> std::collections::BTreeSet<String> {
            let output = cargo()
                .args([
                    "tree",
                    "--workspace",
                    "--locked",
                    "--prefix=none",
                    "--format={p} with {f}",
                    "--edges",
                    edges,
                ])
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let text = String::from_utf8(output.stdout).unwrap();
            text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
        };

        let (programs, tests) = (features("normal,build"), features("normal,build,dev"));

        let twice: Vec<&String> = programs.difference(&tests).collect();
        assert!(twice.is_empty(), "give tests/node the features that tests need: {twice:#?}");
    }
}
