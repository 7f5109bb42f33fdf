//! The web server of the test program. What it answers can be changed while it runs:
//!
//! | path | does |
//! |---|---|
//! | `/`, `/version` | the version: `VERSION` of the environment |
//! | `/healthz`, `/ready` | 200, or 503 after `?state=false` until `?state=true` |
//! | `/exit?code=N` | ends the program with that code, after answering |
//! | `/hang` | from now on no request is answered, this one included |
//! | `/log?line=…` | prints the line |
//! | `/env`, `/env?name=X` | the environment, or one variable of it (404 if unset) |
//! | `/file?path=…` | the content of a file (404 if unreadable) |
//! | `/fetch?url=http://…` | the answer of another server, head included (502 if there is none) |

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::http::{self, Answer, Request};

/// Listens already, so that a port in use is known before anything is printed.
pub struct Server {
    listeners: Vec<TcpListener>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    unhealthy: AtomicBool,
    unready: AtomicBool,
    hanging: AtomicBool,
}

/// What happens after a request was looked at.
#[derive(Debug, PartialEq, Eq)]
enum Reaction {
    Answer(Answer),
    Exit(i32),
    Hang,
}

impl Server {
    /// Opens every port on all addresses.
    pub fn open(ports: &[u16]) -> Result<Self, String> {
        let listeners = ports
            .iter()
            .map(|port| {
                TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port))
                    .map_err(|why| format!("cannot listen on port {port}: {why}"))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { listeners, state: Arc::default() })
    }

    /// Serves every port in threads of its own.
    pub fn start(self) {
        for listener in self.listeners {
            let state = Arc::clone(&self.state);
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let state = Arc::clone(&state);
                    thread::spawn(move || state.answer(stream));
                }
            });
        }
    }
}

/// What the image or the pod calls this version.
pub fn version() -> String {
    std::env::var("VERSION").unwrap_or_else(|_| "none".to_owned())
}

impl State {
    fn answer(&self, mut stream: TcpStream) {
        // A client that went away while talking to a test program is nobody's concern.
        let Ok(request) = Request::read(&stream) else {
            return;
        };
        match self.react(&request) {
            Reaction::Answer(answer) => drop(answer.write(&mut stream)),
            Reaction::Exit(code) => {
                drop(Answer::ok("ending\n").write(&mut stream));
                drop(stream);
                println!("ending with code {code}");
                std::process::exit(code);
            }
            Reaction::Hang => loop {
                thread::park();
            },
        }
    }

    fn react(&self, request: &Request) -> Reaction {
        if request.path == "/hang" {
            println!("hanging");
            self.hanging.store(true, Ordering::SeqCst);
        }
        if self.hanging.load(Ordering::SeqCst) {
            return Reaction::Hang;
        }
        Reaction::Answer(match request.path.as_str() {
            "/" | "/version" => Answer::ok(format!("{}\n", version())),
            "/healthz" => switch(&self.unhealthy, request),
            "/ready" => switch(&self.unready, request),
            "/exit" => {
                return Reaction::Exit(request.value("code").and_then(|code| code.parse().ok()).unwrap_or(0));
            }
            "/log" => {
                println!("{}", request.value("line").unwrap_or_default());
                Answer::ok("logged\n")
            }
            "/env" => environment(request.value("name")),
            "/file" => match std::fs::read_to_string(request.value("path").unwrap_or_default()) {
                Ok(text) => Answer::ok(text),
                Err(why) => Answer { status: 404, text: format!("{why}\n") },
            },
            "/fetch" => match http::fetch(request.value("url").unwrap_or_default()) {
                Ok(text) => Answer::ok(text),
                Err(why) => Answer { status: 502, text: format!("{why}\n") },
            },
            other => Answer { status: 404, text: format!("nothing at {other}\n") },
        })
    }
}

fn switch(off: &AtomicBool, request: &Request) -> Answer {
    match request.value("state") {
        Some(state) => {
            off.store(state == "false", Ordering::SeqCst);
            Answer::ok("set\n")
        }
        None if off.load(Ordering::SeqCst) => Answer { status: 503, text: "no\n".to_owned() },
        None => Answer::ok("ok\n"),
    }
}

fn environment(name: Option<&str>) -> Answer {
    let Some(name) = name else {
        let lines: Vec<String> = std::env::vars().map(|(key, value)| format!("{key}={value}")).collect();
        return Answer::ok(lines.join("\n"));
    };
    match std::env::var(name) {
        Ok(value) => Answer::ok(format!("{value}\n")),
        Err(_) => Answer { status: 404, text: format!("{name} is not set\n") },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(state: &State, target: &str) -> Option<u16> {
        match state.react(&Request::of(target)) {
            Reaction::Answer(answer) => Some(answer.status),
            Reaction::Exit(_) | Reaction::Hang => None,
        }
    }

    #[test]
    fn readiness_and_health_are_switched_apart() {
        let state = State::default();

        assert_eq!(status(&state, "/ready?state=false"), Some(200));

        assert_eq!(status(&state, "/ready"), Some(503));
        assert_eq!(status(&state, "/healthz"), Some(200));
        assert_eq!(status(&state, "/ready?state=true"), Some(200));
        assert_eq!(status(&state, "/ready"), Some(200));
    }

    #[test]
    fn exit_carries_its_code() {
        assert_eq!(State::default().react(&Request::of("/exit?code=3")), Reaction::Exit(3));
    }

    #[test]
    fn after_hang_nothing_is_answered() {
        let state = State::default();

        assert_eq!(state.react(&Request::of("/hang")), Reaction::Hang);
        assert_eq!(state.react(&Request::of("/healthz")), Reaction::Hang);
    }

    #[test]
    fn a_server_is_reachable_and_fetches_another() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        Server { listeners: vec![listener], state: Arc::default() }.start();

        let answer = http::fetch(&format!("http://{address}/fetch?url=http://{address}/healthz")).unwrap();

        assert!(answer.ends_with("ok\n"), "{answer}");
    }
}
