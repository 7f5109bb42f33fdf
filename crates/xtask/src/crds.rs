//! Writes the custom resource definitions as YAML, or checks that the written ones are those of the types.

use std::fs;

use anyhow::Context;
use kruise_api::crd::all_crds;
use serde_json::Value;

use crate::root;
use crate::yaml::yaml;

/// Not the folder `crds`, which Helm installs and never upgrades: the original's chart has them as templates.
const FOLDER: &str = "charts/kruise/files/crds";

#[derive(Debug, clap::Args)]
pub struct Crds {
    /// Write nothing; fail if a file differs from what would be written
    #[arg(long)]
    pub check: bool,
}

/// Fails if a written file differs from the types.
pub fn check() -> anyhow::Result<()> {
    run(&Crds { check: true })
}

pub fn run(arguments: &Crds) -> anyhow::Result<()> {
    let folder = root().join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    for crd in all_crds() {
        let name = crd.pointer("/metadata/name").and_then(Value::as_str).context("a CRD without name")?;
        let path = folder.join(format!("{name}.yaml"));
        let text = format!(
            "# Written by `make crds` from the types in crates/kruise-api. Do not edit.\n{}",
            yaml(&crd)
        );
        if arguments.check {
            let written = fs::read_to_string(&path).unwrap_or_default();
            anyhow::ensure!(written == text, "{FOLDER}/{name}.yaml is out of date: run `make crds`");
        } else {
            fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        }
    }
    Ok(())
}
