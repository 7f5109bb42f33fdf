//! What an image is made of, and the blobs that come out.

use std::collections::BTreeMap;
use std::fmt;
use std::io;

use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::layer::{self, Entry};
use super::reference::Reference;

/// The content address of a blob, `sha256:…`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(String);

/// The recipe of an image. Two recipes with the same content have the same digest, whatever their names are;
/// [`Image::label`] tells them apart where a test wants another digest under another tag.
#[derive(Debug, Clone)]
pub struct Image {
    references: Vec<Reference>,
    entries: BTreeMap<String, Entry>,
    entrypoint: Vec<String>,
    env: BTreeMap<String, String>,
    labels: BTreeMap<String, String>,
    user: Option<String>,
}

/// The blobs of an image and the names it is known by.
#[derive(Debug, Clone)]
pub struct BuiltImage {
    pub references: Vec<Reference>,
    pub manifest: Digest,
    pub blobs: BTreeMap<Digest, Bytes>,
}

impl Digest {
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("sha256:{:x}", Sha256::digest(bytes)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl Image {
    /// An empty image under one name, as a pod would write it.
    pub fn new(name: &str) -> Self {
        Self {
            references: vec![Reference::read(name)],
            entries: BTreeMap::new(),
            entrypoint: Vec::new(),
            env: BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]),
            labels: BTreeMap::new(),
            user: None,
        }
    }

    /// A further name with the same digest.
    #[must_use]
    pub fn also(mut self, name: &str) -> Self {
        self.references.push(Reference::read(name));
        self
    }

    /// An ordinary file.
    #[must_use]
    pub fn file(self, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.entry(path, Entry::File { bytes: bytes.into(), mode: 0o644 })
    }

    /// A file that can be run.
    #[must_use]
    pub fn program(self, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.entry(path, Entry::File { bytes: bytes.into(), mode: 0o755 })
    }

    /// A symbolic link.
    #[must_use]
    pub fn link(self, path: &str, target: &str) -> Self {
        self.entry(path, Entry::Link { target: target.to_owned() })
    }

    #[must_use]
    pub fn entrypoint<const N: usize>(mut self, words: [&str; N]) -> Self {
        self.entrypoint = words.map(str::to_owned).into();
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Who runs it, by number; root if nobody is named.
    #[must_use]
    pub fn user(mut self, user: &str) -> Self {
        self.user = Some(user.to_owned());
        self
    }

    /// Part of the configuration, so another value is another digest.
    #[must_use]
    pub fn label(mut self, name: &str, value: &str) -> Self {
        self.labels.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Makes the blobs: compressed layer, configuration, manifest.
    pub fn build(&self) -> io::Result<BuiltImage> {
        let tar = layer::tar(&self.entries)?;
        let layer = layer::gzip(&tar)?;
        let config = serde_json::to_vec(&self.config(&Digest::of(&tar)))?;
        let manifest = serde_json::to_vec(&json!({
            "schemaVersion": 2,
            "mediaType": BuiltImage::MANIFEST_TYPE,
            "config": descriptor("application/vnd.oci.image.config.v1+json", &config),
            "layers": [descriptor("application/vnd.oci.image.layer.v1.tar+gzip", &layer)],
        }))?;
        let digest = Digest::of(&manifest);
        let blobs = [layer, config, manifest].map(|blob| (Digest::of(&blob), Bytes::from(blob)));
        Ok(BuiltImage { references: self.references.clone(), manifest: digest, blobs: BTreeMap::from(blobs) })
    }

    fn entry(mut self, path: &str, entry: Entry) -> Self {
        self.entries.insert(path.trim_start_matches('/').to_owned(), entry);
        self
    }

    fn config(&self, layer: &Digest) -> Value {
        let env: Vec<String> = self.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut config = json!({ "Entrypoint": self.entrypoint, "Env": env, "Labels": self.labels });
        if let (Some(user), Some(fields)) = (&self.user, config.as_object_mut()) {
            fields.insert("User".to_owned(), json!(user));
        }
        json!({
            "architecture": architecture(),
            "os": "linux",
            "created": "2026-01-01T00:00:00Z",
            "config": config,
            "rootfs": { "type": "layers", "diff_ids": [layer.as_str()] },
        })
    }
}

impl BuiltImage {
    pub const MANIFEST_TYPE: &'static str = "application/vnd.oci.image.manifest.v1+json";
}

fn descriptor(media_type: &str, blob: &[u8]) -> Value {
    json!({ "mediaType": media_type, "digest": Digest::of(blob).as_str(), "size": blob.len() })
}

/// This machine's architecture, in the words of images.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn web(name: &str) -> Image {
        Image::new(name)
            .program("/bin/testapp", "elf")
            .link("/app", "/bin/testapp")
            .entrypoint(["/app", "serve"])
    }

    #[test]
    fn same_recipe_gives_same_bytes() {
        let (first, second) = (web("nginx:1").build().unwrap(), web("nginx:1").build().unwrap());

        assert_eq!(first.manifest, second.manifest);
        assert_eq!(first.blobs, second.blobs);
    }

    #[test]
    fn name_is_no_part_of_the_digest_but_a_label_is() {
        let first = web("nginx:1").build().unwrap().manifest;

        assert_eq!(first, web("nginx:2").build().unwrap().manifest);
        assert_ne!(first, web("nginx:2").label("tag", "2").build().unwrap().manifest);
    }

    #[test]
    fn manifest_points_to_blobs_that_exist() {
        let image = web("nginx:1").build().unwrap();
        let manifest: Value = serde_json::from_slice(&image.blobs[&image.manifest]).unwrap();

        for digest in [&manifest["config"]["digest"], &manifest["layers"][0]["digest"]] {
            let blob = &image.blobs[&Digest(digest.as_str().unwrap().to_owned())];
            assert_eq!(Digest::of(blob).as_str(), digest.as_str().unwrap());
        }
    }
}
