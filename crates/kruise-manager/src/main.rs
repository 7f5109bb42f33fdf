//! The program; all of it is in the library, so that the chart's generator can read its tables.

use std::process::ExitCode;

fn main() -> ExitCode {
    kruise_manager::main()
}
