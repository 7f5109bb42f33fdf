//! The pages that a manager has for probes and for Prometheus.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_mins(1);

/// Asks until the answer, head and body, has this text in it.
pub async fn until_says(port: u16, path: &'static str, text: &str) -> String {
    let start = Instant::now();
    loop {
        let answer = tokio::task::spawn_blocking(move || ask(port, path)).await.unwrap();
        if answer.as_ref().is_ok_and(|answer| answer.contains(text)) {
            return answer.unwrap();
        }
        assert!(start.elapsed() < PATIENCE, "{path} never said {text}; last: {answer:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// One plain request to a port of the manager.
fn ask(port: u16, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
