//! The program; all of it is in the library, so that tests can start it.

use std::process::ExitCode;

fn main() -> ExitCode {
    kruise_daemon::main()
}
