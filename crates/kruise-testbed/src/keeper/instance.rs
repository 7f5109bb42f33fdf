//! Instance numbers: which cluster of this machine we are. Ports, directories and interface names follow from it.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use super::cleanup::Cleanup;

/// How many clusters can run side by side on one machine; bounds the port range.
pub const INSTANCES: u16 = 32;

/// The first port of the first instance: below the range from which the kernel picks ports for outgoing connections.
const FIRST_PORT: u16 = 21_000;

/// Control plane and manager of one cluster, with room for more.
const PORTS_PER_INSTANCE: u16 = 32;

/// Where the ports of an instance begin.
pub fn first_port(instance: u16) -> u16 {
    FIRST_PORT + instance * PORTS_PER_INSTANCE
}

/// A reserved instance: its lock is held as long as this lives.
#[derive(Debug)]
pub struct Instance {
    pub number: u16,
    /// Empty at the start; removed at the end.
    pub dir: PathBuf,
    /// Clean-ups noted on disk, so that a successor can run them if we are killed.
    journal: File,
    cleanups: Vec<Cleanup>,
    _lock: File,
}

impl Instance {
    /// Reserves the first free instance and clears what a killed predecessor left there.
    pub fn reserve(root: &Path) -> io::Result<Option<Self>> {
        Self::reserve_where(root, ports_are_free)
    }

    /// As [`Self::reserve`], with the question whether an instance's ports are free asked of the caller.
    fn reserve_where(root: &Path, free: impl Fn(u16) -> bool) -> io::Result<Option<Self>> {
        fs::create_dir_all(root)?;
        for number in 0..INSTANCES {
            let lock = File::create(root.join(format!("{number}.lock")))?;
            if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
                continue;
            }
            if !free(number) {
                continue; // Another program listens there.
            }
            let journal_path = root.join(format!("{number}.journal"));
            run_all(&read_journal(&journal_path));
            let dir = root.join(number.to_string());
            Cleanup::RemoveDir(dir.clone()).run()?;
            fs::create_dir(&dir)?;
            let journal = File::create(&journal_path)?;
            return Ok(Some(Self { number, dir, journal, cleanups: Vec::new(), _lock: lock }));
        }
        Ok(None)
    }

    /// Notes a clean-up before the thing it undoes is done.
    pub fn note(&mut self, cleanup: Cleanup) -> io::Result<()> {
        let mut line = serde_json::to_vec(&cleanup)?;
        line.push(b'\n');
        self.journal.write_all(&line)?;
        self.cleanups.push(cleanup);
        Ok(())
    }

    /// Undoes everything, newest first, and removes the directory. Says what could not be undone.
    pub fn clear(self) {
        let emptied = run_all(&self.cleanups) && run_all(&[Cleanup::RemoveDir(self.dir.clone())]);
        if emptied && let Err(error) = self.journal.set_len(0) {
            eprintln!("[testbed] the journal of instance {} was not emptied: {error}", self.number);
        }
    }
}

fn ports_are_free(instance: u16) -> bool {
    let first = first_port(instance);
    (first..first + PORTS_PER_INSTANCE).all(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
}

fn read_journal(path: &Path) -> Vec<Cleanup> {
    let Ok(file) = File::open(path) else {
        return Vec::new();
    };
    // A half-written last line belongs to something that had not been done yet.
    BufReader::new(file)
        .lines()
        .map_while(Result::ok)
        .map_while(|line| serde_json::from_str(&line).ok())
        .collect()
}

fn run_all(cleanups: &[Cleanup]) -> bool {
    let mut all = true;
    for cleanup in cleanups.iter().rev() {
        if let Err(error) = cleanup.run() {
            eprintln!("[testbed] left behind: {cleanup:?}: {error}");
            all = false;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reserves without a look at real ports: tests that run side by side have roots, but not ports, of their own.
    fn reserve(root: &Path) -> Instance {
        Instance::reserve_where(root, |_| true).unwrap().unwrap()
    }

    #[test]
    fn two_at_once_get_different_numbers() {
        let root = tempfile::tempdir().unwrap();

        let first = reserve(root.path());
        let second = reserve(root.path());

        assert_ne!(first.number, second.number);
        assert_ne!(first.dir, second.dir);
    }

    #[test]
    fn instance_with_an_occupied_port_is_passed_over() {
        let root = tempfile::tempdir().unwrap();
        // The last instance, so that no cluster running beside this test is disturbed.
        for number in 0..INSTANCES - 2 {
            let lock = File::create(root.path().join(format!("{number}.lock"))).unwrap();
            rustix::fs::flock(&lock, FlockOperation::LockExclusive).unwrap();
            std::mem::forget(lock);
        }
        let _other = TcpListener::bind((Ipv4Addr::LOCALHOST, first_port(INSTANCES - 2) + 3)).unwrap();

        let instance = Instance::reserve(root.path()).unwrap().unwrap();

        assert_eq!(instance.number, INSTANCES - 1);
    }

    #[test]
    fn what_a_killed_predecessor_left_is_cleared() {
        let root = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let left = elsewhere.path().join("left");
        fs::create_dir(&left).unwrap();
        let mut killed = reserve(root.path());
        killed.note(Cleanup::RemoveDir(left.clone())).unwrap();
        fs::write(killed.dir.join("file"), "x").unwrap();
        drop(killed); // Ends without `clear`, as SIGKILL would.

        let successor = reserve(root.path());

        assert!(!left.exists());
        assert_eq!(fs::read_dir(&successor.dir).unwrap().count(), 0);
    }

    #[test]
    fn clear_leaves_no_directory() {
        let root = tempfile::tempdir().unwrap();
        let instance = reserve(root.path());
        let dir = instance.dir.clone();

        instance.clear();

        assert!(!dir.exists());
    }
}
