//! One build: locked, into a temporary directory, renamed when complete, with visible progress.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;

use super::{Component, go};
use crate::TestbedError;

/// How often a running build says where it is.
const REPORT_EVERY: Duration = Duration::from_secs(15);

/// What a failed build shows of the compiler's output.
const TAIL_LINES: usize = 15;

/// Makes sure that `dir` holds the component, building it if it does not.
pub fn ensure(component: Component, dir: &Path) -> Result<(), TestbedError> {
    if is_complete(component, dir) {
        return Ok(());
    }
    let parent = dir.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent).map_err(TestbedError::io(format!("creating {}", parent.display())))?;
    let _lock = lock(component, &dir.with_extension("lock"))?;
    if is_complete(component, dir) {
        return Ok(()); // Another process built it while we waited.
    }
    go::check(component)?;
    check_space(component, parent)?;
    build(component, dir)
}

fn is_complete(component: Component, dir: &Path) -> bool {
    // The directory appears by one rename, so its existence would do; a user may have deleted a file by hand.
    component.binaries().iter().all(|binary| dir.join(binary).is_file())
}

fn lock(component: Component, path: &Path) -> Result<File, TestbedError> {
    let file = File::create(path).map_err(TestbedError::io(format!("creating {}", path.display())))?;
    if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        say(component, "another build of it is running; waiting for that one");
        rustix::fs::flock(&file, FlockOperation::LockExclusive)
            .map_err(|errno| TestbedError::io(format!("locking {}", path.display()))(errno.into()))?;
    }
    Ok(file)
}

fn check_space(component: Component, dir: &Path) -> Result<(), TestbedError> {
    // Measured: sources, compiler cache and binaries together, with a quarter to spare.
    let needed_mib = match component {
        Component::Kubernetes | Component::OldestKubernetes => 5_000,
        Component::Containerd | Component::Helm => 2_500,
        Component::Etcd => 1_000,
    };
    let stat = rustix::fs::statvfs(dir).map_err(|errno| {
        TestbedError::io(format!("reading the free space of {}", dir.display()))(errno.into())
    })?;
    let free_mib = stat.f_bavail.saturating_mul(stat.f_frsize) >> 20;
    if free_mib < needed_mib {
        return Err(TestbedError::DiskFull {
            path: dir.to_owned(),
            component: component.name(),
            free_mib,
            needed_mib,
        });
    }
    Ok(())
}

fn build(component: Component, dir: &Path) -> Result<(), TestbedError> {
    let started = Instant::now();
    say(component, &format!("building {} (not in the cache)", component.version()));
    let work = dir.with_extension("building");
    // Left by a build that was killed; we hold the lock.
    if work.exists() {
        fs::remove_dir_all(&work).map_err(TestbedError::io(format!("removing {}", work.display())))?;
    }
    let (source, out) = (work.join("src"), work.join("bin"));
    for path in [&source, &out] {
        fs::create_dir_all(path).map_err(TestbedError::io(format!("creating {}", path.display())))?;
    }
    let (go_mod, go_sum) = component.module();
    for (name, text) in [("go.mod", go_mod), ("go.sum", go_sum)] {
        fs::write(source.join(name), text).map_err(TestbedError::io(format!("writing {name}")))?;
    }
    compile(component, &source, &out)?;
    fs::rename(&out, dir).map_err(TestbedError::io(format!("moving {} into the cache", component.name())))?;
    fs::remove_dir_all(&work).map_err(TestbedError::io(format!("removing {}", work.display())))?;
    say(component, &format!("built in {}", minutes(started.elapsed())));
    Ok(())
}

fn compile(component: Component, source: &Path, out: &Path) -> Result<(), TestbedError> {
    let (package, binary) = go::target(component);
    let output = binary.map_or_else(|| out.to_owned(), |name| out.join(name));
    let mut child = Command::new("go")
        .args(go::build_args(component))
        .arg("-o")
        .arg(&output)
        .arg(package)
        .current_dir(source)
        .env("CGO_ENABLED", "0")
        // A workspace or flags of the user must not change what is built.
        .env("GOWORK", "off")
        .env_remove("GOFLAGS")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(TestbedError::io("starting go"))?;
    let lines = read_lines(&mut child);
    let tail = follow(component, &lines);
    let status = child.wait().map_err(TestbedError::io("waiting for go"))?;
    if status.success() { Ok(()) } else { Err(TestbedError::Build { component: component.name(), tail }) }
}

fn read_lines(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = channel();
    if let Some(stderr) = child.stderr.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    }
    receiver
}

/// Reports progress until the compiler closes its output; returns its last lines.
fn follow(component: Component, lines: &Receiver<String>) -> String {
    let started = Instant::now();
    let mut next_report = REPORT_EVERY;
    let (mut downloads, mut packages) = (0_u32, 0_u32);
    let mut tail = VecDeque::new();
    loop {
        match lines.recv_timeout(Duration::from_secs(1)) {
            Ok(line) if line.starts_with("go: downloading") => downloads += 1,
            Ok(line) => {
                packages += 1;
                if tail.len() == TAIL_LINES {
                    tail.pop_front();
                }
                tail.push_back(line);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Vec::from(tail).join("\n"),
        }
        if started.elapsed() >= next_report {
            next_report += REPORT_EVERY;
            let elapsed = minutes(started.elapsed());
            say(
                component,
                &format!("{downloads} modules downloaded, {packages} packages compiled, {elapsed}"),
            );
        }
    }
}

fn minutes(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    format!("{} min {:02} s", seconds / 60, seconds % 60)
}

fn say(component: Component, words: &str) {
    eprintln!("[testbed] {}: {words}", component.name());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disk_is_told_before_anything_is_built() {
        // The process file system has no room at all.
        let error = check_space(Component::Etcd, Path::new("/proc")).unwrap_err();

        let text = error.to_string();
        assert!(text.starts_with("/proc has 0 MiB free") && text.contains("KRUISE_TESTBED_CACHE"), "{text}");
    }
}
