//! One tag from the first attempt to the last (NP-4 … NP-11).

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kruise_api::annotations::PULLING_IMAGE_BY;
use kruise_api::apps::nodeimage::v1beta1::{ImageSpec, ImageTagSpec, ReferenceObject};
use kruise_api::parts::ImagePullPolicy;
use kruise_core::image::{Reference, repository};
use kruise_cri::PodSandboxConfig;
use tokio::time::Instant;

use super::attempt::{DEADLINE_EXCEEDED, Limits, pause};
use super::keyring::{Credential, Keyring};
use super::plugins::Plugins;
use crate::api::{Api, ApiError};
use crate::cri::{Cri, Runtimes};
use crate::random;

/// How long a secret that was read is used (NP-10), without the random part.
const SECRET_KEPT: Duration = Duration::from_mins(5);
/// How long the node's own files are used.
const FILES_KEPT: Duration = Duration::from_mins(5);
/// Secrets in memory; the oldest go first.
const SECRETS_MAX: usize = 64;

/// What a pull needs to know.
#[derive(Debug, Clone)]
pub struct Job {
    pub reference: Reference,
    pub image: ImageSpec,
    pub tag: ImageTagSpec,
}

/// Everything that pulls share.
pub struct Pulling {
    pub api: Api,
    pub runtimes: Arc<Runtimes>,
    pub plugins: Plugins,
    secrets: Mutex<Vec<Kept>>,
    files: Mutex<Option<(Instant, Keyring)>>,
}

struct Kept {
    key: (String, String),
    until: Instant,
    secret: Secret,
}

#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default)]
struct Secret {
    r#type: String,
    data: std::collections::BTreeMap<String, String>,
}

impl Pulling {
    pub fn new(api: Api, runtimes: Arc<Runtimes>, plugins: Plugins) -> Self {
        Self { api, runtimes, plugins, secrets: Mutex::default(), files: Mutex::default() }
    }

    /// All attempts; the image's id at the end, if the runtime tells it.
    pub async fn run(&self, job: &Job) -> Result<Option<String>, String> {
        let limits = Limits::of(job.tag.pull_policy.as_ref());
        let began = Instant::now();
        let mut error = String::new();
        for attempt in 1..=limits.attempts {
            let Some(within) = limits.next(began.elapsed()) else { return Err(DEADLINE_EXCEEDED.to_owned()) };
            let made = tokio::time::timeout(within, self.attempt(job, within)).await;
            match made.unwrap_or_else(|_| Err(format!("no result within {} s", within.as_secs()))) {
                Ok(id) => return Ok(id),
                Err(why) => error = why,
            }
            tracing::warn!(image = job.reference.qualified(), attempt, error, "pull failed");
            if attempt < limits.attempts {
                tokio::time::sleep(pause(attempt)).await;
            }
        }
        Err(error)
    }

    /// NP-5, NP-6.
    async fn attempt(&self, job: &Job, within: Duration) -> Result<Option<String>, String> {
        let cri = self.runtimes.wait_for_one().await;
        let full = job.reference.qualified();
        if job.tag.image_pull_policy == Some(ImagePullPolicy::IfNotPresent)
            && let Some(id) = cri.image(&full).await.map_err(|error| error.to_string())?
        {
            return Ok(Some(id));
        }
        self.pull(&cri, job, &full, within).await?;
        // The image is there; that its id cannot be told is no failure.
        Ok(cri.image(&full).await.ok().flatten())
    }

    /// NP-8: every credential in turn; without one, anonymously.
    async fn pull(&self, cri: &Cri, job: &Job, full: &str, within: Duration) -> Result<(), String> {
        let credentials = self.credentials(job).await?;
        let tried = |credential: Option<Credential>| async move {
            cri.pull(full, credential.as_ref(), sandbox(&job.image), within)
                .await
                .map_err(|error| error.to_string())
        };
        if credentials.is_empty() {
            return tried(None).await;
        }
        let mut errors = Vec::new();
        for credential in credentials {
            match tried(Some(credential)).await {
                Ok(()) => return Ok(()),
                Err(error) => errors.push(error),
            }
        }
        errors.dedup();
        Err(if errors.len() == 1 { errors.concat() } else { format!("[{}]", errors.join(", ")) })
    }

