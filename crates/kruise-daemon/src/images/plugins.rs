//! Credential provider plugins: the kubelet's configuration and exec protocol (NP-9).

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::time::Instant;

use super::keyring::{Credential, Keyring, fits};

/// A plugin that takes longer is given up.
const RUN_MAX: Duration = Duration::from_mins(1);

const GROUP: &str = "kubelet.config.k8s.io/";
const PROTOCOL: &str = "credentialprovider.kubelet.k8s.io/";

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    api_version: String,
    kind: String,
    #[serde(default)]
    providers: Vec<Provider>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Provider {
    name: String,
    #[serde(default)]
    match_images: Vec<String>,
    #[serde(default)]
    default_cache_duration: String,
    api_version: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: Vec<Variable>,
}

#[derive(Debug, Clone, Deserialize)]
struct Variable {
    name: String,
    value: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    #[serde(default)]
    cache_key_type: String,
    #[serde(default)]
    cache_duration: Option<String>,
    #[serde(default)]
    auth: Option<BTreeMap<String, Login>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Login {
    username: String,
    password: String,
}

/// Logins by registry.
type Logins = BTreeMap<String, Login>;
/// By plugin and cache key, until they expire.
type Cache = HashMap<(String, String), (Instant, Logins)>;

/// All plugins of the node.
#[derive(Debug, Default)]
pub struct Plugins {
    folder: PathBuf,
    providers: Vec<Provider>,
    /// Answers by plugin and cache key, until they expire.
    cache: Mutex<Cache>,
}

/// Why plugins are not used; the agent works without them (DP-2).
#[derive(Debug, thiserror::Error)]
pub enum PluginsError {
    #[error("{0} cannot be read: {1}")]
    Read(PathBuf, String),
    #[error("{0} is no CredentialProviderConfig of kubelet.config.k8s.io: {1}")]
    Kind(PathBuf, String),
    #[error("plugin {0} is not in {1}")]
    Missing(String, PathBuf),
}

impl Plugins {
    /// DP-2: no configuration means no plugins; a bad one is an error that the caller reports.
    pub fn load(config: &Path, folder: &Path) -> Result<Self, PluginsError> {
        let text = match std::fs::read_to_string(config) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(PluginsError::Read(config.to_owned(), error.to_string())),
        };
        let read: Config = serde_saphyr::from_str(&text)
            .map_err(|error| PluginsError::Read(config.to_owned(), error.to_string()))?;
        if !read.api_version.starts_with(GROUP) || read.kind != "CredentialProviderConfig" {
            return Err(PluginsError::Kind(config.to_owned(), format!("{} {}", read.api_version, read.kind)));
        }
        if let Some(one) = read.providers.iter().find(|one| !folder.join(&one.name).is_file()) {
            return Err(PluginsError::Missing(one.name.clone(), folder.to_owned()));
        }
        Ok(Self { folder: folder.to_owned(), providers: read.providers, cache: Mutex::default() })
    }

    /// What the plugins know about an image. A plugin that fails adds nothing.
    pub async fn add_to(&self, keyring: &mut Keyring, image: &str) {
        for provider in self.providers.iter().filter(|one| one.is_for(image)) {
            let logins = match self.cached(provider, image) {
                Some(logins) => logins,
                None => match self.ask(provider, image).await {
                    Ok(logins) => logins,
                    Err(error) => {
                        tracing::warn!(plugin = provider.name, error, "credential plugin failed");
                        continue;
                    }
                },
            };
            for (registry, login) in logins {
                keyring.add(&registry, Credential { username: login.username, password: login.password });
            }
        }
    }

    fn cached(&self, provider: &Provider, image: &str) -> Option<Logins> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        cache.retain(|_, (until, _)| now < *until);
        let keys = [image, registry(image), ""];
        keys.iter().find_map(|key| {
            cache.get(&(provider.name.clone(), (*key).to_owned())).map(|(_, logins)| logins.clone())
        })
    }

    async fn ask(&self, provider: &Provider, image: &str) -> Result<Logins, String> {
        let request =
            json!({"apiVersion": provider.api_version, "kind": "CredentialProviderRequest", "image": image});
        let path = self.folder.join(&provider.name);
        let answer = tokio::time::timeout(RUN_MAX, run(&path, provider, request.to_string())).await;
        let text = answer.map_err(|_| "no answer within a minute".to_owned())??;
        let response: Response = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
        let logins = response.auth.unwrap_or_default();
        let duration = response.cache_duration.as_deref().unwrap_or(&provider.default_cache_duration);
        let duration = go_duration(duration).unwrap_or_default();
        if !duration.is_zero() {
            let key = match response.cache_key_type.as_str() {
                "Image" => image,
                "Registry" => registry(image),
                "Global" => "",
                other => {
                    return Err(format!("unknown cacheKeyType {other:?}: use Image, Registry or Global"));
                }
            };
            let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
            cache
                .insert((provider.name.clone(), key.to_owned()), (Instant::now() + duration, logins.clone()));
        }
        Ok(logins)
    }
}

