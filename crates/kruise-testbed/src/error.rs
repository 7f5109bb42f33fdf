//! What can go wrong around the test cluster. Each message is one sentence that says what to do.

use std::path::PathBuf;

/// Why a part could not be built, started or reached.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    #[error("{tool} was not found on PATH: install {wanted} and run the command again")]
    ToolMissing { tool: &'static str, wanted: String },

    #[error("{tool} {found} is too old to build {component}: install {wanted} or newer")]
    ToolTooOld { tool: &'static str, found: String, wanted: String, component: &'static str },

    #[error(
        "{path} has {free_mib} MiB free, building {component} takes about {needed_mib} MiB: free some space, or point KRUISE_TESTBED_CACHE and GOCACHE to a larger disk"
    )]
    DiskFull { path: PathBuf, component: &'static str, free_mib: u64, needed_mib: u64 },

    #[error("building {component} failed; the last lines were:\n{tail}")]
    Build { component: &'static str, tail: String },

    #[error(
        "{binary} is not in {dir}, which KRUISE_TESTBED_BIN names: put it there, or unset the variable to have it built"
    )]
    PrebuiltMissing { binary: String, dir: PathBuf },

    #[error(
        "port {port} on 127.0.0.1 is in use: end the program that listens there, or choose another with --port"
    )]
    PortInUse { port: u16 },

    #[error("{part} ended ({status}); the end of its log, {log}:\n{tail}")]
    PartEnded { part: String, status: String, log: PathBuf, tail: String },

    #[error("{part} was not ready after {seconds} s ({last}); the end of its log, {log}:\n{tail}")]
    NotReady { part: String, seconds: u64, last: String, log: PathBuf, tail: String },

    #[error("the keeper process does not answer ({0}): see its messages above")]
    Keeper(String),

    #[error("{what}: {source}")]
    Io { what: String, source: std::io::Error },

    #[error("a certificate could not be made: {0}")]
    Certificate(#[from] rcgen::Error),

    #[error("the API server refused {what}: {source}")]
    Api { what: String, source: Box<kube::Error> },

    #[error("waited {seconds} s for {what}; last seen: {last}")]
    Waited { what: String, seconds: u64, last: String },

    #[error("{0}")]
    Unfit(String),
}

impl TestbedError {
    /// For `map_err`: says what was being done when the system call failed.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// For `map_err`: says what was asked of the API server.
    pub fn api(what: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let what = what.into();
        move |source| Self::Api { what, source: Box::new(source) }
    }
}
