//! The files of the repository, as git knows them: what is ignored is not there, what is new and not added yet is.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::root;

/// All files with one of these endings, relative to the root, in order.
pub fn with_ending(endings: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let is_wanted =
        |path: &Path| endings.iter().any(|end| path.extension().is_some_and(|found| found == *end));
    Ok(all()?.into_iter().filter(|path| is_wanted(path)).collect())
}

/// All files, relative to the root, in order. One that is deleted but still known to git is not there.
pub fn all() -> anyhow::Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .context("starting git")?;
    anyhow::ensure!(output.status.success(), "git: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).context("a file name that is not UTF-8")?;
    let mut files: Vec<PathBuf> = names.split_terminator('\0').map(PathBuf::from).collect();
    files.retain(|file| root().join(file).is_file());
    files.sort();
    files.dedup();
    Ok(files)
}

/// The text of one of the files; bytes that are no text become replacement characters.
pub fn read(path: &Path) -> anyhow::Result<String> {
    let bytes = std::fs::read(root().join(path)).with_context(|| format!("reading {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
