//! Where the certificates are: a secret that all replicas share, or a directory (WC-2). Writes are optimistic: who
//! comes second reads what the first one wrote.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{Method, Request, header};
use kube::Client;
use serde_json::{Value, json};

use super::material::{CA_CERT, CA_KEY, CERT, Data, KEY, TLS_CERT, TLS_KEY};

const FILES: [&str; 6] = [CA_KEY, CA_CERT, KEY, CERT, TLS_KEY, TLS_CERT];

/// Where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    Secret {
        namespace: String,
        name: String,
    },
    /// Only read: somebody else, cert-manager say, writes it (WC-6).
    External {
        namespace: String,
        name: String,
    },
    Directory(PathBuf),
}

/// Why certificates were not read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{what}: {source}")]
    Api { what: String, source: kube::Error },
    #[error("{path}: {source}")]
    File { path: String, source: io::Error },
    #[error(transparent)]
    Issue(#[from] super::issue::IssueError),
    #[error("{0}")]
    Unfit(String),
}

/// What was read, and what it takes to replace exactly that.
#[derive(Debug, Default)]
pub(super) struct Stored {
    pub data: Data,
    /// The secret, if there is one.
    object: Option<Value>,
}

/// How a write ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    Yes,
    /// Somebody else was faster: read again.
    TooLate,
}

impl Location {
    pub(super) async fn load(&self, client: &Client) -> Result<Stored, StoreError> {
        match self {
            Self::Secret { namespace, name } | Self::External { namespace, name } => {
                let path = secret(namespace, name);
                let object = call(client, Method::GET, &path, None).await;
                let object = found(object).map_err(api(format!("reading the secret {namespace}/{name}")))?;
                let data = object.as_ref().map(read).unwrap_or_default();
                Ok(Stored { data, object })
            }
            Self::Directory(path) => {
                let data = FILES
                    .iter()
                    .filter_map(|name| Some(((*name).to_owned(), fs::read(path.join(name)).ok()?)));
                Ok(Stored { data: data.collect(), object: None })
            }
        }
    }

    pub(super) async fn save(
        &self,
        client: &Client,
        stored: &Stored,
        data: &Data,
    ) -> Result<Written, StoreError> {
        match self {
            Self::Secret { namespace, name } => {
                let (method, path) = match stored.object {
                    Some(_) => (Method::PUT, secret(namespace, name)),
                    None => (Method::POST, secret(namespace, "")),
                };
                let object = merged(stored.object.as_ref(), name, data);
                match call(client, method, &path, Some(&object)).await {
                    Ok(_) => Ok(Written::Yes),
                    Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(Written::TooLate),
                    Err(error) => Err(api(format!("writing the secret {namespace}/{name}"))(error)),
                }
            }
            Self::Directory(path) => {
                write(path, data)
                    .map_err(|source| StoreError::File { path: path.display().to_string(), source })?;
                Ok(Written::Yes)
            }
            Self::External { .. } => {
                Err(StoreError::Unfit("external certificates are never written".to_owned()))
            }
        }
    }
}

/// One call with a JSON body.
pub(super) async fn call(
    client: &Client,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Value, kube::Error> {
    let bytes = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::USER_AGENT, "kruise-manager/webhook-controller")
        .body(bytes)
        .map_err(kube::Error::HttpError)?;
    client.request(request).await
}

/// An object by its path; absent if there is none.
pub async fn read_object(client: &Client, path: &str) -> Result<Option<Value>, kube::Error> {
    found(call(client, Method::GET, path, None).await)
}

/// Replaces exactly what was read. False if somebody else was faster.
pub async fn replace_object(client: &Client, path: &str, wanted: &Value) -> Result<bool, kube::Error> {
    match call(client, Method::PUT, path, Some(wanted)).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(false),
        Err(error) => Err(error),
    }
}

/// What is not there is no error.
pub(super) fn found(result: Result<Value, kube::Error>) -> Result<Option<Value>, kube::Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn api(what: String) -> impl FnOnce(kube::Error) -> StoreError {
    move |source| StoreError::Api { what, source }
}

fn secret(namespace: &str, name: &str) -> String {
    let collection = format!("/api/v1/namespaces/{namespace}/secrets");
    if name.is_empty() { collection } else { format!("{collection}/{name}") }
}

fn read(object: &Value) -> Data {
    let fields = object.get("data").and_then(Value::as_object).into_iter().flatten();
    fields.filter_map(|(name, value)| Some((name.clone(), STANDARD.decode(value.as_str()?).ok()?))).collect()
}

/// Everything else of the secret stays: labels of the chart, keys of others, its resourceVersion.
fn merged(object: Option<&Value>, name: &str, data: &Data) -> Value {
    let mut object = object.cloned().unwrap_or_else(
        || json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": "Opaque"}),
    );
    if let Some(fields) = object.as_object_mut() {
        let all = fields.entry("data").or_insert_with(|| json!({}));
        if !all.is_object() {
            *all = json!({});
        }
        for (key, value) in data {
            if let Some(all) = all.as_object_mut() {
                all.insert(key.clone(), json!(STANDARD.encode(value)));
            }
        }
    }
    object
}

/// Each file appears whole or not at all; keys are for us alone (WC-7, ours).
fn write(dir: &Path, data: &Data) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    for (name, value) in data {
        let new = dir.join(format!(".{name}.new"));
        let mut file =
            fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(value)?;
        fs::rename(&new, dir.join(name))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_of_the_secret_stays() {
        let object = json!({"metadata": {"name": "s", "resourceVersion": "7"}, "data": {"other": "eA==", "key.pem": ""}});

        let written = merged(Some(&object), "s", &Data::from([("key.pem".to_owned(), b"k".to_vec())]));

        assert_eq!(written["metadata"]["resourceVersion"], "7");
        assert_eq!(written["data"], json!({"other": "eA==", "key.pem": "aw=="}));
        assert_eq!(read(&written)["other"], b"x");
        assert_eq!(merged(Some(&json!({"data": null})), "s", &Data::new())["data"], json!({}));
    }
}
