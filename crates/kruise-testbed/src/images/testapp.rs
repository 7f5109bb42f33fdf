//! The test program: built statically on first use, because the image that holds it holds nothing else.

use std::path::PathBuf;

use super::program::{self, Program};
use crate::TestbedError;

/// Names a binary to use instead of building one.
const PREBUILT: &str = "KRUISE_TESTAPP";

/// The bytes of the program. Builds it with cargo unless `KRUISE_TESTAPP` names one; cargo knows when nothing changed.
pub fn bytes() -> Result<Vec<u8>, TestbedError> {
    let path = match std::env::var_os(PREBUILT) {
        Some(path) => PathBuf::from(path),
        None => program::build(Program { package: "kruise-testapp", profile: "testapp" })?,
    };
    std::fs::read(&path).map_err(TestbedError::io(format!("reading the test program {}", path.display())))
}
