//! The images that every real node of a test cluster can pull.

use super::image::Image;

/// Tags of the web server that tests move between, each with a digest of its own.
const NGINX_TAGS: [&str; 7] = ["latest", "1.14.2", "1.15.1", "1.21", "1.22", "1.23.1", "1.27"];
const BUSYBOX_TAGS: [&str; 4] = ["latest", "1.32", "1.36", "1.37"];

/// The sandbox image; kubelet never removes it.
pub const PAUSE: &str = "registry.k8s.io/pause:3.10";

/// All of them, with `testapp` (the bytes of the test program) inside.
pub fn standard(testapp: &[u8]) -> Vec<Image> {
    let base = |name: &str| Image::new(name).program("/bin/testapp", testapp);
    let mut images = vec![base(PAUSE).link("/pause", "/bin/testapp").entrypoint(["/pause", "pause"])];
    for tag in NGINX_TAGS {
        images.push(versioned(base(&format!("nginx:{tag}")), tag).entrypoint([
            "/bin/testapp",
            "serve",
            "80",
            "8080",
        ]));
    }
    // What latest is, under another name: a change of the tag that changes no digest.
    images.push(versioned(base("nginx:alpine").also("nginx:mainline"), "latest").entrypoint([
        "/bin/testapp",
        "serve",
        "80",
        "8080",
    ]));
    for tag in BUSYBOX_TAGS {
        images.push(versioned(base(&format!("busybox:{tag}")), tag).entrypoint(["/bin/testapp", "pause"]));
    }
    images.push(base("testapp:fails").entrypoint(["/bin/testapp", "fail", "1", "1"]));
    images.push(base("testapp:hangs").entrypoint(["/bin/testapp", "hang"]));
    images
}

fn versioned(image: Image, version: &str) -> Image {
    image.env("VERSION", version).label("version", version)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::images::Reference;

    #[test]
    fn tags_differ_in_digest_except_where_meant() {
        let mut digests = BTreeMap::new();
        for image in standard(b"elf") {
            let built = image.build().unwrap();
            for reference in &built.references {
                assert!(
                    digests.insert(reference.clone(), built.manifest.clone()).is_none(),
                    "{reference} twice"
                );
            }
        }
        let digest = |name: &str| digests[&Reference::read(name)].clone();

        assert_eq!(digest("nginx:alpine"), digest("nginx:latest"));
        let tags: BTreeSet<_> = NGINX_TAGS.iter().map(|tag| digest(&format!("nginx:{tag}"))).collect();
        assert_eq!(tags.len(), NGINX_TAGS.len());
    }
}
