//! Chores of the repository that are longer than one line. `make help` lists the words that call them.

mod arch;
mod crds;
mod cri;
mod deny;
mod files;
mod generated;
mod literals;
mod paths;
mod play;
mod programs;
mod rules;
mod test;
mod wire;
mod yaml;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::Context;
use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(about = "Chores of the repository")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Everything a change must pass, or one part of it
    Test {
        #[arg(value_enum)]
        only: Option<test::Part>,
    },
    /// Check that every crate depends only on what its room allows, and that wire words stand in kruise-api only
    Arch,
    /// Check that no file names a path outside the repository, and that links in documents lead somewhere
    Paths,
    /// Check licences, sources and banned crates of all dependencies
    Deny,
    /// Write the custom resource definitions
    Crds(crds::Crds),
    /// Write the code of the Container Runtime Interface
    Cri(cri::Cri),
    /// Write everything that is generated: definitions, the chart's roles, gates and webhooks, tables in the documents
    Gen(generated::Gen),
    /// Show how many rules of the specification have a test that names them
    Rules(rules::Rules),
    /// Start a cluster and the manager
    Run(play::Run),
    /// Roll out a sample on the running cluster
    Demo,
    /// Measure the manager and the floor
    Bench(play::Bench),
}

fn main() -> ExitCode {
    match run(Cli::parse().chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> anyhow::Result<()> {
    match chore {
        Chore::Test { only } => test::run(only),
        Chore::Arch => arch::check().and_then(|()| wire::check()),
        Chore::Paths => paths::check(),
        Chore::Deny => deny::check(),
        Chore::Crds(arguments) => crds::run(&arguments),
        Chore::Cri(arguments) => cri::run(&arguments),
        Chore::Gen(arguments) => crds::run(&crds::Crds { check: arguments.check })
            .and_then(|()| cri::run(&cri::Cri { check: arguments.check }))
            .and_then(|()| generated::run(&arguments)),
        Chore::Rules(arguments) => rules::run(&arguments),
        Chore::Run(arguments) => play::run(&arguments),
        Chore::Demo => play::demo(),
        Chore::Bench(arguments) => play::bench(&arguments),
    }
}

/// The root of the checkout.
fn root() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).map_or_else(|| own.clone(), PathBuf::from)
}

/// What `cargo run` tells us about our own package. Build scripts look at these, too: passed on, they would have
/// dependencies built anew at every change between make and cargo.
const OF_THE_CALLER: [&str; 2] = ["CARGO_MANIFEST", "CARGO_PKG_"];

fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    for (name, _) in std::env::vars_os() {
        if OF_THE_CALLER.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command to its end; its name and arguments are in the error.
fn must(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("starting {command:?}"))?;
    anyhow::ensure!(status.success(), "{command:?} failed ({status})");
    Ok(())
}