async fn run(path: &Path, provider: &Provider, request: String) -> Result<Vec<u8>, String> {
    let text = |error: std::io::Error| error.to_string();
    if !provider.api_version.starts_with(PROTOCOL) {
        return Err(format!("unknown protocol {}: use {PROTOCOL}v1", provider.api_version));
    }
    let mut child = tokio::process::Command::new(path)
        .args(&provider.args)
        .envs(provider.env.iter().map(|one| (&one.name, &one.value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(text)?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(request.as_bytes()).await.map_err(text)?;
    }
    let output = child.wait_with_output().await.map_err(text)?;
    if output.status.success() { Ok(output.stdout) } else { Err(output.status.to_string()) }
}

impl Provider {
    fn is_for(&self, image: &str) -> bool {
        self.match_images.iter().any(|pattern| fits(pattern, image))
    }
}

fn registry(image: &str) -> &str {
    image.split_once('/').map_or(image, |(host, _)| host)
}

/// `1h30m`, `10s`, `500ms`, `0`.
fn go_duration(text: &str) -> Option<Duration> {
    let (mut total, mut rest) = (Duration::ZERO, text.trim());
    if rest == "0" || rest.is_empty() {
        return Some(total);
    }
    while !rest.is_empty() {
        let end = rest.find(|one: char| !one.is_ascii_digit() && one != '.')?;
        let number: f64 = rest.get(..end)?.parse().ok()?;
        let unit_end =
            rest.get(end..)?.find(|one: char| one.is_ascii_digit()).map_or(rest.len(), |at| at + end);
        let unit = match rest.get(end..unit_end)? {
            "h" => 3_600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 0.001,
            _ => return None,
        };
        total += Duration::try_from_secs_f64(number * unit).ok()?;
        rest = rest.get(unit_end..)?;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const CONFIG: &str = "
apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: plug
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  matchImages: ['*.example.io']
  defaultCacheDuration: 10m
  args: [get]
  env: [{name: KEY, value: k}]
";

    /// A folder with a plugin that counts its calls and answers with this duration.
    fn folder(cache: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let script = format!(
            "#!/bin/sh\necho x >> {0}/calls\ncat > {0}/request\n\
             echo '{{\"kind\":\"CredentialProviderResponse\",\"cacheKeyType\":\"Registry\"{cache},\"auth\":{{\"r.example.io\":{{\"username\":\"'$1'\",\"password\":\"'$KEY'\"}}}}}}'\n",
            folder.path().display()
        );
        let plugin = folder.path().join("plug");
        std::fs::write(&plugin, script).unwrap();
        std::fs::set_permissions(&plugin, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::write(folder.path().join("config.yaml"), CONFIG).unwrap();
        folder
    }

    fn load(folder: &tempfile::TempDir) -> Plugins {
        Plugins::load(&folder.path().join("config.yaml"), folder.path()).unwrap()
    }

    /// images, acceptance 25: 0, the default and an explicit duration.
    #[tokio::test]
    async fn np_9_plugin_is_asked_as_the_kubelet_does_and_cached_as_it_says() {
        for (cache, calls) in [(r#","cacheDuration":"0s""#, 2), ("", 1), (r#","cacheDuration":"1h""#, 1)] {
            let folder = folder(cache);
            let plugins = load(&folder);
            for image in ["r.example.io/a", "r.example.io/b"] {
                let mut keyring = Keyring::default();
                plugins.add_to(&mut keyring, image).await;
                let found = keyring.lookup(image);
                assert_eq!((found[0].username.as_str(), found[0].password.as_str()), ("get", "k"), "{cache}");
            }
            let called = std::fs::read_to_string(folder.path().join("calls")).unwrap().lines().count();
            assert_eq!(called, calls, "{cache}");
            let request = std::fs::read_to_string(folder.path().join("request")).unwrap();
            assert!(request.contains(r#""kind":"CredentialProviderRequest""#), "{request}");
        }
    }

    #[tokio::test]
    async fn np_9_plugin_of_other_registries_is_not_asked() {
        let folder = folder("");
        let mut keyring = Keyring::default();
        load(&folder).add_to(&mut keyring, "docker.io/library/nginx").await;
        assert!(!folder.path().join("calls").exists());
    }

    /// daemon, acceptance 17.
    #[test]
    fn dp_2_missing_bad_and_incomplete_configuration() {
        let folder = folder("");
        let file = folder.path().join("config.yaml");
        assert!(Plugins::load(&folder.path().join("absent"), folder.path()).unwrap().providers.is_empty());
        for (text, expected) in [
            ("{", "cannot be read"),
            ("apiVersion: v1\nkind: X", "no CredentialProviderConfig"),
            (CONFIG, "not in"),
        ] {
            std::fs::write(&file, text).unwrap();
            let error = Plugins::load(&file, Path::new("/nowhere")).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn np_9_durations_as_go_writes_them() {
        for (text, seconds) in [("1h30m", 5_400.0), ("10s", 10.0), ("500ms", 0.5), ("0", 0.0), ("1.5m", 90.0)]
        {
            assert_eq!(go_duration(text), Duration::try_from_secs_f64(seconds).ok(), "{text}");
        }
        assert_eq!(go_duration("5"), None);
        assert_eq!(go_duration("5x"), None);
    }
}
