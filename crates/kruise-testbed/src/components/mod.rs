//! The binaries of a real Kubernetes, built from the Go module registry by version.
//!
//! Built once per user: the cache is outside the checkout and keyed by everything that goes into a build, so a
//! fresh clone finds them. A lock per component makes two builds at once safe: the second waits for the first.

mod build;
mod go;

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::TestbedError;

/// The version that the testbed runs, linked into the binaries: without it kubectl cannot parse its own.
pub const KUBERNETES: &str = "1.36.3";
/// The oldest version that is supported: its servers alone, for `make test-versions`.
pub const OLDEST_KUBERNETES: &str = "1.29.6";
const ETCD: &str = "3.7.3";
const CONTAINERD: &str = "2.4.2";
const HELM: &str = "3.22.0";

/// One Go module of ours (`modules/<name>`) and what it builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
    Etcd,
    Kubernetes,
    /// API server, controller manager and scheduler of the oldest version that is supported.
    OldestKubernetes,
    Containerd,
    Helm,
}

/// Where the binaries of one component are.
#[derive(Debug, Clone)]
pub struct Binaries {
    dir: PathBuf,
}

/// Finds or builds a component. Words about progress go to standard error.
pub fn ensure(component: Component) -> Result<Binaries, TestbedError> {
    if let Some(dir) = std::env::var_os("KRUISE_TESTBED_BIN") {
        return prebuilt(component, Path::new(&dir));
    }
    let dir = cache_dir()?.join(component.key());
    build::ensure(component, &dir)?;
    Ok(Binaries { dir })
}

/// What the caches of this crate share: `KRUISE_TESTBED_CACHE`, else the user's cache directory.
pub fn cache_dir() -> Result<PathBuf, TestbedError> {
    let from = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    from("KRUISE_TESTBED_CACHE")
        .or_else(|| from("XDG_CACHE_HOME").map(|d| d.join("kruise-testbed")))
        .or_else(|| from("HOME").map(|d| d.join(".cache/kruise-testbed")))
        .ok_or_else(|| {
            TestbedError::Unfit(
                "HOME is not set: set KRUISE_TESTBED_CACHE to a directory for built binaries".into(),
            )
        })
}

impl Binaries {
    pub fn path(&self, binary: &str) -> PathBuf {
        self.dir.join(binary)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

impl Component {
    /// What everybody needs; older servers are built when they are asked for.
    pub const ALL: [Self; 4] = [Self::Etcd, Self::Kubernetes, Self::Containerd, Self::Helm];

    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::Kubernetes | Self::OldestKubernetes => "kubernetes",
            Self::Containerd => "containerd",
            Self::Helm => "helm",
        }
    }

    pub fn version(self) -> &'static str {
        match self {
            Self::Etcd => ETCD,
            Self::Kubernetes => KUBERNETES,
            Self::OldestKubernetes => OLDEST_KUBERNETES,
            Self::Containerd => CONTAINERD,
            Self::Helm => HELM,
        }
    }

    pub fn binaries(self) -> &'static [&'static str] {
        match self {
            Self::Etcd => &["etcd"],
            Self::Kubernetes => &[
                "kube-apiserver",
                "kube-controller-manager",
                "kube-scheduler",
                "kube-proxy",
                "kubelet",
                "kubectl",
            ],
            Self::OldestKubernetes => &["kube-apiserver", "kube-controller-manager", "kube-scheduler"],
            Self::Containerd => &["containerd", "containerd-shim-runc-v2", "ctr"],
            Self::Helm => &["helm"],
        }
    }

    /// `go.mod` and `go.sum`, compiled in: the binary works without the checkout.
    fn module(self) -> (&'static str, &'static str) {
        macro_rules! module {
            ($name:literal) => {
                (
                    include_str!(concat!("../../modules/", $name, "/go.mod")),
                    include_str!(concat!("../../modules/", $name, "/go.sum")),
                )
            };
        }
        match self {
            Self::Etcd => module!("etcd"),
            Self::Kubernetes => module!("kubernetes"),
            Self::OldestKubernetes => module!("kubernetes-1.29"),
            Self::Containerd => module!("containerd"),
            Self::Helm => module!("helm"),
        }
    }

    /// Version and a digest of all inputs, so that a changed module or flag is built anew.
    fn key(self) -> String {
        let (go_mod, go_sum) = self.module();
        let mut digest = Sha256::new();
        for part in [go_mod, go_sum].into_iter().chain(go::build_args(self).iter().map(String::as_str)) {
            digest.update(part);
            digest.update([0]);
        }
        let short = format!("{:.12x}", digest.finalize());
        format!("{}-{}-{short}", self.name(), self.version())
    }
}

fn prebuilt(component: Component, dir: &Path) -> Result<Binaries, TestbedError> {
    for binary in component.binaries() {
        if !dir.join(binary).is_file() {
            return Err(TestbedError::PrebuiltMissing { binary: (*binary).to_owned(), dir: dir.to_owned() });
        }
    }
    Ok(Binaries { dir: dir.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_pins_the_version_it_is_named_after() {
        for (component, line) in [
            (Component::Etcd, format!("go.etcd.io/etcd/server/v3 v{ETCD}")),
            (Component::Kubernetes, format!("k8s.io/kubernetes v{KUBERNETES}")),
            (Component::OldestKubernetes, format!("k8s.io/kubernetes v{OLDEST_KUBERNETES}")),
            (Component::Containerd, format!("github.com/containerd/containerd/v2 v{CONTAINERD}")),
            (Component::Helm, format!("helm.sh/helm/v3 v{HELM}")),
        ] {
            let (go_mod, _) = component.module();

            assert!(go_mod.contains(&line), "{} does not require {line}", component.name());
        }
    }

    #[test]
    fn key_names_component_and_version() {
        let key = Component::Etcd.key();

        assert!(key.starts_with("etcd-3.7.3-"), "{key}");
        assert_ne!(key, Component::Helm.key());
    }

    #[test]
    fn prebuilt_directory_that_lacks_a_binary_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();

        let error = prebuilt(Component::Etcd, dir.path()).unwrap_err();

        assert!(error.to_string().starts_with("etcd is not in "), "{error}");
    }
}
