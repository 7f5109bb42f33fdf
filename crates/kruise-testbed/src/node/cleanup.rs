//! What a real node leaves on the machine, as data, and how each piece is removed.
//!
//! Runs inside the keeper, or inside the next one if the keeper was killed: plain system calls, nothing asynchronous.
//! Each piece can be removed twice and may never have existed.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use super::cgroup;

/// Killed processes and their cgroups need a moment to vanish; longer means that they never will.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// One kind of thing left by a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Leftover {
    /// Everything in this network namespace (containerd's shims among them) or below this cgroup (containers).
    Processes { namespace: PathBuf, cgroup: String },
    /// Everything mounted below a directory: volumes, root file systems, namespaces of pods.
    Mounts { below: PathBuf },
    /// A cgroup with all below it.
    Cgroup { name: String },
    /// A network interface; its addresses and routes go with it.
    Interface { name: String },
    /// A setting of the kernel that the kubelet changes, as it was before.
    Setting { file: PathBuf, value: String },
}

/// What the kubelet sets at its start, for the whole machine.
const SETTINGS: [(&str, &str); 6] = [
    ("/proc/sys/vm/overcommit_memory", "1"),
    ("/proc/sys/vm/panic_on_oom", "0"),
    ("/proc/sys/kernel/panic", "10"),
    ("/proc/sys/kernel/panic_on_oops", "1"),
    ("/proc/sys/kernel/keys/root_maxkeys", "1000000"),
    ("/proc/sys/kernel/keys/root_maxbytes", "25000000"),
];

/// Settings that a kubelet is going to change. One that is so already may be the work of another cluster's kubelet, which
/// puts it back itself.
pub fn settings() -> Vec<Leftover> {
    let changes = |(file, wanted): &(&str, &str)| {
        let value = fs::read_to_string(file).ok()?.trim().to_owned();
        (value != *wanted).then(|| Leftover::Setting { file: PathBuf::from(file), value })
    };
    SETTINGS.iter().filter_map(changes).collect()
}

impl Leftover {
    /// Removes it.
    pub fn remove(&self) -> io::Result<()> {
        match self {
            Self::Processes { namespace, cgroup } => end_processes(namespace, cgroup),
            Self::Mounts { below } => unmount(below),
            Self::Cgroup { name } => cgroup::directories(name).iter().try_for_each(|dir| remove_cgroup(dir)),
            Self::Interface { name } => remove_interface(name),
            Self::Setting { file, value } => fs::write(file, value),
        }
    }
}

/// Kills until nobody is left: a process may have forked while we looked.
fn end_processes(namespace: &Path, cgroup: &str) -> io::Result<()> {
    until(|| {
        let members = members(namespace, cgroup)?;
        for pid in &members {
            match rustix::process::kill_process(*pid, Signal::KILL) {
                Ok(()) | Err(Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(members.is_empty())
    })
}

fn members(namespace: &Path, cgroup: &str) -> io::Result<Vec<Pid>> {
    let own = fs::metadata("/proc/self/ns/net")?.ino();
    // The file is an ordinary one, or gone, if the namespace is.
    let inode = fs::metadata(namespace).ok().map(|file| file.ino()).filter(|inode| *inode != own);
    let mut members = Vec::new();
    for entry in fs::read_dir("/proc")?.filter_map(Result::ok) {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw)
        else {
            continue;
        };
        let inside = inode.is_some_and(|inode| is_in_namespace(&entry.path(), inode));
        if inside || is_in_cgroup(&entry.path(), cgroup) {
            members.push(pid);
        }
    }
    Ok(members)
}

/// Compares the printed name, `net:[4026531840]`, which needs no permission to enter.
fn is_in_namespace(process: &Path, inode: u64) -> bool {
    fs::read_link(process.join("ns/net")).is_ok_and(|link| link == Path::new(&format!("net:[{inode}]")))
}

fn is_in_cgroup(process: &Path, cgroup: &str) -> bool {
    // A process that has ended meanwhile is in no cgroup.
    let lines = fs::read_to_string(process.join("cgroup")).unwrap_or_default();
    lines
        .lines()
        .filter_map(|line| line.splitn(3, ':').nth(2))
        .any(|path| Path::new(path).starts_with(format!("/{cgroup}")))
}

/// Newest mounts first. Detached, because a dying process may still use one.
fn unmount(below: &Path) -> io::Result<()> {
    until(|| {
        let mounts = mounts(&fs::read_to_string("/proc/self/mountinfo")?, below);
        for mount in mounts.iter().rev() {
            match rustix::mount::unmount(mount.as_path(), UnmountFlags::DETACH) {
                Ok(()) | Err(Errno::INVAL | Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(mounts.is_empty())
    })
}

/// The fifth field of each line is the mount point; blanks in it are written as `\040`.
fn mounts(mountinfo: &str, below: &Path) -> Vec<PathBuf> {
    mountinfo
        .lines()
        .filter_map(|line| line.split(' ').nth(4))
        .map(|point| PathBuf::from(point.replace("\\040", " ")))
        .filter(|point| point.starts_with(below))
        .collect()
}

fn remove_cgroup(dir: &Path) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Ok(());
    };
    for entry in entries.filter_map(Result::ok) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_cgroup(&entry.path())?;
        }
    }
    until(|| match fs::remove_dir(dir) {
        // Busy as long as a killed process has not been reaped.
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Ok(false),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(true),
    })
}

fn remove_interface(name: &str) -> io::Result<()> {
    let exists = || Path::new("/sys/class/net").join(name).exists();
    if !exists() {
        return Ok(());
    }
    let output = Command::new("ip")
        .args(["link", "delete", name])
        .env("PATH", super::preflight::SYSTEM_PATH)
        .output()?;
    // A leg goes by itself when the namespace at its other end does.
    if output.status.success() || !exists() {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// Tries until it says done.
fn until(mut done: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let start = Instant::now();
    while !done()? {
        if PATIENCE <= start.elapsed() {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("still there after {} s", PATIENCE.as_secs()),
            ));
        }
        thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mounts_below_the_directory_are_found() {
        let mountinfo = "22 1 0:20 / /tmp/a rw - tmpfs tmpfs rw\n23 1 0:21 / /tmp/ab rw - tmpfs x rw\n24 22 0:22 / /tmp/a/b\\040c rw - nsfs x rw\n";

        assert_eq!(
            mounts(mountinfo, Path::new("/tmp/a")),
            [PathBuf::from("/tmp/a"), PathBuf::from("/tmp/a/b c")]
        );
    }

    #[test]
    fn nothing_there_is_nothing_to_do() {
        let nowhere = PathBuf::from("/nowhere/at/all");
        for leftover in [
            Leftover::Processes { namespace: nowhere.clone(), cgroup: "kruise-testbed-none".into() },
            Leftover::Mounts { below: nowhere },
            Leftover::Cgroup { name: "kruise-testbed-none".into() },
            Leftover::Interface { name: "kn-none".into() },
        ] {
            leftover.remove().unwrap();
        }
    }

    #[test]
    fn setting_gets_its_old_value_back() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "10").unwrap();

        Leftover::Setting { file: file.path().to_owned(), value: "0".into() }.remove().unwrap();

        assert_eq!(fs::read_to_string(file.path()).unwrap(), "0");
    }

    #[test]
    fn processes_of_our_own_namespace_are_never_members() {
        assert!(members(Path::new("/proc/self/ns/net"), "kruise-testbed-none").unwrap().is_empty());
    }
}
