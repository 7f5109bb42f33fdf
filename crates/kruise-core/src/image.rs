//! Image references as users write them, NodeImages keep them and runtimes want them (IM-1).

const DOCKER_HUB: &str = "docker.io";
const OFFICIAL: &str = "library/";
const TAG_MAX: usize = 128;
const NAME_MAX: usize = 255;

/// A reference taken apart: the familiar repository name and a tag or digest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// `nginx` for `docker.io/library/nginx`; other registries stay in front.
    pub name: String,
    /// A digest if there is one, else the tag, else `latest`.
    pub tag: String,
}

/// Why a text is not an image reference.
#[derive(Debug, Clone, Copy, thiserror::Error, PartialEq, Eq)]
pub enum ReferenceFault {
    #[error("invalid reference format")]
    Format,
    #[error("repository name must be lowercase")]
    Uppercase,
    #[error("repository name must not be more than 255 characters")]
    TooLong,
}

impl Reference {
    /// Reads what a user wrote. With a digest, a tag beside it is dropped (IM-1).
    pub fn read(text: &str) -> Result<Self, ReferenceFault> {
        let (before, digest) = match text.split_once('@') {
            Some((before, digest)) => (before, Some(digest)),
            None => (text, None),
        };
        let slash = before.rfind('/').map_or(0, |at| at + 1);
        let colon = before.get(slash..).and_then(|last| last.find(':')).map(|at| at + slash);
        let (name, tag) = match colon {
            // A registry with a port and nothing behind it is not a tag of that registry's name.
            Some(at) => (before.get(..at).unwrap_or_default(), before.get(at + 1..)),
            None => (before, None),
        };
        let (host, path) = split(name);
        check(host, &path)?;
        if tag.is_some_and(|tag| !is_tag(tag)) || digest.is_some_and(|digest| !is_digest(digest)) {
            return Err(ReferenceFault::Format);
        }
        let tag = digest.or(tag).unwrap_or("latest").to_owned();
        Ok(Self { name: familiar(host, &path), tag })
    }

    /// What a runtime is asked for: registry, repository and tag or digest in full, so that no short-name rule applies.
    pub fn qualified(&self) -> String {
        let joint = if self.tag.contains(':') { '@' } else { ':' };
        format!("{}{joint}{}", repository(&self.name), self.tag)
    }
}

/// The repository in full: `docker.io/library/nginx` for `nginx`.
pub fn repository(name: &str) -> String {
    let (host, path) = split(name);
    format!("{host}/{path}")
}

/// Registry and path of a name without tag.
fn split(name: &str) -> (&str, String) {
    let (host, path) = match name.split_once('/') {
        Some((first, rest))
            if first.contains(['.', ':'])
                || first == "localhost"
                || first.chars().any(char::is_uppercase) =>
        {
            (first, rest)
        }
        Some(_) | None => (DOCKER_HUB, name),
    };
    let host = if host == "index.docker.io" { DOCKER_HUB } else { host };
    if host == DOCKER_HUB && !path.contains('/') {
        return (host, format!("{OFFICIAL}{path}"));
    }
    (host, path.to_owned())
}

fn familiar(host: &str, path: &str) -> String {
    if host != DOCKER_HUB {
        return format!("{host}/{path}");
    }
    let short = path.strip_prefix(OFFICIAL).filter(|rest| !rest.contains('/'));
    short.unwrap_or(path).to_owned()
}

fn check(host: &str, path: &str) -> Result<(), ReferenceFault> {
    if path.chars().any(char::is_uppercase) {
        return Err(ReferenceFault::Uppercase);
    }
    if host.len() + 1 + path.len() > NAME_MAX {
        return Err(ReferenceFault::TooLong);
    }
    let host_is_fine = {
        let (name, port) = host.rsplit_once(':').unwrap_or((host, "1"));
        let labels = name.trim_matches(['[', ']']).split('.');
        let is_ip6 = name.starts_with('[') && name.ends_with(']');
        let label = |label: &str| {
            !label.is_empty()
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.chars().all(|one| one.is_ascii_alphanumeric() || one == '-')
        };
        (is_ip6 || labels.into_iter().all(label))
            && !port.is_empty()
            && port.chars().all(|one| one.is_ascii_digit())
    };
    if host_is_fine && path.split('/').all(is_component) { Ok(()) } else { Err(ReferenceFault::Format) }
}

