//! Names of images, read the way container runtimes read them.

use std::fmt;

/// A full image name: `nginx:1.14.2` is `docker.io/library/nginx:1.14.2`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    pub host: String,
    pub repository: String,
    pub tag: String,
}

impl Reference {
    /// Reads a name as a pod would give it. A name without host belongs to `docker.io`, one without tag to `latest`.
    pub fn read(name: &str) -> Self {
        let (host, rest) = match name.split_once('/') {
            Some((host, rest)) if host.contains(['.', ':']) || host == "localhost" => (host, rest),
            Some(_) | None => ("docker.io", name),
        };
        let (repository, tag) = rest.split_once(':').unwrap_or((rest, "latest"));
        let repository = if host == "docker.io" && !repository.contains('/') {
            format!("library/{repository}")
        } else {
            repository.to_owned()
        };
        Self { host: host.to_owned(), repository, tag: tag.to_owned() }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}:{}", self.host, self.repository, self.tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_are_completed_as_a_runtime_does() {
        for (short, full) in [
            ("nginx", "docker.io/library/nginx:latest"),
            ("nginx:1.14.2", "docker.io/library/nginx:1.14.2"),
            ("openkruise/kruise:v1", "docker.io/openkruise/kruise:v1"),
            ("registry.k8s.io/pause:3.10", "registry.k8s.io/pause:3.10"),
            ("localhost:5000/a/b:c", "localhost:5000/a/b:c"),
        ] {
            assert_eq!(Reference::read(short).to_string(), full);
        }
    }
}
