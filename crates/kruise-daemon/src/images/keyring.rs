//! Which credentials a repository gets (NP-7, NP-8): Docker's configuration format and the kubelet's matching rules.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

const HUB: &str = "docker.io";
/// Under which key Docker's tools keep credentials of the hub.
const HUB_KEY: &str = "index.docker.io";

/// A user and a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    pub username: String,
    pub password: String,
}

/// Never in a log.
impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credential").field("username", &self.username).finish_non_exhaustive()
    }
}

/// Credentials of several sources, by registry.
#[derive(Debug, Clone, Default)]
pub struct Keyring {
    /// Registry, with a port and a path perhaps, and its credentials in the order they were added.
    entries: BTreeMap<String, Vec<Credential>>,
}

/// A configuration cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("registry credentials cannot be read: {0}")]
pub struct Unreadable(String);

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    auths: BTreeMap<String, Auth>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Auth {
    username: String,
    password: String,
    #[serde(rename = "auth")]
    encoded: String,
}

impl Keyring {
    /// Adds a `config.json`, with `auths` around the entries.
    pub fn add_config(&mut self, text: &str) -> Result<(), Unreadable> {
        let config: Config = serde_json::from_str(text).map_err(|error| Unreadable(error.to_string()))?;
        self.add_auths(config.auths)
    }

    /// Adds a `.dockercfg`, the older form without a level around the entries.
    pub fn add_cfg(&mut self, text: &str) -> Result<(), Unreadable> {
        let auths = serde_json::from_str(text).map_err(|error| Unreadable(error.to_string()))?;
        self.add_auths(auths)
    }

    fn add_auths(&mut self, auths: BTreeMap<String, Auth>) -> Result<(), Unreadable> {
        for (registry, auth) in auths {
            let credential = auth.credential()?;
            if !credential.username.is_empty() || !credential.password.is_empty() {
                self.add(&registry, credential);
            }
        }
        Ok(())
    }

    pub fn add(&mut self, registry: &str, credential: Credential) {
        let all = self.entries.entry(key(registry)).or_default();
        if !all.contains(&credential) {
            all.push(credential);
        }
    }

    /// Everything that fits a repository in full (`docker.io/library/nginx`), the most specific entry first.
    pub fn lookup(&self, repository: &str) -> Vec<Credential> {
        let mut found: Vec<Credential> = Vec::new();
        for (_, credentials) in self.entries.iter().rev().filter(|(entry, _)| fits(entry, repository)) {
            found.extend(credentials.iter().filter(|one| !found.contains(one)).cloned().collect::<Vec<_>>());
        }
        if found.is_empty() && repository.starts_with(&format!("{HUB}/")) {
            return self.entries.get(HUB_KEY).cloned().unwrap_or_default();
        }
        found
    }
}

impl Auth {
    fn credential(self) -> Result<Credential, Unreadable> {
        if self.encoded.is_empty() {
            return Ok(Credential { username: self.username, password: self.password });
        }
        let bad = || Unreadable("auth is not base64 of user:password".to_owned());
        let trimmed = self.encoded.trim_end_matches(['\0', '\n', '\r']);
        let text = STANDARD.decode(trimmed).map_err(|_| bad())?;
        let text = String::from_utf8(text).map_err(|_| bad())?;
        let (username, password) = text.split_once(':').ok_or_else(bad)?;
        let password = password.trim_end_matches('\0').to_owned();
        Ok(Credential { username: username.to_owned(), password })
    }
}

/// The registry without a scheme, and without the `/v1/` and `/v2/` of Docker's tools.
fn key(registry: &str) -> String {
    let bare =
        registry.strip_prefix("https://").or_else(|| registry.strip_prefix("http://")).unwrap_or(registry);
    let (host, path) = bare.split_once('/').unwrap_or((bare, ""));
    let path = path.trim_end_matches('/');
    match path {
        "" | "v1" | "v2" => host.to_owned(),
        path => format!("{host}/{path}"),
    }
}

