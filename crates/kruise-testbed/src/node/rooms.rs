//! The rooms of a node: a mount namespace in which the places that kubelet and containerd think their own are its own.
//!
//! Several kubelets on one machine would quarrel about `/var/lib/kubelet/device-plugins`, containerds about
//! `/run/containerd`; here each finds its own there, at the paths that programs inside pods expect. The mounts of all
//! pods happen in this namespace and vanish with it.

use std::fs::{self, File};
use std::path::Path;

use super::command::run;
use super::config::Paths;
use crate::TestbedError;

/// Directories of the machine that a node has for itself, and what they are called in its directory.
const OWN: [(&str, &str); 4] = [
    ("/run", "run"),
    ("/var/log", "var-log"),
    ("/var/lib/kubelet", "kubelet"),
    ("/var/lib/cni", "cni-state"),
];

/// Makes both namespace files (the network's is still empty) and moves the node's own directories in.
pub(super) fn furnish(paths: &Paths) -> Result<(), TestbedError> {
    let namespaces = paths.namespaces();
    fs::create_dir_all(&namespaces).map_err(creating(&namespaces))?;
    let shown = namespaces.display().to_string();
    // A namespace of mounts can only be kept in a place that it does not itself receive mounts from.
    run("mount", &["--bind", &shown, &shown])?;
    run("mount", &["--make-private", &shown])?;
    for file in [paths.network(), paths.mounts()] {
        File::create(&file).map_err(creating(&file))?;
    }
    let mounts = paths.mounts().display().to_string();
    run("unshare", &[&format!("--mount={mounts}"), "--propagation=private", "true"])?;
    let inside = |words: &[&str]| run("nsenter", &[&[format!("--mount={mounts}").as_str()], words].concat());
    // Among themselves the node's programs share mounts, as volumes with mount propagation demand.
    inside(&["mount", "--make-rshared", "/"])?;
    for (place, name) in OWN {
        let own = paths.0.join(name);
        fs::create_dir_all(&own).map_err(creating(&own))?;
        // Stays, empty: removing it would uncover it in the node of another cluster.
        fs::create_dir_all(place).map_err(creating(Path::new(place)))?;
        inside(&["mount", "--bind", &own.display().to_string(), place])?;
    }
    Ok(())
}

fn creating(path: &Path) -> impl FnOnce(std::io::Error) -> TestbedError {
    TestbedError::io(format!("creating {}", path.display()))
}
