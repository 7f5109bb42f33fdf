//! Running a program of the system to its end.

use std::process::Command;

use super::preflight::SYSTEM_PATH;
use crate::TestbedError;

/// Runs it; an error carries the program's own words.
pub(super) fn run(program: &str, args: &[&str]) -> Result<(), TestbedError> {
    let line = format!("{program} {}", args.join(" "));
    let output = Command::new(program)
        .args(args)
        .env("PATH", SYSTEM_PATH)
        .output()
        .map_err(TestbedError::io(format!("starting `{line}`")))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(TestbedError::Unfit(format!(
        "`{line}` failed, so the real node cannot be set up: {}",
        message.trim()
    )))
}
