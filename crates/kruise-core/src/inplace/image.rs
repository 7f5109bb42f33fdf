//! Image references, compared as the container runtime means them (M8).

/// Whether two references name the same image: `nginx`, `nginx:latest` and `docker.io/library/nginx:latest` do;
/// `registry:5000/app` has a port, not a tag.
pub fn same(a: &str, b: &str) -> bool {
    normal(a) == normal(b)
}

fn normal(reference: &str) -> String {
    let (host, path) = match reference.split_once('/') {
        Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => (first, rest.to_owned()),
        Some(_) => ("docker.io", reference.to_owned()),
        None => ("docker.io", format!("library/{reference}")),
    };
    let host = if host == "index.docker.io" { "docker.io" } else { host };
    let last = path.rsplit('/').next().unwrap_or(&path);
    if last.contains([':', '@']) { format!("{host}/{path}") } else { format!("{host}/{path}:latest") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_machinery_m8_references_are_parsed_not_searched_for_a_colon() {
        for (a, b, equal) in [
            ("nginx", "nginx:latest", true),
            ("nginx:1.22", "docker.io/library/nginx:1.22", true),
            ("registry:5000/app", "registry:5000/app:latest", true),
            ("registry:5000/app", "registry:5000/app:1", false),
            ("team/app", "docker.io/team/app:latest", true),
            ("nginx:1.21", "nginx:1.22", false),
            ("nginx@sha256:aa", "nginx", false),
            ("localhost/app", "localhost/app:latest", true),
        ] {
            assert_eq!(same(a, b), equal, "{a} {b}");
        }
    }
}
