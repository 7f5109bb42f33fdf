//! The one layer of an image: a tar whose bytes depend on nothing but its content, and its compressed form.

use std::collections::BTreeMap;
use std::io::{self, Write};

use flate2::{Compression, GzBuilder};
use tar::{EntryType, Header};

/// What can be at a path.
#[derive(Debug, Clone)]
pub(super) enum Entry {
    File { bytes: Vec<u8>, mode: u32 },
    Link { target: String },
}

/// Directories that programs and runtimes expect; `tmp` is for everybody.
const DIRECTORIES: [&str; 8] = ["bin", "dev", "etc", "proc", "root", "sys", "tmp", "var"];
const PASSWD: &str = "root:x:0:0:root:/root:/bin/false\nnobody:x:65534:65534:nobody:/:/bin/false\n";
const GROUP: &str = "root:x:0:\nnogroup:x:65534:\n";

/// The tar of the entries, keyed by path without leading slash, in the order of their paths.
pub(super) fn tar(entries: &BTreeMap<String, Entry>) -> io::Result<Vec<u8>> {
    let mut all = entries.clone();
    for (path, text) in [("etc/passwd", PASSWD), ("etc/group", GROUP)] {
        all.entry(path.to_owned()).or_insert_with(|| Entry::File { bytes: text.into(), mode: 0o644 });
    }
    let mut tar = tar::Builder::new(Vec::new());
    for directory in directories(&all) {
        let mode = if directory == "tmp" { 0o1777 } else { 0o755 };
        let mut header = header(EntryType::Directory, mode, 0);
        tar.append_data(&mut header, format!("{directory}/"), io::empty())?;
    }
    for (path, entry) in &all {
        match entry {
            Entry::File { bytes, mode } => {
                let mut header = header(EntryType::Regular, *mode, bytes.len() as u64);
                tar.append_data(&mut header, path, bytes.as_slice())?;
            }
            Entry::Link { target } => {
                let mut header = header(EntryType::Symlink, 0o777, 0);
                tar.append_link(&mut header, path, target)?;
            }
        }
    }
    tar.into_inner()
}

/// Compressed without a time stamp.
pub(super) fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::default());
    gzip.write_all(bytes)?;
    gzip.finish()
}

/// The fixed directories and every parent of an entry, parents first.
fn directories(entries: &BTreeMap<String, Entry>) -> std::collections::BTreeSet<String> {
    let mut all: std::collections::BTreeSet<String> = DIRECTORIES.map(str::to_owned).into();
    for path in entries.keys() {
        let mut parent = path.as_str();
        while let Some((upper, _)) = parent.rsplit_once('/') {
            all.insert(upper.to_owned());
            parent = upper;
        }
    }
    all
}

/// Owned by root, from the beginning of time.
fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_come_before_what_is_in_them() {
        let entries = BTreeMap::from([(
            "usr/local/bin/app".to_owned(),
            Entry::Link { target: "/bin/testapp".to_owned() },
        )]);

        let bytes = tar(&entries).unwrap();

        let mut archive = tar::Archive::new(bytes.as_slice());
        let paths: Vec<String> = archive
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string())
            .collect();
        let position =
            |path: &str| paths.iter().position(|candidate| candidate.trim_end_matches('/') == path);
        assert!(position("usr").unwrap() < position("usr/local").unwrap());
        assert!(position("usr/local/bin").unwrap() < position("usr/local/bin/app").unwrap());
        assert!(position("etc/passwd").is_some(), "{paths:?}");
    }
}
