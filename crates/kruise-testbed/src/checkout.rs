//! Where the files of this repository are. Tests and `make run` need nothing beside them.

use std::path::{Path, PathBuf};

/// The root of the checkout that this program was built from.
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_owned()
}

/// Facts recorded from the original, of one kind: see `testdata/golden/README.md`.
pub fn golden(kind: &str) -> PathBuf {
    root().join("testdata/golden").join(kind)
}
