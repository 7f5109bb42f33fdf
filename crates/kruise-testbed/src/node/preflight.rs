//! Can real nodes run here? If not, exactly why; what Debian can provide is installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::TestbedError;

/// Programs that nodes run, and the Debian package each is in.
const PROGRAMS: [(&str, &str); 7] = [
    ("runc", "runc"),
    ("iptables", "iptables"),
    ("ip", "iproute2"),
    ("nsenter", "util-linux"),
    ("unshare", "util-linux"),
    ("sysctl", "procps"),
    ("mount", "mount"),
];
/// Debian's place for network plugins, then everybody else's.
const PLUGIN_DIRS: [&str; 2] = ["/usr/lib/cni", "/opt/cni/bin"];
const PLUGINS: [&str; 4] = ["ptp", "host-local", "portmap", "loopback"];
const PLUGIN_PACKAGE: &str = "containernetworking-plugins";
/// Where programs of the system are, whatever the user's own path says.
pub(super) const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Proof that real nodes can run here; only [`preflight`] makes it.
#[derive(Debug, Clone)]
pub struct Fit {
    pub(super) plugin_dir: PathBuf,
}

/// Looks at the machine, installs missing Debian packages, and says in one sentence what else is missing.
pub fn preflight() -> Result<Fit, TestbedError> {
    kernel()?;
    let missing = missing_packages();
    if !missing.is_empty() {
        install(&missing)?;
    }
    match (plugin_dir(), missing_packages().as_slice()) {
        (Some(plugin_dir), []) => Ok(Fit { plugin_dir }),
        (_, still) => Err(unfit(&format!("{} did not bring the expected programs", still.join(", ")))),
    }
}

/// What no package can bring.
fn kernel() -> Result<(), TestbedError> {
    if !cfg!(target_os = "linux") {
        return Err(unfit("this is not Linux"));
    }
    if !rustix::process::geteuid().is_root() {
        return Err(unfit("this is not root: run the command as root"));
    }
    if !Path::new("/proc/self/ns/net").exists() {
        return Err(unfit("the kernel has no network namespaces"));
    }
    for path in ["/sys/fs/cgroup", "/dev/kmsg"] {
        if !Path::new(path).exists() {
            return Err(unfit(&format!(
                "{path} is missing: run on a machine or in a privileged container that has it"
            )));
        }
    }
    super::cgroup::writable().map_err(|error| {
        unfit(&format!("cgroups cannot be created ({error}): run where /sys/fs/cgroup is mounted writable"))
    })?;
    let filesystems = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if !filesystems.contains("overlay") && Command::new("modprobe").arg("overlay").status().is_err() {
        return Err(unfit("the kernel has no overlay file system"));
    }
    Ok(())
}

fn missing_packages() -> Vec<&'static str> {
    let mut missing: Vec<&str> =
        PROGRAMS.iter().filter(|(program, _)| !on_path(program)).map(|(_, package)| *package).collect();
    if plugin_dir().is_none() {
        missing.push(PLUGIN_PACKAGE);
    }
    missing.dedup();
    missing
}

fn on_path(program: &str) -> bool {
    SYSTEM_PATH.split(':').any(|dir| Path::new(dir).join(program).exists())
}

fn plugin_dir() -> Option<PathBuf> {
    PLUGIN_DIRS.iter().map(PathBuf::from).find(|dir| PLUGINS.iter().all(|plugin| dir.join(plugin).exists()))
}

fn install(packages: &[&str]) -> Result<(), TestbedError> {
    let names = packages.join(" ");
    if !on_path("apt-get") {
        return Err(unfit(&format!("these packages are missing: install {names}")));
    }
    eprintln!("[testbed] installing Debian packages: {names}");
    if apt(&["install"], packages).is_ok() {
        return Ok(());
    }
    // A fresh machine has no lists of packages yet.
    apt(&["update"], &[]).and_then(|()| apt(&["install"], packages)).map_err(|message| {
        unfit(&format!("`apt-get install {names}` failed, install them by hand: {message}"))
    })
}

fn apt(command: &[&str], packages: &[&str]) -> Result<(), String> {
    let output = Command::new("apt-get")
        .args(command)
        // Another test run may be installing at this moment.
        .args(["-y", "-q", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"])
        .args(packages)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(text.lines().last().unwrap_or("no message").to_owned())
}

fn unfit(why: &str) -> TestbedError {
    TestbedError::Unfit(format!("real nodes cannot run here: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_is_a_sentence_about_real_nodes() {
        if let Err(error) = kernel() {
            assert!(error.to_string().starts_with("real nodes cannot run here: "), "{error}");
        }
    }

    #[test]
    fn programs_that_exist_nowhere_are_not_on_the_path() {
        assert!(on_path("sh"));
        assert!(!on_path("no-such-program-of-ours"));
    }
}
