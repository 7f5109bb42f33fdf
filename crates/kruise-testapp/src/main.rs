//! The program inside our test images. It misbehaves exactly as told, so that a test can say what a container does.
//!
//! Linked statically, so that an image holds this one file. The only dependency is `signal-hook`: the standard
//! library cannot catch a signal, and a process with id 1 that catches none ignores TERM.

mod command;
mod http;
mod serve;
mod signals;

use std::process::ExitCode;

use command::Command;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match Command::read(&args) {
        Ok(command) => command.run(),
        Err(message) => {
            eprintln!("{message}\n\n{}", command::USAGE);
            ExitCode::from(2)
        }
    }
}
