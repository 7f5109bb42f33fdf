//! What the library and the keeper say to each other: one JSON value a line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::cleanup::Cleanup;

#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    Start(Start),
    /// Ends one child at once and answers when it is gone.
    Stop {
        name: String,
    },
    /// Remembered, also on disk, and run in reverse order when everything ends.
    Cleanup(Cleanup),
}

/// One child process.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Start {
    /// Unique within the cluster: `etcd`, `kubelet-1`.
    pub name: String,
    pub program: PathBuf,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// Standard output and error go here, appended.
    pub log: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Reply {
    /// First line: the instance number (0 …) that this keeper has reserved, and its empty directory.
    Hello {
        instance: u16,
        dir: PathBuf,
    },
    Started {
        pid: u32,
    },
    Done,
    Failed {
        message: String,
    },
    /// Unasked, at any time: a child ended.
    Exited {
        name: String,
        status: String,
    },
}
