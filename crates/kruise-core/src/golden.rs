//! Test support: the facts recorded from the original, found in `shared/golden` next to the workspace.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// All recorded files of a folder, by file name.
pub fn folder(name: &str) -> Vec<(String, Value)> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(root().join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), read(path))).collect()
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// `KRUISE_SHARED`, else the first `shared/golden` beside a parent of this crate.
fn root() -> PathBuf {
    if let Some(shared) = std::env::var_os("KRUISE_SHARED") {
        return Path::new(&shared).join("golden");
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .map(|parent| parent.join("shared/golden"))
        .find(|folder| folder.is_dir())
        .expect("shared/golden beside the workspace, or KRUISE_SHARED")
}
