//! The test program: built statically on first use, because the image that holds it holds nothing else.

use std::path::{Path, PathBuf};

use crate::{TestbedError, cargo};

/// Names a binary to use instead of building one.
const PREBUILT: &str = "KRUISE_TESTAPP";

/// The bytes of the program. Builds it with cargo unless `KRUISE_TESTAPP` names one; cargo knows when nothing changed.
pub fn bytes() -> Result<Vec<u8>, TestbedError> {
    let path = match std::env::var_os(PREBUILT) {
        Some(path) => PathBuf::from(path),
        None => build()?,
    };
    std::fs::read(&path).map_err(TestbedError::io(format!("reading the test program {}", path.display())))
}

fn build() -> Result<PathBuf, TestbedError> {
    // Both are true of the machine that compiled this file; the test cluster runs where it was compiled.
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    // A directory of its own: a `cargo` that waits for our tests may hold the lock of the usual one.
    let target = workspace.join("target/testapp");
    let output = cargo::command()
        .args([
            "build",
            "--quiet",
            "--package",
            "kruise-testapp",
            "--profile",
            "testapp",
            "--target",
            &triple,
        ])
        .arg("--target-dir")
        .arg(&target)
        .current_dir(&workspace)
        .env("CARGO_ENCODED_RUSTFLAGS", "-Ctarget-feature=+crt-static")
        .output()
        .map_err(TestbedError::io("starting cargo to build the test program"))?;
    if !output.status.success() {
        let tail = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(TestbedError::Build { component: "kruise-testapp", tail });
    }
    Ok(target.join(triple).join("testapp/kruise-testapp"))
}
