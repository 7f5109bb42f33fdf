//! As much HTTP as a probe or a test needs: one request per connection, no body in, text out.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// No request line or header of a probe is longer; more is refused.
const HEAD_BYTES_MAX: u64 = 16 * 1024;
const TIMEOUT: Duration = Duration::from_secs(10);

/// Path and query of a GET request.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    pub path: String,
    query: Vec<(String, String)>,
}

/// Status and text of an answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub text: String,
}

impl Request {
    /// Reads one request up to the empty line after its headers.
    pub fn read(from: impl Read) -> io::Result<Self> {
        let mut lines = BufReader::new(from.take(HEAD_BYTES_MAX));
        let mut first = String::new();
        lines.read_line(&mut first)?;
        let mut header = String::new();
        while lines.read_line(&mut header)? > 2 {
            header.clear();
        }
        let target = first.split(' ').nth(1).unwrap_or("/");
        Ok(Self::of(target))
    }

    /// Splits `/path?key=value&…`.
    pub fn of(target: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query = query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(key, value)| (decoded(key), decoded(value)))
            .collect();
        Self { path: path.to_owned(), query }
    }

    /// The value of a query parameter.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.query.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

impl Answer {
    pub fn ok(text: impl Into<String>) -> Self {
        Self { status: 200, text: text.into() }
    }

    /// Writes the whole answer and announces the end of the connection.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let Self { status, text } = self;
        write!(
            to,
            "HTTP/1.1 {status} -\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
            text.len()
        )?;
        to.flush()
    }
}

/// Fetches `http://HOST[:PORT]/PATH`; the whole answer, head included, is what the caller gets.
pub fn fetch(url: &str) -> io::Result<String> {
    let rest = url.strip_prefix("http://").ok_or_else(|| io::Error::other("only http:// can be fetched"))?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let with_port = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
    let address =
        with_port.to_socket_addrs()?.next().ok_or_else(|| io::Error::other("the host has no address"))?;
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Undoes percent and plus encoding; what is no valid escape stays as it is.
fn decoded(text: &str) -> String {
    let mut bytes = text.as_bytes().iter();
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let rest = bytes.as_slice();
                match rest.get(..2).and_then(|hex| std::str::from_utf8(hex).ok()).and_then(hex_byte) {
                    Some(value) => {
                        out.push(value);
                        bytes.nth(1);
                    }
                    None => out.push(b'%'),
                }
            }
            other => out.push(*other),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn hex_byte(hex: &str) -> Option<u8> {
    u8::from_str_radix(hex, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_is_split_and_decoded() {
        let request = Request::of("/log?line=one%20two+three%zz&empty=");

        assert_eq!(request.path, "/log");
        assert_eq!(request.value("line"), Some("one two three%zz"));
        assert_eq!(request.value("empty"), Some(""));
        assert_eq!(request.value("other"), None);
    }

    #[test]
    fn request_ends_at_the_empty_line() {
        let request = Request::read(&b"GET /healthz?a=1 HTTP/1.1\r\nHost: x\r\n\r\nbody"[..]).unwrap();

        assert_eq!(request, Request::of("/healthz?a=1"));
    }
}
