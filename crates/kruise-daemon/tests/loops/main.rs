//! The whole agent against a fake runtime and a fake API server.

#[cfg(test)]
mod agent;
#[cfg(test)]
mod process;
#[cfg(test)]
mod support;