    /// NP-7: secrets of the image, then files of the node, then plugins.
    async fn credentials(&self, job: &Job) -> Result<Vec<Credential>, String> {
        let repository = repository(&job.reference.name);
        let mut found = Vec::new();
        let mut add = |keyring: &Keyring| {
            for one in keyring.lookup(&repository) {
                if !found.contains(&one) {
                    found.push(one);
                }
            }
        };
        for reference in job.image.pull_secrets.iter().flatten() {
            if let Some(secret) = self.secret(reference).await {
                let mut keyring = Keyring::default();
                secret.add_to(&mut keyring)?;
                add(&keyring);
            }
        }
        let mut keyring = self.files();
        self.plugins.add_to(&mut keyring, &repository).await;
        add(&keyring);
        Ok(found)
    }

    /// NP-10: a secret that is missing or cannot be read is skipped.
    async fn secret(&self, reference: &ReferenceObject) -> Option<Secret> {
        let key = (reference.namespace.clone()?, reference.name.clone()?);
        let now = Instant::now();
        {
            let mut kept = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
            kept.retain(|one| now < one.until);
            if let Some(one) = kept.iter().find(|one| one.key == key) {
                return Some(one.secret.clone());
            }
        }
        let path = format!("/api/v1/namespaces/{}/secrets/{}?resourceVersion=0", key.0, key.1);
        match self.api.get::<Secret>(&path).await {
            Ok(secret) => {
                let until = now + SECRET_KEPT + random::up_to(SECRET_KEPT);
                let mut kept = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() >= SECRETS_MAX {
                    kept.remove(0);
                }
                kept.push(Kept { key, until, secret: secret.clone() });
                Some(secret)
            }
            Err(ApiError::NotFound) => {
                tracing::info!(namespace = key.0, name = key.1, "pull secret does not exist");
                None
            }
            Err(error) => {
                tracing::warn!(namespace = key.0, name = key.1, %error, "pull secret cannot be read");
                None
            }
        }
    }

    fn files(&self) -> Keyring {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((until, keyring)) = files.as_ref()
            && Instant::now() < *until
        {
            return keyring.clone();
        }
        let keyring = of_files();
        *files = Some((Instant::now() + FILES_KEPT, keyring.clone()));
        keyring
    }
}

/// Where Docker's tools and the kubelet keep credentials. The first file of each form counts.
fn of_files() -> Keyring {
    let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("/root"), PathBuf::from);
    let folders = [PathBuf::from("/var/lib/kubelet"), home.join(".docker"), PathBuf::from("/.docker")];
    let mut keyring = Keyring::default();
    if let Some(text) =
        folders.iter().find_map(|folder| std::fs::read_to_string(folder.join("config.json")).ok())
        && let Err(error) = keyring.add_config(&text)
    {
        tracing::warn!(%error, "config.json of the node is ignored");
    }
    let older = [PathBuf::from("/var/lib/kubelet"), home, PathBuf::from("/")];
    if let Some(text) =
        older.iter().find_map(|folder| std::fs::read_to_string(folder.join(".dockercfg")).ok())
        && let Err(error) = keyring.add_cfg(&text)
    {
        tracing::warn!(%error, ".dockercfg of the node is ignored");
    }
    keyring
}

impl Secret {
    /// NP-7: both types of pull secrets; another type says nothing.
    fn add_to(&self, keyring: &mut Keyring) -> Result<(), String> {
        let text = |key: &str| {
            use base64::Engine as _;
            let data = self.data.get(key).cloned().unwrap_or_default();
            let bytes =
                base64::engine::general_purpose::STANDARD.decode(data).map_err(|error| error.to_string())?;
            String::from_utf8(bytes).map_err(|error| error.to_string())
        };
        match self.r#type.as_str() {
            "kubernetes.io/dockerconfigjson" => {
                keyring.add_config(&text(".dockerconfigjson")?).map_err(|error| error.to_string())
            }
            "kubernetes.io/dockercfg" => {
                keyring.add_cfg(&text(".dockercfg")?).map_err(|error| error.to_string())
            }
            _ => Ok(()),
        }
    }
}

/// NP-11.
fn sandbox(image: &ImageSpec) -> PodSandboxConfig {
    let config = image.sandbox_config.as_ref();
    let mut annotations: std::collections::HashMap<String, String> =
        config.and_then(|one| one.annotations.clone()).unwrap_or_default().into_iter().collect();
    annotations.insert(PULLING_IMAGE_BY.to_owned(), "kruise-daemon".to_owned());
    let labels = config.and_then(|one| one.labels.clone()).unwrap_or_default().into_iter().collect();
    PodSandboxConfig { labels, annotations }
}
