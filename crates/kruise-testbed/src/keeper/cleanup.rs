//! Clean-ups as data: they travel to the keeper, are noted on disk, and run when the cluster ends.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::node::cleanup::Leftover;

/// One thing to undo. Each is safe to run twice and safe to run when there is nothing to undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cleanup {
    RemoveDir(PathBuf),
    Node(Leftover),
}

impl Cleanup {
    pub fn run(&self) -> io::Result<()> {
        match self {
            Self::RemoveDir(dir) => match fs::remove_dir_all(dir) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                Ok(()) | Err(_) => Ok(()),
            },
            Self::Node(leftover) => leftover.remove(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removing_a_directory_twice_is_fine() {
        let dir = tempfile::tempdir().unwrap();
        let cleanup = Cleanup::RemoveDir(dir.path().join("a"));
        fs::create_dir_all(dir.path().join("a/b")).unwrap();

        cleanup.run().unwrap();
        cleanup.run().unwrap();

        assert!(!dir.path().join("a").exists());
    }
}
