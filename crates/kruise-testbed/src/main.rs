//! The testbed as a program: build the parts, run a cluster to play with, simulate nodes, measure.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use kruise_testbed::components::{self, Component};
use kruise_testbed::keeper;

#[derive(Debug, Parser)]
#[command(about = "A real Kubernetes on this machine")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Build the parts of Kubernetes that are not in the cache yet
    Build {
        /// Only these
        #[arg(value_parser = component)]
        only: Vec<Component>,
    },
    /// Started by the library: looks after the processes of one cluster
    #[command(hide = true)]
    Keeper,
    /// Started by the keeper: becomes PROGRAM, tied to the keeper's life
    #[command(hide = true)]
    Exec { keeper: u32, program: PathBuf, #[arg(last = true)] args: Vec<String> },
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kruise-testbed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Build { only } => {
            for component in if only.is_empty() { Component::ALL.to_vec() } else { only } {
                let binaries = components::ensure(component)?;
                println!("{} {}: {}", component.name(), component.version(), binaries.dir().display());
            }
            Ok(())
        }
        Command::Keeper => Ok(keeper::serve(&keeper::root())?),
        Command::Exec { keeper, program, args } => {
            let error = keeper::exec_child(keeper, &program, &args);
            Err(anyhow::anyhow!("{}: {error}", program.display()))
        }
    }
}

fn component(name: &str) -> Result<Component, String> {
    let names = || Component::ALL.map(Component::name).join(", ");
    Component::ALL.into_iter().find(|component| component.name() == name).ok_or_else(|| format!("known are {}", names()))
}
