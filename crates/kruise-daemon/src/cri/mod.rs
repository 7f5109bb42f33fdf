//! The container runtimes of the node (CRI-1 … CRI-10): `find` says where sockets may be, `client` makes calls that always end,
//! `runtimes` keeps looking for sockets that appear, vanish or hang.
//!
//! Never: a call without a deadline; an end of the agent because no runtime answers.

mod client;
mod find;
mod runtimes;

use std::fmt;

pub use client::{Container, Cri, CriError, Detail};
pub use find::SocketPlaces;
pub use runtimes::{Runtimes, RuntimesHealth};

/// `runtime://id`, as the API writes it (CRI-7).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContainerId {
    pub runtime: String,
    pub id: String,
}

impl ContainerId {
    /// Nothing for an empty or odd text: the container has not been created yet.
    pub fn read(text: &str) -> Option<Self> {
        let (runtime, id) = text.split_once("://")?;
        let is_whole = !runtime.is_empty() && !id.is_empty();
        is_whole.then(|| Self { runtime: runtime.to_owned(), id: id.to_owned() })
    }
}

impl fmt::Display for ContainerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.runtime, self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cri_7_ids_name_their_runtime() {
        for text in ["containerd://abc", "cri-o://x", "docker://y"] {
            assert_eq!(ContainerId::read(text).unwrap().to_string(), text);
        }
        for odd in ["", "abc", "://abc", "containerd://"] {
            assert_eq!(ContainerId::read(odd), None, "{odd}");
        }
    }
}
