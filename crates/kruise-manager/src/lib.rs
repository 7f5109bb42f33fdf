//! The manager: parse flags, build the runtime, register kinds, run. The program is [`main`]; what the chart and the
//! documents are generated from is public beside it.

mod configuration_map;
mod custom_kinds;
mod engine;
mod flags;
mod front;
mod go_duration;
mod kinds;
mod logging;
mod original_flags;
pub mod permissions;
mod run;
mod stores;
mod uninstall;
mod webhooks;
mod worker_flags;

use std::process::ExitCode;
use std::sync::{Arc, Mutex};

pub use kruise_core::gates;
use kruise_core::gates::Gates;
use kruise_core::random::Random;
use kruise_runtime::clock::Clock;
pub use kruise_runtime::metrics::FAMILIES as METRICS;
pub use webhooks::{configuration, simulated as admission};

/// Asks whether the cluster still needs us instead of running: what the chart's pre-delete hook calls.
const UNINSTALL_CHECK: &str = "uninstall-check";

/// The program.
pub fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(UNINSTALL_CHECK) {
        return on_one_thread(uninstall::check());
    }
    let (flags, ignored) = original_flags::parse(std::env::args_os());
    logging::start(&flags);
    for flag in ignored {
        tracing::warn!(flag, "this OpenKruise flag is accepted but has no effect");
    }
    on_one_thread(run::run(&flags))
}

/// The webhook server's paths with empty caches, as the benchmark asks them.
pub fn webhooks_alone(client: kube::Client) -> kruise_runtime::webhook::Webhooks {
    let stores = Arc::new(stores::Stores::new(&Gates::default()));
    stores.assume_complete();
    let names = Mutex::new(Random::from_seed(0));
    let (clock, namespace) = (Clock::system(), String::new());
    let steps = Arc::new(webhooks::pods::steps());
    let (gates, widener) = (Gates::default(), webhooks::selecting::Widener::none());
    let fresh = webhooks::Fresh::off();
    let cx = webhooks::Context { client, stores, gates, clock, namespace, names, steps, widener, fresh };
    webhooks::webhooks(&Arc::new(cx), Arc::default())
}

/// What a simulated world gives a manager to stand on.
pub use engine::Ground;

/// Flags of a manager, read once for many simulated runs.
pub struct Settings(flags::Flags);

impl Settings {
    /// From a command line, without the name of the program.
    pub fn read(arguments: &[&str]) -> Self {
        let line = std::iter::once("kruise-manager").chain(arguments.iter().copied());
        Self(original_flags::parse(line.map(std::ffi::OsString::from)).0)
    }
}

/// The whole manager but its front (webhooks, health and metrics pages): caches, lease, queues, controllers. It ends with an
/// error when it is deposed, and all its tasks end when it is dropped.
pub async fn controllers_alone(settings: &Settings, ground: Ground) -> anyhow::Result<()> {
    run::controllers_alone(&settings.0, ground).await
}

/// Group and plural of the kinds that keep a release from being uninstalled.
pub fn uninstall_checked() -> Vec<(&'static str, &'static str)> {
    uninstall::checked().into_iter().map(|(group, plural, _)| (group, plural)).collect()
}

/// The kinds that have a controller, by the names that flags and documents use.
pub fn registered() -> Vec<&'static str> {
    kinds::ALL.iter().map(|one| one.name).collect()
}

/// All flags with their explanations, as `--help` shows them.
pub fn help() -> String {
    original_flags::command().render_long_help().to_string()
}

/// One thread: planning is microseconds, the rest is waiting; and one thread is one order of events.
fn on_one_thread(program: impl Future<Output = anyhow::Result<()>>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = runtime.map_err(anyhow::Error::from).and_then(|runtime| runtime.block_on(program));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if tracing::enabled!(tracing::Level::ERROR) {
                tracing::error!("{error:#}");
            } else {
                eprintln!("{error:#}");
            }
            ExitCode::FAILURE
        }
    }
}
