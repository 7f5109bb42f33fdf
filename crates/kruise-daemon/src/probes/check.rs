//! Runs one probe (PB-5 … PB-7).

use std::time::Duration;

use kruise_api::parts::{HttpGetAction, IntOrString, Probe, TcpSocketAction};
use tokio::net::TcpStream;

use super::decide::{State, timeout};
use crate::cri::{Cri, CriError};
use crate::http_get::{self, BODY_MAX, Get, Scheme, Trust};

/// What a run says; nothing if it says nothing about the container.
pub type Said = Option<(State, String)>;

/// Runs a probe to its end or its time-out.
pub async fn check(probe: &Probe, cri: &Cri, container: &str, ip: &str) -> Said {
    let within = timeout(probe);
    if let Some(exec) = &probe.exec {
        let command = exec.command.clone().unwrap_or_default();
        return exec_said(cri.exec(container, &command, within).await, within);
    }
    if let Some(tcp) = &probe.tcp_socket {
        return connect(tcp, ip, within).await;
    }
    match &probe.http_get {
        Some(action) => get(action, ip, within).await,
        None => None,
    }
}

/// PB-5.
fn exec_said(answer: Result<kruise_cri::ExecSyncResponse, CriError>, within: Duration) -> Said {
    let text = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes.get(..BODY_MAX.min(bytes.len())).unwrap_or_default()).into_owned()
    };
    match answer {
        Ok(answer) if answer.exit_code == 0 => Some((State::Succeeded, text(&answer.stdout))),
        Ok(answer) => Some((State::Failed, text(&answer.stderr))),
        Err(CriError::DeadlineExceeded { message }) => Some((State::Failed, message)),
        Err(CriError::TimedOut { .. }) => {
            Some((State::Failed, format!("command timed out after {} s", within.as_secs())))
        }
        Err(CriError::Unreachable { .. } | CriError::NotFound { .. } | CriError::Failed { .. }) => None,
    }
}

/// PB-6.
async fn connect(tcp: &TcpSocketAction, ip: &str, within: Duration) -> Said {
    let host = tcp.host.as_deref().filter(|host| !host.is_empty()).unwrap_or(ip);
    let port = port(&tcp.port)?;
    let failed = |message: String| Some((State::Failed, message));
    match tokio::time::timeout(within, TcpStream::connect((host, port))).await {
        Ok(Ok(_)) => Some((State::Succeeded, String::new())),
        Ok(Err(error)) => failed(format!("dial tcp {host}:{port}: {error}")),
        Err(_) => failed(format!("dial tcp {host}:{port}: i/o timeout")),
    }
}

/// PB-7.
async fn get(action: &HttpGetAction, ip: &str, within: Duration) -> Said {
    let headers = action.http_headers.iter().flatten();
    let get = Get {
        scheme: Scheme::read(action.scheme.as_deref().unwrap_or_default()),
        host: action.host.clone().filter(|host| !host.is_empty()).unwrap_or_else(|| ip.to_owned()),
        port: port(&action.port)?,
        path: action.path.clone().unwrap_or_default(),
        headers: headers.map(|header| (header.name.clone(), header.value.clone())).collect(),
        agent: "kube-probe".to_owned(),
        trust: Trust::Anyone,
        plain_if_not_tls: false,
    };
    let answer = match http_get::get(&get, within).await {
        Ok(answer) => answer,
        Err(error) => return Some((State::Failed, error.to_string())),
    };
    let body = String::from_utf8_lossy(&answer.body).into_owned();
    match answer.status.as_u16() {
        200..=299 => Some((State::Succeeded, body)),
        300..=399 => Some((State::Succeeded, format!("Probe terminated redirects, Response body: {body}"))),
        code => Some((State::Failed, format!("HTTP probe failed with statuscode: {code}"))),
    }
}

