//! Kubeconfig files. JSON is YAML, so no YAML writer is needed.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::TestbedError;
use crate::certs::Pair;

/// Writes a kubeconfig for one user of the cluster at `server`.
pub fn write(path: &Path, server: &str, ca: &Path, user: &Pair) -> Result<PathBuf, TestbedError> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "testbed",
        "clusters": [{"name": "testbed", "cluster": {"server": server, "certificate-authority": ca}}],
        "users": [{"name": "user", "user": {"client-certificate": user.certificate, "client-key": user.key}}],
        "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": "user"}}],
    });
    std::fs::write(path, format!("{config:#}\n"))
        .map_err(TestbedError::io(format!("writing {}", path.display())))?;
    Ok(path.to_owned())
}
