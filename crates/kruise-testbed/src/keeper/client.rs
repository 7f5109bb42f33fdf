//! Our end of the line to the keeper.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::cleanup::Cleanup;
use super::instance;
use super::protocol::{Reply, Request, Start};
use crate::TestbedError;

/// A running keeper. Dropping it takes the whole cluster down and waits until that is done.
#[derive(Debug)]
pub struct Keeper {
    line: Mutex<Line>,
    child: Mutex<Child>,
    exited: Arc<Mutex<BTreeMap<String, String>>>,
    instance: u16,
    dir: PathBuf,
}

#[derive(Debug)]
struct Line {
    /// `None` only while dropping: closing it is the signal to end.
    requests: Option<ChildStdin>,
    replies: Receiver<Reply>,
}

impl Keeper {
    /// Starts a keeper. `program` is the `kruise-testbed` binary.
    pub fn start(program: &Path) -> Result<Self, TestbedError> {
        let mut child = Command::new(program)
            .arg("keeper")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Its own group: Ctrl-C in a terminal reaches us and not the keeper, which then takes things down in order.
            .process_group(0)
            .spawn()
            .map_err(TestbedError::io(format!("starting {}", program.display())))?;
        let exited = Arc::new(Mutex::new(BTreeMap::new()));
        let replies = read_replies(&mut child, Arc::clone(&exited));
        match replies.recv() {
            Ok(Reply::Hello { instance, dir }) => {
                let line = Mutex::new(Line { requests: child.stdin.take(), replies });
                Ok(Self { line, child: Mutex::new(child), exited, instance, dir })
            }
            Ok(Reply::Failed { message }) => Err(TestbedError::Unfit(message)),
            Ok(other) => Err(TestbedError::Keeper(format!("{other:?}"))),
            Err(_) => Err(TestbedError::Keeper("it ended at once".into())),
        }
    }

    pub fn instance(&self) -> u16 {
        self.instance
    }

    /// The first of the ports that this instance has for itself.
    pub fn first_port(&self) -> u16 {
        instance::first_port(self.instance)
    }

    /// The directory of this cluster; gone when the keeper is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Starts a part and returns its process id.
    pub fn spawn(&self, start: Start) -> Result<u32, TestbedError> {
        lock(&self.exited).remove(&start.name);
        let reply = self.ask(&Request::Start(start))?;
        let Reply::Started { pid } = reply else { return Err(TestbedError::Keeper(format!("{reply:?}"))) };
        Ok(pid)
    }

    /// Ends a part and waits until it is gone.
    pub fn stop(&self, name: &str) -> Result<(), TestbedError> {
        self.ask(&Request::Stop { name: name.to_owned() }).map(drop)
    }

    /// Registers something to undo; call it before doing the thing.
    pub fn at_end(&self, cleanup: Cleanup) -> Result<(), TestbedError> {
        self.ask(&Request::Cleanup(cleanup)).map(drop)
    }

    /// How a part ended, if it did.
    pub fn ended(&self, name: &str) -> Option<String> {
        lock(&self.exited).get(name).cloned()
    }

    fn ask(&self, request: &Request) -> Result<Reply, TestbedError> {
        let mut line = lock(&self.line);
        let mut bytes =
            serde_json::to_vec(request).map_err(|error| TestbedError::Keeper(error.to_string()))?;
        bytes.push(b'\n');
        let Some(requests) = line.requests.as_mut() else {
            return Err(TestbedError::Keeper("it was ended".into()));
        };
        requests.write_all(&bytes).map_err(|error| TestbedError::Keeper(error.to_string()))?;
        match line.replies.recv() {
            Ok(Reply::Failed { message }) => Err(TestbedError::Keeper(message)),
            Ok(reply) => Ok(reply),
            Err(_) => Err(TestbedError::Keeper("it ended".into())),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        lock(&self.line).requests.take();
        if let Err(error) = lock(&self.child).wait() {
            eprintln!("[testbed] the keeper's end was not seen: {error}");
        }
    }
}

/// Replies to requests go through the channel; news of ended parts are remembered.
fn read_replies(child: &mut Child, exited: Arc<Mutex<BTreeMap<String, String>>>) -> Receiver<Reply> {
    let (sender, receiver) = channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                match parse(&line) {
                    Ok(Reply::Exited { name, status }) => {
                        lock(&exited).insert(name, status);
                    }
                    Ok(reply) => {
                        if sender.send(reply).is_err() {
                            return;
                        }
                    }
                    Err(error) => eprintln!("[testbed] not a reply of the keeper: {error}"),
                }
            }
        });
    }
    receiver
}

fn parse(line: &str) -> io::Result<Reply> {
    Ok(serde_json::from_str(line)?)
}

/// A poisoned lock only says that another test panicked; the data is a line to a process and stays good.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