/// Letters and digits, joined by `.`, `_`, `__` or any number of `-`.
fn is_component(text: &str) -> bool {
    let is_word = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit();
    let (Some(first), Some(last)) = (text.chars().next(), text.chars().next_back()) else { return false };
    let joints = text.split(is_word).filter(|joint| !joint.is_empty());
    is_word(first)
        && is_word(last)
        && joints
            .into_iter()
            .all(|joint| matches!(joint, "." | "_" | "__") || joint.chars().all(|one| one == '-'))
}

fn is_tag(text: &str) -> bool {
    let is_word = |one: char| one.is_ascii_alphanumeric() || one == '_';
    text.len() <= TAG_MAX
        && text.chars().next().is_some_and(is_word)
        && text.chars().all(|one| is_word(one) || matches!(one, '.' | '-'))
}

fn is_digest(text: &str) -> bool {
    text.split_once(':').is_some_and(|(algorithm, hex)| {
        let is_hex = |one: char| one.is_ascii_digit() || ('a'..='f').contains(&one);
        !algorithm.is_empty() && hex.len() >= 32 && hex.chars().all(is_hex)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn im_1_names_are_familiar_and_a_digest_wins() {
        let digest = format!("sha256:{}", "a".repeat(64));
        for (text, name, tag) in [
            ("nginx", "nginx", "latest"),
            ("docker.io/library/nginx:1", "nginx", "1"),
            ("index.docker.io/nginx", "nginx", "latest"),
            ("docker.io/a/b", "a/b", "latest"),
            ("registry:5000/app", "registry:5000/app", "latest"),
            ("registry:5000/app:2", "registry:5000/app", "2"),
            ("127.0.0.1:5000/a/b_c:v1.2-x", "127.0.0.1:5000/a/b_c", "v1.2-x"),
            ("localhost/app", "localhost/app", "latest"),
            (&format!("nginx:1.2@{digest}"), "nginx", &digest),
            (&format!("ghcr.io/a/b@{digest}"), "ghcr.io/a/b", &digest),
        ] {
            let read = Reference::read(text).unwrap();
            assert_eq!((read.name.as_str(), read.tag.as_str()), (name, tag), "{text}");
        }
    }

    #[test]
    fn im_1_what_is_not_a_reference_is_refused() {
        for (text, fault) in [
            ("", ReferenceFault::Format),
            ("Nginx", ReferenceFault::Uppercase),
            ("a b", ReferenceFault::Format),
            ("nginx:", ReferenceFault::Format),
            ("nginx@sha256:xyz", ReferenceFault::Format),
            ("a//b", ReferenceFault::Format),
            ("a---b/c__d.e:1:2", ReferenceFault::Format),
            ("https://x/y", ReferenceFault::Format),
        ] {
            assert_eq!(Reference::read(text), Err(fault), "{text}");
        }
    }

    /// images, problems 1 and 2: digests are joined by @, and no short-name rule of a runtime applies.
    #[test]
    fn images_7_1_7_2_runtimes_get_the_reference_in_full() {
        let digest = format!("sha256:{}", "a".repeat(64));
        for (name, tag, full) in [
            ("nginx", "1", "docker.io/library/nginx:1".to_owned()),
            ("a/b", "1", "docker.io/a/b:1".to_owned()),
            ("registry:5000/app", "1", "registry:5000/app:1".to_owned()),
            ("nginx", digest.as_str(), format!("docker.io/library/nginx@{digest}")),
        ] {
            let reference = Reference { name: name.to_owned(), tag: tag.to_owned() };
            assert_eq!(reference.qualified(), full);
        }
    }
}
