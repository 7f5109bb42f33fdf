//! The cgroup of a node: in every hierarchy of version 1, or once in version 2.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const ROOT: &str = "/sys/fs/cgroup";

/// Where a cgroup of this name is or would be.
pub(super) fn directories(name: &str) -> Vec<PathBuf> {
    hierarchies(Path::new(ROOT)).into_iter().map(|hierarchy| hierarchy.join(name)).collect()
}

/// Makes an empty cgroup for a node.
pub(super) fn create(name: &str) -> io::Result<()> {
    enable_controllers(Path::new(ROOT))?;
    for directory in directories(name) {
        fs::create_dir_all(&directory)?;
        // Version 1: a cpuset without processors and memory refuses every process.
        for file in ["cpuset.cpus", "cpuset.mems"] {
            if let (Some(parent), true) = (directory.parent(), directory.join(file).exists())
                && directory.starts_with(Path::new(ROOT).join("cpuset"))
            {
                fs::write(directory.join(file), fs::read(parent.join(file))?)?;
            }
        }
    }
    Ok(())
}

/// Version 2: kubelet demands that its cgroup has every controller of the root, not only those in use so far.
fn enable_controllers(root: &Path) -> io::Result<()> {
    let Ok(available) = fs::read_to_string(root.join("cgroup.controllers")) else { return Ok(()) };
    let switch = root.join("cgroup.subtree_control");
    let enabled = fs::read_to_string(&switch)?;
    for controller in
        available.split_whitespace().filter(|name| !enabled.split_whitespace().any(|on| on == *name))
    {
        fs::write(&switch, format!("+{controller}"))?;
    }
    Ok(())
}

/// Tries to make and remove a cgroup.
pub(super) fn writable() -> io::Result<()> {
    // Tests ask at the same time.
    static PROBES: AtomicU32 = AtomicU32::new(0);
    let probe = PROBES.fetch_add(1, Ordering::Relaxed);
    let name = format!("kruise-testbed-probe-{}-{probe}", std::process::id());
    for directory in directories(&name) {
        fs::create_dir_all(&directory)?;
        fs::remove_dir(&directory)?;
    }
    Ok(())
}

fn hierarchies(root: &Path) -> Vec<PathBuf> {
    if root.join("cgroup.controllers").exists() {
        return vec![root.to_owned()];
    }
    let Ok(entries) = fs::read_dir(root) else {
        return Vec::new();
    };
    let mut all: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        // Links are second names (`cpu` for `cpu,cpuacct`); directories without processes are not mounted.
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .filter(|path| path.join("cgroup.procs").exists())
        .collect();
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_two_has_one_place_and_version_one_one_per_hierarchy() {
        let root = tempfile::tempdir().unwrap();
        for hierarchy in ["cpu", "memory"] {
            fs::create_dir(root.path().join(hierarchy)).unwrap();
            fs::write(root.path().join(hierarchy).join("cgroup.procs"), "").unwrap();
        }
        fs::create_dir(root.path().join("not-mounted")).unwrap();
        assert_eq!(hierarchies(root.path()), [root.path().join("cpu"), root.path().join("memory")]);

        fs::write(root.path().join("cgroup.controllers"), "cpu memory").unwrap();
        assert_eq!(hierarchies(root.path()), [root.path()]);
    }
}
