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

/// Where the chart looks for them.
const PROGRAM: &str = "/manager";
const AGENT: &str = "/kruise-daemon";
const TITLE: (&str, &str) = ("org.opencontainers.image.title", "kruise-manager");
const LICENCE: (&str, &str) = ("org.opencontainers.image.licenses", "Apache-2.0");
const VERSION: &str = "org.opencontainers.image.version";

/// Name static programs to use instead of building them.
const PREBUILT: &str = "KRUISE_MANAGER_PROGRAM";
const PREBUILT_AGENT: &str = "KRUISE_DAEMON_PROGRAM";

/// The programs of one image, built alike.
#[derive(Debug, Clone, Copy)]
pub struct Programs {
    pub manager: Program,
    pub agent: Program,
}

/// As they ship.
pub const SHIPPED: Programs = Programs { manager: program::MANAGER, agent: program::DAEMON };
/// For a test: without the minutes of optimisation.
pub const FOR_TESTS: Programs =
    Programs { manager: program::MANAGER_FOR_TESTS, agent: program::DAEMON_FOR_TESTS };

/// The image of manager and agent for a tag.
pub fn manager(tag: &str, programs: Programs) -> Result<Image, TestbedError> {
    let path = |prebuilt: &str, program: Program| match std::env::var_os(prebuilt) {
        Some(path) => Ok(PathBuf::from(path)),
        None => program::build(program),
    };
    image_of(tag, &path(PREBUILT, programs.manager)?, &path(PREBUILT_AGENT, programs.agent)?)
}

/// The image that holds these programs.
pub fn image_of(tag: &str, manager: &Path, agent: &Path) -> Result<Image, TestbedError> {
    let read = |path: &Path| fs::read(path).map_err(TestbedError::io(format!("reading {}", path.display())));
    Ok(image(tag, read(manager)?, read(agent)?))
}

fn image(tag: &str, manager: Vec<u8>, agent: Vec<u8>) -> Image {
    Image::new(&format!("{MANAGER_NAME}:{tag}"))
        .program(PROGRAM, manager)
        .program(AGENT, agent)
        .entrypoint([PROGRAM])
        .user(USER)
        .label(TITLE.0, TITLE.1)
        .label(LICENCE.0, LICENCE.1)
        .label(VERSION, tag)
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

    /// There is no engine here to build it with, so that what it says is compared with what we build.
    #[test]
    fn dockerfile_makes_what_we_make() {
        let file = crate::checkout::root().join("Dockerfile");
        let text = fs::read_to_string(file).unwrap().replace("\\\n", " ");
        let (build, ship) = text.split_once("\nFROM scratch\n").unwrap();
        let lines: Vec<&str> = ship.lines().filter(|line| !line.is_empty()).collect();
        let quoted = |(name, value): (&str, &str)| format!("{name}=\"{value}\"");

        let expected = [
            "ARG VERSION=dev".to_owned(),
            format!("COPY --from=build {PROGRAM} {PROGRAM}"),
            format!("COPY --from=build {AGENT} {AGENT}"),
            format!("LABEL {}", quoted(TITLE)),
            format!("LABEL {}", quoted(LICENCE)),
            format!("LABEL {VERSION}=\"${{VERSION}}\""),
            format!("USER {USER}"),
            format!("ENTRYPOINT [\"{PROGRAM}\"]"),
        ];
        assert_eq!(lines, expected);
        let words: Vec<&str> = build.split_whitespace().collect();
        let packages = format!("--package {} --package {}", SHIPPED.manager.package, SHIPPED.agent.package);
        for needed in ["cargo build", "--locked", &packages, "--target"] {
            assert!(words.join(" ").contains(needed), "{needed}: {build}");
        }
        assert!(words.contains(&format!("--{}", SHIPPED.manager.profile).as_str()), "the same profile");
        assert!(build.contains("-Ctarget-feature=+crt-static"), "a static program");
        assert!(build.contains("SOURCE_DATE_EPOCH=0") && build.contains("--remap-path-prefix="));
    }

    #[test]
    fn layout_holds_what_its_index_names_and_is_the_same_every_time() {
        let built = image("v1", b"elf".to_vec(), b"elf too".to_vec()).build().unwrap();
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
