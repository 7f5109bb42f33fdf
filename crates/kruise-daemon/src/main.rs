//! The node agent. Not written yet: nothing on a node needs it so far, and the manager runs without it.

use std::process::ExitCode;

fn main() -> ExitCode {
    eprintln!("kruise-daemon is not written yet");
    ExitCode::FAILURE
}
