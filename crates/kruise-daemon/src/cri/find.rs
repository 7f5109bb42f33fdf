//! Where sockets may be.

use std::path::{Path, PathBuf};

/// Below the directory of the node's sockets, in this order (CRI-2).
const KNOWN: [&str; 6] = [
    "containerd.sock",
    "containerd/containerd.sock",
    "crio.sock",
    "crio/crio.sock",
    "cri-dockerd.sock",
    "cri-dockerd/cri-dockerd.sock",
];

/// Where to look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketPlaces {
    root: PathBuf,
    /// Only this one (CRI-1).
    only: Option<String>,
}

impl SocketPlaces {
    pub fn new(root: impl Into<PathBuf>, only: &str) -> Self {
        let only = only.trim();
        Self { root: root.into(), only: (!only.is_empty()).then(|| only.to_owned()) }
    }

    /// All places, whether there is something or not.
    pub fn all(&self) -> Vec<PathBuf> {
        match &self.only {
            Some(only) => vec![self.root.join(only)],
            None => KNOWN.iter().map(|name| self.root.join(name)).collect(),
        }
    }

    /// Those where a file is now.
    pub fn existing(&self) -> Vec<PathBuf> {
        self.all().into_iter().filter(|path| Path::exists(path)).collect()
    }

    /// For people who look for the cause.
    pub fn describe(&self) -> String {
        let all = self.all();
        let all: Vec<String> = all.iter().map(|path| path.display().to_string()).collect();
        all.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// daemon, acceptance 2: each single layout.
    #[test]
    fn cri_2_every_known_place_is_found_in_order() {
        for known in KNOWN {
            let root = tempfile::tempdir().unwrap();
            let path = root.path().join(known);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            assert_eq!(SocketPlaces::new(root.path(), "").existing(), [path], "{known}");
        }
        let root = tempfile::tempdir().unwrap();
        for name in ["crio.sock", "containerd.sock"] {
            std::fs::write(root.path().join(name), "").unwrap();
        }
        let found = SocketPlaces::new(root.path(), "").existing();
        assert_eq!(found, [root.path().join("containerd.sock"), root.path().join("crio.sock")]);
    }

    #[test]
    fn cri_1_named_socket_is_the_only_one() {
        let root = tempfile::tempdir().unwrap();
        for name in ["containerd.sock", "my.sock"] {
            std::fs::write(root.path().join(name), "").unwrap();
        }
        assert_eq!(SocketPlaces::new(root.path(), "my.sock").existing(), [root.path().join("my.sock")]);
        assert!(SocketPlaces::new(root.path(), "absent.sock").existing().is_empty());
        assert_eq!(SocketPlaces::new(root.path(), " ").existing().len(), 1, "older charts pass a blank");
    }
}
