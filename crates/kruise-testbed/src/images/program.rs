//! Programs of ours as one static file each: the images that hold them hold nothing else.

use std::path::{Path, PathBuf};

use crate::{TestbedError, cargo, checkout};

/// A program of the workspace and how it is built.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    pub package: &'static str,
    pub profile: &'static str,
}

/// The programs of one image are built in one go, as the Dockerfile does: on its own, each would be built with other features of its
/// dependencies, to other bytes, and everything they share twice.
const OF_ONE_IMAGE: [&str; 2] = ["kruise-manager", "kruise-daemon"];

/// The manager as it ships.
pub const MANAGER: Program = Program { package: "kruise-manager", profile: "release" };

/// The manager for a test: the same program without the minutes of optimisation.
pub const MANAGER_FOR_TESTS: Program = Program { package: "kruise-manager", profile: "testimage" };

/// The node agent as it ships, in the same image.
pub const DAEMON: Program = Program { package: "kruise-daemon", profile: "release" };

/// The node agent for a test.
pub const DAEMON_FOR_TESTS: Program = Program { package: "kruise-daemon", profile: "testimage" };

/// The checkout that this program was compiled in; the test cluster runs where it was compiled.
pub fn workspace() -> Result<PathBuf, TestbedError> {
    checkout::root().canonicalize().map_err(TestbedError::io("finding the checkout"))
}

/// Builds a program with cargo, which knows when nothing changed, and returns its file.
pub fn build(program: Program) -> Result<PathBuf, TestbedError> {
    build_in(program, &workspace()?)
}

/// The same sources give the same bytes wherever the checkout and cargo's home are.
pub fn build_in(program: Program, workspace: &Path) -> Result<PathBuf, TestbedError> {
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    // A directory of its own: a `cargo` that waits for our tests may hold the lock of the usual one.
    let target = workspace.join("target").join(program.profile.replace("release", "image"));
    let home = std::env::var("CARGO_HOME")
        .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))
        .unwrap_or_default();
    let flags = [
        "-Ctarget-feature=+crt-static".to_owned(),
        format!("--remap-path-prefix={}=/src", workspace.display()),
        format!("--remap-path-prefix={home}=/cargo"),
    ];
    let packages = if OF_ONE_IMAGE.contains(&program.package) {
        &OF_ONE_IMAGE[..]
    } else {
        std::slice::from_ref(&program.package)
    };
    let output = cargo::command()
        .args(["build", "--quiet", "--locked", "--profile", program.profile])
        .args(packages.iter().flat_map(|package| ["--package", package]))
        .args(["--target", &triple])
        .arg("--target-dir")
        .arg(&target)
        .current_dir(workspace)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        .env(
            "CFLAGS",
            format!("-ffile-prefix-map={home}=/cargo -ffile-prefix-map={}=/src", workspace.display()),
        )
        .env("SOURCE_DATE_EPOCH", "0")
        .output()
        .map_err(TestbedError::io(format!("starting cargo to build {}", program.package)))?;
    if !output.status.success() {
        let tail = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(TestbedError::Build { component: program.package, tail });
    }
    Ok(target.join(triple).join(program.profile).join(program.package))
}
