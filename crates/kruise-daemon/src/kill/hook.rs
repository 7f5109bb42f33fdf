//! Pre-stop hooks: read from the API or from a container's annotation, run against the runtime or the pod's address (KC-6).

use std::time::Duration;

use kruise_api::parts::{HttpGetAction, IntOrString};
use serde::Deserialize;

use super::plan::Port;
use crate::cri::{Cri, CriError};
use crate::http_get::{self, Get, Scheme, Trust};

/// How long an HTTP hook may take at most; the grace period usually ends it before.
const HTTP_MAX: Duration = Duration::from_hours(1);

/// What is done before a container is stopped.
#[derive(Debug, Clone, PartialEq)]
pub enum Hook {
    Exec { command: Vec<String> },
    Http(HttpGetAction),
    Sleep { seconds: u64 },
}

/// Why a hook failed; the stop goes on.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error(transparent)]
    Runtime(#[from] CriError),
    #[error("command {command:?} exited with {code}: {output}")]
    Exit { command: Vec<String>, code: i32, output: String },
    #[error("{0}")]
    Http(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    exec: Option<WireExec>,
    http_get: Option<HttpGetAction>,
    sleep: Option<WireSleep>,
}

#[derive(Deserialize)]
struct WireExec {
    #[serde(default)]
    command: Vec<String>,
}

#[derive(Deserialize)]
struct WireSleep {
    #[serde(default)]
    seconds: u64,
}

impl Hook {
    /// Reads a lifecycle handler; nothing for one that cannot be run, such as a TCP connection.
    pub fn read(text: &str) -> Option<Self> {
        let wire: Wire = serde_json::from_str(text).ok()?;
        let exec = wire.exec.map(|exec| Self::Exec { command: exec.command });
        exec.or(wire.http_get.map(Self::Http))
            .or(wire.sleep.map(|sleep| Self::Sleep { seconds: sleep.seconds }))
    }

    /// Runs to its end; whoever calls limits the time.
    pub async fn run(
        &self,
        cri: &Cri,
        container: &str,
        ports: &[Port],
        pod_ip: &str,
    ) -> Result<(), HookError> {
        match self {
            Self::Exec { command } => {
                let out = cri.exec(container, command, Duration::ZERO).await?;
                if out.exit_code == 0 {
                    return Ok(());
                }
                let output = [out.stdout, out.stderr].concat();
                let output = String::from_utf8_lossy(&output).into_owned();
                Err(HookError::Exit { command: command.clone(), code: out.exit_code, output })
            }
            Self::Http(action) => {
                let get = request(action, ports, pod_ip).map_err(HookError::Http)?;
                http_get::get(&get, HTTP_MAX)
                    .await
                    .map(drop)
                    .map_err(|error| HookError::Http(error.to_string()))
            }
            Self::Sleep { seconds } => {
                tokio::time::sleep(Duration::from_secs(*seconds)).await;
                Ok(())
            }
        }
    }
}

/// daemon, problem 9: without a host, the pod itself is meant.
fn request(action: &HttpGetAction, ports: &[Port], pod_ip: &str) -> Result<Get, String> {
    let host = action.host.as_deref().filter(|host| !host.is_empty()).unwrap_or(pod_ip);
    if host.is_empty() {
        return Err("the pod has no address".to_owned());
    }
    let port = port(&action.port, ports).ok_or_else(|| format!("unknown port {}", action.port))?;
    let headers = action.http_headers.iter().flatten();
    Ok(Get {
        scheme: Scheme::read(action.scheme.as_deref().unwrap_or_default()),
        host: host.to_owned(),
        port,
        path: action.path.clone().unwrap_or_default(),
        headers: headers.map(|header| (header.name.clone(), header.value.clone())).collect(),
        agent: "kube-lifecycle/1".to_owned(),
        trust: Trust::Anyone,
        plain_if_not_tls: true,
    })
}

fn port(port: &IntOrString, ports: &[Port]) -> Option<u16> {
    let number = match port {
        IntOrString::Int(number) => *number,
        IntOrString::Text(name) => match ports.iter().find(|one| &one.name == name) {
            Some(found) => found.container_port.into(),
            None => name.parse().ok()?,
        },
    };
    u16::try_from(number).ok().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kc_6_handlers_that_can_be_run_are_read() {
        let exec = Hook::Exec { command: vec!["sleep".into(), "8".into()] };
        assert_eq!(Hook::read(r#"{"exec":{"command":["sleep","8"]}}"#), Some(exec));
        assert!(matches!(Hook::read(r#"{"httpGet":{"port":80}}"#), Some(Hook::Http(_))));
        assert_eq!(Hook::read(r#"{"sleep":{"seconds":2}}"#), Some(Hook::Sleep { seconds: 2 }));
        for nothing in [r#"{"tcpSocket":{"port":80}}"#, "{}", "null", "odd"] {
            assert_eq!(Hook::read(nothing), None, "{nothing}");
        }
    }

    /// daemon, problem 9, and CRR acceptance 21: a named port, and no host.
    #[test]
    fn daemon_7_9_http_hook_goes_to_the_pod_and_knows_named_ports() {
        let ports = [Port { name: "http".into(), container_port: 8_080 }];
        let action = |text: &str| serde_json::from_str::<HttpGetAction>(text).unwrap();

        let get = request(&action(r#"{"port":"http","path":"/bye"}"#), &ports, "10.0.0.7").unwrap();
        assert_eq!((get.host.as_str(), get.port, get.path.as_str()), ("10.0.0.7", 8_080, "/bye"));
        let other = request(&action(r#"{"port":"81","host":"other"}"#), &ports, "10.0.0.7").unwrap();
        assert_eq!((other.host.as_str(), other.port), ("other", 81));
        for odd in [r#"{"port":"what"}"#, r#"{"port":0}"#, r#"{"port":70000}"#] {
            assert!(request(&action(odd), &ports, "10.0.0.7").is_err(), "{odd}");
        }
        assert!(request(&action(r#"{"port":80}"#), &ports, "").is_err(), "no address");
    }
}
