//! The images that ship: a static program, no shell, no package, no root.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::image::{BuiltImage, Image};
use super::program::{self, Program};
use crate::TestbedError;

/// Under which name charts ask for the manager.
pub const MANAGER_NAME: &str = "kruise/kruise-manager";
/// Nobody, as the chart runs it.
const USER: &str = "65534:65534";

/// Names a static program to use instead of building one.
const PREBUILT: &str = "KRUISE_MANAGER_PROGRAM";

/// The manager's image for a tag.
pub fn manager(tag: &str, manager: Program) -> Result<Image, TestbedError> {
    let path = match std::env::var_os(PREBUILT) {
        Some(path) => PathBuf::from(path),
        None => program::build(manager)?,
    };
    let bytes = fs::read(&path).map_err(TestbedError::io(format!("reading {}", path.display())))?;
    Ok(image(tag, bytes))
}

fn image(tag: &str, program: Vec<u8>) -> Image {
    Image::new(&format!("{MANAGER_NAME}:{tag}"))
        .program("/manager", program)
        .entrypoint(["/manager"])
        .user(USER)
        .label("org.opencontainers.image.title", "kruise-manager")
        .label("org.opencontainers.image.licenses", "Apache-2.0")
        .label("org.opencontainers.image.version", tag)
}

/// Writes an OCI layout that every engine can read: `skopeo copy oci:DIR:TAG …`, `ctr images import` of its tar.
pub fn write_layout(built: &BuiltImage, dir: &Path) -> Result<(), TestbedError> {
    let blobs = dir.join("blobs/sha256");
    let io = |what: &Path| TestbedError::io(format!("writing {}", what.display()));
    fs::create_dir_all(&blobs).map_err(io(&blobs))?;
    for (digest, bytes) in &built.blobs {
        let path = blobs.join(digest.as_str().trim_start_matches("sha256:"));
        fs::write(&path, bytes).map_err(io(&path))?;
    }
    let size = built.blobs.get(&built.manifest).map_or(0, bytes::Bytes::len);
    let manifests = built.references.iter().map(|reference| {
        let annotations = json!({
            "org.opencontainers.image.ref.name": reference.tag,
            "io.containerd.image.name": reference.to_string(),
        });
        json!({"mediaType": BuiltImage::MANIFEST_TYPE, "digest": built.manifest.as_str(), "size": size, "annotations": annotations})
    });
    let manifests: Vec<_> = manifests.collect();
    for (name, value) in [
        ("oci-layout", json!({"imageLayoutVersion": "1.0.0"})),
        ("index.json", json!({"schemaVersion": 2, "manifests": manifests})),
    ] {
        let path = dir.join(name);
        fs::write(&path, value.to_string()).map_err(io(&path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn layout_holds_what_its_index_names_and_is_the_same_every_time() {
        let built = image("v1", b"elf".to_vec()).build().unwrap();
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for dir in &dirs {
            write_layout(&built, dir.path()).unwrap();
        }
        let read = |dir: &tempfile::TempDir, name: &str| fs::read(dir.path().join(name)).unwrap();
        let index: Value = serde_json::from_slice(&read(&dirs[0], "index.json")).unwrap();
        assert_eq!(read(&dirs[0], "index.json"), read(&dirs[1], "index.json"));
        let digest = index["manifests"][0]["digest"].as_str().unwrap().replace("sha256:", "blobs/sha256/");
        let manifest: Value = serde_json::from_slice(&read(&dirs[0], &digest)).unwrap();
        let config = manifest["config"]["digest"].as_str().unwrap().replace("sha256:", "blobs/sha256/");
        let config: Value = serde_json::from_slice(&read(&dirs[0], &config)).unwrap();
        assert_eq!(config["config"]["User"], "65534:65534");
        assert_eq!(config["config"]["Entrypoint"], json!(["/manager"]));
    }
}