fn port(port: &IntOrString) -> Option<u16> {
    let number = match port {
        IntOrString::Int(number) => *number,
        IntOrString::Text(text) => text.parse().ok()?,
    };
    u16::try_from(number).ok().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use kruise_cri::ExecSyncResponse;
    use serde_json::json;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    const WITHIN: Duration = Duration::from_secs(1);

    fn ran(code: i32, out: &str, err: &str) -> ExecSyncResponse {
        ExecSyncResponse { exit_code: code, stdout: out.into(), stderr: err.into() }
    }

    #[test]
    fn pb_5_exit_code_decides_and_a_runtime_error_says_nothing() {
        let call = "ExecSync";
        for (answer, expected) in [
            (Ok(ran(0, "out", "err")), Some((State::Succeeded, "out"))),
            (Ok(ran(3, "out", "err")), Some((State::Failed, "err"))),
            (Err(CriError::DeadlineExceeded { message: "late".into() }), Some((State::Failed, "late"))),
            (
                Err(CriError::TimedOut { call, within: WITHIN }),
                Some((State::Failed, "command timed out after 1 s")),
            ),
            (Err(CriError::Failed { message: "no such file".into() }), None),
            (Err(CriError::Unreachable { call, message: String::new() }), None),
        ] {
            let said = exec_said(answer, WITHIN);
            assert_eq!(said.as_ref().map(|(state, text)| (*state, text.as_str())), expected);
        }
        let (_, text) = exec_said(Ok(ran(0, &"x".repeat(20 << 10), "")), WITHIN).unwrap();
        assert_eq!(text.len(), BODY_MAX);
    }

    #[tokio::test]
    async fn pb_6_connection_is_success_and_a_closed_port_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let action = |to: serde_json::Value| serde_json::from_value(json!({"port": to})).unwrap();
        let said = connect(&action(json!(port)), "127.0.0.1", WITHIN).await;
        assert_eq!(said, Some((State::Succeeded, String::new())));
        drop(listener);
        let (state, text) = connect(&action(json!(port)), "127.0.0.1", WITHIN).await.unwrap();
        assert_eq!(state, State::Failed);
        assert!(text.starts_with("dial tcp 127.0.0.1:"), "{text}");
        assert_eq!(connect(&action(json!("http")), "127.0.0.1", WITHIN).await, None, "a name is no number");
    }

    /// A server that gives these answers in turn and returns the requests.
    async fn serve(answers: Vec<String>) -> (u16, tokio::task::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let task = tokio::spawn(async move {
            let mut requests = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut buffer = vec![0; 4_096];
                let read = stream.read(&mut buffer).await.unwrap();
                requests.push(String::from_utf8_lossy(&buffer[..read]).to_lowercase());
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
            requests
        });
        (port, task)
    }

    fn answer(status: &str, headers: &str, body: &str) -> String {
        format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}connection: close\r\n\r\n{body}",
            body.len()
        )
    }

    #[tokio::test]
    async fn pb_7_status_and_redirects() {
        for (answers, expected) in [
            (vec![answer("204 No Content", "", "")], (State::Succeeded, String::new())),
            (vec![answer("200 OK", "", "fine")], (State::Succeeded, "fine".to_owned())),
            (
                vec![answer("301 Moved", "location: /next\r\n", ""), answer("200 OK", "", "there")],
                (State::Succeeded, "there".to_owned()),
            ),
            (
                vec![answer("302 Found", "location: http://elsewhere/\r\n", "x")],
                (State::Succeeded, "Probe terminated redirects, Response body: x".to_owned()),
            ),
            (
                vec![answer("500 Oh", "", "")],
                (State::Failed, "HTTP probe failed with statuscode: 500".to_owned()),
            ),
        ] {
            let (port, server) = serve(answers).await;
            let action = serde_json::from_value(json!({"port": port, "path": "/p", "scheme": "HTTP",
                "httpHeaders": [{"name": "Host", "value": "virtual"}]}))
            .unwrap();
            assert_eq!(get(&action, "127.0.0.1", WITHIN).await, Some(expected));
            let requests = server.await.unwrap();
            assert!(requests[0].starts_with("get /p http/1.1"), "{requests:?}");
            for header in ["host: virtual", "user-agent: kube-probe", "accept: */*"] {
                assert!(requests[0].contains(header), "{header} in {requests:?}");
            }
        }
    }

    #[tokio::test]
    async fn pb_7_slow_server_fails_in_time() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let action = serde_json::from_value(json!({"port": port})).unwrap();
        let (state, text) = get(&action, "127.0.0.1", Duration::from_millis(50)).await.unwrap();
        assert_eq!(state, State::Failed);
        assert!(text.contains("deadline exceeded"), "{text}");
    }

    /// podprobemarker, acceptance 13: a certificate of the pod's own making.
    #[tokio::test]
    async fn pb_7_certificates_are_not_checked() {
        let made = rcgen::generate_simple_self_signed(["pod".to_owned()]).unwrap();
        let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = acceptor.accept(stream).await.unwrap();
            assert!(stream.read(&mut [0; 4_096]).await.unwrap() > 0);
            stream.write_all(answer("200 OK", "", "safe").as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        });
        let action = serde_json::from_value(json!({"port": port, "scheme": "HTTPS"})).unwrap();
        assert_eq!(get(&action, "127.0.0.1", WITHIN).await, Some((State::Succeeded, "safe".to_owned())));
        server.await.unwrap();
    }
}
