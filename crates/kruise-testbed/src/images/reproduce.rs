//! Whether the image is the same wherever it is built: once in this checkout, once in a copy elsewhere.

use std::fs;
use std::path::Path;

use super::image::Digest;
use super::program;
use super::shipped::{self, Programs};
use crate::TestbedError;

/// Not part of the sources.
const LEFT_OUT: [&str; 2] = ["target", ".git"];

/// Digests of the manifests of both builds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Builds {
    pub here: Digest,
    pub elsewhere: Digest,
}

/// Builds both, out of this checkout. Takes twice as long as a build from nothing.
pub fn twice(tag: &str, of: Programs, checkout: &Path) -> Result<Builds, TestbedError> {
    let here = checkout.canonicalize().map_err(TestbedError::io("finding the checkout"))?;
    let dir = tempfile::Builder::new()
        .prefix("a-checkout-with-another-and-longer-name-")
        .tempdir()
        .map_err(TestbedError::io("making a directory for the second build"))?;
    let elsewhere = dir.path().join("src");
    copy(&here, &elsewhere)?;
    let digest = |workspace: &Path| -> Result<Digest, TestbedError> {
        let image = shipped::image_of(
            tag,
            &program::build_in(of.manager, workspace)?,
            &program::build_in(of.agent, workspace)?,
        )?;
        Ok(image.build().map_err(TestbedError::io("packing the image"))?.manifest)
    };
    Ok(Builds { here: digest(&here)?, elsewhere: digest(&elsewhere)? })
}

fn copy(from: &Path, to: &Path) -> Result<(), TestbedError> {
    let io = || TestbedError::io(format!("copying {}", from.display()));
    fs::create_dir_all(to).map_err(io())?;
    for entry in fs::read_dir(from).map_err(io())? {
        let entry = entry.map_err(io())?;
        let (name, kind) = (entry.file_name(), entry.file_type().map_err(io())?);
        if LEFT_OUT.iter().any(|left_out| name == *left_out) {
            continue;
        }
        if kind.is_dir() {
            copy(&entry.path(), &to.join(name))?;
        } else {
            fs::copy(entry.path(), to.join(name)).map_err(io())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_has_the_sources_and_nothing_that_was_built() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (dir, file) in [("src", "main.rs"), ("target", "huge"), (".git", "HEAD")] {
            fs::create_dir(from.path().join(dir)).unwrap();
            fs::write(from.path().join(dir).join(file), "x").unwrap();
        }

        copy(from.path(), to.path()).unwrap();

        assert!(to.path().join("src/main.rs").is_file());
        assert!(!to.path().join("target").exists() && !to.path().join(".git").exists());
    }
}
