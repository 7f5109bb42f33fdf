//! Cargo, asked for more programs while it may be running us.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::TestbedError;

/// What `cargo test` tells a test about its own package. Build scripts of dependencies look at these too, so passing
/// them on would build everything anew, and again at the next `cargo test`.
const OF_THE_CALLER: [&str; 2] = ["CARGO_MANIFEST", "CARGO_PKG_"];

/// The cargo that runs us, else the one on the path.
pub(crate) fn command() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        if OF_THE_CALLER.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command
}

/// A program of the workspace, of the same build as the running tests; built once in the life of this process.
pub(crate) fn program(package: &'static str) -> Result<PathBuf, TestbedError> {
    static BUILT: Mutex<BTreeMap<&str, PathBuf>> = Mutex::new(BTreeMap::new());
    // Held while it is built: a second caller waits instead of asking cargo again.
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(program) = built.get(package) {
        return Ok(program.clone());
    }
    let program = build(package)?;
    built.insert(package, program.clone());
    Ok(program)
}

fn build(package: &str) -> Result<PathBuf, TestbedError> {
    let own = std::env::current_exe().map_err(TestbedError::io("finding the running program"))?;
    let status = command()
        // The features of the whole workspace, as the tests were built with: else everything is built anew.
        .args(["build", "--quiet", "--workspace", "--bin", package])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .map_err(TestbedError::io(format!("starting cargo to build {package}")))?;
    // Tests run from target/<profile>/deps.
    let profile = own.ancestors().find(|dir| dir.join(package).is_file()).map(Path::to_owned);
    match profile {
        Some(dir) if status.success() => Ok(dir.join(package)),
        Some(_) | None => Err(TestbedError::Unfit(format!(
            "the program {package} was not found beside the tests: run `cargo build --workspace --bin {package}`"
        ))),
    }
}
