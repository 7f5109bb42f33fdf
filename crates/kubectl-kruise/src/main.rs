//! The command line. Not written yet: `kubectl describe` shows the conditions and events that it will explain.

use std::process::ExitCode;

fn main() -> ExitCode {
    eprintln!("kubectl-kruise is not written yet");
    ExitCode::FAILURE
}