/// Host by parts with `*`, the same port, and the path as a prefix.
pub fn fits(entry: &str, repository: &str) -> bool {
    let (entry_host, entry_path) = entry.split_once('/').unwrap_or((entry, ""));
    let (host, path) = repository.split_once('/').unwrap_or((repository, ""));
    let (entry_name, entry_port) = port(entry_host);
    let (name, port) = port(host);
    let (entry_parts, parts): (Vec<_>, Vec<_>) = (entry_name.split('.').collect(), name.split('.').collect());
    entry_port == port
        && entry_parts.len() == parts.len()
        && entry_parts.iter().zip(&parts).all(|(pattern, part)| glob(pattern, part))
        && path.starts_with(entry_path)
}

fn port(host: &str) -> (&str, &str) {
    host.rsplit_once(':').unwrap_or((host, ""))
}

/// `*` stands for any text, `?` for one character.
fn glob(pattern: &str, text: &str) -> bool {
    match (pattern.chars().next(), text.chars().next()) {
        (None, None) => true,
        (Some('*'), _) => {
            let rest = pattern.get(1..).unwrap_or_default();
            (0..=text.len()).filter_map(|at| text.get(at..)).any(|tail| glob(rest, tail))
        }
        (Some(one), Some(other)) if one == '?' || one == other => glob(
            pattern.get(one.len_utf8()..).unwrap_or_default(),
            text.get(other.len_utf8()..).unwrap_or_default(),
        ),
        (Some(_) | None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(keyring: &Keyring, repository: &str) -> Vec<String> {
        keyring.lookup(repository).into_iter().map(|one| one.username).collect()
    }

    fn with(entries: &[(&str, &str)]) -> Keyring {
        let mut keyring = Keyring::default();
        for (registry, user) in entries {
            keyring.add(registry, Credential { username: (*user).to_owned(), password: "p".to_owned() });
        }
        keyring
    }

    #[test]
    fn np_7_both_forms_of_configuration_are_read() {
        let mut keyring = Keyring::default();
        let auth = STANDARD.encode("u:p:with:colons");
        keyring.add_config(&format!(r#"{{"auths":{{"https://r:5000/v2/":{{"auth":"{auth}"}}}}}}"#)).unwrap();
        keyring.add_cfg(r#"{"quay.io":{"username":"q","password":"x","email":"e"}}"#).unwrap();
        assert_eq!(keyring.lookup("r:5000/app")[0].password, "p:with:colons");
        assert_eq!(names(&keyring, "quay.io/a/b"), ["q"]);
        for odd in ["", "7", r#"{"auths":{"r":{"auth":"???"}}}"#, r#"{"auths":{"r":{"auth":"dQ=="}}}"#] {
            assert!(keyring.add_config(odd).is_err(), "NP-8: {odd}");
        }
        assert!(!format!("{keyring:?}").contains("colons"), "a password is never printed");
    }

    #[test]
    fn np_7_entries_match_by_host_port_and_path_and_the_specific_ones_come_first() {
        let keyring = with(&[
            ("*.example.io", "glob"),
            ("r.example.io", "host"),
            ("r.example.io/team", "path"),
            ("r:5000", "port"),
        ]);
        assert_eq!(names(&keyring, "r.example.io/team/app"), ["path", "host", "glob"]);
        assert_eq!(names(&keyring, "r.example.io/other"), ["host", "glob"]);
        assert_eq!(names(&keyring, "a.b.example.io/x"), Vec::<String>::new(), "a star is one part");
        assert_eq!(names(&keyring, "r:5000/x"), ["port"]);
        assert_eq!(names(&keyring, "r/x"), Vec::<String>::new(), "another port");
    }

    #[test]
    fn np_7_docker_hub_falls_back_to_the_key_of_its_tools() {
        let keyring = with(&[("https://index.docker.io/v1/", "hub")]);
        assert_eq!(names(&keyring, "docker.io/library/nginx"), ["hub"]);
        let both = with(&[("https://index.docker.io/v1/", "hub"), ("docker.io", "own")]);
        assert_eq!(names(&both, "docker.io/library/nginx"), ["own"]);
    }
}
