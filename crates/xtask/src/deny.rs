//! `make deny`: `deny.toml` checked by cargo-deny, which is installed on first use.

use crate::{cargo, must};

/// Advisories need a database from outside; licences, bans and sources are in the lock file and the crates themselves.
pub fn check() -> anyhow::Result<()> {
    let installed = cargo().args(["deny", "--version"]).output().is_ok_and(|output| output.status.success());
    if !installed {
        eprintln!("installing cargo-deny (a few minutes, once)");
        must(cargo().args(["install", "--locked", "cargo-deny"]))?;
    }
    must(cargo().args(["deny", "--offline", "check", "licenses", "bans", "sources"]))
}
