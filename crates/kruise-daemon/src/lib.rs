//! The node agent: one process per node that does what the API server cannot. Specification: DP, CRI, KC, CM, EH, NP, CD, PB.
//!
//! Five loops: [`images`] pulls, [`recreate`] restarts containers on request, [`probes`] runs custom probes, [`meta`] reports
//! what containers really are and restarts those with an old environment. Each loop is the same: a watch of this node's
//! objects → a pure decision (`decide.rs`) → calls to the runtime → one patch.
//! To follow one, start at [`run`]; [`cri`] is the runtime, [`api`] the API server, [`kill`] stops one container.
//! Never: a container is started or removed; an object of another node is read; the process ends because a runtime is missing.

pub mod api;
mod clock;
pub mod cri;
pub mod environment;
pub mod flags;
pub mod health;
mod http_get;
pub mod images;
pub mod kill;
pub mod meta;
pub mod metrics;
pub mod pod;
pub mod probes;
mod random;
pub mod recreate;
pub mod run;

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::flags::{Flags, without_klog};

pub fn main() -> ExitCode {
    let flags = Flags::parse_from(without_klog(std::env::args()));
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| filter(flags.v).into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).init();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(4).build();
    let ended = match runtime {
        Ok(runtime) => runtime.block_on(run::run(&flags)),
        Err(error) => Err(error.into()),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn filter(v: u8) -> String {
    let level = match v {
        0..=3 => "info",
        4 => "info,kruise_daemon=debug",
        5.. => "info,kruise_daemon=trace",
    };
    format!("{level},kube_client=off")
}
