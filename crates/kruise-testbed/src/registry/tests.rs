//! The registry over plain HTTP, as containerd talks to it.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use super::*;

fn registry() -> Registry {
    let registry = Registry::start(IpAddr::V4(Ipv4Addr::LOCALHOST)).unwrap();
    registry
        .add(&Image::new("nginx:1.14.2").file("/etc/motd", "hello").entrypoint(["/bin/testapp"]))
        .unwrap();
    registry
}

/// Status, head and body of one answer.
fn ask(registry: &Registry, method: &str, target: &str) -> (u16, String, Vec<u8>) {
    let mut stream = TcpStream::connect(registry.address()).unwrap();
    write!(stream, "{method} {target} HTTP/1.1\r\nHost: registry\r\nConnection: close\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    (head[9..12].parse().unwrap(), head.to_lowercase(), bytes[end + 4..].to_vec())
}

const TAG: &str = "/v2/library/nginx/manifests/1.14.2?ns=docker.io";

#[test]
fn tag_leads_to_manifest_and_manifest_to_layer() {
    let registry = registry();

    let (status, head, body) = ask(&registry, "HEAD", TAG);
    assert_eq!((status, body.len()), (200, 0));
    let digest =
        head.lines().find_map(|line| line.strip_prefix("docker-content-digest: ")).unwrap().to_owned();
    assert!(head.contains("application/vnd.oci.image.manifest.v1+json"), "{head}");

    let (_, _, manifest) = ask(&registry, "GET", &format!("/v2/library/nginx/manifests/{digest}"));
    assert_eq!(Digest::of(&manifest).as_str(), digest);
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let layer = manifest["layers"][0]["digest"].as_str().unwrap();
    let (_, _, blob) = ask(&registry, "GET", &format!("/v2/library/nginx/blobs/{layer}"));
    assert_eq!(Digest::of(&blob).as_str(), layer);
}

#[test]
fn image_of_another_host_or_tag_is_not_found() {
    let registry = registry();

    for target in
        ["/v2/library/nginx/manifests/1.14.2?ns=quay.io", "/v2/library/nginx/manifests/1.15?ns=docker.io"]
    {
        assert_eq!(ask(&registry, "GET", target).0, 404, "{target}");
    }
    assert_eq!(ask(&registry, "PUT", TAG).0, 405);
}

#[test]
fn faults_hit_one_image_until_healed_and_pulls_are_counted() {
    let registry = registry();
    for (fault, status) in [(Fault::NotFound, 404), (Fault::ServerError, 500), (Fault::Unauthorized, 401)] {
        registry.fault("nginx:1.14.2", fault);
        assert_eq!(ask(&registry, "HEAD", TAG).0, status);
    }
    registry.heal("nginx:1.14.2");

    assert_eq!(ask(&registry, "HEAD", TAG).0, 200);

    assert_eq!(registry.pulls("nginx:1.14.2"), 4);
    assert_eq!(registry.pulls("nginx:1.15"), 0);
}

#[test]
fn slow_image_arrives_late() {
    let registry = registry();
    let delay = Duration::from_millis(200);
    registry.fault("nginx:1.14.2", Fault::Slow(delay));
    let start = Instant::now();

    assert_eq!(ask(&registry, "GET", TAG).0, 200);

    assert!(delay <= start.elapsed());
}
