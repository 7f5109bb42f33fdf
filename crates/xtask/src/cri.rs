//! Writes the code of `kruise-cri` from its proto file, with a compiler in Rust: no build needs `protoc`.

use std::fs;

use anyhow::Context;

use crate::root;

#[derive(Debug, clap::Args)]
pub struct Cri {
    /// Write nothing; fail if the file differs from what would be written
    #[arg(long)]
    pub check: bool,
}

pub fn run(arguments: &Cri) -> anyhow::Result<()> {
    let folder = root().join("crates/kruise-cri");
    let descriptors = protox::compile(["cri.proto"], [folder.join("proto")]).context("reading cri.proto")?;
    let out = tempfile::tempdir()?;
    tonic_prost_build::configure()
        .build_transport(false)
        .out_dir(out.path())
        .compile_fds(descriptors)
        .context("writing code")?;
    let made = fs::read_to_string(out.path().join("runtime.v1.rs")).context("the generated file")?;
    let target = folder.join("src/runtime.v1.rs");
    if arguments.check {
        let written = fs::read_to_string(&target).unwrap_or_default();
        anyhow::ensure!(
            written == made,
            "crates/kruise-cri/src/runtime.v1.rs is out of date: run `make gen`"
        );
        return Ok(());
    }
    fs::write(&target, made).context("writing runtime.v1.rs")
}
