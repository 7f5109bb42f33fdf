//! Cargo, asked for more programs while it may be running us.

use std::process::Command;

/// What `cargo test` tells a test about its own package. Build scripts of dependencies look at these too, so passing
/// them on would build everything anew, and again at the next `cargo test`.
const OF_THE_CALLER: [&str; 2] = ["CARGO_MANIFEST", "CARGO_PKG_"];

/// The cargo that runs us, else the one on the path.
pub(crate) fn command() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        if OF_THE_CALLER.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command
}
