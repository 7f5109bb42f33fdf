//! The Go side of a build: which toolchain is there, and the command line for each component.

use std::process::Command;

use super::{CONTAINERD, Component};
use crate::TestbedError;

/// The oldest Go that the modules of all components accept.
const GO: (u32, u32) = (1, 26);

/// Fails with one sentence when `go` is missing or too old for the module files.
pub fn check(component: Component) -> Result<(), TestbedError> {
    let wanted = format!("Go {}.{}", GO.0, GO.1);
    let Ok(output) = Command::new("go").arg("version").output() else {
        return Err(TestbedError::ToolMissing { tool: "go", wanted });
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match parse_version(&text) {
        Some(found) if found >= GO => Ok(()),
        Some((major, minor)) => Err(TestbedError::ToolTooOld {
            tool: "go",
            found: format!("{major}.{minor}"),
            wanted,
            component: component.name(),
        }),
        None => Err(TestbedError::ToolTooOld {
            tool: "go",
            found: text.trim().to_owned(),
            wanted,
            component: component.name(),
        }),
    }
}

/// Arguments of `go`, without the output directory.
pub fn build_args(component: Component) -> Vec<String> {
    let mut args: Vec<String> = ["build", "-v", "-trimpath", "-buildvcs=false"].map(str::to_owned).into();
    if component == Component::Containerd {
        args.extend(["-tags".to_owned(), "no_btrfs,no_zfs,no_devmapper,no_aufs".to_owned()]);
    }
    args.extend(["-ldflags".to_owned(), linker_flags(component)]);
    args
}

/// What to build: one package when its binary needs another name than its path ends in, else all tools of the module.
pub fn target(component: Component) -> (&'static str, Option<&'static str>) {
    match component {
        Component::Etcd => ("go.etcd.io/etcd/server/v3", Some("etcd")),
        Component::Kubernetes | Component::OldestKubernetes | Component::Containerd | Component::Helm => {
            ("tool", None)
        }
    }
}

fn linker_flags(component: Component) -> String {
    let mut flags = "-s -w".to_owned();
    let mut set = |name: &str, value: &str| {
        flags.push_str(" -X ");
        flags.push_str(name);
        flags.push('=');
        flags.push_str(value);
    };
    match component {
        Component::Kubernetes | Component::OldestKubernetes => {
            let version = component.version();
            let mut numbers = version.split('.');
            let (major, minor) = (numbers.next().unwrap_or("1"), numbers.next().unwrap_or("0"));
            for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
                set(&format!("{package}.gitVersion"), &format!("v{version}"));
                set(&format!("{package}.gitMajor"), major);
                set(&format!("{package}.gitMinor"), minor);
                set(&format!("{package}.gitTreeState"), "clean");
                set(&format!("{package}.gitCommit"), "0000000");
                set(&format!("{package}.buildDate"), "2026-01-01T00:00:00Z");
            }
        }
        Component::Containerd => {
            set("github.com/containerd/containerd/v2/version.Version", &format!("v{CONTAINERD}"));
        }
        Component::Etcd | Component::Helm => {}
    }
    flags
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let version = text.split_whitespace().find_map(|word| word.strip_prefix("go1.").map(|rest| (1, rest)))?;
    let minor: String = version.1.chars().take_while(char::is_ascii_digit).collect();
    Some((version.0, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_read_from_what_go_prints() {
        assert_eq!(parse_version("go version go1.26.8 linux/amd64"), Some((1, 26)));
        assert_eq!(parse_version("go version go1.9rc2 linux/arm64"), Some((1, 9)));
        assert_eq!(parse_version("gccgo"), None);
    }

    #[test]
    fn kubernetes_binaries_carry_their_version() {
        let flags = linker_flags(Component::Kubernetes);

        assert!(flags.contains("-X k8s.io/component-base/version.gitVersion=v1.36.3"), "{flags}");
        assert!(flags.contains("-X k8s.io/client-go/pkg/version.gitMinor=36"), "{flags}");
        let oldest = linker_flags(Component::OldestKubernetes);
        assert!(oldest.contains("-X k8s.io/component-base/version.gitVersion=v1.29.6"), "{oldest}");
    }
}
