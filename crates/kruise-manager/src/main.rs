//! The manager: parse flags, build the runtime, register kinds, run.

mod controllers;
mod flags;
mod objects;
mod run;
mod stores;
mod webhooks;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let flags = flags::Flags::parse();
    run::logging(&flags);
    // One thread: planning is microseconds, the rest is waiting; and one thread is one order of events.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = runtime.map_err(anyhow::Error::from).and_then(|runtime| runtime.block_on(run::run(&flags)));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
